// Valid bodies, damaged at random: each either decodes or is refused as INVALID_INPUT, with a
// message that is short and printable.
#include <random>

#include "base/bytes.hpp"
#include "wire/complaint.hpp"
#include "wire/sample.hpp"

namespace berth {
namespace {

constexpr int rounds = 20'000;
constexpr std::size_t message_bytes_max = 8'192;

class Mutator {
public:
    std::string mutate(std::string body) {
        for (std::size_t changes = 1 + below(4); changes > 0 && !body.empty(); --changes) {
            const std::size_t at = below(body.size());
            const std::size_t length = 1 + below(std::min<std::size_t>(16, body.size() - at));
            switch (below(5)) {
                case 0: body[at] = static_cast<char>(below(256)); break;
                case 1: body.erase(at, length); break;
                case 2: body.insert(below(body.size()), body.substr(at, length)); break;
                case 3: body.insert(at, tokens[below(tokens.size())]); break;
                case 4: body.replace(at, length, tokens[below(tokens.size())]); break;
            }
        }
        return body;
    }

private:
    static inline const std::vector<std::string> tokens{
        "{",           "}",    "[",  "]",     ",",       ":",       "\"",       "\\",
        "null",        "true", "-0", "1e999", "\\u0000", "\\ud800", "\xff",     "\"a\"",
        "{}",          "[[[[", " ",  "\n",    "\"a\":",  "1.0",     "\xc3\xa9", "\"flag\":true,",
        "\"extra\":1,"};

    std::size_t below(std::size_t bound) { return random_() % bound; }

    std::mt19937_64 random_{20260115};
};

TEST(WireMutation, DamagedBodiesAreDecodedOrRefused) {
    const std::string body = sample::example_text(wire::type_of<sample::Everything>());
    Mutator mutator;
    int decoded = 0;
    for (int i = 0; i < rounds; ++i) {
        const std::string damaged = mutator.mutate(body);
        const std::string message = complaint<sample::Everything>(damaged);
        if (message.empty()) ++decoded;
        ASSERT_LE(message.size(), message_bytes_max) << damaged;
        ASSERT_TRUE(utf8_length(message).has_value()) << damaged;
    }
    EXPECT_GT(decoded, 0) << "some changes do no harm";
    EXPECT_LT(decoded, rounds / 2) << "most changes do";
}

TEST(WireMutation, WhatDecodesIsAFixedPointOfEncode) {
    const std::string body = sample::example_text(wire::type_of<sample::Everything>());
    Mutator mutator;
    for (int i = 0; i < rounds; ++i) {
        const std::string damaged = mutator.mutate(body);
        if (!complaint<sample::Everything>(damaged).empty()) continue;
        const std::string once = wire::encode(wire::decode<sample::Everything>(damaged));
        ASSERT_EQ(wire::encode(wire::decode<sample::Everything>(once)), once) << damaged;
    }
}

}  // namespace
}  // namespace berth
