// What libraries for EIP-4361 agree on, as tables: each kind of text that must be read, each kind
// that must not, the same of fields, and what a signature proves. The corners of our own reader are
// in siwe_parse_test.cpp, those of a proof in siwe_verify_test.cpp.
#include <gtest/gtest.h>

#include "crypto/secp256k1.hpp"
#include "crypto/siwe.hpp"
#include "support/fakes.hpp"

namespace berth::crypto {
namespace {

using namespace std::chrono_literals;

// The lines of a message one by one, so that a case can say what it does to which.
struct Lines {
    std::string heading = "harbour.example wants you to sign in with your Ethereum account:";
    std::string address = "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb";
    std::string statement = "\nI rent two GPUs until noon.\n";  // between its empty lines
    std::string uri = "URI: https://harbour.example/sign-in";
    std::string version = "Version: 1";
    std::string chain_id = "Chain ID: 8453";
    std::string nonce = "Nonce: k3Vt90Qa";
    std::string issued_at = "Issued At: 2027-03-04T05:06:07.890Z";
    std::string expiration_time = "Expiration Time: 2027-03-04T05:11:07.890Z";
    std::string not_before = "Not Before: 2027-03-04T05:06:00.000Z";
    std::string request_id = "Request ID: berth_17";
    std::string resources = "Resources:\n- https://harbour.example/terms";

    std::string text() const {
        std::string joined = heading + "\n" + address + "\n" + statement;
        for (const std::string& line : {uri, version, chain_id, nonce, issued_at, expiration_time,
                                        not_before, request_id, resources})
            if (line != "left out") joined += "\n" + line;
        return joined;
    }
};

// Only what every message has.
Lines least_lines() {
    Lines lines;
    lines.statement = "\n";
    for (std::string* line :
         {&lines.expiration_time, &lines.not_before, &lines.request_id, &lines.resources})
        *line = "left out";
    return lines;
}

std::string heading_of(const std::string& who) {
    return who + " wants you to sign in with your Ethereum account:";
}

struct Readable {
    const char* name;
    void (*write)(Lines&);         // changes the lines of the least message
    void (*expect)(SiweMessage&);  // changes its fields
};

const std::vector<Readable> readable{
    {"nothing optional", [](Lines&) {}, [](SiweMessage&) {}},
    {"a statement", [](Lines& l) { l.statement = "\nLet me in, please.\n"; },
     [](SiweMessage& m) { m.statement = "Let me in, please."; }},
    {"a statement and resources",
     [](Lines& l) {
         l.statement = "\nLet me in, please.\n";
         l.resources = "Resources:\n- ipfs://bafyharbour/7\n- https://harbour.example/a.json";
     },
     [](SiweMessage& m) {
         m.statement = "Let me in, please.";
         m.resources = {"ipfs://bafyharbour/7", "https://harbour.example/a.json"};
     }},
    {"a time without a fraction", [](Lines& l) { l.issued_at = "Issued At: 2027-03-04T05:06:07Z"; },
     [](SiweMessage& m) { m.issued_at = *SiweTime::parse("2027-03-04T05:06:07Z"); }},
    {"a time of another zone",
     [](Lines& l) { l.issued_at = "Issued At: 2027-03-04T05:06:07-03:00"; },
     [](SiweMessage& m) {
         m.issued_at = *SiweTime::parse("2027-03-04T05:06:07-03:00");
         EXPECT_EQ(to_rfc3339(m.issued_at.time), "2027-03-04T08:06:07Z");
     }},
    {"an IPv4 address", [](Lines& l) { l.heading = heading_of("10.11.12.13"); },
     [](SiweMessage& m) { m.domain = "10.11.12.13"; }},
    {"an IPv6 address", [](Lines& l) { l.heading = heading_of("[2001:db8::17]"); },
     [](SiweMessage& m) { m.domain = "[2001:db8::17]"; }},
    {"a user", [](Lines& l) { l.heading = heading_of("captain@10.11.12.13"); },
     [](SiweMessage& m) { m.domain = "captain@10.11.12.13"; }},
    {"a port", [](Lines& l) { l.heading = heading_of("10.11.12.13:9000"); },
     [](SiweMessage& m) { m.domain = "10.11.12.13:9000"; }},
    {"a user and a port", [](Lines& l) { l.heading = heading_of("captain@10.11.12.13:9000"); },
     [](SiweMessage& m) { m.domain = "captain@10.11.12.13:9000"; }},
    {"localhost and a port", [](Lines& l) { l.heading = heading_of("localhost:9000"); },
     [](SiweMessage& m) { m.domain = "localhost:9000"; }},
    {"a scheme", [](Lines& l) { l.heading = heading_of("https://harbour.example"); },
     [](SiweMessage& m) { m.scheme = "https"; }},
    {"a scheme in the statement and the URI alone",
     [](Lines& l) {
         l.heading = heading_of("localhost:9000");
         l.statement = "\nI accept http://localhost:9000/terms\n";
         l.uri = "URI: http://localhost:9000/sign-in";
     },
     [](SiweMessage& m) {
         m.domain = "localhost:9000";
         m.statement = "I accept http://localhost:9000/terms";
         m.uri = "http://localhost:9000/sign-in";
     }},
    {"a URI with an IPv6 address", [](Lines& l) { l.uri = "URI: https://[2001:db8::17]"; },
     [](SiweMessage& m) { m.uri = "https://[2001:db8::17]"; }},
    {"a URI with an IPv4 address", [](Lines& l) { l.uri = "URI: https://10.11.12.13"; },
     [](SiweMessage& m) { m.uri = "https://10.11.12.13"; }},
    {"a URI with a port", [](Lines& l) { l.uri = "URI: https://10.11.12.13:9000"; },
     [](SiweMessage& m) { m.uri = "https://10.11.12.13:9000"; }},
    {"a URI with a query and a fragment",
     [](Lines& l) { l.uri = "URI: https://10.11.12.13/?berth=17#quay"; },
     [](SiweMessage& m) { m.uri = "https://10.11.12.13/?berth=17#quay"; }},
    {"another chain", [](Lines& l) { l.chain_id = "Chain ID: 11155111"; },
     [](SiweMessage& m) { m.chain_id = 11155111; }},
    {"everything optional", [](Lines& l) { l = Lines(); },
     [](SiweMessage& m) {
         m.statement = "I rent two GPUs until noon.";
         m.expiration_time = SiweTime::parse("2027-03-04T05:11:07.890Z");
         m.not_before = SiweTime::parse("2027-03-04T05:06:00.000Z");
         m.request_id = "berth_17";
         m.resources = {"https://harbour.example/terms"};
     }},
};

SiweMessage least_message() {
    SiweMessage message;
    message.domain = "harbour.example";
    message.address = *parse_checksummed("0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb");
    message.uri = "https://harbour.example/sign-in";
    message.chain_id = 8453;
    message.nonce = "k3Vt90Qa";
    message.issued_at = *SiweTime::parse("2027-03-04T05:06:07.890Z");
    return message;
}

TEST(SiweCases, AreReadAndWrittenBack) {
    for (const Readable& one : readable) {
        Lines lines = least_lines();
        one.write(lines);
        SiweMessage expected = least_message();
        one.expect(expected);
        EXPECT_EQ(parse_siwe(lines.text()), expected) << one.name;
        EXPECT_EQ(write_siwe(expected), lines.text()) << one.name;
    }
}

struct Unreadable {
    const char* name;
    void (*spoil)(Lines&);  // changes a message that has everything
};

const std::vector<Unreadable> unreadable{
    {"no domain", [](Lines& l) { l.heading = heading_of(""); }},
    {"an address line that is empty", [](Lines& l) { l.address = ""; }},
    {"an empty line for the URI", [](Lines& l) { l.uri = ""; }},
    {"an empty line for the version", [](Lines& l) { l.version = ""; }},
    {"an empty line for the chain", [](Lines& l) { l.chain_id = ""; }},
    {"an empty line for the nonce", [](Lines& l) { l.nonce = ""; }},
    {"an empty line for the time", [](Lines& l) { l.issued_at = ""; }},
    {"no URI", [](Lines& l) { l.uri = "left out"; }},
    {"no version", [](Lines& l) { l.version = "left out"; }},
    {"no chain", [](Lines& l) { l.chain_id = "left out"; }},
    {"no nonce", [](Lines& l) { l.nonce = "left out"; }},
    {"no time", [](Lines& l) { l.issued_at = "left out"; }},
    {"the version before the URI", [](Lines& l) { std::swap(l.uri, l.version); }},
    {"the chain before the version", [](Lines& l) { std::swap(l.version, l.chain_id); }},
    {"the nonce before the chain", [](Lines& l) { std::swap(l.chain_id, l.nonce); }},
    {"the chain in the nonce's line",
     [](Lines& l) {
         l.nonce += l.chain_id;
         l.chain_id = "left out";
     }},
    {"the time before the nonce", [](Lines& l) { std::swap(l.nonce, l.issued_at); }},
    {"the end before the time", [](Lines& l) { std::swap(l.issued_at, l.expiration_time); }},
    {"the beginning before the end", [](Lines& l) { std::swap(l.expiration_time, l.not_before); }},
    {"the request before the beginning", [](Lines& l) { std::swap(l.not_before, l.request_id); }},
    {"resources before the request", [](Lines& l) { std::swap(l.request_id, l.resources); }},
    {"resources before the beginning", [](Lines& l) { std::swap(l.not_before, l.resources); }},
    {"a domain that is a fragment", [](Lines& l) { l.heading = heading_of("#harbour"); }},
    {"an address in lower case",
     [](Lines& l) { l.address = "0xd1220a0cf47c7b9be7a2e6ba89f429762e7b9adb"; }},
    {"an address with one letter in the wrong case",
     [](Lines& l) { l.address = "0xd1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"; }},
    {"a statement of two lines",
     [](Lines& l) { l.statement = "\nI rent two GPUs\nuntil noon.\n"; }},
    {"a URI without a scheme", [](Lines& l) { l.uri = "URI: :harbour_sign_in"; }},
    {"a version that is to come", [](Lines& l) { l.version = "Version: 4"; }},
    {"a chain that is no number", [](Lines& l) { l.chain_id = "Chain ID: main"; }},
    {"a nonce of seven letters", [](Lines& l) { l.nonce = "Nonce: k3Vt90Q"; }},
    {"a time in words", [](Lines& l) { l.issued_at = "Issued At: Thu, 04 Mar 2027 05:06:07 GMT"; }},
    {"an end in words",
     [](Lines& l) { l.expiration_time = "Expiration Time: Thu, 04 Mar 2027 05:11:07 GMT"; }},
    {"a beginning in words",
     [](Lines& l) { l.not_before = "Not Before: Thu, 04 Mar 2027 05:06:00 GMT"; }},
    {"two resources in one line", [](Lines& l) { l.resources += " - https://harbour.example/b"; }},
    {"a first resource without a scheme",
     [](Lines& l) { l.resources = "Resources:\n- :terms\n- https://harbour.example/b"; }},
    {"a second resource without a scheme", [](Lines& l) { l.resources += "\n- :terms"; }},
};

TEST(SiweCases, AreRefusedAsTexts) {
    ASSERT_TRUE(parse_siwe(Lines().text()));
    for (const Unreadable& one : unreadable) {
        Lines lines;
        one.spoil(lines);
        EXPECT_FALSE(parse_siwe(lines.text())) << one.name;
    }
}

struct Unwritable {
    const char* name;
    void (*spoil)(SiweMessage&);  // changes a message that has everything
};

const SiweTime in_words{"Thu, 04 Mar 2027 05:06:07 GMT", Time{1'804'136'767'000'000}};

const std::vector<Unwritable> unwritable{
    {"no domain", [](SiweMessage& m) { m.domain = ""; }},
    {"no URI", [](SiweMessage& m) { m.uri = ""; }},
    {"no version", [](SiweMessage& m) { m.version = ""; }},
    {"no nonce", [](SiweMessage& m) { m.nonce = ""; }},
    {"no time", [](SiweMessage& m) { m.issued_at = {}; }},
    {"a domain that is a fragment", [](SiweMessage& m) { m.domain = "#harbour"; }},
    {"a URI without a scheme", [](SiweMessage& m) { m.uri = ":harbour_sign_in"; }},
    {"a version that is to come", [](SiweMessage& m) { m.version = "4"; }},
    {"a chain below zero", [](SiweMessage& m) { m.chain_id = -8453; }},
    {"a nonce of seven letters", [](SiweMessage& m) { m.nonce = "k3Vt90Q"; }},
    {"a time in words", [](SiweMessage& m) { m.issued_at = in_words; }},
    {"an end in words", [](SiweMessage& m) { m.expiration_time = in_words; }},
    {"a beginning in words", [](SiweMessage& m) { m.not_before = in_words; }},
    {"a first resource without a scheme",
     [](SiweMessage& m) { m.resources->insert(m.resources->begin(), ":terms"); }},
    {"a second resource without a scheme",
     [](SiweMessage& m) { m.resources->push_back(":terms"); }},
};

TEST(SiweCases, AreRefusedAsFields) {
    const auto good = parse_siwe(Lines().text());
    ASSERT_TRUE(good && write_siwe(*good));
    for (const Unwritable& one : unwritable) {
        SiweMessage message = *good;
        one.spoil(message);
        EXPECT_FALSE(write_siwe(message)) << one.name;
    }
}

// A wallet signs whatever text it is given, also one that we would not write.
class SiweProofs : public testing::Test {
protected:
    SiweProofs() {
        lines.address = checksummed(key.address());
        lines.not_before = "left out";
    }

    std::string signature() const {
        return "0x" + to_hex(key.sign(personal_message_hash(lines.text())).bytes());
    }
    std::optional<SiweFault> fault() const {
        const std::string text = lines.text();
        return verify_siwe({text, signature()}, expected);
    }

    test::SeededRandom random{4361};
    const SigningKey key = SigningKey::make(random);
    Lines lines;
    const Time issued = SiweTime::parse("2027-03-04T05:06:07.890Z")->time;
    SiweExpected expected{.domain = "harbour.example",
                          .uri = "https://harbour.example/sign-in",
                          .chain_id = 8453,
                          .nonce = "k3Vt90Qa",
                          .address = key.address(),
                          .now = issued};
};

TEST_F(SiweProofs, HoldWithinTheirTimes) {
    EXPECT_EQ(fault(), std::nullopt);
    lines.expiration_time = "Expiration Time: 2100-01-02T03:04:05Z";
    EXPECT_EQ(fault(), std::nullopt);
    expected.now = SiweTime::parse("2200-01-02T03:04:05Z")->time;
    EXPECT_EQ(fault(), SiweFault::expired);
    lines.expiration_time = "left out";
    lines.not_before = "Not Before: 2100-01-02T03:04:05Z";
    EXPECT_EQ(fault(), std::nullopt);
    expected.now = issued;
    EXPECT_EQ(fault(), SiweFault::not_yet_valid);
}

// The end of the message may lie before its beginning; it holds while neither is passed, for one
// who forgives the clock of the signer.
TEST_F(SiweProofs, MayEndBeforeTheyWereIssued) {
    lines.expiration_time = "Expiration Time: 2026-03-04T05:06:07Z";
    EXPECT_EQ(fault(), SiweFault::expired);
    expected.now = SiweTime::parse("2025-03-04T05:06:07Z")->time;
    EXPECT_EQ(fault(), SiweFault::issued_later);
    expected.issued_ahead_max = issued - expected.now;
    EXPECT_EQ(fault(), std::nullopt);
}

TEST_F(SiweProofs, AreForOneSiteAndOneNonce) {
    expected.domain = "other.example";
    EXPECT_EQ(fault(), SiweFault::domain);
    expected.domain = "harbour.example";
    expected.nonce = "a9Qt03Vk";
    EXPECT_EQ(fault(), SiweFault::nonce);
}

TEST_F(SiweProofs, TakeBothWaysOfWritingTheRecoveryByte) {
    const std::string text = lines.text();
    std::string written = signature();
    ASSERT_TRUE(written.ends_with("1b") || written.ends_with("1c"));
    EXPECT_EQ(verify_siwe({text, written}, expected), std::nullopt);
    written.replace(written.size() - 2, 2, written.ends_with("1b") ? "00" : "01");
    EXPECT_EQ(verify_siwe({text, written}, expected), std::nullopt);
}

TEST_F(SiweProofs, NeedAWholeSignatureOfTheirOwnKey) {
    const std::string text = lines.text();
    const std::string good = signature();
    EXPECT_EQ(verify_siwe({text, good + "b"}, expected), SiweFault::signature_malformed);
    const SigningKey other = SigningKey::make(random);
    const std::string wrong = "0x" + to_hex(other.sign(personal_message_hash(text)).bytes());
    EXPECT_EQ(verify_siwe({text, wrong}, expected), SiweFault::signature);
}

// The signature is good; only a calendar tells that there is no such day.
TEST_F(SiweProofs, KnowTheCalendar) {
    const Lines good = lines;
    lines.issued_at = "Issued At: 2027-02-30T05:06:07.890Z";
    EXPECT_EQ(fault(), SiweFault::malformed);
    lines = good;
    lines.not_before = "Not Before: 2027-02-29T05:06:07Z";
    EXPECT_EQ(fault(), SiweFault::malformed);
    lines = good;
    lines.expiration_time = "Expiration Time: 2100-02-29T05:06:07Z";
    EXPECT_EQ(fault(), SiweFault::malformed);
}

// Wallets that are contracts sign otherwise, and are told so, also where the length is that of a
// signature of a key.
TEST_F(SiweProofs, OfContractsAreToldApart) {
    const std::string text = lines.text();
    EXPECT_EQ(verify_siwe({text, signature() + "02"}, expected), SiweFault::smart_wallet);
    lines.address = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";
    expected.address = *parse_checksummed(lines.address);
    EXPECT_EQ(fault(), SiweFault::signature);
}

// Each letter of a checksum carries it: the address with any one flipped is another text.
TEST(SiweCases, OfChecksumsHoldLetterByLetter) {
    test::SeededRandom random{55};
    for (int i = 0; i < 16; ++i) {
        const Address address = SigningKey::make(random).address();
        const std::string text = checksummed(address);
        EXPECT_EQ(parse_checksummed(text), address) << text;
        EXPECT_TRUE(has_checksum(text)) << text;
        for (std::size_t at = 2; at < text.size(); ++at) {
            std::string flipped = text;
            if (std::isalpha(static_cast<unsigned char>(flipped[at])) == 0) continue;
            flipped[at] = static_cast<char>(flipped[at] ^ 0x20);
            EXPECT_FALSE(has_checksum(flipped)) << flipped;
            EXPECT_FALSE(parse_checksummed(flipped)) << flipped;
            EXPECT_FALSE(parse_address(flipped)) << flipped;
        }
    }
}

}  // namespace
}  // namespace berth::crypto
