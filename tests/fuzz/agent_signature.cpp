// The three fields of a machine's signature: a line each, in the order input, signature, digest. No
// text harms the reader, and nothing that was not signed by the key is taken for it.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent_protocol/signature.hpp"
#include "base/check.hpp"

using namespace berth;
using namespace berth::agent_protocol;

namespace {

const RequestSigner& signer() {
    static const RequestSigner one(MachineId{}, crypto::Ed25519Key{crypto::Secret(Bytes(32, 'k'))});
    return one;
}

std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    http::Headers headers;
    headers.add("Signature-Input", std::string(take_line(text)));
    headers.add("Signature", std::string(take_line(text)));
    headers.add("Content-Digest", std::string(take_line(text)));
    const ParsedSignature parsed = parse_signature(headers);
    if (parsed.fault) return 0;

    const SignedParts parts{"POST", "berth.example", "/", ""};
    const RequestSigner same(MachineId{parsed.value.key_id},
                             crypto::Ed25519Key{crypto::Secret(Bytes(32, 'k'))});
    const SignatureFields ours = same.sign(parts, "", {parsed.value.created, parsed.value.nonce});
    check(is_timely(parsed.value, parsed.value.created), "created is within its own window");
    if (to_base64(parsed.value.signature) != ours.signature.substr(5, 88))
        check(!verify(parsed.value, parts, signer().key().public_key()), "nobody signs by chance");
    return 0;
}
