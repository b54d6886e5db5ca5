#include "server/docs_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/describe.hpp>
#include <map>
#include <vector>

#include "accounts/pages.hpp"
#include "api/reference.hpp"
#include "base/bytes.hpp"
#include "base/letters.hpp"
#include "crypto/hash.hpp"
#include "server/embedded.hpp"
#include "server/markdown.hpp"
#include "wire/rules.hpp"
#include "wire/schema.hpp"

namespace berth::server {
namespace {

using api::Access;
using api::Cache;
using api::Call;
using api::Work;

// The page that lists all others by what their readers want to do.
constexpr std::string_view index_name = "README.md";
constexpr std::size_t found_max = 40;
constexpr std::size_t words_max = 8;
constexpr std::size_t snippet_letters = 160;

struct DocsQuery {
    std::optional<wire::Text<0, 200>> q;
};
BOOST_DESCRIBE_STRUCT(DocsQuery, (), (q))
constexpr auto wire_docs(const DocsQuery*) {
    return std::to_array<wire::Doc>({
        {"q", "Words that are looked for in all pages and in the API.", "budget raise"},
    });
}

struct DocsPath {
    wire::Text<1, 60> page;
};
BOOST_DESCRIBE_STRUCT(DocsPath, (), (page))
constexpr auto wire_docs(const DocsPath*) {
    return std::to_array<wire::Doc>({
        {"page", "The page, as its file is called.", "renting"},
    });
}

// A place that the search may find.
struct Place {
    std::string address;
    std::string title;
    std::string text;
    std::string letters;  // all of it, in small ones
};

std::string small(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), to_lower);
    return out;
}

std::vector<Place> places_of(std::string_view specification) {
    std::vector<Place> places;
    const auto add = [&](std::string address, std::string title, std::string text) {
        std::string letters = small(title + "\n" + text);
        places.push_back(
            {std::move(address), std::move(title), std::move(text), std::move(letters)});
    };
    for (const EmbeddedFile& file : docs_files()) {
        if (file.name == index_name) continue;
        const std::string_view stem = file.name.substr(0, file.name.size() - 3);
        const auto sections = markdown_sections(file.bytes);
        for (const MarkdownSection& section : sections) {
            const std::string& page = sections.front().heading;
            add(fmt::format("/docs/{}#{}", stem, section.anchor),
                section.heading == page ? page : fmt::format("{}: {}", page, section.heading),
                section.text);
        }
    }
    const boost::json::value document =
        boost::json::parse({specification.data(), specification.size()});
    for (const auto& [path, methods] : document.at("paths").as_object())
        for (const auto& [method, operation] : methods.as_object()) {
            const std::string id(operation.at("operationId").as_string());
            add("/docs/api#" + id,
                fmt::format("API: {} {}", std::string_view(method), std::string_view(path)),
                fmt::format("{} {}", std::string_view(operation.at("summary").as_string()), id));
        }
    return places;
}

std::vector<std::string> words_of(std::string_view query) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : small(query) + " ") {
        if (c != ' ')
            word += c;
        else if (!word.empty() && words.size() < words_max)
            words.push_back(std::exchange(word, ""));
    }
    return words;
}

// Where the first word stands, on one line.
std::string snippet(const Place& place, const std::string& word) {
    const std::size_t at = small(place.text).find(word);
    std::size_t begin = at == std::string::npos ? 0 : at - std::min<std::size_t>(at, 40);
    while (begin > 0 && place.text[begin - 1] != ' ' && place.text[begin - 1] != '\n') --begin;
    std::size_t end = std::min(begin + snippet_letters, place.text.size());
    while (end < place.text.size() && place.text[end] != ' ' && place.text[end] != '\n') ++end;
    std::string out = place.text.substr(begin, end - begin);
    std::ranges::replace(out, '\n', ' ');
    return out;
}

std::string found_html(const std::vector<Place>& places, const std::string& query) {
    const auto words = words_of(query);
    if (words.empty()) return "<p>Give a word or more to look for.</p>\n";
    struct Found {
        const Place* place;
        std::size_t in_title;
    };
    std::vector<Found> found;
    for (const Place& place : places) {
        const auto has = [&](const std::string& word) {
            return place.letters.find(word) != std::string::npos;
        };
        if (!std::ranges::all_of(words, has)) continue;
        const std::string title = small(place.title);
        const auto in_title = std::ranges::count_if(
            words, [&](const std::string& word) { return title.find(word) != std::string::npos; });
        found.push_back({&place, static_cast<std::size_t>(in_title)});
    }
    std::ranges::stable_sort(found, std::ranges::greater{}, &Found::in_title);
    std::string out = fmt::format("<h2>{} {} for “{}”</h2>\n", found.size(),
                                  found.size() == 1 ? "place" : "places", api::html_escaped(query));
    if (found.size() > found_max) found.resize(found_max);
    for (const Found& each : found)
        out += fmt::format("<p><a href=\"{}\">{}</a><br>{}</p>\n",
                           api::html_escaped(each.place->address),
                           api::html_escaped(each.place->title),
                           api::html_escaped(snippet(*each.place, words.front())));
    return out;
}

std::string page_html(std::string_view title, std::string_view query, std::string_view content) {
    return fmt::format(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n"
        "<style>{}</style>\n<nav><a href=\"/docs\">Docs</a><a href=\"/docs/api\">API</a>"
        "<a href=\"/\">Market</a></nav>\n"
        "<form action=\"/docs\" role=\"search\"><input type=\"search\" name=\"q\" value=\"{}\" "
        "aria-label=\"Search the docs\"> <button>Search</button></form>\n{}</html>\n",
        api::html_escaped(title), api::reference_style, api::html_escaped(query), content);
}

// What is made of the files, each when it is first asked for.
class Docs {
public:
    explicit Docs(std::shared_ptr<Reference> reference) : reference_(std::move(reference)) {
        for (const EmbeddedFile& file : docs_files())
            pages_[std::string(file.name.substr(0, file.name.size() - 3))].source = file.bytes;
    }

    std::shared_ptr<const std::string> page(const std::string& name) {
        const auto found = pages_.find(name);
        if (found == pages_.end()) throw Problem(Code::not_found, "there is no such page");
        Page& page = found->second;
        std::call_once(page.made, [&page] {
            const auto sections = markdown_sections(page.source);
            const std::string title = sections.empty() ? "Berth" : sections.front().heading;
            page.html = std::make_shared<const std::string>(
                page_html(title, "", markdown_to_html(page.source)));
        });
        return page.html;
    }

    std::string search(const std::string& query) {
        std::call_once(looked_, [this] { places_ = places_of(*reference_->specification()); });
        return page_html("Search", query, found_html(places_, query));
    }

private:
    struct Page {
        std::string_view source;
        std::once_flag made;
        std::shared_ptr<const std::string> html;
    };

    std::shared_ptr<Reference> reference_;
    std::map<std::string, Page> pages_;
    std::once_flag looked_;
    std::vector<Place> places_;
};

std::string policy() {
    return fmt::format(
        "default-src 'none'; style-src 'sha256-{}'; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'",
        to_base64(crypto::sha256(api::reference_style)));
}

// Whose service this is stands in the title and above the menu; the pages are kept without.
std::string branded(const Call& call, std::string page) {
    page.insert(page.find("</title>"), " – " + accounts::brand_name(call));
    return page.insert(page.find("<nav>"), accounts::brand_line(call));
}

}  // namespace

void add_docs_routes(api::Router& router, std::shared_ptr<Reference> reference) {
    const auto docs = std::make_shared<Docs>(reference);
    const auto send = [policy = policy()](Call& call, std::string page) {
        call.add_header("Content-Security-Policy", policy);
        return api::Html{branded(call, std::move(page))};
    };
    router.add({.method = "GET",
                .path = "/docs",
                .name = "docs_index",
                .group = "pages",
                .summary = "What there is to read, by what one wants to do; and a search over it.",
                .access = Access::anyone,
                .work = Work::memory,
                .cache = Cache::open},
               [docs, send](Call& call, const api::Query<DocsQuery>& query) {
                   if (query->q) return send(call, docs->search(query->q->value));
                   return send(call, *docs->page("README"));
               });
    router.add({.method = "GET",
                .path = "/docs/{page}",
                .name = "docs_page",
                .group = "pages",
                .summary = "A page of the docs.",
                .access = Access::anyone,
                .work = Work::memory,
                .errors = {{Code::not_found, "the docs have no such page"}},
                .cache = Cache::open},
               [docs, send](Call& call, const api::Path<DocsPath>& path) {
                   return send(call, *docs->page(path->page.value));
               });
    router.add({.method = "GET",
                .path = "/docs/api",
                .name = "reference_page",
                .group = "pages",
                .summary = "This description, for people.",
                .access = Access::anyone,
                .work = Work::memory,
                .cache = Cache::open},
               [reference, send](Call& call) { return send(call, *reference->page()); });
}

}  // namespace berth::server
