// Signed transactions against those that viem 2.57 makes of the same members.
#include "chain/transaction.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "chain/rlp.hpp"

namespace berth::chain {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

crypto::SigningKey key(std::string_view hex) {
    return crypto::SigningKey::from_bytes(from_hex(hex).value()).value();
}

crypto::SigningKey first_key() {
    return key("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
}
crypto::SigningKey second_key() {
    return key("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d");
}

crypto::Address address(std::string_view text) { return crypto::parse_address(text).value(); }

const crypto::Address token = address("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");

void expect_signed(const Signed& made, std::string_view bytes, std::string_view hash) {
    EXPECT_EQ(to_hex(made.bytes), bytes);
    EXPECT_EQ(to_string(made.hash), hash);
}

TEST(Transaction, WithoutFeesAndDataIsSignedAsViemSignsIt) {
    const Transaction plain{.chain_id = 8453,
                            .gas_max = 21'000,
                            .to = address("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
                            .data = {}};
    expect_signed(
        sign(plain, first_key()),
        "02f8648221058080808252089470997970c51812dc3a010c7d01b50e0d17dc79c88080c001a0fdd079df036532"
        "37116f78b22dd6c801c2579c80491b946135bef3ea217aade8a01c387de4bfddb1c649c7200e5e8f9b6368dc6f"
        "9b24133c1ba1290d919ab3b0f5",
        "0x29a96be6d57739db151138794066bee19122ffb580b79e4c130b6fb4638646be");
}

TEST(Transaction, ThatPaysATokenIsSignedAsViemSignsIt) {
    const Transaction payment{
        .chain_id = 8453,
        .nonce = 7,
        .priority_fee = 1'000'000,
        .fee_max = 52'000'000,
        .gas_max = 80'000,
        .to = token,
        .data = erc20_transfer(
            {address("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"), Micro{25'000'000}})};
    expect_signed(
        sign(payment, first_key()),
        "02f8b182210507830f424084031975008301388094833589fcd6edb6e08f4c7c32d4f71b54bda0291380b844a9"
        "059cbb00000000000000000000000070997970c51812dc3a010c7d01b50e0d17dc79c800000000000000000000"
        "000000000000000000000000000000000000017d7840c001a0f370e95c6dcb1ea5ae7ae1658558e9e7964bf3b9"
        "1cf302aa4a0bcc52ec05ea54a07dc5bcbcd65265392d781ac376b9a5d6ad5d2af2cc0d7f822555e4ee6bb6d3c"
        "b",
        "0x4be2b10b600d26113f35028f2e427ff548896b26eeb6adab538cae4dad125ef3");
}

TEST(Transaction, OfTheLargestNumbersIsSignedAsViemSignsIt) {
    const Transaction payment{
        .chain_id = 1,
        .nonce = 128,
        .priority_fee = 1'500'000'000,
        .fee_max = largest,
        .gas_max = largest,
        .to = token,
        .data = erc20_transfer(
            {address("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"), Micro{largest}})};
    expect_signed(
        sign(payment, second_key()),
        "02f8ba0181808459682f00887fffffffffffffff887fffffffffffffff94833589fcd6edb6e08f4c7c32d4f71b"
        "54bda0291380b844a9059cbb000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb9226600"
        "00000000000000000000000000000000000000000000007fffffffffffffffc001a0d7ea24c6497309af26753f"
        "cfbb4775046730a8048f01f7560088ee3d3661b70aa05f1bbbef58414d5861f759b73aee00ac7ef0d3f6c805e8"
        "a15efd22d8b0a07a40",
        "0x21724e0d2f77456ea47d7ef3576974c5c3d2633d395fff31d29fb246e65b372d");
}

// One of 256 signatures starts with a zero byte, which a number does not carry.
TEST(Transaction, WhoseSignatureStartsWithZerosIsSignedAsViemSignsIt) {
    Transaction small{.chain_id = 8453,
                      .nonce = 38,
                      .priority_fee = 1,
                      .fee_max = 2,
                      .gas_max = 21'000,
                      .to = token,
                      .data = {}};
    expect_signed(
        sign(small, first_key()),
        "02f86382210526010282520894833589fcd6edb6e08f4c7c32d4f71b54bda029138080c0809fe6544e169a9beb"
        "57583c58477237e4646f012abdfcf8a00f2b00b569c777d3a07ab33c5d4066bf87a38793fbb1b6a0c7fbf7f711"
        "e39b8c8b304b1933a754d2f4",
        "0xbab83d896781c2ccdf33a04e06c7a25043944b0d4f4fa5430203f83ea0381083");
    small.nonce = 133;
    expect_signed(
        sign(small, first_key()),
        "02f8648221058185010282520894833589fcd6edb6e08f4c7c32d4f71b54bda029138080c001a012bbc01b152a"
        "b8a652a3e1168b0c96322b10f8b8c183230d6b83c39b7bbd5fe79f1aff1b381dcd63b31b5820f390b2b5665281"
        "eabc77fdb239dd613402dbf3ae",
        "0x71535ee470b1940c72c6b09b86828c11f634f41cd36759c8d0b334ae5e5e49ec");
}

TEST(Transaction, IsOneListBehindItsType) {
    const Signed made = sign({.chain_id = 8453, .to = token, .data = "call"}, first_key());
    ASSERT_EQ(made.bytes[0], 2);
    const auto list = rlp::decode(std::string_view(made.bytes).substr(1));
    ASSERT_TRUE(list && list->is_list);
    ASSERT_EQ(list->items.size(), 12U);
    EXPECT_EQ(list->items[5].bytes, token.view());
    EXPECT_EQ(list->items[7].bytes, "call");
}

TEST(Payment, IsReadFromExactlyTheCallDataThatWritesIt) {
    const Payment payment{token, Micro{25'000'000}};
    const Bytes reference = "sixteen bytes...";
    const Bytes plain = erc20_transfer(payment);
    const Bytes named = erc20_transfer(payment, reference);
    EXPECT_EQ(plain.size(), 68U);
    EXPECT_EQ(named, plain + reference);
    EXPECT_FALSE(payment_in(plain)->reference);
    EXPECT_EQ(payment_in(named)->reference, reference);
    EXPECT_EQ(payment_in(named)->payment.to, token);
    EXPECT_EQ(payment_in(named)->payment.amount, payment.amount);
    for (const Bytes& other :
         {Bytes(), plain.substr(1), plain + "x", named + "x", "\x01" + plain.substr(1),
          Bytes(plain).replace(4, 1, "\x01"), Bytes(plain).replace(40, 1, "\x01"),
          Bytes(plain).replace(60, 1, "\xff")})
        EXPECT_FALSE(payment_in(other)) << to_hex(other);
}

// A provider cannot put words into the treasury's mouth: what it shows must have the hash it is
// asked for, and then it has the signature, too.
TEST(Original, IsBelievedOnlyWithItsHash) {
    Transaction transaction{
        .chain_id = 8453, .nonce = 3, .fee_max = 9, .gas_max = 21'000, .to = token, .data = "call"};
    const Signed made = sign(transaction, first_key());
    const auto list = rlp::decode(std::string_view(made.bytes).substr(1));
    const auto word = [&](std::size_t item) {
        const Bytes& bytes = list->items.at(item).bytes;
        return Bytes(32 - bytes.size(), '\0') + bytes;
    };
    const SignatureParts signature{word(10), word(11), !list->items.at(9).bytes.empty()};
    const auto original = rebuild(transaction, signature, made.hash);
    ASSERT_TRUE(original);
    EXPECT_EQ(original->from, first_key().address());
    EXPECT_EQ(original->bytes, made.bytes);
    transaction.nonce = 4;
    EXPECT_FALSE(rebuild(transaction, signature, made.hash));
}

}  // namespace
}  // namespace berth::chain
