// Every message in full: the page that tells of them, and the structs that both sides are built of.
#include "agent_protocol/messages.hpp"

#include <gtest/gtest.h>

#include <regex>

#include "agent_protocol/types.hpp"
#include "base/enum_names.hpp"
#include "support/process.hpp"
#include "wire/open.hpp"
#include "wire/schema.hpp"

namespace berth::agent_protocol {
namespace {

std::vector<Message> all_messages() {
    std::vector<Message> list;
    for (const Chapter& chapter : chapters())
        list.insert(list.end(), chapter.messages.begin(), chapter.messages.end());
    return list;
}

std::string canonical(std::string_view json) { return wire::canonical(json).value_or("not JSON"); }

TEST(Messages, TheirPageIsTheOneThatIsCheckedIn) {
    EXPECT_EQ(messages_page(), test::read_text(BERTH_SOURCE_DIR "/docs/agent-messages.md"))
        << "renew it: build/dev/bin/berthd agent-messages > docs/agent-messages.md";
}

TEST(Messages, EveryExampleIsReadAsItsStructAndWrittenAgain) {
    for (const Message& message : all_messages()) {
        const std::string example = example_of(message);
        EXPECT_EQ(canonical(message.written_again(example)), canonical(example)) << message.name;
    }
}

TEST(Messages, EveryPayloadAndPieceOfEvidenceStandsInAFrameThatCanBeRead) {
    for (const Message& message : all_messages()) {
        const std::string json = framed_example(message);
        const std::string inner = canonical(example_of(message));
        switch (message.frame) {
            case Frame::alone: EXPECT_EQ(canonical(json), inner); break;
            case Frame::payload: {
                const auto command = wire::decode<Command>(json, "command");
                EXPECT_EQ(canonical(command.payload.text), inner);
                EXPECT_EQ(enum_name(command.kind), message.name);
                break;
            }
            case Frame::detail:
            case Frame::refusal:
                EXPECT_EQ(canonical(wire::decode<Ack>(json, "ack").detail->text), inner);
                break;
            case Frame::job_evidence: {
                const auto event = wire::decode<JobEvent>(json, "event");
                EXPECT_EQ(canonical(event.evidence.text), inner);
                EXPECT_EQ(enum_name(event.kind), message.name);
                break;
            }
            case Frame::health_evidence:
                EXPECT_EQ(canonical(wire::decode<HealthEvent>(json, "event").evidence.text), inner);
        }
    }
}

TEST(Messages, WhatIsOpenMaySayMoreAtEveryLevel) {
    const auto ready = wire::decode_known<ReadyEvidence>(
        R"({"container_id":"c","boot_id":"b","more":{"a":[1]},"endpoints":[{"kind":"http",)"
        R"("name":"n","host":"h","port":1025,"weight":5}],)"
        R"("time_to_ready":{"pull_ms":"1","load_ms":"2","probe_ms":"3","warm":true}})",
        "evidence");
    EXPECT_EQ(ready.endpoints.value.at(0).host.value, "h");
    EXPECT_EQ(given(ready.time_to_ready)->probe_ms.value, 3);
}

TEST(Messages, EveryKindOfCommandAndEventHasItsSection) {
    const std::string page = messages_page();
    const auto expect_section = [&](std::string_view name) {
        EXPECT_NE(page.find("\n### " + std::string(name) + "\n"), std::string::npos) << name;
    };
    for (const wire::Enumerator& each : wire::type_of<CommandKind>().enumerators)
        expect_section(each.name);
    for (const wire::Enumerator& each : wire::type_of<JobEventKind>().enumerators)
        expect_section(each.name);
}

// What a new message forgets first.
TEST(Messages, EveryStructOfTheHeadersStandsOnThePageWithAWordToEachMember) {
    const std::string page = messages_page();
    std::size_t structs = 0;
    for (const char* file : {"manifest", "heartbeat", "orders", "payloads", "events", "evidence",
                             "qualification", "proof"}) {
        const std::string text = test::read_text(
            std::string(BERTH_SOURCE_DIR "/src/protocol/agent_protocol/") + file + ".hpp");
        const std::regex described(R"(BOOST_DESCRIBE_STRUCT\((\w+),)");
        for (std::sregex_iterator it(text.begin(), text.end(), described), end; it != end; ++it) {
            ++structs;
            const std::string name = (*it)[1];
            EXPECT_TRUE(page.find("\n### " + name + "\n") != page.npos ||
                        page.find("`" + name + "`:\n") != page.npos)
                << name << " of " << file << ".hpp is on no page";
        }
    }
    EXPECT_GT(structs, 40u);
    EXPECT_EQ(page.find("|  |"), page.npos) << "a member of which nothing is said";
}

TEST(LaunchProfile, AnyOtherThanTheMandatoryOneIsNamed) {
    EXPECT_EQ(find_difference(launch_profile()), std::nullopt);
    const auto differs = [](const auto& change) {
        LaunchProfile profile = launch_profile();
        change(profile);
        return find_difference(profile).value_or("nothing");
    };
    EXPECT_EQ(differs([](LaunchProfile& p) { p.uid.value = 0; }), "uid");
    EXPECT_EQ(differs([](LaunchProfile& p) { p.gid.value = 0; }), "gid");
    EXPECT_EQ(differs([](LaunchProfile& p) { p.read_only_root = false; }), "read_only_root");
    EXPECT_EQ(differs([](LaunchProfile& p) { p.writable.push_back("/"); }), "writable");
    EXPECT_EQ(differs([](LaunchProfile& p) { p.read_only.clear(); }), "read_only");
    EXPECT_EQ(differs([](LaunchProfile& p) { p.capabilities = {"SYS_ADMIN"}; }), "capabilities");
    EXPECT_EQ(differs([](LaunchProfile& p) { p.no_new_privileges = false; }), "no_new_privileges");
    EXPECT_EQ(differs([](LaunchProfile& p) { p.host_network = true; }), "host_network");
    EXPECT_EQ(differs([](LaunchProfile& p) { p.privileged = true; }), "privileged");
    EXPECT_EQ(differs([](LaunchProfile& p) { p.memory->push_back("/x"); }), "memory");
}

// Hosts and server are not upgraded at the same moment: neither may take the other's profile for
// another than its own.
TEST(LaunchProfile, IsUnderstoodByTheVersionBeforeAndAfter) {
    const std::string before =
        R"("uid":10001,"gid":10001,"read_only_root":true,"writable":["/work"],)"
        R"("read_only":["/cache"],"capabilities":[],"no_new_privileges":true,)"
        R"("host_network":false,"privileged":false)";
    const auto of_older = wire::decode_known<LaunchProfile>("{" + before + "}", "profile");
    EXPECT_EQ(find_difference(of_older), std::nullopt);
    const auto another =
        wire::decode_known<LaunchProfile>("{" + before + R"(,"memory":["/x"]})", "profile");
    EXPECT_EQ(find_difference(another), "memory");
    // An older agent passes over the one member that it does not know.
    EXPECT_EQ(wire::encode(launch_profile()), "{" + before + R"(,"memory":["/tmp","/dev/shm"]})");
}

}  // namespace
}  // namespace berth::agent_protocol
