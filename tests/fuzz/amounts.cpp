// Amounts as text: DecimalString, MicroAmount and its signed kind. Each number has one spelling and
// whatever else comes is refused; a plain reader beside ours says which is which.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/describe.hpp>

#include "base/check.hpp"
#include "base/json_text.hpp"
#include "base/money.hpp"
#include "base/problem.hpp"
#include "wire/wire.hpp"

using namespace berth;

namespace fuzz {

struct Amounts {
    wire::Decimal decimal;
    Micro micro;
};
BOOST_DESCRIBE_STRUCT(Amounts, (), (decimal, micro))

struct Signed {
    wire::SignedMicro micro;
};
BOOST_DESCRIBE_STRUCT(Signed, (), (micro))

bool is_decimal(std::string_view text) {
    constexpr std::string_view most = "9223372036854775807";
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    if (text.empty() || !std::all_of(text.begin(), text.end(), digit)) return false;
    if (text.size() > 1 && text[0] == '0') return false;
    return text.size() < most.size() || (text.size() == most.size() && text <= most);
}

template <class Struct>
bool decodes(const std::string& body) {
    try {
        const std::string again = wire::encode(wire::decode<Struct>(body));
        check(again == body, "an amount is written as it was read");
        return true;
    } catch (const Problem& problem) {
        check(problem.code == Code::invalid_input, "bad input is INVALID_INPUT");
        return false;
    }
}

void read(std::string_view text) {
    const bool expected = is_decimal(text);
    const auto number = parse_decimal(text);
    check(number.has_value() == expected, "a number is a decimal string, and nothing else is");
    if (number) check(to_string(Micro{*number}) == text, "a number has one spelling");

    std::string quoted;
    append_json_string(quoted, text);
    check(decodes<Amounts>(R"({"decimal":)" + quoted + R"(,"micro":)" + quoted + "}") == expected,
          "the wire takes the same amounts");
    const bool negative = text.size() > 1 && text[0] == '-' && text[1] != '0';
    const bool expected_signed =
        expected || (negative && is_decimal(text.substr(1))) || text == "-9223372036854775808";
    check(decodes<Signed>(R"({"micro":)" + quoted + "}") == expected_signed,
          "a signed amount may have a minus");
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::read({reinterpret_cast<const char*>(data), size});
    return 0;
}
