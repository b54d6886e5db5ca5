// RLP against the examples of the Ethereum wiki, and every way to spell a value wrongly.
#include "chain/rlp.hpp"

#include <gtest/gtest.h>

#include "support/linear.hpp"

namespace berth::chain::rlp {
namespace {

Item text(std::string_view bytes) { return {false, Bytes(bytes), {}}; }
Item list(std::vector<Item> items) { return {true, {}, std::move(items)}; }

struct Example {
    Item item;
    std::string hex;
};

std::vector<Example> examples() {
    const std::string lorem = "Lorem ipsum dolor sit amet, consectetur adipisicing elit";
    return {
        {text("dog"), "83646f67"},
        {list({text("cat"), text("dog")}), "c88363617483646f67"},
        {text(""), "80"},
        {list({}), "c0"},
        {text(std::string(1, '\0')), "00"},
        {text("\x0f"), "0f"},
        {text("\x7f"), "7f"},
        {text("\x80"), "8180"},
        {text(std::string_view("\x04\x00", 2)), "820400"},
        {list({list({}), list({list({})}), list({list({}), list({list({})})})}),
         "c7c0c1c0c3c0c1c0"},
        {text(lorem), "b838" + to_hex(lorem)},
        {text(std::string(55, 'a')), "b7" + to_hex(std::string(55, 'a'))},
        {text(std::string(1024, 'a')), "b90400" + to_hex(std::string(1024, 'a'))},
        {list({text(lorem)}), "f83ab838" + to_hex(lorem)},
    };
}

TEST(Rlp, EncodesAndDecodesTheKnownExamples) {
    for (const auto& [item, hex] : examples()) {
        EXPECT_EQ(to_hex(encode(item)), hex);
        EXPECT_EQ(decode(from_hex(hex).value()), item) << hex;
    }
}

TEST(Rlp, EncodesNumbersWithoutLeadingZeros) {
    EXPECT_EQ(to_hex(encode_number(std::uint64_t{0})), "80");
    EXPECT_EQ(to_hex(encode_number(std::uint64_t{15})), "0f");
    EXPECT_EQ(to_hex(encode_number(std::uint64_t{128})), "8180");
    EXPECT_EQ(to_hex(encode_number(std::uint64_t{1024})), "820400");
    EXPECT_EQ(to_hex(encode_number(~std::uint64_t{0})), "88ffffffffffffffff");
    EXPECT_EQ(to_hex(encode_number(std::string_view("\0\0\x01\x02", 4))), "820102");
    EXPECT_EQ(to_hex(encode_number(std::string_view("\0\0", 2))), "80");
}

TEST(Rlp, RefusesWhatIsNotTheOneEncoding) {
    const std::vector<std::string> wrong{
        "",                                       // nothing
        "8100",                                   // a byte that is its own encoding
        "817f",                                   //
        "83646f",                                 // too short
        "83646f6767",                             // too long
        "c88363617483646f",                       // a list that ends early
        "c883636174836f6f6700",                   // and one that does not end
        "c1",                                     //
        "c283646f",                               // a member longer than its list
        "b80161",                                 // a long form for a short text
        "b837" + to_hex(std::string(55, 'a')),    //
        "b90038" + to_hex(std::string(56, 'a')),  // a length with a leading zero
        "b8",                                     // no length
        "b9ff",                                   //
        "bfffffffffffffffff",                     // far more than there is
        "ffffffffffffffffff",                     //
        "f800",                                   // a long form for a short list
        "f7",                                     //
        "c28100",                                 // wrong inside
        "0000",                                   // two items
    };
    for (const std::string& hex : wrong) EXPECT_FALSE(decode(from_hex(hex).value())) << hex;
}

TEST(Rlp, HasBounds) {
    const auto nested = [](int depth) {
        Bytes bytes = encode_list("");
        for (int i = 1; i < depth; ++i) bytes = encode_list(bytes);
        return bytes;
    };
    EXPECT_TRUE(decode(nested(decode_depth_max)));
    EXPECT_FALSE(decode(nested(decode_depth_max + 1)));
    EXPECT_TRUE(decode(encode_bytes(std::string(decode_bytes_max - 4, 'a'))));
    EXPECT_FALSE(decode(encode_bytes(std::string(decode_bytes_max, 'a'))));
}

TEST(Rlp, IsReadInLinearTime) {
    const auto read = [](const std::string& data) { return decode(data).has_value(); };
    const auto nested = [](const std::string& unit) {
        return [unit](std::size_t bytes) {
            Bytes out = encode_list(berth::test::repeated(unit, bytes - 64));
            for (int i = 2; i < decode_depth_max; ++i) out = encode_list(out);
            return out;
        };
    };
    for (const std::string unit : {"a", "\x80", "\xc0", "\x82zz", "\xc1\xc0"})
        berth::test::expect_linear(unit, decode_bytes_max, nested(unit), read);
}

}  // namespace
}  // namespace berth::chain::rlp
