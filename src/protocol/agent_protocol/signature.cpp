#include "agent_protocol/signature.hpp"

#include <array>

#include "agent_protocol/structured.hpp"
#include "base/check.hpp"
#include "base/letters.hpp"
#include "crypto/hash.hpp"

namespace berth::agent_protocol {
namespace {

constexpr std::array<std::string_view, 5> component_names{"@method", "@authority", "@path",
                                                          "@query", "content-digest"};
constexpr std::string_view algorithm = "ed25519";
constexpr std::string_view label = "sig";
constexpr std::size_t nonce_random_bytes = 18;

constexpr std::string_view tag_of(Signer signer) {
    return signer == Signer::machine ? "berth-agent" : "berth-gate";
}

// The list of names with its parameters.
InnerList profile(Parameters parameters) {
    InnerList list;
    for (const std::string_view name : component_names)
        list.items.push_back({std::string(name), {}});
    list.parameters = std::move(parameters);
    return list;
}

bool has_our_components(const InnerList& list) {
    if (list.items.size() != component_names.size()) return false;
    for (std::size_t i = 0; i < component_names.size(); ++i) {
        const auto* name = std::get_if<std::string>(&list.items[i].value);
        if (name == nullptr || *name != component_names[i] || !list.items[i].parameters.empty())
            return false;
    }
    return true;
}

std::string base_of(const RequestSignature& signature, const SignedParts& parts) {
    std::string query = "?";
    query += parts.query;
    const std::array<Component, 5> components{{{component_names[0], parts.method},
                                               {component_names[1], parts.authority},
                                               {component_names[2], parts.path},
                                               {component_names[3], query},
                                               {component_names[4], signature.digest}}};
    return signature_base(components, signature.parameters);
}

// The value of a parameter, if it is there and of that kind.
template <class Value>
const Value* find_parameter(const Parameters& parameters, std::string_view key) {
    for (const Parameter& parameter : parameters)
        if (parameter.key == key) return std::get_if<Value>(&parameter.value);
    return nullptr;
}

std::optional<SignatureFault> read_parameters(const Parameters& parameters, Signer signer,
                                              RequestSignature& out) {
    constexpr std::size_t count = 5;
    if (parameters.size() != count) return SignatureFault::parameters;
    const auto* created = find_parameter<std::int64_t>(parameters, "created");
    const auto* nonce = find_parameter<std::string>(parameters, "nonce");
    const auto* key_id = find_parameter<std::string>(parameters, "keyid");
    const auto* alg = find_parameter<std::string>(parameters, "alg");
    const auto* named_tag = find_parameter<std::string>(parameters, "tag");
    if (created == nullptr || nonce == nullptr || key_id == nullptr || alg == nullptr ||
        named_tag == nullptr)
        return SignatureFault::parameters;
    const auto id = parse_uuid(*key_id);
    if (!id || *alg != algorithm || *named_tag != tag_of(signer)) return SignatureFault::parameters;
    if (nonce->empty() || nonce->size() > nonce_letters_max) return SignatureFault::parameters;
    // Fits: an integer of a structured field has at most fifteen digits.
    constexpr std::int64_t seconds_max = 253'402'300'799;  // the end of the year 9999
    if (*created < 0 || *created > seconds_max) return SignatureFault::created;
    out.key_id = *id;
    out.created = Time{*created * 1'000'000};
    out.nonce = *nonce;
    return std::nullopt;
}

std::optional<SignatureFault> read_input(std::string_view text, Signer signer,
                                         RequestSignature& out, std::string& key) {
    const auto dictionary = parse_dictionary(text);
    if (!dictionary) return SignatureFault::malformed;
    if (dictionary->size() != 1) return SignatureFault::signatures;
    const DictionaryMember& member = dictionary->front();
    const auto* list = std::get_if<InnerList>(&member.value);
    if (list == nullptr) return SignatureFault::malformed;
    if (!has_our_components(*list)) return SignatureFault::components;
    key = member.key;
    out.parameters = text.substr(key.size() + 1);  // the text is the one spelling of it
    return read_parameters(list->parameters, signer, out);
}

// The bytes of the one member of a dictionary.
std::optional<SignatureFault> read_bytes(std::string_view text, std::string_view key, Bytes& out) {
    const auto dictionary = parse_dictionary(text);
    if (!dictionary) return SignatureFault::malformed;
    if (dictionary->size() != 1 || dictionary->front().key != key)
        return SignatureFault::signatures;
    const auto* item = std::get_if<FieldItem>(&dictionary->front().value);
    const auto* bytes = item == nullptr ? nullptr : std::get_if<ByteSequence>(&item->value);
    if (bytes == nullptr || !item->parameters.empty()) return SignatureFault::malformed;
    out = bytes->bytes;
    return std::nullopt;
}

std::string to_lower(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = berth::to_lower(c);
    return lower;
}

std::string digest_field(const Bytes& sha256) { return "sha-256=:" + to_base64(sha256) + ":"; }

}  // namespace

std::string signature_base(std::span<const Component> components, std::string_view parameters) {
    std::string base;
    base.reserve(512);
    for (const Component& component : components) {
        base += '"';
        base += component.name;
        base += "\": ";
        base += component.value;
        base += '\n';
    }
    base += "\"@signature-params\": ";
    base += parameters;
    return base;
}

std::string content_digest(std::string_view body) { return digest_field(crypto::sha256(body)); }

std::string authority_of(const http::Request& request) {
    return to_lower(request.headers.find("Host").value_or(""));
}

SignedParts parts_of(const http::Request& request, const std::string& authority) {
    return {request.method, authority, request.path(), request.query()};
}

std::string_view describe(SignatureFault fault, Signer signer) {
    const bool is_gate = signer == Signer::gate;
    switch (fault) {
        case SignatureFault::missing:
            return is_gate ? "a gate's signature is required: Signature, Signature-Input and "
                             "Content-Digest"
                           : "a machine's signature is required: Signature, Signature-Input and "
                             "Content-Digest";
        case SignatureFault::repeated:
            return "Signature, Signature-Input and Content-Digest must each be given once";
        case SignatureFault::malformed:
            return "Signature, Signature-Input or Content-Digest is not well formed";
        case SignatureFault::signatures: return "there must be one signature, by one label";
        case SignatureFault::components:
            return "the signature must cover \"@method\" \"@authority\" \"@path\" \"@query\" "
                   "\"content-digest\", in this order";
        case SignatureFault::parameters:
            return is_gate
                       ? "the signature's parameters must be created, nonce, keyid (the gate id), "
                         "alg=\"ed25519\", tag=\"berth-gate\", and no other"
                       : "the signature's parameters must be created, nonce, keyid (the machine "
                         "id), alg=\"ed25519\", tag=\"berth-agent\", and no other";
        case SignatureFault::created:
            return "the signature's created is too far from our clock; see the Date field";
        case SignatureFault::digest: return "Content-Digest is not that of the body";
        case SignatureFault::signature:
            return is_gate ? "the signature is not by this gate's key"
                           : "the signature is not by this machine's key";
    }
    return "the signature is not good";
}

ParsedSignature parse_signature(const http::Headers& headers, Signer signer) {
    ParsedSignature parsed;
    const auto input = headers.find("Signature-Input");
    const auto signature = headers.find("Signature");
    const auto digest = headers.find("Content-Digest");
    if (!input || !signature || !digest) {
        parsed.fault = SignatureFault::missing;
        return parsed;
    }
    for (const std::string_view name : {"Signature-Input", "Signature", "Content-Digest"})
        if (headers.count(name) != 1) parsed.fault = SignatureFault::repeated;
    if (parsed.fault) return parsed;

    std::string key;
    parsed.fault = read_input(*input, signer, parsed.value, key);
    if (!parsed.fault) parsed.fault = read_bytes(*signature, key, parsed.value.signature);
    if (parsed.fault) return parsed;
    Bytes hash;
    parsed.fault = read_bytes(*digest, "sha-256", hash);
    if (parsed.fault) parsed.fault = SignatureFault::digest;
    parsed.value.digest = *digest;
    return parsed;
}

bool verify(const RequestSignature& signature, const SignedParts& parts,
            const crypto::Ed25519PublicKey& key) {
    return key.verify(base_of(signature, parts), signature.signature);
}

bool is_timely(const RequestSignature& signature, Time now) {
    // `created` has whole seconds: what was signed within this second counts as now.
    return signature.created <= now + created_window &&
           signature.created + created_window + std::chrono::seconds(1) > now;
}

bool has_digest(const RequestSignature& signature, std::string_view body) {
    return signature.digest == content_digest(body);
}

bool has_hash(const RequestSignature& signature, const Bytes& sha256) {
    return signature.digest == digest_field(sha256);
}

SignatureFields RequestSigner::sign(const SignedParts& parts, std::string_view body,
                                    const Moment& moment) const {
    RequestSignature signature;
    signature.digest = content_digest(body);
    const InnerList list = profile({{"created", moment.created.micros / 1'000'000},
                                    {"nonce", std::string(moment.nonce)},
                                    {"keyid", to_string(key_id_)},
                                    {"alg", std::string(algorithm)},
                                    {"tag", std::string(tag_of(signer_))}});
    signature.parameters = write(list);
    const FieldItem bytes{ByteSequence{key_.sign(base_of(signature, parts))}, {}};
    return {.content_digest = signature.digest,
            .signature_input = write(Dictionary{{std::string(label), list}}),
            .signature = write(Dictionary{{std::string(label), bytes}})};
}

// As it will stand in Host, where the port that a scheme has anyway is left out.
static std::string authority_in(bool is_https, std::string_view place) {
    const std::string_view usual = is_https ? ":443" : ":80";
    if (place.ends_with(usual)) place.remove_suffix(usual.size());
    return to_lower(place);
}

void RequestSigner::sign(http::Outbound& request, const Moment& moment) const {
    const std::size_t scheme = request.url.find("://");
    require(scheme != std::string::npos, "a request is signed for an absolute address");
    const std::string_view rest = std::string_view(request.url).substr(scheme + 3);
    const std::size_t slash = std::min(rest.find_first_of("/?"), rest.size());
    const std::string authority =
        authority_in(request.url.starts_with("https"), rest.substr(0, slash));
    const std::string_view target = rest.substr(slash);
    const std::size_t mark = std::min(target.find('?'), target.size());
    const std::string_view path = mark == 0 ? std::string_view("/") : target.substr(0, mark);
    const std::string_view query = mark == target.size() ? "" : target.substr(mark + 1);
    SignatureFields fields = sign({request.method, authority, path, query}, request.body, moment);
    request.headers.add("Content-Digest", std::move(fields.content_digest));
    request.headers.add("Signature-Input", std::move(fields.signature_input));
    request.headers.add("Signature", std::move(fields.signature));
}

std::string make_nonce(Random& random) { return to_base64url(random.bytes(nonce_random_bytes)); }

}  // namespace berth::agent_protocol
