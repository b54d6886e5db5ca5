#include "chain/transaction.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "chain/rlp.hpp"
#include "crypto/keccak.hpp"

namespace berth::chain {
namespace {

constexpr char eip1559_type = 2;
constexpr std::size_t word_bytes = 32;
constexpr std::string_view transfer_selector = "\xa9\x05\x9c\xbb";  // transfer(address,uint256)

Bytes encode_number(std::int64_t number) {
    check(number >= 0, "no number of a transaction is negative");
    return rlp::encode_number(static_cast<std::uint64_t>(number));
}

// The members that are signed, one after the other.
Bytes members(const Transaction& transaction) {
    const std::string_view no_ether, no_access_list;
    return encode_number(transaction.chain_id) + encode_number(transaction.nonce) +
           encode_number(transaction.priority_fee) + encode_number(transaction.fee_max) +
           encode_number(transaction.gas_max) + rlp::encode_bytes(transaction.to.view()) +
           rlp::encode_number(no_ether) + rlp::encode_bytes(transaction.data) +
           rlp::encode_list(no_access_list);
}

template <std::size_t size>
std::string_view view(const std::array<char, size>& bytes) {
    return {bytes.data(), bytes.size()};
}

Bytes word(std::string_view bytes) { return Bytes(word_bytes - bytes.size(), '\0').append(bytes); }

}  // namespace

Signed sign(const Transaction& transaction, const crypto::SigningKey& key) {
    check(transaction.priority_fee <= transaction.fee_max, "the tip is part of the whole fee");
    const Bytes unsigned_members = members(transaction);
    const crypto::Signature signature =
        key.sign(crypto::keccak256(eip1559_type + rlp::encode_list(unsigned_members)));
    const auto parity = static_cast<std::uint64_t>(signature.recovery_id);

    Signed made;
    made.bytes = eip1559_type + rlp::encode_list(unsigned_members + rlp::encode_number(parity) +
                                                 rlp::encode_number(view(signature.r)) +
                                                 rlp::encode_number(view(signature.s)));
    std::ranges::copy(crypto::keccak256(made.bytes), made.hash.bytes.begin());
    return made;
}

Bytes erc20_transfer(const Payment& payment) {
    check(payment.amount.value >= 0, "no payment is negative");
    Bytes amount;
    append_big_endian(amount, static_cast<std::uint64_t>(payment.amount.value));
    return Bytes(transfer_selector) + word(payment.to.view()) + word(amount);
}

}  // namespace berth::chain
