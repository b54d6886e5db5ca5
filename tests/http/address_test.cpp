#include "http/address.hpp"

#include <gtest/gtest.h>

namespace berth::http {
namespace {

Address address(std::string_view text) {
    const std::optional<Address> parsed = parse_address(text);
    EXPECT_TRUE(parsed) << text;
    return parsed.value_or(Address{});
}

TEST(HttpAddress, PrintsMappedAddressesAsIpv4) {
    EXPECT_EQ(to_string(address("::ffff:10.1.2.3")), "10.1.2.3");
    EXPECT_EQ(to_string(address("10.1.2.3")), "10.1.2.3");
    EXPECT_EQ(to_string(address("2001:DB8::1")), "2001:db8::1");
}

TEST(HttpAddress, RefusesWhatIsNoAddress) {
    for (const std::string_view text : {"", "10.0.0", "10.0.0.256", "010.0.0.1", "a", "::1%lo",
                                        "[::1]", "10.0.0.1:80", "10.0.0.1 "})
        EXPECT_FALSE(parse_address(text)) << text;
}

TEST(HttpAddress, KnowsWhatABlockHolds) {
    const struct {
        std::string_view block;
        std::string_view address;
        bool held;
    } cases[] = {
        {"10.0.0.0/8", "10.255.0.1", true},
        {"10.0.0.0/8", "11.0.0.1", false},
        {"192.168.4.0/22", "192.168.7.255", true},
        {"192.168.4.0/22", "192.168.8.0", false},
        {"127.0.0.1", "127.0.0.1", true},
        {"127.0.0.1", "127.0.0.2", false},
        {"0.0.0.0/0", "8.8.8.8", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"2001:db8::/33", "2001:db8:7fff::1", true},
        {"2001:db8::/33", "2001:db8:8000::1", false},
        {"::/0", "2001:db8::1", true},
        {"::1", "::1", true},
        {"10.0.0.0/8", "::ffff:10.2.3.4", true},
    };
    for (const auto& [text, member, held] : cases) {
        const std::optional<AddressBlock> block = AddressBlock::parse(text);
        ASSERT_TRUE(block) << text;
        EXPECT_EQ(block->contains(address(member)), held) << text << " " << member;
    }
}

TEST(HttpAddress, RefusesWhatIsNoBlock) {
    for (const std::string_view text :
         {"", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/8x", "10.0.0.0/-1",
          "10.0.0.0/8/8", "localhost", "::/0000"})
        EXPECT_FALSE(AddressBlock::parse(text)) << text;
}

TEST(HttpAddress, BelievesOnlyTrustedProxies) {
    const AddressBlocks trusted{*AddressBlock::parse("10.0.0.0/8"), *AddressBlock::parse("::1")};
    const struct {
        std::string_view peer;
        std::vector<std::string> forwarded;  // one X-Forwarded-For field each
        std::string_view client;
    } cases[] = {
        {"10.0.0.1", {}, "10.0.0.1"},
        {"10.0.0.1", {"203.0.113.9"}, "203.0.113.9"},
        {"203.0.113.9", {"198.51.100.1"}, "203.0.113.9"},
        {"10.0.0.1", {"198.51.100.1, 203.0.113.9"}, "203.0.113.9"},
        {"10.0.0.1", {"198.51.100.1, 203.0.113.9,10.3.3.3 , 10.4.4.4"}, "203.0.113.9"},
        {"10.0.0.1", {"198.51.100.1", "203.0.113.9", "10.3.3.3"}, "203.0.113.9"},
        {"10.0.0.1", {"203.0.113.9", "10.4.4.4, 10.3.3.3"}, "203.0.113.9"},
        {"10.0.0.1", {"10.5.5.5, 10.3.3.3"}, "10.5.5.5"},
        {"10.0.0.1", {"unknown"}, "10.0.0.1"},
        {"10.0.0.1", {"203.0.113.9, unknown"}, "10.0.0.1"},
        {"10.0.0.1", {"unknown, 203.0.113.9"}, "203.0.113.9"},
        {"10.0.0.1", {"203.0.113.9,"}, "10.0.0.1"},
        {"10.0.0.1", {""}, "10.0.0.1"},
        {"10.0.0.1", {"203.0.113.9:443"}, "10.0.0.1"},
        {"10.0.0.1", {"2001:db8::7"}, "2001:db8::7"},
        {"::1", {"::ffff:203.0.113.9"}, "203.0.113.9"},
        {"::ffff:10.0.0.1", {"203.0.113.9"}, "203.0.113.9"},
    };
    for (const auto& [peer, forwarded, client] : cases) {
        Headers headers;
        headers.add("Host", "a");
        for (const std::string& field : forwarded) headers.add("X-Forwarded-For", field);
        EXPECT_EQ(to_string(client_address(address(peer), headers, trusted)), client)
            << peer << " " << (forwarded.empty() ? "" : forwarded.front());
    }
}

}  // namespace
}  // namespace berth::http
