// Every type of event: its page is the one that is checked in, its facts are small and described,
// and nobody reads in them who the other party is.
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <set>

#include "events/docs.hpp"
#include "server/app.hpp"
#include "server/features.hpp"
#include "support/process.hpp"
#include "wire/schema.hpp"

namespace berth::test {
namespace {

TEST(EventTypes, TheirPageIsTheOneThatIsCheckedIn) {
    EXPECT_EQ(events::to_markdown(server::event_registry()),
              read_text(BERTH_SOURCE_DIR "/docs/events.md"))
        << "renew it: build/dev/bin/berthd events docs > docs/events.md";
}

TEST(EventTypes, HaveNamesAudiencesAndSentences) {
    const std::set<std::string_view> of_renters{"rental", "funding", "withdrawal"};
    const std::set<std::string_view> of_hosts{"hosting", "machine", "offer", "payout"};
    const events::Registry registry = server::event_registry();
    for (const auto& [type, kind] : registry.kinds()) {
        const std::string_view group = type.substr(0, type.find('.'));
        EXPECT_NE(group, type);
        EXPECT_TRUE(kind.about.ends_with('.')) << type;
        EXPECT_FALSE(kind.subject.empty()) << type;
        const events::Audience expected = of_renters.contains(group) ? events::Audience::renter
                                          : of_hosts.contains(group) ? events::Audience::host
                                          : group == "operations"    ? events::Audience::operators
                                                                     : events::Audience::both;
        EXPECT_EQ(kind.audience, expected) << type;
    }
}

// An event of a type shows what tells it from its neighbours, not what any of their facts may be.
TEST(EventTypes, HaveExamplesOfTheirOwn) {
    const events::Registry registry = server::event_registry();
    std::map<std::pair<const wire::Type*, std::string>, std::string_view> seen;
    for (const auto& [type, kind] : registry.kinds()) {
        const wire::json::value example = events::example_of(kind);
        const auto [other, is_own] =
            seen.emplace(std::pair{kind.facts, wire::json::serialize(example)}, type);
        EXPECT_TRUE(is_own) << type << " has the example of " << other->second;
        const wire::json::object own = wire::json::parse(kind.example).as_object();
        for (const auto& [member, value] : own)
            EXPECT_EQ(example.at(member), value) << type << " " << member;
        const wire::json::value* const state = example.as_object().if_contains("state");
        const std::string last(type.substr(type.find('.') + 1));
        if (state == nullptr || !kind.facts->members.front().name.starts_with("state")) continue;
        std::string word(state->as_string());
        for (char& letter : word) letter = static_cast<char>(std::tolower(letter));
        static const std::set<std::string_view> without_a_state{
            "machine.enrolled", "machine.retired", "operations.ticket_opened"};
        EXPECT_TRUE(word == last || without_a_state.contains(type)) << type << " " << word;
    }
}

TEST(EventTypes, TellNoSecretsAndNotWhoTheOtherPartyIs) {
    const events::Registry registry = server::event_registry();
    for (const auto& [type, kind] : registry.kinds()) {
        const std::string example = wire::indented(events::example_of(kind));
        EXPECT_LE(example.size(), events::data_bytes_max) << type;
        if (kind.audience == events::Audience::operators) continue;
        for (const wire::Member& member : kind.facts->members)
            for (const char* word : {"renter", "host_id", "owner", "account", "secret", "token",
                                     "endpoint", "password", "email", "ip"})
                EXPECT_EQ(member.name.find(word), member.name.npos) << type << " " << member.name;
    }
}

TEST(EventTypes, StandInTheSpecificationWithTheirFacts) {
    const std::string text = server::specification();
    const std::size_t webhooks = text.find("\n  \"webhooks\": {");
    ASSERT_NE(webhooks, text.npos);
    const events::Registry registry = server::event_registry();
    for (const auto& [type, kind] : registry.kinds()) {
        const bool is_there =
            text.find("\n    \"" + std::string(type) + "\": {", webhooks) != text.npos;
        EXPECT_EQ(is_there, kind.audience != events::Audience::operators) << type;
    }
}

TEST(EventTypes, OfTheDesignAreAllThere) {
    const events::Registry registry = server::event_registry();
    for (const char* type : {"rental.reserved",
                             "rental.starting",
                             "rental.running",
                             "rental.stopping",
                             "rental.stopped",
                             "rental.failed",
                             "rental.closed",
                             "rental.funds_low",
                             "rental.preemption_noticed",
                             "rental.engine_down",
                             "rental.engine_up",
                             "rental.budget_raised",
                             "rental.gpu_lost",
                             "rental.gpu_back",
                             "rental.egress_low",
                             "rental.unreachable",
                             "rental.reachable",
                             "hosting.started",
                             "hosting.ended",
                             "machine.enrolled",
                             "machine.unqualified",
                             "machine.available",
                             "machine.allocated",
                             "machine.cleaning",
                             "machine.draining",
                             "machine.unlisted",
                             "machine.quarantined",
                             "machine.retired",
                             "machine.test_passed",
                             "machine.test_failed",
                             "machine.health",
                             "machine.listing_rejected",
                             "machine.silent",
                             "machine.heard",
                             "offer.published",
                             "offer.listed",
                             "offer.unlisted",
                             "offer.draining",
                             "funding.confirmed",
                             "funding.exception",
                             "funding.cancelled",
                             "withdrawal.settled",
                             "withdrawal.failed",
                             "withdrawal.expired",
                             "payout.settled",
                             "payout.failed",
                             "refund.posted",
                             "dispute.opened",
                             "dispute.closed",
                             "webhook.failing",
                             "webhook.disabled",
                             "webhook.test",
                             "ticket.answered",
                             "ticket.closed",
                             "account.make_api_key",
                             "operations.machine_quarantined",
                             "operations.suspense",
                             "operations.task_dead",
                             "operations.paused",
                             "operations.settlement_held",
                             "operations.books_unsound",
                             "operations.treasury_short",
                             "operations.ticket_opened",
                             "operations.action_asked"})
        EXPECT_NE(registry.find(type), nullptr) << type;
}

}  // namespace
}  // namespace berth::test
