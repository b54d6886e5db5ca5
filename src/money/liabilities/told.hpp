// What operators are told when the treasury has less than is owed.
#pragma once

#include <vector>

#include "events/events.hpp"
#include "ledger/chart.hpp"

namespace berth::liabilities {

struct UncoveredFacts {
    ledger::Asset asset = ledger::Asset::usdc;
    Micro owed_micro;
    Micro treasury_micro;
};
BOOST_DESCRIBE_STRUCT(UncoveredFacts, (), (asset, owed_micro, treasury_micro))
constexpr auto wire_docs(const UncoveredFacts*) {
    return std::to_array<wire::Doc>({
        {"asset", "", "USDC"},
        {"owed_micro", "What is owed to all accounts.", "1000000000"},
        {"treasury_micro", "What the treasury has on the chain.", "999000000"},
    });
}

inline constexpr events::Kind<UncoveredFacts> operations_books_unsound{
    "operations.books_unsound", "liability_record", events::Audience::operators,
    "A record shows that the treasury has less than is owed.", R"({"asset":"USDC"})"};

inline std::vector<events::DeclaredKind> event_kinds() { return {operations_books_unsound}; }

}  // namespace berth::liabilities
