// Recovery and signing against published signatures, then against each other.
#include "crypto/secp256k1.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "crypto/keccak.hpp"
#include "support/fakes.hpp"

namespace berth::crypto {
namespace {

constexpr std::string_view order_hex =
    "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
constexpr std::string_view half_order_hex =
    "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0";

SigningKey key_of(std::string_view hex) { return SigningKey::from_bytes(*from_hex(hex)).value(); }

// n - s, by hand: the other s that fits the same r with the other recovery id.
Bytes negated(std::string_view s) {
    const Bytes order = *from_hex(order_hex);
    Bytes out(32, '\0');
    int borrow = 0;
    for (std::size_t i = 32; i-- > 0;) {
        const int minuend = static_cast<unsigned char>(order[i]);
        const int digit = minuend - static_cast<unsigned char>(s[i]) - borrow;
        borrow = digit < 0 ? 1 : 0;
        out[i] = static_cast<char>(digit + 256 * borrow);
    }
    return out;
}

TEST(SigningKey, HasThePublishedAddress) {
    const std::vector<std::pair<std::string, std::string>> rows{
        {"0000000000000000000000000000000000000000000000000000000000000001",
         "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"},
        {"0000000000000000000000000000000000000000000000000000000000000002",
         "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF"},
        {"4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318",
         "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23"},
        {"ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
         "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"}};
    for (const auto& [key, address] : rows) EXPECT_EQ(checksummed(key_of(key).address()), address);
}

TEST(SigningKey, RefusesWhatIsNoNumberBelowTheOrder) {
    EXPECT_FALSE(SigningKey::from_bytes(""));
    EXPECT_FALSE(SigningKey::from_bytes(Bytes(31, '\1')));
    EXPECT_FALSE(SigningKey::from_bytes(Bytes(33, '\1')));
    EXPECT_FALSE(SigningKey::from_bytes(Bytes(32, '\0')));
    EXPECT_FALSE(SigningKey::from_bytes(Bytes(32, '\xff')));
    Bytes order = *from_hex(order_hex);
    EXPECT_FALSE(SigningKey::from_bytes(order));
    --order.back();
    EXPECT_TRUE(SigningKey::from_bytes(order));
}

TEST(PersonalMessage, HashesThePrefixTheLengthAndTheText) {
    EXPECT_EQ(to_hex(personal_message_hash("Hello World")),
              "a1de988600a42c4b4ab089b619297c17d53cffae5d5120d82d8a92d0bb3b78f2");
    EXPECT_EQ(to_hex(personal_message_hash("Some data")),
              "1da44b586eb0729ff70a73c326926f6ed5a25f5b056e7f47fbc6e58d86871655");
    EXPECT_EQ(personal_message_hash("12345678901"),
              keccak256("\x19"
                        "Ethereum Signed Message:\n1112345678901"));
}

TEST(SigningKey, SignsAsOtherLibrariesDo) {
    const SigningKey key =
        key_of("4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318");
    EXPECT_EQ(to_hex(key.sign(personal_message_hash("Some data")).bytes()),
              "b91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd"
              "6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a029"
              "1c");
}

TEST(Recover, FindsTheSignerOfEverySignature) {
    test::SeededRandom random(3);
    int ids[2] = {};
    for (int i = 0; i < 200; ++i) {
        const SigningKey key = SigningKey::make(random);
        const Bytes hash = random.bytes(32);
        const Signature signature = key.sign(hash);
        ++ids[signature.recovery_id];
        Bytes bytes = signature.bytes();
        ASSERT_EQ(recover(hash, bytes), key.address());
        bytes.back() = static_cast<char>(signature.recovery_id);
        ASSERT_EQ(recover(hash, bytes), key.address());
        bytes.back() = static_cast<char>(1 - signature.recovery_id);
        ASSERT_NE(recover(hash, bytes), key.address());
        ASSERT_LE(Bytes(signature.s.begin(), signature.s.end()), *from_hex(half_order_hex));
    }
    EXPECT_GT(ids[0], 50);
    EXPECT_GT(ids[1], 50);
}

class RecoverBad : public testing::Test {
protected:
    test::SeededRandom random{4};
    const SigningKey key = SigningKey::make(random);
    const Bytes hash = personal_message_hash("berth");
    const Bytes good = key.sign(hash).bytes();
    const std::string r = good.substr(0, 32);
    const std::string s = good.substr(32, 32);
    const std::string v = good.substr(64);
};

TEST_F(RecoverBad, RefusesEveryOtherV) {
    for (int value = 0; value < 256; ++value) {
        const bool known = value == 0 || value == 1 || value == 27 || value == 28;
        EXPECT_EQ(recover(hash, r + s + static_cast<char>(value)).has_value(), known) << value;
    }
}

TEST_F(RecoverBad, RefusesHighS) {
    const Bytes high = negated(s);
    ASSERT_EQ(negated(high), s);
    for (const int value : {0, 1, 27, 28})
        EXPECT_FALSE(recover(hash, r + high + static_cast<char>(value)));
    Bytes limit = *from_hex(half_order_hex);
    EXPECT_TRUE(recover(hash, r + limit + v));
    ++limit.back();
    EXPECT_FALSE(recover(hash, r + limit + v));
}

TEST_F(RecoverBad, RefusesNumbersOutOfRange) {
    const Bytes zero(32, '\0');
    const Bytes order = *from_hex(order_hex);
    const Bytes ones(32, '\xff');
    for (const Bytes& bad : {zero, order, ones}) {
        EXPECT_FALSE(recover(hash, bad + s + v));
        EXPECT_FALSE(recover(hash, r + bad + v));
        EXPECT_FALSE(recover(hash, bad + bad + v));
    }
    // x = 5 is on no point of the curve.
    EXPECT_FALSE(recover(hash, Bytes(31, '\0') + "\x05" + s + v));
}

TEST_F(RecoverBad, RefusesEveryOtherLength) {
    for (std::size_t length = 0; length < 65; ++length)
        EXPECT_FALSE(recover(hash, good.substr(0, length))) << length;
    EXPECT_FALSE(recover(hash, good + '\0'));
    EXPECT_FALSE(recover(hash, good + v));
    EXPECT_FALSE(recover(hash, good + good));
}

TEST_F(RecoverBad, FindsAnotherSignerWhenABitIsAltered) {
    for (std::size_t i = 0; i < 64; ++i) {
        Bytes altered = good;
        altered[i] = static_cast<char>(altered[i] ^ 1);
        EXPECT_NE(recover(hash, altered), key.address()) << i;
    }
}

TEST_F(RecoverBad, ReadsSignatureTextsStrictly) {
    const std::string text = "0x" + to_hex(good);
    std::string upper = text;
    for (std::size_t i = 2; i < upper.size(); ++i)
        upper[i] = static_cast<char>(std::toupper(upper[i]));
    EXPECT_EQ(parse_signature(text), good);
    EXPECT_EQ(parse_signature(upper), good);
    for (const std::string& bad :
         {std::string(), std::string("0x"), text.substr(2), "0X" + text.substr(2),
          text.substr(0, 131), text.substr(0, 130), text + "0", text + "00", " " + text, text + " ",
          text + "\n", text.substr(0, 131) + "g", "0x" + std::string(130, ' '),
          "0x" + std::string(128, '0'), "0x" + std::string(2'000'000, '0'), "-" + text.substr(1),
          text.substr(0, 131) + std::string(1, '\0')})
        EXPECT_FALSE(parse_signature(bad)) << bad.substr(0, 200);
}

TEST_F(RecoverBad, RecognisesTheMarkOfSmartWallets) {
    std::string mark;
    for (int i = 0; i < 16; ++i) mark += "6492";
    const std::string text = "0x" + to_hex(good);
    EXPECT_TRUE(is_smart_wallet_signature(text + mark));
    EXPECT_TRUE(is_smart_wallet_signature("0x" + std::string(640, 'a') + mark));
    EXPECT_FALSE(is_smart_wallet_signature(text));
    EXPECT_TRUE(is_smart_wallet_signature(text + mark + "00")) << "no plain one is as long";
    EXPECT_TRUE(is_smart_wallet_signature(text + "00"));
    EXPECT_FALSE(is_smart_wallet_signature(text + "0"));
    EXPECT_FALSE(is_smart_wallet_signature(text + "zz"));
    EXPECT_FALSE(is_smart_wallet_signature(""));
}

TEST(Recover, WorksOnSeveralThreadsAtOnce) {
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (std::uint64_t seed = 0; seed < 4; ++seed)
        threads.emplace_back([&, seed] {
            test::SeededRandom random(seed);
            for (int i = 0; i < 20; ++i) {
                const SigningKey key = SigningKey::make(random);
                const Bytes hash = random.bytes(32);
                right += recover(hash, key.sign(hash).bytes()) == key.address() ? 1 : 0;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(right, 80);
}

}  // namespace
}  // namespace berth::crypto
