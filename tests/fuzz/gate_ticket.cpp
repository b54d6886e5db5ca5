// The text of a ticket. No text harms the reader, and nothing that the server did not sign is taken
// for a ticket of its.
#include <cstdint>
#include <string_view>

#include "agent_protocol/gate_ticket.hpp"
#include "base/check.hpp"

using namespace berth;
using namespace berth::agent_protocol;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const crypto::Ed25519Key key{crypto::Secret(Bytes(crypto::Secret::size, 's'))};
    static const TicketKeys keys{{"k1", key.public_key()}};
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const TicketRead read = read_ticket(text, keys);
    if (read.fault) {
        check(!describe(*read.fault).empty(), "a fault has a sentence");
        return 0;
    }
    check(write_ticket(read.ticket, "k1", key) == text, "a ticket has one spelling");
    return 0;
}
