// Signatures and addresses from outside: no input harms their readers, and who is found to have
// signed is found again from every spelling.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "crypto/secp256k1.hpp"

using namespace berth;
using namespace berth::crypto;

namespace {

void read_texts(std::string_view text) {
    is_smart_wallet_signature(text);
    if (const auto signature = parse_signature(text)) {
        check(signature->size() == signature_bytes, "a signature has 65 bytes");
        check(parse_signature("0x" + to_hex(*signature)) == signature, "it survives its text");
        recover(personal_message_hash(text), *signature);
    }
    if (const auto address = parse_address(text)) {
        check(parse_address(to_string(*address)) == address, "an address survives lower case");
        check(parse_checksummed(checksummed(*address)) == address, "and its checksum");
        check(has_checksum(text) == (checksummed(*address) == text), "there is one checksum");
    }
}

void recover_bytes(std::string_view bytes) {
    const auto signer = recover(personal_message_hash("berth"), bytes);
    if (!signer) return;
    std::string other_v(bytes);
    other_v.back() = static_cast<char>(bytes.back() < 27 ? bytes.back() + 27 : bytes.back() - 27);
    check(recover(personal_message_hash("berth"), other_v) == signer, "v has two spellings");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    read_texts(input);
    recover_bytes(input);
    return 0;
}
