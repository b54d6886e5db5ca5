// The operator's name, colour and logo: what is taken for one, and what a browser is given.
#include <gtest/gtest.h>

#include "accounts/settings.hpp"
#include "base/bytes.hpp"
#include "support/harness.hpp"

namespace berth::test {
namespace {

std::string chunk(const std::string& name, const std::string& content) {
    const auto length = static_cast<unsigned>(content.size());
    std::string out;
    for (const unsigned shift : {24U, 16U, 8U, 0U})
        out += static_cast<char>((length >> shift) & 0xFF);
    return out + name + content + "sum.";
}

std::string png(std::size_t content_bytes = 10) {
    return std::string("\x89PNG\r\n\x1a\n", 8) + chunk("IHDR", std::string(13, '\1')) +
           chunk("IDAT", std::string(content_bytes, 'x')) + chunk("IEND", "");
}

std::string webp() {
    const std::string rest = "WEBPVP8L" + std::string("\4\0\0\0", 4) + "abcd";
    return "RIFF" + std::string(1, static_cast<char>(rest.size())) + std::string(3, '\0') + rest;
}

std::string refusal_of(const std::string& text) {
    try {
        accounts::parse_logo(text);
        return "";
    } catch (const settings::BadValue& bad) {
        return bad.what();
    }
}

TEST(BrandingLogo, IsAWholePngOrWebpPicture) {
    EXPECT_EQ(accounts::parse_logo("").bytes, nullptr);
    EXPECT_EQ(accounts::parse_logo(to_base64(png())).type, "image/png");
    EXPECT_EQ(*accounts::parse_logo(to_base64(png())).bytes, png());
    EXPECT_EQ(accounts::parse_logo(to_base64(webp())).type, "image/webp");
    for (const std::string& bad :
         {std::string("<svg xmlns='http://www.w3.org/2000/svg'/>"), std::string("GIF89a"),
          std::string("\xff\xd8\xff\xe0"), png() + "<script>", webp() + "x", std::string("RIFF"),
          "\n" + png(), std::string("\x89PNG\r\n\x1a\n", 8)})
        EXPECT_EQ(refusal_of(to_base64(bad)), "must be a whole PNG or WebP picture") << to_hex(bad);
    for (std::size_t size = 1; size < png().size(); ++size)
        EXPECT_EQ(refusal_of(to_base64(png().substr(0, size))),
                  "must be a whole PNG or WebP picture")
            << size;
    EXPECT_EQ(refusal_of("not base64!"), "must be base64");
    const std::size_t frame = png(0).size();
    EXPECT_EQ(refusal_of(to_base64(png(accounts::logo_bytes_max - frame))), "");
    EXPECT_EQ(refusal_of(to_base64(png(accounts::logo_bytes_max - frame + 1))),
              "must be at most 16 KiB");
}

TEST(Branding, IsWhatOperatorsSetFromTheNextRequestOn) {
    Harness harness;
    EXPECT_EQ(harness.ask({.target = "/api/v1/branding"}).body,
              R"({"name":"Berth","hue":218,"has_logo":false})");
    EXPECT_EQ(harness.ask({.target = "/branding/logo"}).status, 404);
    const auto before = harness.ask({.target = "/branding.css"});
    EXPECT_EQ(before.body, ":root{--brand-hue:218}\n");
    EXPECT_EQ(before.content_type, "text/css; charset=utf-8");
    EXPECT_EQ(before.headers.find("Cache-Control"), "no-cache");

    harness.set("branding.name", "Quay");
    harness.set("branding.hue", "0");
    harness.set("branding.logo", to_base64(png()));
    EXPECT_EQ(harness.ask({.target = "/api/v1/branding"}).body,
              R"({"name":"Quay","hue":0,"has_logo":true})");
    const std::string tag(before.headers.find("ETag").value_or(""));
    const auto after =
        harness.ask({.target = "/branding.css", .headers = {{"If-None-Match", tag}}});
    EXPECT_EQ(after.status, 200) << "it is another one";
    EXPECT_EQ(after.body, ":root{--brand-hue:0}\n");
    const std::string newer(after.headers.find("ETag").value_or(""));
    EXPECT_EQ(
        harness.ask({.target = "/branding.css", .headers = {{"If-None-Match", newer}}}).status,
        304);

    const auto logo = harness.ask({.target = "/branding/logo"});
    EXPECT_EQ(logo.body, png());
    EXPECT_EQ(logo.content_type, "image/png");
    EXPECT_EQ(logo.headers.find("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(logo.headers.find("Content-Security-Policy"),
              "default-src 'none'; sandbox; frame-ancestors 'none'");
    EXPECT_TRUE(logo.headers.find("ETag"));
}

TEST(Branding, IsOnThePagesThatTheServerShowsItself) {
    Harness harness;
    const std::string id = "0191e7a0-0000-7000-8000-000000000001";
    const std::vector<std::string> pages{"/terms",        "/confirm/" + id, "/recovery/" + id,
                                         "/docs",         "/docs/renting",  "/docs/api",
                                         "/docs?q=budget"};
    for (const std::string& page : pages) {
        const std::string usual = harness.ask({.target = page}).body;
        EXPECT_NE(usual.find("<header>Berth</header>"), std::string::npos) << page << usual;
    }
    harness.set("branding.name", "Quay & <Sons>");
    harness.set("branding.logo", to_base64(png()));
    for (const std::string& page : pages) {
        const auto shown = harness.ask({.target = page});
        EXPECT_NE(shown.body.find(R"(<header><img src="/branding/logo" alt="" height="24"> )"
                                  "Quay &amp; &lt;Sons&gt;</header>"),
                  std::string::npos)
            << page << shown.body;
        EXPECT_NE(shown.body.find(" – Quay &amp; &lt;Sons&gt;</title>"), std::string::npos) << page;
        EXPECT_NE(shown.headers.find("Content-Security-Policy")->find("img-src 'self'"),
                  std::string::npos)
            << page;
    }
}

TEST(Branding, HasAHueOfTheCircle) {
    Harness harness;
    for (const char* bad : {"360", "-1", "1.5", "red", ""})
        EXPECT_THROW(harness.set("branding.hue", bad), Problem) << bad;
    EXPECT_NO_THROW(harness.set("branding.hue", "359"));
}

}  // namespace
}  // namespace berth::test
