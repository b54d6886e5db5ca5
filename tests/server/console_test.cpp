// The web console as a browser meets it: its page at every address of its own, its files, and what
// both say about being kept.
#include "server/console.hpp"

#include <gtest/gtest.h>

#include "http/gzip.hpp"
#include "support/harness.hpp"
#include "support/raw_socket.hpp"

namespace berth::test {
namespace {

std::string header(const http::Response& response, std::string_view name) {
    return std::string(response.headers.find(name).value_or(""));
}

class WebConsole : public ::testing::Test {
protected:
    static server::ConsoleFile file(std::string_view name) {
        for (const server::ConsoleFile& each : server::console_files())
            if (each.name == name) return each;
        ADD_FAILURE() << name << " is not in the program";
        return {};
    }
    // The longest script: one that is worth compressing.
    static server::ConsoleFile script() {
        server::ConsoleFile longest;
        for (const server::ConsoleFile& each : server::console_files())
            if (each.name.ends_with(".js") && each.bytes.size() > longest.bytes.size())
                longest = each;
        return longest;
    }
    http::Response get(const std::string& target,
                       const std::vector<http::Headers::Field>& headers = {}) {
        return harness.ask({.target = target, .headers = headers});
    }

    Harness harness{{.real_accounts = true}};
    const std::string page{file("index.html").bytes};
};

TEST_F(WebConsole, IsOnePageAtEveryAddressOfItsOwn) {
    for (const char* place :
         {"/", "/offers", "/offers/", "/offers/0198c0de", "/templates/llama", "/status", "/proof",
          "/rentals/1/receipt", "/money/add/1", "/account/keys", "/help", "/host",
          "/host/machines/new", "/operate/settings", "/operate?tab=1"}) {
        const auto answer = get(place);
        EXPECT_EQ(answer.status, 200) << place;
        EXPECT_EQ(answer.body, page) << place;
        EXPECT_EQ(answer.content_type, "text/html; charset=utf-8") << place;
        EXPECT_EQ(header(answer, "Cache-Control"), "no-cache") << place;
    }
    EXPECT_NE(page.find("href=\"/branding.css\""), std::string::npos);
}

TEST_F(WebConsole, HasItsPlacesInThePageButWhereOneSignsIn) {
    EXPECT_NE(page.find("class=\"shell\""), std::string::npos);
    const std::string sign_in = get("/sign-in").body;
    EXPECT_EQ(sign_in.find("class=\"shell\""), std::string::npos);
    EXPECT_NE(sign_in.find("<div id=\"app\"></div>"), std::string::npos);
    const std::string head = page.substr(0, page.find("<body>"));
    EXPECT_EQ(sign_in.substr(0, head.size()), head);
}

TEST_F(WebConsole, LeavesEveryOtherAddressAsItWas) {
    for (const char* place :
         {"/offersx", "/offer", "/Offers", "//offers", "/nothing", "/sign-in/more",
          "/api/v1/nothing", "/assets", "/assets/", "/rentals%2F"})
        EXPECT_EQ(error_code(get(place)), "NOT_FOUND") << place;
    for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"})
        for (const char* place : {"/", "/offers", "/rentals/1"})
            EXPECT_EQ(error_code(harness.ask({.method = method, .target = place})), "NOT_FOUND")
                << method << ' ' << place;
    EXPECT_TRUE(get("/docs").content_type.starts_with("text/html"));
    EXPECT_NE(get("/docs").body, page);
    EXPECT_NE(get("/terms").body, page);
    EXPECT_EQ(get("/healthz").body, R"({"status":"ok"})");
}

TEST_F(WebConsole, LetsABrowserRunNothingButItsOwnFiles) {
    const auto answer = get("/rentals");
    EXPECT_EQ(header(answer, "Content-Security-Policy"),
              "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
              "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
              "require-trusted-types-for 'script'; trusted-types 'none'");
    EXPECT_EQ(header(answer, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(header(answer, "Permissions-Policy"), "camera=(), geolocation=(), microphone=()");
    EXPECT_EQ(header(answer, "Cross-Origin-Opener-Policy"), "same-origin");
    EXPECT_EQ(header(answer, "X-Content-Type-Options"), "nosniff");
}

TEST_F(WebConsole, IsNotSentToWhoHasIt) {
    const std::string tag = header(get("/"), "ETag");
    EXPECT_EQ(tag, "W/\"" + server::console_version() + "\"");
    for (const std::string& known : {tag, tag.substr(2), "\"other\", " + tag, std::string("*")}) {
        const auto answer = get("/money", {{"If-None-Match", known}});
        EXPECT_EQ(answer.status, 304) << known;
        EXPECT_EQ(answer.body, "") << known;
        EXPECT_EQ(header(answer, "ETag"), tag);
        EXPECT_EQ(header(answer, "Cache-Control"), "no-cache");
    }
    for (const char* other : {"\"other\"", "", "W/", ",,", "W/\"\""})
        EXPECT_EQ(get("/money", {{"If-None-Match", other}}).status, 200) << other;
}

TEST_F(WebConsole, TellsInTheStatusWhichBuildItIs) {
    EXPECT_NE(get("/api/v1/status").body.find("\"console\":\"" + server::console_version() + '"'),
              std::string::npos);
}

TEST_F(WebConsole, HasFilesThatAreKeptForever) {
    ASSERT_GT(server::console_files().size(), 1U);
    for (const server::ConsoleFile& each : server::console_files()) {
        if (each.name == "index.html") continue;
        const auto answer = get("/" + std::string(each.name));
        EXPECT_EQ(answer.status, 200) << each.name;
        EXPECT_EQ(answer.body, each.bytes) << each.name;
        EXPECT_EQ(header(answer, "Cache-Control"), "public, max-age=31536000, immutable");
        EXPECT_EQ(header(answer, "X-Content-Type-Options"), "nosniff");
        const char* const type = each.name.ends_with(".js")    ? "text/javascript; charset=utf-8"
                                 : each.name.ends_with(".css") ? "text/css; charset=utf-8"
                                 : each.name.ends_with(".svg") ? "image/svg+xml"
                                                               : "";
        EXPECT_EQ(answer.content_type, type) << each.name << " is of a kind that is not expected";
    }
}

TEST_F(WebConsole, HasNoFileButItsOwn) {
    for (const char* place :
         {"/assets/none-00000000.js", "/assets/..", "/assets/../index.html", "/assets/%2e%2e",
          "/assets/%2e%2e/index.html", "/assets/%2e%2e%2findex.html", "/assets/index.html",
          "/assets/assets%2f", "/assets/./x", "/assets//etc/passwd", "/index.html"}) {
        const auto answer = get(place);
        EXPECT_EQ(error_code(answer), "NOT_FOUND") << place;
        EXPECT_EQ(answer.content_type, "application/json") << place;
        EXPECT_NE(header(answer, "Cache-Control").find("no-store"), std::string::npos) << place;
    }
    for (const std::string& bad : {std::string("%zz"), std::string("%00"), std::string(300, 'a')})
        EXPECT_EQ(get("/assets/" + bad).status, 422) << bad;
}

TEST_F(WebConsole, IsCompressedForWhoTakesIt) {
    const server::ConsoleFile longest = script();
    ASSERT_GT(longest.bytes.size(), 1024U);
    const std::string target = "/" + std::string(longest.name);
    const auto packed = get(target, {{"Accept-Encoding", "br, gzip"}});
    EXPECT_EQ(header(packed, "Content-Encoding"), "gzip");
    EXPECT_EQ(header(packed, "Vary"), "Accept-Encoding");
    EXPECT_EQ(packed.body, http::gzip(longest.bytes));
    for (const char* other : {"identity", "br", "gzip;q=0"}) {
        const auto plain = get(target, {{"Accept-Encoding", other}});
        EXPECT_EQ(header(plain, "Content-Encoding"), "") << other;
        EXPECT_EQ(header(plain, "Vary"), "Accept-Encoding") << other;
        EXPECT_EQ(plain.body, longest.bytes) << other;
    }
}

TEST_F(WebConsole, IsAnsweredToHeadWithoutABody) {
    harness.app->serve();
    const std::string script_path = "/" + std::string(script().name);
    for (const std::string& place : {std::string("/rentals"), script_path}) {
        support::RawSocket socket(harness.app->port());
        socket.send("HEAD " + place + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        const std::string all = socket.receive_all();
        EXPECT_TRUE(all.starts_with("HTTP/1.1 200 OK\r\n")) << all;
        EXPECT_TRUE(all.ends_with("\r\n\r\n")) << all;
        EXPECT_EQ(all.find("Content-Length: 0\r\n"), std::string::npos) << all;
    }
}

}  // namespace
}  // namespace berth::test
