#include "crypto/uri.hpp"

#include <gtest/gtest.h>

namespace berth::crypto {
namespace {

TEST(Uri, TakesWhatRfc3986Allows) {
    for (const std::string text :
         {"ftp://ftp.is.co.za/rfc/rfc1808.txt", "http://www.ietf.org/rfc/rfc2396.txt",
          "ldap://[2001:db8::7]/c=GB?objectClass?one", "mailto:John.Doe@example.com",
          "news:comp.infosystems.www.servers.unix", "tel:+1-816-555-1212",
          "telnet://192.0.2.16:80/", "urn:oasis:names:specification:docbook:dtd:xml:4.1.2",
          "https://example.com", "https://example.com:/", "https://user:a%20word@example.com:84",
          "a:", "a:b", "a:/b//c", "A+b-1.2:x", "https://example.com?q", "https://example.com#",
          "https://example.com/%E2%82%AC?a=b&c=%5B0%5D", "https://[v1F.x:y]/"})
        EXPECT_TRUE(is_uri(text)) << text;
}

TEST(Uri, RefusesTheRest) {
    for (const std::string text : {"",
                                   ":",
                                   ":a",
                                   "a",
                                   "/a",
                                   "//example.com",
                                   "1a:b",
                                   "+a:b",
                                   "a_b:c",
                                   "https:// ",
                                   "https://exa mple.com",
                                   "https://example.com/a b",
                                   "https://example.com/\"",
                                   "https://example.com/<a>",
                                   "https://example.com/%",
                                   "https://example.com/%2",
                                   "https://example.com/%2g",
                                   "https://example.com/a#b#c",
                                   "https://example.com/\xc3\xa9",
                                   "https://",
                                   "https:///a",
                                   "https://:80",
                                   "https://user@",
                                   "https://example.com:80a",
                                   "https://example.com:-1",
                                   "https://[::1",
                                   "https://[]",
                                   "https://[1.2.3.4]",
                                   "https://[::g]",
                                   "https://[::1]x",
                                   "https://[::1%25eth0]",
                                   "https://[v1]",
                                   "https://[v.x]",
                                   "https://[vg.x]",
                                   "https://a@b@c",
                                   "https://a[b]c",
                                   "https://example.com/\\",
                                   "https://example.com/^",
                                   "https://example.com/`",
                                   "https://example.com/{}",
                                   "https://example.com/?a[0]",
                                   "https://example.com/|",
                                   "https://example.com\n",
                                   "ck-:\xd2",
                                   "ck-:["})
        EXPECT_FALSE(is_uri(text)) << text;
    EXPECT_FALSE(is_uri(std::string("https://[::1\0]", 14)));
    EXPECT_FALSE(is_uri(std::string("https://a\0", 10)));
}

TEST(Uri, TakesAuthoritiesWithAHost) {
    for (const std::string text :
         {"example.com", "EXAMPLE.com", "localhost:8080", "127.0.0.1", "user@127.0.0.1:1",
          "user:word@host", ":@host", "[::cafe]", "[::cafe]:443", "[::ffff:1.2.3.4]", "[v1.a:b]",
          "x", "a_b", "%41", "1.2.3", "host:"})
        EXPECT_TRUE(is_authority(text)) << text;
    for (const std::string text : {"",
                                   ":",
                                   "@",
                                   ":80",
                                   "user@",
                                   "user@:80",
                                   "#a",
                                   "a/b",
                                   "a?b",
                                   "a b",
                                   " a",
                                   "a ",
                                   "[a]",
                                   "a]",
                                   "a:b",
                                   "a:1:2",
                                   "::1",
                                   "https://a",
                                   "%4",
                                   "a@b@c",
                                   "[::cafe]443",
                                   "[1::2::3]",
                                   "[1:2:3:4:5:6:7]",
                                   "[1:2:3:4:5:6:7:8:9]",
                                   "[12345::]",
                                   "a\\b"})
        EXPECT_FALSE(is_authority(text)) << text;
}

TEST(Uri, IsCutIntoItsParts) {
    const auto uri = parse_uri("https://ada:word@[::1]:8080/a/b?c=d/e?#f/?");
    ASSERT_TRUE(uri);
    EXPECT_EQ(uri->scheme, "https");
    EXPECT_EQ(uri->authority, "ada:word@[::1]:8080");
    EXPECT_EQ(uri->path, "/a/b");
    EXPECT_EQ(uri->query, "c=d/e?");
    EXPECT_EQ(uri->fragment, "f/?");
    const auto authority = parse_authority(*uri->authority);
    ASSERT_TRUE(authority);
    EXPECT_EQ(authority->user, "ada:word");
    EXPECT_EQ(authority->host_and_port, "[::1]:8080");
    EXPECT_EQ(authority->host, "[::1]");
    EXPECT_EQ(authority->port, "8080");
}

TEST(Uri, PartsThatAreNotThereAreNone) {
    const auto uri = parse_uri("mailto:ada@example.com");
    ASSERT_TRUE(uri);
    EXPECT_EQ(uri->authority, std::nullopt);
    EXPECT_EQ(uri->path, "ada@example.com");
    EXPECT_EQ(uri->query, std::nullopt);
    EXPECT_EQ(uri->fragment, std::nullopt);
    EXPECT_EQ(parse_uri("a:?")->query, "");
    const auto authority = parse_authority("example.com");
    ASSERT_TRUE(authority);
    EXPECT_EQ(authority->user, std::nullopt);
    EXPECT_EQ(authority->host, "example.com");
    EXPECT_EQ(authority->port, std::nullopt);
    EXPECT_EQ(parse_authority("example.com:")->port, "");
}

TEST(Uri, OnlyTheLoopbackAddressesAreThisMachine) {
    for (const std::string host : {"localhost", "127.0.0.1", "127.1.2.3", "[::1]"})
        EXPECT_TRUE(is_this_machine(host)) << host;
    for (const std::string host :
         {"", "localhost.example", "127.evil.example", "127.", "10.0.0.1", "[::2]", "example.com"})
        EXPECT_FALSE(is_this_machine(host)) << host;
}

TEST(Uri, KnowsItsLetters) {
    std::string unreserved;
    std::string reserved;
    for (int c = 0; c < 256; ++c) {
        if (is_unreserved(static_cast<char>(c))) unreserved += static_cast<char>(c);
        if (is_reserved(static_cast<char>(c))) reserved += static_cast<char>(c);
    }
    EXPECT_EQ(unreserved, "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~");
    EXPECT_EQ(reserved, "!#$&'()*+,/:;=?@[]");
    EXPECT_TRUE(is_path_text(""));
    EXPECT_TRUE(is_path_text("a:@%2F!$&'()*+,;=-._~"));
    for (const std::string text : {"/", "?", "#", "[", "%", " ", "\n"})
        EXPECT_FALSE(is_path_text(text)) << text;
}

}  // namespace
}  // namespace berth::crypto
