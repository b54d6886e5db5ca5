// The public vectors of the siwe libraries and of EIP-55, from the folder that the environment
// variable BERTH_SIWE_VECTORS names. Without it these tests have nothing to do; the project's own
// cases in the other files stand alone.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "crypto/siwe.hpp"

namespace berth::crypto {
namespace {

namespace json = boost::json;

// Empty when there are no vectors.
std::optional<json::object> read_vectors(const std::string& name) {
    const char* folder = std::getenv("BERTH_SIWE_VECTORS");
    if (folder == nullptr) {
        std::cout << "BERTH_SIWE_VECTORS is not set: no public vectors\n";
        return std::nullopt;
    }
    std::ifstream file(std::string(folder) + "/" + name);
    EXPECT_TRUE(file) << name;
    std::stringstream text;
    text << file.rdbuf();
    return json::parse(text.str()).as_object();
}

std::string text_of(const json::value& value) { return std::string(value.as_string()); }

std::optional<std::string> text_at(const json::object& fields, std::string_view name) {
    const json::value* value = fields.if_contains(name);
    if (value == nullptr || value->is_null()) return std::nullopt;
    return text_of(*value);
}

// A time that cannot be read is kept as its text, so that writing has to refuse it.
SiweTime time_of(const std::string& text) {
    return SiweTime::parse(text).value_or(SiweTime{text, {}});
}

// Empty if a field is missing or has no place in the struct at all.
std::optional<SiweMessage> message_of(const json::object& fields) {
    const auto address = parse_address(text_at(fields, "address").value_or(""));
    const json::value* chain_id = fields.if_contains("chainId");
    if (!address || chain_id == nullptr || !chain_id->is_int64()) return std::nullopt;
    SiweMessage message;
    message.scheme = text_at(fields, "scheme");
    message.domain = text_at(fields, "domain").value_or("");
    message.address = *address;
    message.statement = text_at(fields, "statement");
    message.uri = text_at(fields, "uri").value_or("");
    message.version = text_at(fields, "version").value_or("");
    message.chain_id = chain_id->as_int64();
    message.nonce = text_at(fields, "nonce").value_or("");
    message.issued_at = time_of(text_at(fields, "issuedAt").value_or(""));
    if (const auto text = text_at(fields, "expirationTime"))
        message.expiration_time = time_of(*text);
    if (const auto text = text_at(fields, "notBefore")) message.not_before = time_of(*text);
    message.request_id = text_at(fields, "requestId");
    if (const json::value* resources = fields.if_contains("resources")) {
        message.resources.emplace();
        for (const json::value& resource : resources->as_array())
            message.resources->push_back(text_of(resource));
    }
    return message;
}

// Whether the entry's signature proves its fields, at its time or else at issuedAt.
bool proves(const json::object& entry) {
    const auto message = message_of(entry);
    const auto text = message ? write_siwe(*message) : std::nullopt;
    if (!text) return false;
    SiweExpected expected{.domain = message->domain,
                          .uri = message->uri,
                          .chain_id = message->chain_id,
                          .nonce = message->nonce,
                          .address = message->address,
                          .now = message->issued_at.time};
    if (const auto time = text_at(entry, "time")) {
        // EIP-4361 itself does not mind a message from the future, and one entry is.
        expected.now = time_of(*time).time;
        expected.issued_ahead_max = std::max(Duration{0}, message->issued_at.time - expected.now);
    }
    const auto domain = text_at(entry, "domainBinding");
    const auto nonce = text_at(entry, "matchNonce");
    if (domain) expected.domain = *domain;
    if (nonce) expected.nonce = *nonce;
    return !verify_siwe({*text, text_at(entry, "signature").value_or("")}, expected);
}

TEST(SiweVectors, AreReadAndWrittenBack) {
    const auto vectors = read_vectors("parsing_positive.json");
    if (!vectors) return;
    EXPECT_EQ(vectors->size(), 19U);
    for (const auto& [name, value] : *vectors) {
        const json::object& entry = value.as_object();
        const std::string text = text_of(entry.at("message"));
        const auto message = message_of(entry.at("fields").as_object());
        ASSERT_TRUE(message) << name;
        EXPECT_EQ(parse_siwe(text), message) << name;
        EXPECT_EQ(write_siwe(*message), text) << name;
    }
}

TEST(SiweVectors, AreRefusedAsTexts) {
    const auto vectors = read_vectors("parsing_negative.json");
    if (!vectors) return;
    EXPECT_EQ(vectors->size(), 29U);
    for (const auto& [name, text] : *vectors) EXPECT_FALSE(parse_siwe(text_of(text))) << name;
}

TEST(SiweVectors, AreRefusedAsFields) {
    const auto vectors = read_vectors("parsing_negative_objects.json");
    if (!vectors) return;
    EXPECT_EQ(vectors->size(), 18U);
    for (const auto& [name, fields] : *vectors) {
        const auto message = message_of(fields.as_object());
        EXPECT_FALSE(message && write_siwe(*message)) << name;
    }
}

TEST(SiweVectors, ProveWhatTheyShould) {
    const auto good = read_vectors("verification_positive.json");
    const auto bad = read_vectors("verification_negative.json");
    if (!good || !bad) return;
    EXPECT_EQ(good->size(), 4U);
    EXPECT_EQ(bad->size(), 10U);
    for (const auto& [name, entry] : *good) EXPECT_TRUE(proves(entry.as_object())) << name;
    for (const auto& [name, entry] : *bad) EXPECT_FALSE(proves(entry.as_object())) << name;
}

TEST(SiweVectors, OfEip55HoldLetterByLetter) {
    const auto vectors = read_vectors("eip55.json");
    if (!vectors) return;
    for (const auto& [kind, list] : *vectors)
        for (const json::value& value : list.as_array()) {
            const std::string text = text_of(value);
            EXPECT_TRUE(parse_address(text)) << text;
            EXPECT_TRUE(has_checksum(text)) << text;
            for (std::size_t i = 2; i < text.size(); ++i) {
                std::string flipped = text;
                if (std::isalpha(static_cast<unsigned char>(flipped[i])) == 0) continue;
                flipped[i] = static_cast<char>(flipped[i] ^ 0x20);
                EXPECT_FALSE(has_checksum(flipped)) << flipped;
                EXPECT_FALSE(parse_checksummed(flipped)) << flipped;
                EXPECT_FALSE(parse_address(flipped)) << flipped;
            }
        }
}

}  // namespace
}  // namespace berth::crypto
