// Reading and writing EIP-4361 texts, and everything that is refused for its form alone.
#include <gtest/gtest.h>

#include "crypto/siwe.hpp"

namespace berth::crypto {
namespace {

const std::string address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

const std::string full =
    "https://berth.example:8443 wants you to sign in with your Ethereum account:\n"
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\n"
    "\n"
    "I accept the terms: https://berth.example/terms (version 2).\n"
    "\n"
    "URI: https://berth.example:8443/agents\n"
    "Version: 1\n"
    "Chain ID: 8453\n"
    "Nonce: 32891757abcXYZ\n"
    "Issued At: 2026-11-15T03:06:41.250Z\n"
    "Expiration Time: 2026-11-15T05:11:41+02:00\n"
    "Not Before: 2026-11-14T22:06:41.25-05:00\n"
    "Request ID: withdrawal%207:a@b\n"
    "Resources:\n"
    "- ipfs://bafybeiemxf5abjwjbikoz4mc3a3dla6ual3jsgpdr4cjr3oz3evfyavhwq/\n"
    "- https://berth.example/terms?version=2#top";

const std::string least =
    "berth.example wants you to sign in with your Ethereum account:\n"
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\n"
    "\n"
    "\n"
    "URI: https://berth.example\n"
    "Version: 1\n"
    "Chain ID: 8453\n"
    "Nonce: 32891757\n"
    "Issued At: 2026-11-15T03:06:41Z";

// `text` with its first `from` replaced; the test is wrong if there is none.
std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(SiweParse, ReadsEveryField) {
    const auto message = parse_siwe(full);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->scheme, "https");
    EXPECT_EQ(message->domain, "berth.example:8443");
    EXPECT_EQ(checksummed(message->address), address);
    EXPECT_EQ(message->statement, "I accept the terms: https://berth.example/terms (version 2).");
    EXPECT_EQ(message->uri, "https://berth.example:8443/agents");
    EXPECT_EQ(message->version, "1");
    EXPECT_EQ(message->chain_id, 8453);
    EXPECT_EQ(message->nonce, "32891757abcXYZ");
    const auto issued = parse_rfc3339("2026-11-15T03:06:41.250Z");
    ASSERT_TRUE(issued && message->expiration_time && message->not_before);
    EXPECT_EQ(message->issued_at.time, *issued);
    EXPECT_EQ(message->expiration_time->time, parse_rfc3339("2026-11-15T03:11:41Z"));
    EXPECT_EQ(message->not_before->time, *issued);
    EXPECT_EQ(message->request_id, "withdrawal%207:a@b");
    ASSERT_TRUE(message->resources);
    EXPECT_EQ(message->resources->size(), 2U);
    EXPECT_EQ(message->resources->at(1), "https://berth.example/terms?version=2#top");
}

TEST(SiweParse, LeavesOutWhatIsNotThere) {
    const auto message = parse_siwe(least);
    ASSERT_TRUE(message);
    EXPECT_FALSE(message->scheme);
    EXPECT_FALSE(message->statement);
    EXPECT_FALSE(message->expiration_time);
    EXPECT_FALSE(message->not_before);
    EXPECT_FALSE(message->request_id);
    EXPECT_FALSE(message->resources);
}

TEST(SiweParse, WritesBackTheSameBytes) {
    const std::string head = least.substr(0, least.find("Issued At"));
    for (const std::string& text :
         {full, least, replaced(least, "\n\n\nURI", "\n\nHello there, friend.\n\nURI"),
          replaced(least, "\n\n\nURI", "\n\n\n\nURI"),  // a statement that is empty
          replaced(least, "\n\n\nURI", "\n\nURI: https://not.the/uri\n\nURI"),
          least + "\nExpiration Time: 2026-11-15T03:11:41Z",
          least + "\nRequest ID: ", least + "\nResources:", least + "\nResources:\n- a:b",
          least + "\nRequest ID: x", replaced(least, "berth.example", "user@127.0.0.1:8080"),
          replaced(least, "berth.example", "[::cafe]"),
          replaced(least, "Chain ID: 8453", "Chain ID: 9223372036854775807"),
          replaced(least, "32891757", std::string(500, 'x')),
          head + "Issued At: 2024-02-29T23:59:59.123456789Z",
          head + "Issued At: 2024-02-29T23:59:59.1-00:00",
          head + "Issued At: 2024-02-29T23:59:59+23:59"}) {
        const auto message = parse_siwe(text);
        ASSERT_TRUE(message) << text;
        EXPECT_EQ(write_siwe(*message), text);
    }
}

TEST(SiweParse, TellsAStatementFromTheUri) {
    const auto message =
        parse_siwe(replaced(least, "\n\n\nURI", "\n\nURI: https://not.the/uri\n\nURI"));
    ASSERT_TRUE(message);
    EXPECT_EQ(message->statement, "URI: https://not.the/uri");
    EXPECT_EQ(message->uri, "https://berth.example");
}

struct Change {
    std::string from, to;
};

TEST(SiweParse, RefusesEveryFieldThatIsWrong) {
    const std::vector<Change> changes{
        // the heading
        {"https://berth.example:8443 wants", " wants"},
        {"https://berth.example:8443 wants", "https:// wants"},
        {"https://berth.example:8443 wants", "://berth.example wants"},
        {"https://berth", "1https://berth"},
        {"https://berth", "ht tps://berth"},
        {"https://berth", "a://b://berth"},
        {"berth.example:8443 wants", "#berth wants"},
        {"berth.example:8443 wants", "berth.example/ wants"},
        {"berth.example:8443 wants", "berth.example:84x3 wants"},
        {"berth.example:8443 wants", "berth.example:8443  wants"},
        {"wants you", "Wants you"},
        {"Ethereum account:", "Ethereum account"},
        {"Ethereum account:", "Ethereum account: "},
        {"Ethereum account:", "Solana account:"},
        // the address
        {"0x5aAeb", "0x5aaeb"},
        {address, "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"},
        {address, "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED"},
        {address, address.substr(2)},
        {address, address + "0"},
        {address, address.substr(0, 41)},
        {address, " " + address},
        {address, address + " "},
        {address, ""},
        {address + "\n", ""},
        // the statement
        {"I accept", "I\taccept"},
        {"I accept", "I accept\nand sign"},
        {"I accept", "I \"accept\""},
        {"I accept", "I accept 100%"},
        {"I accept", "I accépt"},
        {"(version 2).\n\n", "(version 2).\n"},
        {"(version 2).\n\n", "(version 2).\n\n\n"},
        {"\n\nI accept", "\nI accept"},
        {"\n\nI accept", "\n\n\nI accept"},
        // the required lines
        {"URI: https://berth.example:8443/agents\n", ""},
        {"URI: https", "Uri: https"},
        {"URI: https", "URI:https"},
        {"URI: https", "URI:  https"},
        {"URI: https", " URI: https"},
        {"/agents", "/agents "},
        {"/agents", "/a b"},
        {"/agents", "/%zz"},
        {"URI: https://berth.example:8443/agents", "URI: /agents"},
        {"URI: https://berth.example:8443/agents", "URI: "},
        {"Version: 1", "Version: 2"},
        {"Version: 1", "Version: 1.0"},
        {"Version: 1", "Version: 01"},
        {"Version: 1", "Version: "},
        {"Version: 1\n", ""},
        {"Version: 1\n", "Version: 1\nVersion: 1\n"},
        {"Chain ID: 8453", "Chain ID: 0x2105"},
        {"Chain ID: 8453", "Chain ID: 08453"},
        {"Chain ID: 8453", "Chain ID: -1"},
        {"Chain ID: 8453", "Chain ID: +1"},
        {"Chain ID: 8453", "Chain ID: 8453.0"},
        {"Chain ID: 8453", "Chain ID: 9223372036854775808"},
        {"Chain ID: 8453", "Chain ID: "},
        {"Chain ID: 8453", "Chain ID: ?"},
        {"Chain ID: 8453\n", ""},
        {"Chain ID", "Chain Id"},
        {"Nonce: 32891757abcXYZ", "Nonce: 1234567"},
        {"Nonce: 32891757abcXYZ", "Nonce: "},
        {"Nonce: 32891757abcXYZ", "Nonce: 32891757-abc"},
        {"Nonce: 32891757abcXYZ", "Nonce: 32891757abc "},
        {"Nonce: 32891757abcXYZ", "Nonce: 32891757\xc3\xa9"},
        {"Nonce: 32891757abcXYZ\n", ""},
        {"Issued At: 2026-11-15T03:06:41.250Z\n", ""},
        {"Issued At: 2026-11-15T03:06:41.250Z\n", "Issued At: \n"},
        // the optional lines
        {"Expiration Time: ", "Expiration time: "},
        {"Expiration Time: ", "Expiration Time:"},
        {"Expiration Time: 2026-11-15T05:11:41+02:00", "Expiration Time: tomorrow"},
        {"Expiration Time: 2026-11-15T05:11:41+02:00", "Expiration Time: "},
        {"Expiration Time: 2026-11-15T05:11:41+02:00", "Expiration Time: 2026-02-30T05:11:41Z"},
        {"Not Before: 2026-11-14T22:06:41.25-05:00", "Not Before: 2026-02-31T00:00:00Z"},
        {"Not Before: ", "Not before: "},
        {"Request ID: withdrawal", "Request ID: a/b"},
        {"Request ID: withdrawal", "Request ID: a b"},
        {"Request ID: withdrawal", "Request ID: %"},
        {"Request ID: ", "Request ID:"},
        {"Request ID: ", "Unknown: "},
        {"Resources:\n", ""},
        {"Resources:\n", "Resources: \n"},
        {"Resources:\n", "Resources:\n\n"},
        {"Resources:\n", "Resources:\nResources:\n"},
        {"- ipfs", "-ipfs"},
        {"- ipfs", "* ipfs"},
        {"- ipfs", "-  ipfs"},
        {"- ipfs", "ipfs"},
        {"- https", "- :https"},
        {"#top", "#top "},
        {"#top", "#top\n"},
        {"#top", "#top\n\n"},
        {"#top", "#top\nRequest ID: again"},
        {"#top", "#top - https://b.c"}};
    for (const Change& change : changes)
        EXPECT_FALSE(parse_siwe(replaced(full, change.from, change.to)))
            << change.from << " -> " << change.to;
}

TEST(SiweParse, RefusesLinesInAnotherOrder) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < full.size();) {
        const std::size_t end = std::min(full.find('\n', begin), full.size());
        lines.push_back(full.substr(begin, end - begin));
        begin = end + 1;
    }
    const std::size_t last_label = lines.size() - 2;  // resources may stand in any order
    for (std::size_t i = 0; i < last_label; ++i)
        for (std::size_t j = i + 1; j <= last_label; ++j) {
            if (lines[i] == lines[j]) continue;
            std::vector<std::string> swapped = lines;
            std::swap(swapped[i], swapped[j]);
            std::string text;
            for (const std::string& line : swapped) text += (text.empty() ? "" : "\n") + line;
            EXPECT_FALSE(parse_siwe(text)) << text;
        }
}

TEST(SiweParse, RefusesCarriageReturnsAnywhere) {
    for (std::size_t i = 0; i <= full.size(); ++i) {
        std::string text = full;
        EXPECT_FALSE(parse_siwe(text.insert(i, 1, '\r'))) << i;
    }
    std::string text;
    for (const char c : full) text += c == '\n' ? "\r\n" : std::string(1, c);
    EXPECT_FALSE(parse_siwe(text));
}

TEST(SiweParse, RefusesControlBytesAnywhere) {
    for (std::size_t i = 0; i <= full.size(); ++i)
        for (const char c : {'\0', '\t', '\n', '\x7f', '\x80', '\xff'}) {
            std::string text = full;
            EXPECT_FALSE(parse_siwe(text.insert(i, 1, c))) << i << " " << static_cast<int>(c);
        }
}

TEST(SiweParse, RefusesEveryBeginningOfAMessage) {
    const std::size_t whole = least.size();
    for (std::size_t length = 0; length < whole; ++length)
        EXPECT_FALSE(parse_siwe(least.substr(0, length))) << length;
    EXPECT_FALSE(parse_siwe(least + "\n"));
    EXPECT_FALSE(parse_siwe("\n" + least));
    EXPECT_FALSE(parse_siwe(" " + least));
    EXPECT_FALSE(parse_siwe("\xef\xbb\xbf" + least));
}

TEST(SiweParse, RefusesLongTexts) {
    const std::string longest =
        replaced(least, "32891757", std::string(siwe_text_bytes_max - least.size() + 8, 'x'));
    ASSERT_EQ(longest.size(), siwe_text_bytes_max);
    EXPECT_TRUE(parse_siwe(longest));
    EXPECT_FALSE(parse_siwe(replaced(longest, "xxx", "xxxx")));
    EXPECT_FALSE(parse_siwe(std::string(1 << 20, '\n')));
}

TEST(SiweTime, ReadsOffsetsAndFractions) {
    const std::vector<std::pair<std::string, std::string>> rows{
        {"2026-11-15T03:06:41Z", "2026-11-15T03:06:41Z"},
        {"2026-11-15T03:06:41.5Z", "2026-11-15T03:06:41.500Z"},
        {"2026-11-15T03:06:41+00:00", "2026-11-15T03:06:41Z"},
        {"2026-11-15T03:06:41-00:00", "2026-11-15T03:06:41Z"},
        {"2026-11-15T03:06:41+05:30", "2026-11-14T21:36:41Z"},
        {"2026-11-15T03:06:41-08:00", "2026-11-15T11:06:41Z"},
        {"2026-12-31T23:30:00.25-01:00", "2027-01-01T00:30:00.250Z"},
        {"2024-03-01T00:30:00+01:00", "2024-02-29T23:30:00Z"}};
    for (const auto& [text, utc] : rows) {
        const auto time = SiweTime::parse(text);
        ASSERT_TRUE(time) << text;
        EXPECT_EQ(to_rfc3339(time->time), utc);
        EXPECT_EQ(time->text, text);
    }
    const Time now{1'800'000'000'123'456};
    EXPECT_EQ(SiweTime::parse(to_rfc3339(now)), SiweTime::of(now));
}

TEST(SiweTime, RefusesImpossibleTimes) {
    for (const std::string text : {"",
                                   "Z",
                                   "+00:00",
                                   "2026-02-29T00:00:00Z",
                                   "2026-02-30T00:00:00+00:00",
                                   "2022-02-31T17:09:38.578Z",
                                   "2026-04-31T00:00:00Z",
                                   "2100-02-29T00:00:00Z",
                                   "2026-13-01T00:00:00Z",
                                   "2026-00-01T00:00:00Z",
                                   "2026-01-00T00:00:00Z",
                                   "2026-01-01T24:00:00Z",
                                   "2026-01-01T23:60:00Z",
                                   "2016-12-31T23:59:60Z",
                                   "2017-01-01T00:59:60+01:00",
                                   "2026-01-01T00:00:00",
                                   "2026-01-01",
                                   "2026-01-01t00:00:00Z",
                                   "2026-01-01T00:00:00z",
                                   "2026-01-01 00:00:00Z",
                                   "2026-01-01T00:00:00+24:00",
                                   "2026-01-01T00:00:00+00:60",
                                   "2026-01-01T00:00:00+0000",
                                   "2026-01-01T00:00:00+00",
                                   "2026-01-01T00:00:00 00:00",
                                   "2026-01-01T00:00:00+0a:00",
                                   "2026-01-01T00:00:00+00:0/",
                                   "2026-01-01T00:00:00+00-00",
                                   "2026-01-01T00:00:00Z+00:00",
                                   "2026-01-01T00:00:00.+00:00",
                                   "2026-01-01T00:00:00.1234567890Z",
                                   "2026-01-01T00:00:00+00:00Z",
                                   "2026-01-01T00:00+00:00",
                                   "Wed Oct 05 2011 16:48:00 GMT+0200 (CEST)",
                                   "1969-12-31T23:59:59Z"})
        EXPECT_FALSE(SiweTime::parse(text)) << text;
}

TEST(SiweWrite, LetsNoFieldBringItsOwnLines) {
    const auto good = parse_siwe(full);
    ASSERT_TRUE(good);
    const std::vector<void (*)(SiweMessage&)> changes{
        [](SiweMessage& m) { m.statement = "Hello\n\nURI: https://evil.example"; },
        [](SiweMessage& m) { m.domain = "evil.example wants you\nto"; },
        [](SiweMessage& m) { m.domain = ""; },
        [](SiweMessage& m) { m.domain = "https://berth.example"; },
        [](SiweMessage& m) { m.scheme = ""; },
        [](SiweMessage& m) { m.uri = "https://a\nVersion: 1"; },
        [](SiweMessage& m) { m.uri = ""; },
        [](SiweMessage& m) { m.version = "2"; },
        [](SiweMessage& m) { m.chain_id = -1; },
        [](SiweMessage& m) { m.nonce = "short"; },
        [](SiweMessage& m) { m.nonce = "12345678\nIssued At: 2026-11-15T03:06:41Z"; },
        [](SiweMessage& m) { m.issued_at = {}; },
        [](SiweMessage& m) { m.issued_at.text = "now"; },
        [](SiweMessage& m) { m.issued_at.time = Time{0}; },  // not what its text says
        [](SiweMessage& m) { m.expiration_time->text += "\nRequest ID: x"; },
        [](SiweMessage& m) { m.request_id = "a\nResources:"; },
        [](SiweMessage& m) { m.resources = {"a:b\n- c:d"}; },
        [](SiweMessage& m) { m.resources = {std::string(siwe_text_bytes_max, 'a')}; }};
    EXPECT_TRUE(write_siwe(*good));
    for (std::size_t i = 0; i < changes.size(); ++i) {
        SiweMessage changed = *good;
        changes[i](changed);
        EXPECT_FALSE(write_siwe(changed)) << i;
    }
}

}  // namespace
}  // namespace berth::crypto
