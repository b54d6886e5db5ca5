// What an email address is, and its one spelling as the key of an account.
#include <gtest/gtest.h>

#include "mail/address.hpp"
#include "mail/repeated.hpp"

namespace berth::mail {
namespace {

TEST(Address, TakesThePlainForm) {
    const std::string_view good[] = {
        "a@b",
        "a@b.c",
        "alice@example.com",
        "berth@localhost",
        "first.last@sub.domain.example.org",
        "tag+filter@example.com",
        "o'brien@example.ie",
        "!#$%&'*+-/=?^_`{|}~@example.com",
        "1234567890@example.com",
        "x@xn--bcher-kva.example",
        "x@1and1.com",
        "x@3com.4u",
    };
    for (const std::string_view text : good) EXPECT_TRUE(is_email(text)) << text;
}

TEST(Address, RefusesEverythingElse) {
    using namespace std::string_view_literals;
    const std::string_view bad[] = {
        "",
        "@",
        "a",
        "a@",
        "@b.c",
        "a@@b.c",
        "a@b@c.d",
        ".a@b.c",
        "a.@b.c",
        "a..b@c.d",
        "a@.b",
        "a@b.",
        "a@b..c",
        "a@-b.c",
        "a@b-.c",
        "a@b_c.d",
        "a b@c.d",
        " a@b.c",
        "a@b.c ",
        "a@b. c",
        "\"a b\"@c.d",
        "\"a\"@c.d",
        "a(comment)@b.c",
        "<a@b.c>",
        "Alice <a@b.c>",
        "a@b.c, d@e.f",
        "a@b.c;d@e.f",
        "a:b@c.d",
        "a\\b@c.d",
        "a@[127.0.0.1]",
        "a@127.0.0.1",
        "a@1",
        "a@[IPv6:::1]",
        "a\r\nBcc: x@y.z@b.c",
        "a@b.c\r\nBcc: x@y.z",
        "a@b.c\n",
        "\na@b.c",
        "a@b\r.c",
        "a\tb@c.d",
        "a\0@b.c"sv,
        "a@b.c\0"sv,
        "a\x7F@b.c",
        "J\xC3\xB6rg@example.com",
        "a@b\xC3\xBC"
        "cher.example",
        "a\xFF@b.c",
    };
    for (const std::string_view text : bad) EXPECT_FALSE(is_email(text)) << text;
}

TEST(Address, HasBoundsOnItsParts) {
    EXPECT_TRUE(is_email(repeated(64, 'a') + "@example.com"));
    EXPECT_FALSE(is_email(repeated(65, 'a') + "@example.com"));
    EXPECT_TRUE(is_email("a@" + repeated(63, 'b') + ".com"));
    EXPECT_FALSE(is_email("a@" + repeated(64, 'b') + ".com"));
}

TEST(Address, IsAtMost254BytesLong) {
    const std::string label = repeated(61, 'b');
    const std::string tail = "@" + label + "." + label + "." + label;  // 186 bytes
    std::string longest = repeated(64, 'a') + tail + ".cc";
    longest.insert(longest.size() - 2, address_bytes_max - longest.size(), 'c');
    ASSERT_EQ(longest.size(), address_bytes_max);
    EXPECT_TRUE(is_email(longest));
    EXPECT_FALSE(is_email(longest + "c"));
    EXPECT_FALSE(is_email(repeated(1'000'000, 'a')));
    EXPECT_FALSE(is_email("a@" + repeated(1'000'000, '.')));
}

TEST(Address, HasOneSpellingAsAKey) {
    EXPECT_EQ(normalized_email("Alice.B+Tag@Example.COM"), "alice.b+tag@example.com");
    EXPECT_EQ(normalized_email("alice@example.com"), "alice@example.com");
    EXPECT_EQ(normalized_email("[^`{}@x.org"), std::nullopt);
    EXPECT_EQ(normalized_email("^`{}@x.org"), "^`{}@x.org");
    EXPECT_EQ(normalized_email("no address"), std::nullopt);
}

TEST(Address, EndsInItsDomain) { EXPECT_EQ(domain_of("a@b.example"), "b.example"); }

}  // namespace
}  // namespace berth::mail
