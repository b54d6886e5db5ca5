// Structured fields from outside: what is read is written back as it was, so there is one spelling.
#include <cstdint>
#include <string_view>

#include "agent_protocol/structured.hpp"
#include "base/check.hpp"

using namespace berth;
using namespace berth::agent_protocol;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto dictionary = parse_dictionary(text)) {
        check(write(*dictionary) == text, "a dictionary has one spelling");
        check(dictionary->size() <= field_parts_max, "a dictionary is bounded");
    }
    if (const auto bytes = from_base64(text)) check(to_base64(*bytes) == text, "so has base64");
    check(from_base64(to_base64(text)) == text, "bytes survive base64");
    return 0;
}
