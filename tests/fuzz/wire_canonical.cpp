// The canonical text of a document is its own canonical text, and means the same to the decoder.
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "wire/wire.hpp"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto once = wire::canonical(text);
    wire::Json kept;
    wire::Errors errors;
    wire::decode(wire::type_of<wire::Json>(), text, &kept, "body", errors);
    check(once.has_value() == errors.empty(), "canonical() and decode() take the same documents");
    if (!once) return 0;
    check(wire::canonical(*once) == once, "canonical text is a fixed point");
    check(wire::canonical(kept.text) == once, "text that was kept means what was sent");
    return 0;
}
