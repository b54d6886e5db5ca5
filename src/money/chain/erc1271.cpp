#include "chain/erc1271.hpp"

#include "base/check.hpp"
#include "chain/transaction.hpp"

namespace berth::chain {
namespace {

// isValidSignature(bytes32,bytes); it is also what the function answers when it is.
constexpr std::string_view valid_signature_selector = "\x16\x26\xba\x7e";

Bytes abi_number(std::size_t number) {
    Bytes low;
    append_big_endian(low, number);
    return Bytes(word_bytes - low.size(), '\0') + low;
}

// The hash, where the bytes begin, how many they are, and they themselves in whole words.
Bytes question_of(const ContractSignature& signed_by) {
    constexpr std::size_t head_bytes = 2 * word_bytes;
    const std::size_t size = signed_by.signature.size();
    const std::size_t padding = (word_bytes - size % word_bytes) % word_bytes;
    return Bytes(valid_signature_selector) + signed_by.hash + abi_number(head_bytes) +
           abi_number(size) + signed_by.signature + Bytes(padding, '\0');
}

}  // namespace

bool is_signed_by_contract(Chain& chain, const ContractSignature& signed_by) {
    require(signed_by.hash.size() == word_bytes, "what is signed is a hash");
    const Trial trial = chain
                            .try_calls({{.to = signed_by.wallet,
                                         .data = question_of(signed_by),
                                         .gas_max = judging_gas_max}})
                            .front();
    if (trial.status == Trial::Status::disputed)
        throw ProviderError("The providers contradict each other about a signature of " +
                            crypto::to_string(signed_by.wallet) + ".");
    const Bytes yes =
        Bytes(valid_signature_selector) + Bytes(word_bytes - valid_signature_selector.size(), '\0');
    return trial.status == Trial::Status::succeeds && trial.result.starts_with(yes);
}

}  // namespace berth::chain
