#include "crypto/siwe.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/letters.hpp"
#include "base/money.hpp"
#include "crypto/secp256k1.hpp"
#include "crypto/uri.hpp"

namespace berth::crypto {
namespace {

constexpr std::string_view heading = " wants you to sign in with your Ethereum account:";
constexpr std::string_view uri_label = "URI: ";
constexpr std::string_view version_label = "Version: ";
constexpr std::string_view chain_id_label = "Chain ID: ";
constexpr std::string_view nonce_label = "Nonce: ";
constexpr std::string_view issued_at_label = "Issued At: ";
constexpr std::string_view expiration_time_label = "Expiration Time: ";
constexpr std::string_view not_before_label = "Not Before: ";
constexpr std::string_view request_id_label = "Request ID: ";
constexpr std::string_view resources_label = "Resources:";
constexpr std::string_view resource_label = "- ";
constexpr std::size_t nonce_letters_min = 8;

// The lines of a text, one after the other.
class Lines {
public:
    explicit Lines(std::string_view text) : rest_(text) { advance(); }

    bool done() const { return !line_; }

    // The rest of the next line if it starts with the label; otherwise the line stays.
    std::optional<std::string_view> after(std::string_view label) {
        if (!line_ || !line_->starts_with(label)) return std::nullopt;
        const std::string_view value = line_->substr(label.size());
        advance();
        return value;
    }

    std::optional<std::string_view> take() { return after(""); }

    // Whether the next line is just this; then it is behind us.
    bool skip(std::string_view whole) {
        if (line_ != whole) return false;
        advance();
        return true;
    }

private:
    void advance() {
        line_.reset();
        if (!rest_) return;
        const std::size_t end = rest_->find('\n');
        line_ = rest_->substr(0, end);
        if (end == std::string_view::npos)
            rest_.reset();
        else
            rest_->remove_prefix(end + 1);
    }

    std::optional<std::string_view> line_;
    std::optional<std::string_view> rest_;
};

bool read_heading(Lines& lines, SiweMessage& message) {
    auto origin = lines.take();
    if (!origin || !origin->ends_with(heading)) return false;
    origin->remove_suffix(heading.size());
    if (const std::size_t end = origin->find("://"); end != std::string_view::npos) {
        message.scheme = origin->substr(0, end);
        if (!is_uri_scheme(*message.scheme)) return false;
        origin->remove_prefix(end + 3);
    }
    message.domain = *origin;
    return is_authority(message.domain);
}

bool read_address(Lines& lines, SiweMessage& message) {
    const auto text = lines.take();
    const auto address = text ? parse_checksummed(*text) : std::nullopt;
    if (address) message.address = *address;
    return address.has_value();
}

// An empty line, the statement if there is one, and an empty line again. A statement may be empty:
// then there are three.
bool read_statement(Lines& lines, SiweMessage& message) {
    if (!lines.skip("")) return false;
    const auto first = lines.take();
    if (!first) return false;
    const bool followed = lines.skip("");
    if (followed) message.statement = *first;
    if (!followed && !first->empty()) return false;
    return std::all_of(first->begin(), first->end(),
                       [](char c) { return is_unreserved(c) || is_reserved(c) || c == ' '; });
}

bool read_uri(Lines& lines, std::string_view label, std::string& out) {
    const auto text = lines.after(label);
    if (text) out = *text;
    return text && is_uri(*text);
}

bool read_chain_id(Lines& lines, SiweMessage& message) {
    const auto text = lines.after(chain_id_label);
    const auto number = text ? parse_decimal(*text) : std::nullopt;
    if (number) message.chain_id = *number;
    return number.has_value();
}

bool read_nonce(Lines& lines, SiweMessage& message) {
    const auto text = lines.after(nonce_label);
    if (!text || text->size() < nonce_letters_min) return false;
    message.nonce = *text;
    return std::all_of(text->begin(), text->end(), is_alphanumeric);
}

// True as well when there is no such line.
bool read_time(Lines& lines, std::string_view label, std::optional<SiweTime>& out) {
    const auto text = lines.after(label);
    if (!text) return true;
    out = SiweTime::parse(*text);
    return out.has_value();
}

bool read_issued_at(Lines& lines, SiweMessage& message) {
    std::optional<SiweTime> time;
    if (!read_time(lines, issued_at_label, time) || !time) return false;
    message.issued_at = std::move(*time);
    return true;
}

bool read_request_id(Lines& lines, SiweMessage& message) {
    const auto text = lines.after(request_id_label);
    if (!text) return true;
    message.request_id = *text;
    return is_path_text(*text);
}

bool read_resources(Lines& lines, SiweMessage& message) {
    if (!lines.skip(resources_label)) return true;
    message.resources.emplace();
    while (!lines.done())
        if (!read_uri(lines, resource_label, message.resources->emplace_back())) return false;
    return true;
}

void write_line(std::string& out, std::string_view label, std::string_view value) {
    out.append("\n").append(label).append(value);
}

// What the message says, without its signature.
std::optional<SiweFault> compare(const SiweMessage& message, const SiweExpected& expected) {
    const std::string_view scheme = expected.uri.substr(0, expected.uri.find(':'));
    if (message.domain != expected.domain) return SiweFault::domain;
    if (message.scheme && *message.scheme != scheme) return SiweFault::domain;
    if (message.uri != expected.uri) return SiweFault::uri;
    if (message.chain_id != expected.chain_id) return SiweFault::chain_id;
    if (message.nonce != expected.nonce) return SiweFault::nonce;
    if (message.address != expected.address) return SiweFault::address;
    if (message.issued_at.time > expected.now + expected.issued_ahead_max)
        return SiweFault::issued_later;
    if (message.expiration_time && expected.now >= message.expiration_time->time)
        return SiweFault::expired;
    if (message.not_before && expected.now < message.not_before->time)
        return SiweFault::not_yet_valid;
    return std::nullopt;
}

constexpr std::size_t offset_letters = 6;

// The minutes in "+05:30"; empty if the six letters are no offset.
std::optional<int> offset_minutes(std::string_view text) {
    if ((text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
    for (const char c : {text[1], text[2], text[4], text[5]})
        if (c < '0' || c > '9') return std::nullopt;
    const int hours = (text[1] - '0') * 10 + (text[2] - '0');
    const int minutes = (text[4] - '0') * 10 + (text[5] - '0');
    if (hours > 23 || minutes > 59) return std::nullopt;
    return (text[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
}

}  // namespace

SiweTime SiweTime::of(Time time) { return {to_rfc3339(time), time}; }

std::optional<SiweTime> SiweTime::parse(std::string_view text) {
    if (const auto time = parse_rfc3339(text)) return SiweTime{std::string(text), *time};
    if (text.size() < offset_letters) return std::nullopt;
    const auto offset = offset_minutes(text.substr(text.size() - offset_letters));
    const std::string local(text.substr(0, text.size() - offset_letters));
    const auto time = parse_rfc3339(local + 'Z');
    if (!offset || !time) return std::nullopt;
    return SiweTime{std::string(text), *time - std::chrono::minutes(*offset)};
}

std::optional<SiweMessage> parse_siwe(std::string_view text) {
    if (text.size() > siwe_text_bytes_max) return std::nullopt;
    Lines lines(text);
    SiweMessage message;
    const bool whole =
        read_heading(lines, message) && read_address(lines, message) &&
        read_statement(lines, message) && read_uri(lines, uri_label, message.uri) &&
        lines.after(version_label) == message.version && read_chain_id(lines, message) &&
        read_nonce(lines, message) && read_issued_at(lines, message) &&
        read_time(lines, expiration_time_label, message.expiration_time) &&
        read_time(lines, not_before_label, message.not_before) && read_request_id(lines, message) &&
        read_resources(lines, message) && lines.done();
    if (!whole) return std::nullopt;
    return message;
}

std::optional<std::string> write_siwe(const SiweMessage& message) {
    std::string out;
    if (message.scheme) out.append(*message.scheme).append("://");
    out.append(message.domain).append(heading);
    write_line(out, "", checksummed(message.address));
    write_line(out, "", "");
    if (message.statement) write_line(out, "", *message.statement);
    write_line(out, "", "");
    write_line(out, uri_label, message.uri);
    write_line(out, version_label, message.version);
    write_line(out, chain_id_label, std::to_string(message.chain_id));
    write_line(out, nonce_label, message.nonce);
    write_line(out, issued_at_label, message.issued_at.text);
    if (message.expiration_time)
        write_line(out, expiration_time_label, message.expiration_time->text);
    if (message.not_before) write_line(out, not_before_label, message.not_before->text);
    if (message.request_id) write_line(out, request_id_label, *message.request_id);
    if (message.resources) {
        write_line(out, resources_label, "");
        for (const std::string& resource : *message.resources)
            write_line(out, resource_label, resource);
    }
    if (parse_siwe(out) != message) return std::nullopt;
    return out;
}

std::optional<SiweFault> verify_siwe_text(std::string_view text, const SiweExpected& expected) {
    const auto message = parse_siwe(text);
    if (!message) return SiweFault::malformed;
    return compare(*message, expected);
}

std::optional<SiweFault> verify_siwe(const SiweProof& proof, const SiweExpected& expected) {
    const auto message = parse_siwe(proof.text);
    if (!message) return SiweFault::malformed;
    if (const auto fault = compare(*message, expected)) return fault;
    if (is_smart_wallet_signature(proof.signature)) return SiweFault::smart_wallet;
    const auto signature = parse_signature(proof.signature);
    if (!signature) return SiweFault::signature_malformed;
    if (recover(personal_message_hash(proof.text), *signature) != message->address)
        return SiweFault::signature;
    return std::nullopt;
}

std::string_view describe(SiweFault fault) {
    switch (fault) {
        case SiweFault::malformed: return "the message is not an EIP-4361 text";
        case SiweFault::domain: return "the message is for another domain";
        case SiweFault::uri: return "the message is for another URI";
        case SiweFault::chain_id: return "the message is for another chain";
        case SiweFault::nonce: return "the nonce is not the one that was issued";
        case SiweFault::address: return "the message is for another address";
        case SiweFault::issued_later: return "the message was issued in the future";
        case SiweFault::expired: return "the message has expired";
        case SiweFault::not_yet_valid: return "the message is not valid yet";
        case SiweFault::smart_wallet:
            return "signatures of smart-contract wallets (ERC-1271, ERC-6492) are not accepted "
                   "here; sign with a plain account, or link a wallet whose contract is deployed";
        case SiweFault::signature_malformed:
            return "the signature is not 0x and 130 hexadecimal digits";
        case SiweFault::signature:
            return "the signature is not one of this message by the key of its address; a "
                   "smart-contract wallet has none and cannot sign here";
    }
    check(false, "every fault is described");
    return {};
}

}  // namespace berth::crypto
