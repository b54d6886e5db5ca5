#include "tickets/redaction.hpp"

#include <gtest/gtest.h>

namespace berth::test {
namespace {

using tickets::without_secrets;

std::string cleaned(const std::string& text) {
    return without_secrets(text, [](const std::string&) { return false; });
}

constexpr const char* phrase =
    "legal winner thank year wave sausage worth useful legal winner thank yellow";

TEST(TicketRedaction, TakesOutEverySecretOfAShapeThatIsKnown) {
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
    };
    for (const auto& sample : samples) {
        const std::string out = cleaned(sample.text);
        EXPECT_EQ(out.find(sample.secret), out.npos) << sample.text << "\nbecame\n" << out;
    }
}

TEST(TicketRedaction, LeavesWhatPeopleWriteAlone) {
    for (const std::string text :
         {"My deposit of 5 USDC does not show since yesterday: where is it?",
          "The job 0198c0de-0000-7000-8000-000000000001 failed with exit code 137.",
          "My address is 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed.",
          "I can start the machine but the model does not answer when I ask it about the weather.",
          "Die Zahlung kam nicht an – danke für die Hilfe! 你好"})
        EXPECT_EQ(cleaned(text), text);
}

TEST(TicketRedaction, KeepsATransactionThatTheAccountKnows) {
    const std::string known = "0x" + std::string(64, 'b');
    const auto is_known = [&](const std::string& hash) { return hash == known; };
    EXPECT_EQ(without_secrets("paid by " + known, is_known), "paid by " + known);
    const std::string shouted = "0x" + std::string(64, 'B');
    EXPECT_EQ(without_secrets(shouted, is_known), shouted);
    EXPECT_EQ(without_secrets("0x" + std::string(64, 'c'), is_known), "0x[redacted]");
}

TEST(TicketRedaction, AsksForABoundedNumberOfTransactions) {
    int asked = 0;
    std::string text;
    for (int i = 0; i < 100; ++i) text += std::string(64, 'a') + " ";
    without_secrets(text, [&](const std::string&) {
        ++asked;
        return true;
    });
    EXPECT_EQ(asked, tickets::known_transactions_max);
}

}  // namespace
}  // namespace berth::test
