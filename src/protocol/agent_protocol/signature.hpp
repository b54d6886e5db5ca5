// HTTP message signatures (RFC 9421) by which host agents and gates speak to the server, and agents
// to gates, in one strict profile:
//
//     Content-Digest: sha-256=:…:
//     Signature-Input: sig=("@method" "@authority" "@path" "@query" "content-digest")
//         ;created=1790000000;nonce="…";keyid="<machine id>";alg="ed25519";tag="berth-agent"
//                                       (of a gate: keyid="<gate id>" and tag="berth-gate")
//     Signature: sig=:…:
//
// One signature, these components in this order, these parameters in any (libraries differ), in the
// spelling that structured.hpp writes. Everything else is refused: there is nothing to negotiate
// and so nothing to talk a verifier into. Whether a nonce was seen before (used_nonces.hpp), and
// whose key belongs to a machine or gate, is for the caller to know.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent_protocol/reach.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "crypto/ed25519.hpp"
#include "http/client.hpp"
#include "http/message.hpp"

namespace berth::agent_protocol {

// How far `created` may lie from the server's clock, either way.
inline constexpr Duration created_window = std::chrono::seconds(60);
inline constexpr std::size_t nonce_letters_max = 128;

// One line of a signature base: a component's name and its value.
struct Component {
    std::string_view name;
    std::string_view value;
};
// RFC 9421 section 2.5. `parameters` is the list of names with its parameters, as it is written in
// Signature-Input behind the label.
std::string signature_base(std::span<const Component> components, std::string_view parameters);

std::string content_digest(std::string_view body);  // the value of the field, sha-256 only

// What a signature covers of a request, as the one who signs or verifies sees it.
struct SignedParts {
    std::string_view method;
    std::string_view authority;  // host and perhaps port, in lower case
    std::string_view path;       // as sent, percent-encoded
    std::string_view query;      // without the question mark; empty when there is none
};
// Views into the request; `authority` has to outlive what is returned.
SignedParts parts_of(const http::Request& request, const std::string& authority);
// The Host field in lower case; empty when there is none.
std::string authority_of(const http::Request& request);

enum class SignatureFault {
    missing,     // one of the three fields is not there
    repeated,    // or is there twice
    malformed,   // is not a structured field in its one spelling
    signatures,  // more than one signature, or two labels
    components,
    parameters,
    created,
    digest,
    signature,
};
// Who signs; the tag says it, so that nothing signed as one can be shown as the other.
enum class Signer { machine, gate };
std::string_view describe(SignatureFault fault,
                          Signer signer = Signer::machine);  // a sentence for the one who signed

// A signature that has the form of the profile; who made it is not known yet.
struct RequestSignature {
    Uuid key_id;  // of the machine or the gate
    Time created;
    std::string nonce;
    std::string parameters;  // as signed
    std::string digest;      // the value of Content-Digest
    Bytes signature;
};

struct ParsedSignature {
    std::optional<SignatureFault> fault;
    RequestSignature value;
};
ParsedSignature parse_signature(const http::Headers& headers, Signer signer = Signer::machine);

// Three questions, of which the last costs a hundred times as much as the others together. All of
// them have to be asked; a body that was not read has no digest, and is refused for that anyway.
bool is_timely(const RequestSignature& signature, Time now);
bool has_digest(const RequestSignature& signature, std::string_view body);
bool has_hash(const RequestSignature& signature, const Bytes& sha256);  // of a body not kept
bool verify(const RequestSignature& signature, const SignedParts& parts,
            const crypto::Ed25519PublicKey& key);

struct SignatureFields {
    std::string content_digest;
    std::string signature_input;
    std::string signature;
};

// The side of the agent, or of the gate.
class RequestSigner {
public:
    RequestSigner(MachineId machine, crypto::Ed25519Key key)
        : key_id_(machine.uuid), signer_(Signer::machine), key_(std::move(key)) {}
    RequestSigner(GateId gate, crypto::Ed25519Key key)
        : key_id_(gate.uuid), signer_(Signer::gate), key_(std::move(key)) {}

    struct Moment {
        Time created;  // by the server's clock, as far as the agent knows it
        std::string_view nonce;
    };
    SignatureFields sign(const SignedParts& parts, std::string_view body,
                         const Moment& moment) const;
    // Adds the three fields. The address must be http or https with a host.
    void sign(http::Outbound& request, const Moment& moment) const;

    const Uuid& key_id() const { return key_id_; }
    const crypto::Ed25519Key& key() const { return key_; }

private:
    Uuid key_id_;
    Signer signer_;
    crypto::Ed25519Key key_;
};

std::string make_nonce(Random& random);

}  // namespace berth::agent_protocol
