// What agents send, by its first letter: manifests and heartbeats; and what agents read, commands.
#include <cstdint>
#include <string_view>

#include "agent_protocol/commands.hpp"
#include "agent_protocol/hashes.hpp"
#include "base/check.hpp"
#include "wire/wire.hpp"

using namespace berth;
using namespace berth::agent_protocol;

namespace {

template <class T>
void decode(std::string_view text) {
    try {
        const auto value = wire::decode<T>(text);
        const std::string once = wire::encode(value);
        check(wire::encode(wire::decode<T>(once)) == once, "what was decoded is a fixed point");
        if constexpr (std::is_same_v<T, Manifest>)
            check(canonical_manifest(value) == wire::canonical(text),
                  "a manifest is hashed as it was sent");
    } catch (const Problem& problem) {
        check(problem.code == Code::invalid_input, "bad input is INVALID_INPUT");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    static const auto key = crypto::Ed25519Key{crypto::Secret(Bytes(32, 'k'))}.public_key();
    switch (data[0]) {
        case 'm': decode<Manifest>(text); break;
        case 'h': decode<Heartbeat>(text); break;
        case 'o': read_orders(text); break;
        default:
            check(!check_command(text, {}, {key_id(key), key}, {}).command_id,
                  "nobody signs by chance");
    }
    return 0;
}
