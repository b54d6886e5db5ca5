#include "chain/json_rpc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/check.hpp"
#include "base/log.hpp"

namespace berth::chain {
namespace {

// What asking one provider came to.
template <class Value>
struct Try {
    std::optional<Value> value = {};
    std::string complaint = {};
    std::exception_ptr bug = {};
};

template <class Value, class Ask>
void attempt(Provider& provider, Ask& ask, Try<Value>& out) noexcept {
    try {
        provider.require_chain();
        out.value = ask(provider);
        provider.note_success();
    } catch (const ProviderError& error) {
        provider.note_failure();
        out.complaint = error.what();
    } catch (...) {
        out.bug = std::current_exception();
    }
}

std::string joined(const std::vector<std::string>& complaints) {
    return fmt::format("{}", fmt::join(complaints, " "));
}

// Throws when two of the statements that count differ.
template <class Said, class Counts>
void require_agreement(const std::vector<Said>& said, Counts counts, std::string_view subject) {
    const auto is_counted = [&](const Said& one) { return counts(one.value); };
    const auto first = std::ranges::find_if(said, is_counted);
    const auto other = std::find_if(first, said.end(), [&](const Said& one) {
        return is_counted(one) && one.value != first->value;
    });
    if (other == said.end()) return;
    throw ProviderError(fmt::format("The providers {} and {} contradict each other about {}.",
                                    first->provider->host(), other->provider->host(), subject));
}

bool is_final(const Sighting& sighting) { return sighting.status != Sighting::Status::unseen; }

bool is_final(const Outcome& outcome) {
    return outcome.status == Outcome::Status::succeeded ||
           outcome.status == Outcome::Status::reverted;
}

// The statement that a quorum calls final and nobody contradicts.
template <class Said, class Value = decltype(Said::value)>
std::optional<Value> agreed(const std::vector<Said>& said, std::size_t quorum,
                            std::string_view subject) {
    const auto counts = [](const Value& value) { return is_final(value); };
    require_agreement(said, counts, subject);
    const auto of = [](const Said& one) { return is_final(one.value); };
    if (static_cast<std::size_t>(std::ranges::count_if(said, of)) < quorum) return std::nullopt;
    return std::ranges::find_if(said, of)->value;
}

}  // namespace

JsonRpcChain::JsonRpcChain(http::Client& client, Options options)
    : quorum_(options.quorum != 0 ? options.quorum : options.urls.size() / 2 + 1) {
    check(!options.urls.empty(), "a chain has a provider");
    check(quorum_ <= options.urls.size(), "there are enough providers for the quorum");
    check(options.confirmations >= 0, "confirmations are not negative");
    for (std::string& url : options.urls)
        providers_.emplace_back(
            client, Provider::Options{std::move(url), options.chain_id, options.confirmations});
}

// One that failed lately is not waited for, unless the others are too few.
std::vector<Provider*> JsonRpcChain::choose() {
    std::vector<Provider*> chosen, resting;
    for (Provider& provider : providers_)
        (provider.is_resting() ? resting : chosen).push_back(&provider);
    if (chosen.size() < quorum_) chosen.insert(chosen.end(), resting.begin(), resting.end());
    return chosen;
}

template <class Ask>
auto JsonRpcChain::ask_all(Ask ask) {
    return ask_all(ask, quorum_);
}

template <class Ask>
auto JsonRpcChain::ask_all(Ask ask, std::size_t answers_least) {
    using Value = decltype(ask(providers_.front()));
    const std::vector<Provider*> chosen = choose();
    std::vector<Try<Value>> tries(chosen.size());
    {
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < chosen.size(); ++i)
            others.emplace_back([&, i] { attempt(*chosen[i], ask, tries[i]); });
        attempt(*chosen[0], ask, tries[0]);
    }
    std::vector<Said<Value>> said;
    std::vector<std::string> complaints;
    for (std::size_t i = 0; i < tries.size(); ++i) {
        if (tries[i].bug) std::rethrow_exception(tries[i].bug);
        if (tries[i].value)
            said.push_back({chosen[i], std::move(*tries[i].value)});
        else
            complaints.push_back(tries[i].complaint);
    }
    if (said.size() < answers_least) throw ProviderError(joined(complaints));
    return said;
}

template <class Value, class Number>
auto JsonRpcChain::reached(const std::vector<Said<Value>>& said, Number number) const {
    std::vector<decltype(number(said.front().value))> all;
    for (const auto& one : said) all.push_back(number(one.value));
    std::ranges::sort(all, std::greater{});
    return all[quorum_ - 1];
}

// A provider that has not seen yet what another one calls final lags behind: no contradiction.
Sighting JsonRpcChain::find_transfer(const Hash& transaction, std::int64_t log_index) {
    const auto said =
        ask_all([&](Provider& provider) { return provider.find_transfer(transaction, log_index); });
    return agreed(said, quorum_, to_string(transaction)).value_or(Sighting{});
}

std::int64_t JsonRpcChain::finalized_block() {
    const auto said = ask_all([](Provider& provider) { return provider.final_block(); });
    return reached(said, [](std::int64_t block) { return block; });
}

std::vector<Transfer> JsonRpcChain::transfers(const Range& range, const Wanted& wanted) {
    const auto said =
        ask_all([&](Provider& provider) { return provider.transfers(range, wanted); });
    require_agreement(
        said, [](const std::vector<Transfer>&) { return true; },
        fmt::format("the transfers in blocks {} to {}", range.first, range.last));
    return said.front().value;
}

std::vector<Outcome> JsonRpcChain::outcomes(const std::vector<Hash>& transactions) {
    const auto said = ask_all([&](Provider& provider) { return provider.outcomes(transactions); });
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < transactions.size(); ++i) {
        std::vector<Said<Outcome>> of_this;
        for (const auto& one : said) of_this.push_back({one.provider, one.value[i]});
        outcomes.push_back(outcome_of(of_this, to_string(transactions[i])));
    }
    return outcomes;
}

// One that is disputed says nothing about the others.
Outcome JsonRpcChain::outcome_of(const std::vector<Said<Outcome>>& said,
                                 const std::string& name) const {
    try {
        if (auto decided = agreed(said, quorum_, name)) return *decided;
    } catch (const ProviderError& error) {
        log(Level::error, "providers_contradict", {{"why", error.what()}});
        return {Outcome::Status::disputed};
    }
    const bool is_unseen = std::ranges::all_of(
        said, [](const Said<Outcome>& one) { return one.value.status == Outcome::Status::unseen; });
    return {is_unseen ? Outcome::Status::unseen : Outcome::Status::included};
}

// Before it is final a reorganisation may move it, and providers differ for a while; what two of
// them call final is the same.
Glimpse JsonRpcChain::glimpse(const Hash& transaction) {
    const auto said = ask_all([&](Provider& provider) { return provider.glimpse(transaction); });
    std::vector<Said<Glimpse::Seen>> final_ones;
    for (const auto& [provider, one] : said)
        if (one.is_final()) final_ones.push_back({provider, one.seen});
    require_agreement(
        final_ones, [](const Glimpse::Seen&) { return true; }, to_string(transaction));
    Glimpse glimpse;
    glimpse.final_block = reached(said, [](const Glimpse& one) { return one.final_block; });
    glimpse.latest_block = reached(said, [](const Glimpse& one) { return one.latest_block; });
    for (const auto& one : said) {
        const auto same = std::ranges::count_if(
            said, [&](const auto& other) { return other.value.seen == one.value.seen; });
        if (static_cast<std::size_t>(same) >= quorum_) glimpse.seen = one.value.seen;
    }
    return glimpse;
}

// Nonces are used up, and money is there, when a quorum says so. The fees are the lowest: no single
// provider can make us pay more, and too little is mended by a replacement.
Standing JsonRpcChain::standing(const crypto::Address& account,
                                const std::vector<crypto::Address>& tokens) {
    const auto said =
        ask_all([&](Provider& provider) { return provider.standing(account, tokens); });
    const auto by = [&](auto member) {
        return reached(said, [&](const Standing& one) { return one.*member; });
    };
    Standing standing = said.front().value;
    standing.finalized_block = by(&Standing::finalized_block);
    standing.finalized_nonce = by(&Standing::finalized_nonce);
    standing.latest_nonce = by(&Standing::latest_nonce);
    standing.gas = by(&Standing::gas);
    for (std::size_t i = 0; i < tokens.size(); ++i)
        standing.balances[i] =
            reached(said, [&](const Standing& one) { return one.balances.at(i); });
    for (const auto& [provider, one] : said) {
        standing.pending_nonce =
            std::max({standing.pending_nonce, one.pending_nonce, one.latest_nonce});
        standing.fees.base = std::min(standing.fees.base, one.fees.base);
        standing.fees.priority = std::min(standing.fees.priority, one.fees.priority);
    }
    return standing;
}

std::vector<Sent> JsonRpcChain::send(const std::vector<Bytes>& signed_bytes) {
    std::vector<Sent> sent(signed_bytes.size());
    try {
        const auto hand_over = [&](Provider& provider) { return provider.send(signed_bytes); };
        for (const auto& [provider, tries] : ask_all(hand_over, 1))
            for (std::size_t i = 0; i < sent.size(); ++i) {
                sent[i].status = std::min(sent[i].status, tries[i].status);
                if (sent[i].status == Sent::Status::taken)
                    sent[i].why.clear();
                else
                    sent[i].why += (sent[i].why.empty() ? "" : " ") + tries[i].why;
            }
    } catch (const ProviderError& error) {
        for (Sent& one : sent) one = {Sent::Status::refused, error.what()};
    }
    return sent;
}

Micro JsonRpcChain::balance(const crypto::Address& account, const crypto::Address& token,
                            std::int64_t block) {
    const auto said =
        ask_all([&](Provider& provider) { return provider.balance(account, token, block); });
    require_agreement(
        said, [](Micro) { return true; }, "the balance of " + crypto::to_string(account));
    return said.front().value;
}

std::vector<Trial> JsonRpcChain::try_calls(const std::vector<Call>& calls) {
    if (calls.empty()) return {};
    const auto said = ask_all([&](Provider& provider) { return provider.try_calls(calls); });
    std::vector<Trial> trials;
    for (std::size_t i = 0; i < calls.size(); ++i) trials.push_back(trial_of(said, i));
    return trials;
}

// What a quorum says. Providers that have seen different blocks may say different things, and then
// a later look tells.
Trial JsonRpcChain::trial_of(const std::vector<Said<std::vector<Trial>>>& said,
                             std::size_t place) const {
    std::optional<Trial> found;
    for (const auto& one : said) {
        const Trial& trial = one.value.at(place);
        const auto same = std::ranges::count_if(
            said, [&](const auto& other) { return other.value.at(place) == trial; });
        if (static_cast<std::size_t>(same) < quorum_) continue;
        if (found && *found != trial) return {};
        found = trial;
    }
    return found.value_or(Trial{});
}

std::int64_t JsonRpcChain::decimals(const crypto::Address& token) {
    const auto said = ask_all([&](Provider& provider) { return provider.decimals(token); });
    require_agreement(
        said, [](std::int64_t) { return true; }, "the decimals of " + crypto::to_string(token));
    return said.front().value;
}

// Its bytes prove themselves, so one provider that has them is enough.
std::optional<Original> JsonRpcChain::original(const Hash& transaction) {
    for (auto& one : ask_all([&](Provider& provider) { return provider.original(transaction); }))
        if (one.value) return one.value;
    return std::nullopt;
}

}  // namespace berth::chain
