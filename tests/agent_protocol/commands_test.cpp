#include "agent_protocol/commands.hpp"

#include <gtest/gtest.h>

#include "agent_protocol/hashes.hpp"
#include "wire/wire.hpp"

namespace berth::agent_protocol {
namespace {

const Time now{1'790'000'000'000'000};
const MachineId machine{*parse_uuid("01920000-0000-7000-8000-000000000001")};

crypto::Ed25519Key key_of(char letter) {
    return crypto::Ed25519Key{crypto::Secret(Bytes(32, letter))};
}

struct Server {
    CommandKey key{key_of('s')};
    PinnedKey pinned{key.id(), key.public_key()};

    Command command() const {
        Command command;
        command.command_id = {*parse_uuid("01920000-0000-7000-8000-0000000000c1")};
        command.kind = CommandKind::stop;
        command.machine_id = machine;
        command.fence.value = 4;
        command.job_id = JobId{*parse_uuid("01920000-0000-7000-8000-0000000000a1")};
        command.issued_at = now;
        command.expires_at = now + std::chrono::minutes(2);
        command.payload.text = R"({"reason": "renter_stop", "grace_s": 10})";
        key.sign(command);
        return command;
    }
};

TEST(Commands, OfThePinnedKeyAreTaken) {
    const Server server;
    const std::string json = wire::encode(server.command());
    const CheckedCommand checked = check_command(json, machine, server.pinned, now);
    ASSERT_TRUE(checked.command);
    EXPECT_EQ(checked.refusal, std::nullopt);
    EXPECT_EQ(checked.command->kind, CommandKind::stop);
    EXPECT_EQ(checked.command->fence.value, 4);
    EXPECT_EQ(checked.command->key_id, server.key.id());
}

TEST(Commands, AreSignedByWhatTheyMeanAndNotByTheirSpelling) {
    const Server server;
    const auto json = wire::canonical(wire::encode(server.command()));
    ASSERT_TRUE(json);
    std::string spaced;
    for (const char c : *json) {
        spaced += c;
        if (c == ',') spaced += "\n  ";
    }
    EXPECT_TRUE(check_command(spaced, machine, server.pinned, now).command);
}

TEST(Commands, WithAnyFlippedBitAreIgnoredOrUnchanged) {
    const Server server;
    const std::string good = wire::encode(server.command());
    const auto meaning = wire::canonical(good);
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
        std::string changed = good;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
        const CheckedCommand checked = check_command(changed, machine, server.pinned, now);
        // A flipped bit in a hex digit of an id changes its case and nothing else.
        const bool same = wire::canonical(changed) == meaning;
        EXPECT_EQ(checked.command_id.has_value(), same) << bit;
    }
}

TEST(Commands, OfAnotherKeyOrForAnotherMachineAreIgnored) {
    const Server server;
    const std::string json = wire::encode(server.command());
    const CommandKey other(key_of('o'));
    EXPECT_FALSE(check_command(json, machine, {other.id(), other.public_key()}, now).command_id);
    EXPECT_FALSE(
        check_command(json, machine, {server.key.id(), other.public_key()}, now).command_id);
    const MachineId neighbour{*parse_uuid("01920000-0000-7000-8000-000000000002")};
    EXPECT_FALSE(check_command(json, neighbour, server.pinned, now).command_id);
    EXPECT_FALSE(check_command("", machine, server.pinned, now).command_id);
    EXPECT_FALSE(check_command("[]", machine, server.pinned, now).command_id);
}

TEST(Commands, ThatExpiredOrAreUnknownCanBeAcknowledgedAsRejected) {
    const Server server;
    Command command = server.command();
    const CheckedCommand late =
        check_command(wire::encode(command), machine, server.pinned, command.expires_at);
    EXPECT_EQ(late.refusal, Code::command_expired);
    EXPECT_EQ(late.command_id, command.command_id);

    // A server of a later version sends a kind that this agent does not know.
    std::string json = wire::encode(command);
    json.replace(json.find("STOP"), 4, "DANCE");
    json.erase(json.find(",\"signature\""));
    const auto text = wire::canonical(json + "}");
    json += ",\"signature\":\"" + to_base64(key_of('s').sign(*text)) + "\"}";
    const CheckedCommand unknown = check_command(json, machine, server.pinned, now);
    EXPECT_EQ(unknown.refusal, Code::unknown_command_kind);
    EXPECT_EQ(unknown.command_id, command.command_id);
    EXPECT_FALSE(unknown.command);
}

TEST(Commands, OfALaterServerMayHaveMoreMembers) {
    const Server server;
    std::string json = wire::encode(server.command());
    json.erase(json.find(",\"signature\""));
    json += ",\"priority\":3";
    const auto text = wire::canonical(json + "}");
    json += ",\"signature\":\"" + to_base64(key_of('s').sign(*text)) + "\"}";
    EXPECT_TRUE(check_command(json, machine, server.pinned, now).command);
}

TEST(Orders, AreReadWithMembersThatWeDoNotKnow) {
    const Server server;
    Orders orders{now, {7}, {server.command()}, {}, {"look out"}};
    orders.leases.push_back({*server.command().job_id, {1}, {1}, Micro{5}, std::nullopt, now});
    std::string json = wire::encode(orders);
    json.insert(1, R"("weather":"fine",)");
    const auto read = read_orders(json);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->fence, 7);
    EXPECT_EQ(read->leases.size(), 1u);
    EXPECT_EQ(read->warnings, std::vector<std::string>{"look out"});
    ASSERT_EQ(read->commands.size(), 1u);
    EXPECT_TRUE(check_command(read->commands[0], machine, server.pinned, now).command);
    EXPECT_FALSE(read_orders("{}"));
    EXPECT_FALSE(read_orders("nonsense"));
}

TEST(Manifest, HashIsOfItsCanonicalJson) {
    const std::string json =
        R"({"runtime_kind":"container","kernel":"Linux 6.8","architecture":"x86_64",)"
        R"("driver_version":null,"runtime":"podman 4.3.1","cuda_max":null,"cpu_model":null,)"
        R"("cpu_cores":8,"gpus":[{"vendor":"NVIDIA","pci_address":"0000:01:00.0","model":"é",)"
        R"("memory_bytes":"24000000000","memory_class":"dedicated","backends":["vulkan","cuda"],)"
        R"("uuid":null}]})";
    const auto manifest = wire::decode<Manifest>(json);
    EXPECT_EQ(canonical_manifest(manifest), wire::canonical(json));
    EXPECT_EQ(manifest_hash(manifest), sha256_hash(*wire::canonical(json)));
}

TEST(Keys, HaveOneSpelling) {
    const auto key = key_of('m').public_key();
    EXPECT_EQ(parse_key(key_text(key)), key);
    EXPECT_FALSE(parse_key(""));
    EXPECT_FALSE(parse_key(key_text(key).substr(4)));
    EXPECT_FALSE(parse_key(key_text(key) + "AAAA"));
}

}  // namespace
}  // namespace berth::agent_protocol
