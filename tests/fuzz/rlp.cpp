// RLP: whatever is accepted is the one encoding of what was read.
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "chain/rlp.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace berth;
    using namespace berth::chain;
    if (size > rlp::decode_bytes_max / 2) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto item = rlp::decode(text))
        check(rlp::encode(*item) == text, "an item has one encoding");
    check(rlp::decode(rlp::encode_bytes(text)) == rlp::Item{false, Bytes(text), {}},
          "bytes survive RLP");
    const auto list = rlp::decode(rlp::encode_list(text));
    check(!list || (list->is_list && rlp::encode(*list) == rlp::encode_list(text)),
          "a list keeps its members");
    return 0;
}
