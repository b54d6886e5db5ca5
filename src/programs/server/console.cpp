#include "server/console.hpp"

#include <boost/describe.hpp>
#include <map>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "crypto/hash.hpp"
#include "server/embedded.hpp"
#include "wire/rules.hpp"

namespace berth::server {
namespace {

using api::Access;
using api::Cache;
using api::Call;
using api::Work;

constexpr std::string_view page_name = "index.html";
constexpr std::string_view assets_folder = "assets/";
constexpr std::size_t version_bytes = 16;

// What stands around every view is in the page, to be seen before its script runs. Signing in has
// nothing around it.
constexpr std::string_view shell_begin = "<!--shell-->";
constexpr std::string_view shell_end = "<!--/shell-->";

std::string without_shell(const std::string& page) {
    const std::size_t begin = page.find(shell_begin);
    const std::size_t end = page.find(shell_end);
    check(begin < end && end != std::string::npos, "the page of the console has its shell");
    return page.substr(0, begin) + page.substr(end + shell_end.size());
}

// A script or style of another origin, one that stands in the page, and any HTML that is made out
// of text are refused by the browser.
constexpr const char* page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

// The addresses of the console, for which the server has no routes.
const std::vector<std::string> page_places{"/offers",  "/templates", "/status",  "/proof",
                                           "/rentals", "/money",     "/account", "/help",
                                           "/host",    "/operate"};

struct AssetPath {
    wire::Text<1, 200> name;
};
BOOST_DESCRIBE_STRUCT(AssetPath, (), (name))
constexpr auto wire_docs(const AssetPath*) {
    return std::to_array<wire::Doc>({
        {"name", "A file that the console's page names.", "index-BmV3qS9A.js"},
    });
}

std::string type_of_file(std::string_view name) {
    struct Row {
        std::string_view end;
        const char* type;
    };
    static constexpr Row rows[] = {{".js", "text/javascript; charset=utf-8"},
                                   {".css", "text/css; charset=utf-8"},
                                   {".svg", "image/svg+xml"},
                                   {".html", "text/html; charset=utf-8"},
                                   {".json", "application/json"},
                                   {".png", "image/png"},
                                   {".webp", "image/webp"},
                                   {".woff2", "font/woff2"}};
    for (const Row& row : rows)
        if (name.ends_with(row.end)) return row.type;
    return "application/octet-stream";
}

// Made once for all servers of the process, so that each file is compressed once.
struct Console {
    Console() {
        for (const EmbeddedFile& file : console_files()) {
            auto bytes = std::make_shared<const std::string>(file.bytes);
            if (file.name == page_name)
                page = std::move(bytes);
            else if (file.name.starts_with(assets_folder))
                assets[std::string(file.name.substr(assets_folder.size()))] = {
                    type_of_file(file.name), std::move(bytes)};
        }
        check(page != nullptr, "the console has a page");
        sign_in = std::make_shared<const std::string>(without_shell(*page));
        version = to_hex(crypto::sha256(*page).substr(0, version_bytes));
    }

    std::shared_ptr<const std::string> page;
    std::shared_ptr<const std::string> sign_in;
    std::string version;
    std::map<std::string, api::File, std::less<>> assets;
};

const Console& console() {
    static const Console made;
    return made;
}

api::Html send_page(Call& call, const std::shared_ptr<const std::string>& page) {
    call.add_header("Content-Security-Policy", page_policy);
    call.add_header("Referrer-Policy", "no-referrer");
    call.add_header("Permissions-Policy", "camera=(), geolocation=(), microphone=()");
    call.add_header("Cross-Origin-Opener-Policy", "same-origin");
    call.note_version(console().version);
    return page;
}

api::Html show_console(Call& call) { return send_page(call, console().page); }
api::Html show_sign_in(Call& call) { return send_page(call, console().sign_in); }

}  // namespace

const std::string& console_version() { return console().version; }

void add_console_routes(api::Router& router) {
    router.add({.method = "GET",
                .path = "/",
                .name = "start_page",
                .group = "pages",
                .summary = "The console, in a browser.",
                .access = Access::anyone,
                .work = Work::memory,
                .second_status = http::not_modified_status,
                .rate = &api::unlimited,
                .cache = Cache::checked,
                .also_below = page_places},
               show_console);
    // The token of the link is behind the '#', which browsers do not send, and only the button's
    // request carries it: a mail scanner that opens the link signs nobody in.
    router.add({.method = "GET",
                .path = "/sign-in",
                .name = "sign_in_page",
                .group = "pages",
                .summary = "Where the mailed link leads; its button signs in.",
                .access = Access::anyone,
                .work = Work::memory,
                .second_status = http::not_modified_status,
                .rate = &api::unlimited,
                .cache = Cache::checked},
               show_sign_in);
    router.add({.method = "GET",
                .path = "/assets/{name}",
                .name = "console_asset",
                .group = "pages",
                .summary = "A file of the console; its name changes when it does.",
                .access = Access::anyone,
                .work = Work::memory,
                .media = {{"*/*", "A script, a style sheet, a font or a picture."}},
                .errors = {{Code::not_found, "this build of the console has no such file"}},
                .rate = &api::unlimited,
                .cache = Cache::forever},
               [](Call&, const api::Path<AssetPath>& path) {
                   const auto found = console().assets.find(path->name.value);
                   if (found == console().assets.end())
                       throw Problem(Code::not_found, "the console has no such file");
                   return found->second;
               });
}

}  // namespace berth::server
