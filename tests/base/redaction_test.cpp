#include "base/redaction.hpp"

#include <gtest/gtest.h>

namespace berth::test {
namespace {

std::string cleaned(const std::string& text) {
    return without_secrets(text, [](const std::string&) { return false; });
}

std::string byte_list(int count) {
    std::string list;
    for (int i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + std::to_string(i);
    return list;
}

constexpr const char* phrase =
    "legal winner thank year wave sausage worth useful legal winner thank yellow";

TEST(Redaction, TakesOutEverySecretOfAShapeThatIsKnown) {
    const std::string hex(64, 'a');
    const struct {
        std::string text;
        std::string secret;
    } samples[] = {
        {"my key ark_7Hq2mZ0cV4tR8yB1nK5sW3xE6uJ9pL2dF0gA fails", "7Hq2mZ0cV4tR8yB1"},
        {"curl -H 'Authorization: Bearer abc.def-ghi' x", "abc.def-ghi"},
        {"authorization: basic dXNlcjpwYXNz\nnext", "dXNlcjpwYXNz"},
        {"Bearer QWxhZGRpbjpvcGVu and", "QWxhZGRpbjpvcGVu"},
        {"-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\nx", "MHcCAQEE"},
        {"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1", "b3BlbnNzaC1"},
        {"0x" + hex, hex},
        {"key " + hex + ".", hex},
        {"KEY " + std::string(64, 'F'), std::string(64, 'F')},
        {hex + hex, hex},
        {"seed: " + std::string(phrase), "sausage"},
        {"1. legal\n2. winner\n3. thank\n4. year\n5. wave\n6. sausage\n7. worth\n8. useful\n"
         "9. legal\n10. winner\n11. thank\n12. yellow",
         "sausage"},
        {"LEGAL, winner, thank, year, wave, sausage, worth, useful, legal, winner, thank, yellow",
         "sausage"},
        {"Cookie: __Host-session=brs; theme=dark\nbye", "theme=dark"},
        {"Set-Cookie: sid=31d4d96e407aad42; Path=/", "31d4d96e407aad42"},
        {"the session=31d4d96e407aad42 of mine", "31d4d96e407aad42"},
        {"my password is hunter2, really", "hunter2"},
        {"Password: hunter2", "hunter2"},
        {R"({"api_key": "aBcDeF123456"})", "aBcDeF123456"},
        {"token=31d4d96e407aad42&x=1", "31d4d96e407aad42"},
        {"sk-proj-abcdefghijklmnopqrstuvwx", "abcdefghijklmnop"},
        {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "dozjgNryP4"},
        {"5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ", "5HueCGU8rMjxEXxi"},
        {"yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk= is it", "yAnz5TF+lXXJ"},
        {"hf_abcdefghijklmnop", "abcdefghijklmnop"},
        {"postgres://user:hunter2@db/x", "hunter2"},
        {"private key: 0123456789abcdef0123456789abcdef", "0123456789abcdef"},
        {"git clone https://ghp_abcdefghijklmnopqrst12@github.com/o/r", "abcdefghijklmnop"},
        {"see logs/sk-abcdefghijklmnopqrstuvwx.txt", "abcdefghijklmnop"},
        {"a+ghp_abcdefghijklmnopqrst12", "abcdefghijklmnop"},
        {"x.glpat-abcdefghijklmnop", "abcdefghijklmnop"},
        {"aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"},
        {"S3_ACCESS_KEY=0aB1cD2eF3", "0aB1cD2eF3"},
        {"mnemonic: eins zwei drei vier fünf sechs\nbye", "sechs"},
        {R"({"mnemonic": "eins zwei drei vier"})", "vier"},
        {R"({"headers": {"Cookie": "sid=31d4d96e; theme=dark", "x": "y"}})", "31d4d96e"},
        {R"({"authorization": "Basic dXNlcjpwYXNz"})", "dXNlcjpwYXNz"},
        {R"({\"Authorization\": \"Basic dXNlcjpwYXNz\"})", "dXNlcjpwYXNz"},
        {"{'Set-Cookie': 'SID=31d4d96e'}", "31d4d96e"},
        {"curl -b 'SID=31d4d96e; a=b' https://x", "31d4d96e"},
        {"curl -s --cookie SID=31d4d96e https://x", "31d4d96e"},
        {"curl https://x \\\n  --cookie=SID=31d4d96e", "31d4d96e"},
        {"curl -u ada:hunter2 https://x", "hunter2"},
        {std::string(86, 'Q') + "==", "QQQQ"},
        {"[" + byte_list(64) + "]", "17,18,19"},
        {"[" + byte_list(32) + "]", "17,18,19"},
        {"MHcCAQEEIIrYSSNQFaA2Hwf1\nduRSKKtLYX5CB04f\n-----END EC PRIVATE KEY-----", "duRSKKt"},
        {"key:\nMHcCAQEEIIrYSSNQFaA2Hwf1\nduRS\n-----END EC PRIVATE KEY-----", "MHcCAQEE"},
        {"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nP2/56wAAA\n"
         "---- END SSH2 ENCRYPTED PRIVATE KEY ----",
         "P2/56wAAA"},
        {"Public-Lines: 1\nAAAAB3Nz\nPrivate-Lines: 2\nAAAAgQCx\nbm90aGVy\nPrivate-MAC: 12",
         "bm90aGVy"},
    };
    for (const auto& sample : samples) {
        const std::string out = cleaned(sample.text);
        EXPECT_EQ(out.find(sample.secret), out.npos) << sample.text << "\nbecame\n" << out;
    }
}

TEST(Redaction, LeavesWhatPeopleWriteAlone) {
    for (const std::string text :
         {"My deposit of 5 USDC does not show since yesterday: where is it?",
          "The job 0198c0de-0000-7000-8000-000000000001 failed with exit code 137.",
          "My address is 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed.",
          "My mnemonic is lost, and the seed phrase is in a drawer that I cannot open.",
          "It used [12,34,56] of the blocks; curl -b works and tar -b too, seed: 42.",
          "Solana 7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV is an address, too.",
          "/var/log/berth/agent.log of nvcr.io/nvidia/pytorch:24.05-py3 says nothing.",
          "I can start the machine but the model does not answer when I ask it about the weather.",
          "Die Zahlung kam nicht an – danke für die Hilfe! 你好"})
        EXPECT_EQ(cleaned(text), text);
}

TEST(Redaction, KeepsATransactionThatTheAccountKnows) {
    const std::string known = "0x" + std::string(64, 'b');
    const auto is_known = [&](const std::string& hash) { return hash == known; };
    EXPECT_EQ(without_secrets("paid by " + known, is_known), "paid by " + known);
    const std::string shouted = "0x" + std::string(64, 'B');
    EXPECT_EQ(without_secrets(shouted, is_known), shouted);
    EXPECT_EQ(without_secrets("0x" + std::string(64, 'c'), is_known), "0x[redacted]");
}

TEST(Redaction, KeepsWhatAnOperatorCallsATransactionOrAHash) {
    const std::string hash = "0x" + std::string(64, 'b');
    const std::string digest = "sha256:" + std::string(64, 'c');
    for (const std::string& text :
         {"sent as tx " + hash, "the transaction hash is " + hash + ".", "tx_hash=" + hash,
          "https://basescan.org/tx/" + hash, "image repo/name@" + digest, digest})
        EXPECT_EQ(without_unnamed_secrets(text), text);
    EXPECT_EQ(without_unnamed_secrets("it is " + hash), "it is 0x[redacted]");
    EXPECT_EQ(without_secrets("sent as tx " + hash, {}), "sent as tx 0x[redacted]");
    const auto is_known = [&](const std::string& one) { return one == hash; };
    EXPECT_EQ(without_unnamed_secrets("it is " + hash, is_known), "it is " + hash);
}

TEST(Redaction, AsksForABoundedNumberOfTransactions) {
    int asked = 0;
    std::string text;
    for (int i = 0; i < 100; ++i) text += std::string(64, 'a') + " ";
    without_secrets(text, [&](const std::string&) {
        ++asked;
        return true;
    });
    EXPECT_EQ(asked, known_transactions_max);
}

}  // namespace
}  // namespace berth::test
