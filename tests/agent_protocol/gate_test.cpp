// Tickets and the lines of a link, as strangers may send them.
#include <gtest/gtest.h>

#include "agent_protocol/gate_ticket.hpp"
#include "agent_protocol/hashes.hpp"
#include "wire/wire.hpp"

namespace berth::agent_protocol {
namespace {

const std::string server_key_id = "9a51c0f66f1d0e9c";

crypto::Ed25519Key server_key() { return crypto::Ed25519Key{crypto::Secret(Bytes(32, 's'))}; }
TicketKeys known_keys() { return {{server_key_id, server_key().public_key()}}; }

Ticket good_ticket() {
    const crypto::Ed25519Key machine{crypto::Secret(Bytes(32, 'm'))};
    return {.gate_id = {*parse_uuid("01920000-0000-7000-8000-00000000000a")},
            .machine_id = {*parse_uuid("01920000-0000-7000-8000-000000000001")},
            .public_key = key_text(machine.public_key()),
            .fence = {3},
            .serial = {8},
            .doors = {{{.door_id = {*parse_uuid("01920000-0000-7000-8000-0000000000d1")},
                        .port = {20'017},
                        .kind = DoorKind::ssh,
                        .rate_bps = {0},
                        .streams_max = {64}}}},
            .expires_at = Time{1'790'000'000'000'000}};
}
std::string written() { return write_ticket(good_ticket(), server_key_id, server_key()); }

// A text signed as the page says, whatever is in it.
std::string signed_raw(const std::string& ticket, const std::string& prefix) {
    return R"({"key_id":")" + server_key_id + R"(","signature":")" +
           to_base64(server_key().sign(prefix + ticket)) + R"(","ticket":)" + ticket + "}";
}

TEST(GateTicket, IsReadAsItWasWritten) {
    const std::string text = written();
    EXPECT_EQ(text, wire::canonical(text));
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const TicketRead read = read_ticket(text, known_keys());
    ASSERT_EQ(read.fault, std::nullopt);
    EXPECT_EQ(wire::encode(read.ticket), wire::encode(good_ticket()));
    EXPECT_EQ(key_text(read.machine_key), good_ticket().public_key);
    const std::string inner = wire::canonical(wire::encode(good_ticket())).value();
    EXPECT_EQ(signed_raw(inner, "berth-gate-ticket\n"), text) << "as the page says";
}

TEST(GateTicket, DoesNotSurviveAFlippedBit) {
    const std::string good = written();
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
        std::string bad = good;
        bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_NE(read_ticket(bad, known_keys()).fault, std::nullopt) << bit;
    }
    for (std::size_t size = 0; size < good.size(); ++size)
        EXPECT_NE(read_ticket(good.substr(0, size), known_keys()).fault, std::nullopt) << size;
}

TEST(GateTicket, HasOneSpelling) {
    EXPECT_EQ(read_ticket(" " + written(), known_keys()).fault, TicketFault::malformed);
    EXPECT_EQ(read_ticket(written() + "\n", known_keys()).fault, TicketFault::malformed);
    EXPECT_EQ(read_ticket(std::string(1 << 20, ' '), known_keys()).fault, TicketFault::malformed);
    EXPECT_EQ(read_ticket(std::string(8'000, '['), known_keys()).fault, TicketFault::malformed);
}

TEST(GateTicket, IsGoodByAKnownKeyAndForItsOwnUseOnly) {
    EXPECT_EQ(read_ticket(written(), {}).fault, TicketFault::unknown_key);
    const TicketKeys other{
        {server_key_id, crypto::Ed25519Key{crypto::Secret(Bytes(32, 'x'))}.public_key()}};
    EXPECT_EQ(read_ticket(written(), other).fault, TicketFault::signature);
    const std::string inner = wire::canonical(wire::encode(good_ticket())).value();
    EXPECT_EQ(read_ticket(signed_raw(inner, ""), known_keys()).fault, TicketFault::signature)
        << "what the key signed for another use is no ticket";
}

TEST(GateTicket, OfALaterServerMaySayMoreAndNotLess) {
    const auto read = [](const std::string& inner) {
        return read_ticket(signed_raw(inner, "berth-gate-ticket\n"), known_keys()).fault;
    };
    const std::string inner = wire::canonical(wire::encode(good_ticket())).value();
    const auto with = [inner](const std::string& old, const std::string& other) {
        std::string changed = inner;
        return changed.replace(changed.find(old), old.size(), other);
    };
    EXPECT_EQ(read(inner.substr(0, inner.size() - 1) + R"(,"zone":"b"})"), std::nullopt);
    EXPECT_EQ(read("{}"), TicketFault::malformed);
    EXPECT_EQ(read(with("20017", "70017")), TicketFault::malformed);
    EXPECT_EQ(read(with(good_ticket().public_key, "AAAA")), TicketFault::malformed);
}

TEST(LinkLine, IsWrittenAndReadBack) {
    const LinkId link{*parse_uuid("01920000-0000-7000-8000-0000000000aa")};
    const CallId call{*parse_uuid("01920000-0000-7000-8000-0000000000cc")};
    const DoorId door{*parse_uuid("01920000-0000-7000-8000-0000000000d1")};
    LinkLine line;
    EXPECT_EQ(write_line(line), "{\"kind\":\"ping\"}\n");
    line.kind = LineKind::hello;
    line.link_id = link;
    EXPECT_EQ(write_line(line),
              "{\"kind\":\"hello\",\"link_id\":\"01920000-0000-7000-8000-0000000000aa\"}\n");
    line = {};
    line.kind = LineKind::call;
    line.call_id = call;
    line.door_id = door;
    const auto read =
        read_line(R"({"kind":"call","door_id":"01920000-0000-7000-8000-0000000000d1",)"
                  R"("call_id":"01920000-0000-7000-8000-0000000000cc","later":[1]})");
    ASSERT_TRUE(read);
    EXPECT_EQ(write_line(*read), write_line(line));
    EXPECT_LT(write_line(line).size(), line_bytes_max);
    EXPECT_EQ(read_line(R"({"kind":"bye","reason":"draining"})")->reason, ByeReason::draining);
}

TEST(LinkLine, OfALaterGateIsPassedOverAndGarbageIsNone) {
    EXPECT_EQ(read_line(R"({"kind":"weather","sun":true})")->kind, LineKind::unknown);
    EXPECT_EQ(read_line(R"({"kind":"bye","reason":"lunch"})")->reason, std::nullopt);
    for (const char* bad : {"", "{}", "[]", "null", "ping", R"({"kind":7})", R"({"kind":"hello"})",
                            R"({"kind":"call"})", R"({"kind":"call","call_id":"x","door_id":"y"})",
                            R"({"kind":"ping","kind":"bye"})",
                            R"({"kind":"call","call_id":"01920000-0000-7000-8000-0000000000cc"})",
                            R"({"kind":"ping")"})
        EXPECT_FALSE(read_line(bad)) << bad;
}

}  // namespace
}  // namespace berth::agent_protocol
