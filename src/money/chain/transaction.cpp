#include "chain/transaction.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "chain/rlp.hpp"
#include "crypto/keccak.hpp"

namespace berth::chain {
namespace {

constexpr char eip1559_type = 2;
constexpr std::string_view transfer_selector = "\xa9\x05\x9c\xbb";  // transfer(address,uint256)

Bytes encode_number(std::int64_t number) {
    require(number >= 0, "no number of a transaction is negative");
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

namespace {

Bytes signed_bytes(const Transaction& transaction, const SignatureParts& signature) {
    return eip1559_type +
           rlp::encode_list(members(transaction) +
                            rlp::encode_number(std::uint64_t{signature.is_odd ? 1U : 0U}) +
                            rlp::encode_number(signature.r) + rlp::encode_number(signature.s));
}

Bytes signed_hash(const Transaction& transaction) {
    return crypto::keccak256(eip1559_type + rlp::encode_list(members(transaction)));
}

}  // namespace

Signed sign(const Transaction& transaction, const crypto::SigningKey& key) {
    require(transaction.priority_fee <= transaction.fee_max, "the tip is part of the whole fee");
    const crypto::Signature signature = key.sign(signed_hash(transaction));
    Signed made;
    made.bytes = signed_bytes(transaction, {Bytes(view(signature.r)), Bytes(view(signature.s)),
                                            signature.recovery_id == 1});
    std::ranges::copy(crypto::keccak256(made.bytes), made.hash.bytes.begin());
    return made;
}

std::optional<Original> rebuild(const Transaction& transaction, const SignatureParts& signature,
                                const Hash& hash) {
    require(signature.r.size() == word_bytes && signature.s.size() == word_bytes,
            "the parts of a signature are words");
    const Bytes bytes = signed_bytes(transaction, signature);
    const auto from =
        crypto::recover(signed_hash(transaction),
                        signature.r + signature.s + static_cast<char>(signature.is_odd ? 1 : 0));
    if (!from || crypto::keccak256(bytes) != hash.view()) return std::nullopt;
    return Original{.hash = hash,
                    .from = *from,
                    .nonce = transaction.nonce,
                    .to = transaction.to,
                    .data = transaction.data,
                    .fee_max = transaction.fee_max,
                    .priority_fee = transaction.priority_fee,
                    .bytes = bytes};
}

std::optional<Original> parse_signed(std::string_view bytes, std::int64_t chain_id) {
    enum Member { chain, nonce, priority, fee, gas, to, ether, data, access, odd, r, s, count };
    if (bytes.empty() || bytes[0] != eip1559_type) return std::nullopt;
    const auto list = rlp::decode(bytes.substr(1));
    if (!list || !list->is_list || list->items.size() != count) return std::nullopt;
    const auto& items = list->items;
    if (items[to].bytes.size() != crypto::Address{}.bytes.size() ||
        items[r].bytes.size() > word_bytes || items[s].bytes.size() > word_bytes)
        return std::nullopt;
    const auto number = [&](Member member) {
        const Bytes& digits = items[member].bytes;
        if (digits.size() > sizeof(std::int64_t)) return std::int64_t{-1};
        const Bytes eight = Bytes(sizeof(std::int64_t) - digits.size(), '\0') + digits;
        return static_cast<std::int64_t>(load_big_endian(eight.data()));
    };
    Transaction transaction{.chain_id = number(chain),
                            .nonce = number(nonce),
                            .priority_fee = number(priority),
                            .fee_max = number(fee),
                            .gas_max = number(gas),
                            .to = {},
                            .data = items[data].bytes};
    if (transaction.chain_id != chain_id || transaction.nonce < 0 || transaction.priority_fee < 0 ||
        transaction.fee_max < 0 || transaction.gas_max < 0)
        return std::nullopt;
    std::ranges::copy(items[to].bytes, transaction.to.bytes.begin());
    Hash hash;
    std::ranges::copy(crypto::keccak256(bytes), hash.bytes.begin());
    return rebuild(transaction, {word(items[r].bytes), word(items[s].bytes), number(odd) == 1},
                   hash);
}

Bytes erc20_transfer(const Payment& payment, std::string_view reference) {
    require(payment.amount.value >= 0, "no payment is negative");
    require(reference.empty() || reference.size() == reference_bytes, "a reference has 16 bytes");
    Bytes amount;
    append_big_endian(amount, static_cast<std::uint64_t>(payment.amount.value));
    return Bytes(transfer_selector) + word(payment.to.view()) + word(amount) + Bytes(reference);
}

std::optional<PaymentCall> payment_in(std::string_view data) {
    constexpr std::size_t arguments_bytes = transfer_selector.size() + 2 * word_bytes;
    if (data.size() != arguments_bytes && data.size() != arguments_bytes + reference_bytes)
        return std::nullopt;
    PaymentCall call;
    const std::size_t to_at = transfer_selector.size() + word_bytes - call.payment.to.bytes.size();
    std::ranges::copy(data.substr(to_at, call.payment.to.bytes.size()),
                      call.payment.to.bytes.begin());
    const std::uint64_t amount = load_big_endian(data.data() + arguments_bytes - sizeof amount);
    call.payment.amount = Micro{static_cast<std::int64_t>(amount & 0x7FFF'FFFF'FFFF'FFFF)};
    if (data.size() > arguments_bytes) call.reference = Bytes(data.substr(arguments_bytes));
    // Written again it must be the same: whatever else was in the words is noticed.
    if (erc20_transfer(call.payment, call.reference.value_or(Bytes())) != data) return std::nullopt;
    return call;
}

}  // namespace berth::chain
