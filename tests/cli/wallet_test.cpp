// Keystores: those of others are read, ours are written so that others can.
#include "cli/wallet.hpp"

#include <gtest/gtest.h>

#include "support/fakes.hpp"

namespace berth::test {
namespace {

using namespace cli;

// The first is an example of the definition of Web3 Secret Storage, the second one of geth's own
// tests; its passphrase is empty. (The definition's example for scrypt has a cost that RFC 7914
// does not allow.)
const std::string by_pbkdf2 = R"({"crypto":{"cipher":"aes-128-ctr","cipherparams":{"iv":
    "6087dab2f9fdbbfaddc31a909735c1e6"},"ciphertext":
    "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46","kdf":"pbkdf2","kdfparams":
    {"c":262144,"dklen":32,"prf":"hmac-sha256","salt":
    "ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd"},"mac":
    "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2"},
    "id":"3198bc9c-6672-5ab3-d995-4942343ae5b6","version":3})";
const std::string by_scrypt = R"({"crypto":{"cipher":"aes-128-ctr","cipherparams":{"iv":
    "dc4926b48a105133d2f16b96833abf1e"},"ciphertext":
    "b87781948a1befd247bff51ef4063f716cf6c2d3481163e9a8f42e1f9bb74145","kdf":"scrypt","kdfparams":
    {"dklen":32,"n":2,"p":1,"r":8,"salt":
    "004244bbdc51cadda545b1cfa43cff9ed2ae88e08c61f1479dbb45410722f8f0"},"mac":
    "39990c1684557447940d4c69e06b1b82b2aceacb43f284df65c956daf3046b85"},
    "id":"ce541d8d-c79b-40f8-9f8c-20f59616faba","version":3})";

std::string address_in(const std::string& json, std::string_view passphrase) {
    const crypto::Secret secret = read_keystore(json, passphrase);
    return crypto::to_string(crypto::SigningKey::from_bytes(secret.view())->address());
}

Exit refusal(const std::string& json, std::string_view passphrase) {
    try {
        read_keystore(json, passphrase);
        return Exit::ok;
    } catch (const Failure& failure) {
        return failure.exit;
    }
}

std::string changed(std::string json, const std::string& from, const std::string& to) {
    json.replace(json.find(from), from.size(), to);
    return json;
}

TEST(Keystores, OfOthersAreRead) {
    EXPECT_EQ(to_hex(read_keystore(by_pbkdf2, "testpassword").view()),
              "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d");
    EXPECT_EQ(address_in(by_pbkdf2, "testpassword"), "0x008aeeda4d805471df9b2a5b0f38a0c3bcba786b");
    EXPECT_EQ(address_in(by_scrypt, ""), "0x45dea0fb0bba44f4fcf290bba71fd57d7117cbb8");
    EXPECT_EQ(refusal(by_scrypt, "testpassword1"), Exit::refused);
}

TEST(Keystores, AreRefusedWhenTheyAreNone) {
    EXPECT_EQ(refusal("", "x"), Exit::usage);
    EXPECT_EQ(refusal("{}", "x"), Exit::usage);
    EXPECT_EQ(refusal(changed(by_scrypt, R"("version":3)", R"("version":1)"), "x"), Exit::usage);
    EXPECT_EQ(refusal(changed(by_scrypt, "aes-128-ctr", "aes-128-cbc"), "x"), Exit::usage);
    EXPECT_EQ(refusal(changed(by_scrypt, R"("n":2)", R"("n":3)"), "x"), Exit::usage);
    EXPECT_EQ(refusal(changed(by_scrypt, R"("r":8)", R"("r":1000000)"), "x"), Exit::usage);
    EXPECT_EQ(refusal(changed(by_pbkdf2, R"("c":262144)", R"("c":99999999999)"), "x"), Exit::usage);
    EXPECT_EQ(refusal(changed(by_pbkdf2, R"("dklen":32)", R"("dklen":16)"), "x"), Exit::usage);
    EXPECT_EQ(refusal(changed(by_pbkdf2, "5318b4d5", "5318b4d6"), "testpassword"), Exit::refused)
        << "a changed keystore does not open";
}

TEST(Keystores, OfOursOpenWithTheirPassphraseAlone) {
    SeededRandom random;
    const crypto::Secret secret = crypto::Secret::make(random);
    const std::string json = make_keystore(secret, "correct horse", random, Cost::light);
    EXPECT_EQ(read_keystore(json, "correct horse").view(), secret.view());
    EXPECT_EQ(refusal(json, "correct horsf"), Exit::refused);
    EXPECT_EQ(json.find(to_hex(secret.view())), std::string::npos);
    const auto address = crypto::SigningKey::from_bytes(secret.view())->address();
    EXPECT_NE(json.find(crypto::to_string(address).substr(2)), std::string::npos);
}

}  // namespace
}  // namespace berth::test
