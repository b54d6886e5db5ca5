#include "chain/json_rpc.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"

namespace berth::chain {
namespace {

// What each provider says. Every one is asked, so that one that is away is noticed whatever the
// others say.
template <class Ask>
auto ask_all(std::deque<Provider>& providers, Ask ask) {
    std::vector<decltype(ask(providers.front()))> said;
    for (Provider& provider : providers) {
        provider.require_chain();
        said.push_back(ask(provider));
    }
    return said;
}

// Throws when two of the statements that count differ.
template <class Statement, class Counts>
void require_agreement(const std::deque<Provider>& providers, const std::vector<Statement>& said,
                       Counts counts, std::string_view subject) {
    const auto first = std::ranges::find_if(said, counts);
    const auto other = std::find_if(first, said.end(), [&](const Statement& statement) {
        return counts(statement) && statement != *first;
    });
    if (other == said.end()) return;
    const auto host = [&](auto statement) {
        return providers[static_cast<std::size_t>(statement - said.begin())].host();
    };
    throw ProviderError(fmt::format("The providers {} and {} contradict each other about {}.",
                                    host(first), host(other), subject));
}

bool is_final(const Sighting& sighting) { return sighting.status != Sighting::Status::unseen; }

bool is_final(const Outcome& outcome) {
    return outcome.status == Outcome::Status::succeeded ||
           outcome.status == Outcome::Status::reverted;
}

}  // namespace

JsonRpcChain::JsonRpcChain(http::Client& client, Options options) {
    check(!options.urls.empty(), "a chain has a provider");
    check(options.confirmations >= 0, "confirmations are not negative");
    for (std::string& url : options.urls)
        providers_.emplace_back(
            client, Provider::Options{std::move(url), options.chain_id, options.confirmations});
}

// A provider that has not seen yet what another one calls final lags behind: no contradiction.
Sighting JsonRpcChain::find_transfer(const Hash& transaction, std::int64_t log_index) {
    const auto said = ask_all(providers_, [&](Provider& provider) {
        return provider.find_transfer(transaction, log_index);
    });
    const auto counts = [](const Sighting& sighting) { return is_final(sighting); };
    require_agreement(providers_, said, counts, to_string(transaction));
    return std::ranges::all_of(said, counts) ? said.front() : Sighting{};
}

std::int64_t JsonRpcChain::finalized_block() {
    return std::ranges::min(
        ask_all(providers_, [](Provider& provider) { return provider.final_block(); }));
}

std::vector<Transfer> JsonRpcChain::transfers(const Range& range, const Wanted& wanted) {
    const auto said =
        ask_all(providers_, [&](Provider& provider) { return provider.transfers(range, wanted); });
    require_agreement(
        providers_, said, [](const std::vector<Transfer>&) { return true; },
        fmt::format("the transfers in blocks {} to {}", range.first, range.last));
    return said.front();
}

Outcome JsonRpcChain::outcome(const Hash& transaction) {
    const auto said =
        ask_all(providers_, [&](Provider& provider) { return provider.outcome(transaction); });
    const auto counts = [](const Outcome& outcome) { return is_final(outcome); };
    require_agreement(providers_, said, counts, to_string(transaction));
    if (std::ranges::all_of(said, counts)) return said.front();
    const bool is_unseen = std::ranges::all_of(
        said, [](const Outcome& outcome) { return outcome.status == Outcome::Status::unseen; });
    return {is_unseen ? Outcome::Status::unseen : Outcome::Status::included};
}

// Nonces are used up when all of them say so: one that is wrong must not make us leave a gap,
// behind which no later transaction could ever be taken.
std::int64_t JsonRpcChain::finalized_nonce(const crypto::Address& account) {
    return std::ranges::min(
        ask_all(providers_, [&](Provider& provider) { return provider.final_nonce(account); }));
}

std::int64_t JsonRpcChain::latest_nonce(const crypto::Address& account) {
    return std::ranges::min(
        ask_all(providers_, [&](Provider& provider) { return provider.latest_nonce(account); }));
}

// The lowest: no single provider can make us pay more. Too little is mended by a replacement.
Fees JsonRpcChain::fees() {
    const auto said = ask_all(providers_, [](Provider& provider) { return provider.fees(); });
    return {.base = std::ranges::min(said, {}, &Fees::base).base,
            .priority = std::ranges::min(said, {}, &Fees::priority).priority};
}

void JsonRpcChain::send(std::string_view signed_bytes) {
    bool taken = false;
    std::string complaints;
    for (Provider& provider : providers_) {
        try {
            provider.require_chain();
            provider.send(signed_bytes);
            taken = true;
        } catch (const ProviderError& error) {
            complaints += complaints.empty() ? "" : " ";
            complaints += error.what();
        }
    }
    if (!taken) throw ProviderError(complaints);
}

}  // namespace berth::chain
