#include "host_agent/qualification/proof.hpp"

#include <fmt/format.h>

#include <exception>
#include <functional>
#include <thread>

#include "base/log.hpp"
#include "base/problem.hpp"
#include "wire/open.hpp"

namespace berth::host_agent {
namespace {

using namespace agent_protocol;
using gpu::ProvingCard;
using Cards = std::vector<std::unique_ptr<ProvingCard>>;

constexpr int proof_sends_max = 3;

// The same for every card at the same time; throws what one of them threw.
void at_once(const Cards& cards, const std::function<void(std::size_t)>& work) {
    std::vector<std::exception_ptr> failures(cards.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < cards.size(); ++i)
        threads.emplace_back([&, i] {
            try {
                work(i);
            } catch (...) {
                failures[i] = std::current_exception();
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

class Proof {
public:
    Proof(const ProofParts& parts, RunId run)
        : parts_(parts),
          path_("/api/v1/host-agent/qualification/" + to_string(run) + "/proof"),
          inventory_(parts.gpus.inventory()),
          cards_(parts.gpus.proving_cards()) {}

    bool is_possible() const { return !cards_.empty() && cards_.size() == inventory_.gpus.size(); }

    void carry_through() {
        at_once(cards_, [&](std::size_t i) { cards_[i]->make_ready(); });
        const auto product_order = sent<ProductOrder>("", ProofBegin{fence()});
        const auto lane_order = sent<LaneOrder>("/product", multiplied(product_order));
        const auto block_order = sent<BlockOrder>("/lanes", filled(lane_order));
        sent<ProofTaken>("/blocks", shown(block_order));
    }

private:
    wire::Decimal fence() const { return {parts_.counters.fence()}; }

    ProductCommitment multiplied(const ProductOrder& order) {
        ProductCommitment said;
        said.fence = fence();
        said.cards.value.resize(cards_.size());
        at_once(cards_, [&](std::size_t i) {
            said.cards.value[i].pci_address = inventory_.gpus[i].pci_address;
            said.cards.value[i].root = {cards_[i]->multiply(order)};
        });
        return said;
    }
    LaneCommitment filled(const LaneOrder& order) {
        require_each(order.rows.size());
        LaneCommitment said;
        said.fence = fence();
        said.cards.value.resize(cards_.size());
        at_once(cards_, [&](std::size_t i) {
            LanesOfCard& card = said.cards.value[i];
            card.rows.value = cards_[i]->rows(order.rows[i]);
            const auto made = cards_[i]->fill(order);
            card.lanes = {made.lanes};
            card.root = {made.root};
        });
        return said;
    }
    BlockAnswer shown(const BlockOrder& order) {
        require_each(order.blocks.size());
        BlockAnswer said;
        said.fence = fence();
        said.cards.value.resize(cards_.size());
        at_once(cards_, [&](std::size_t i) {
            said.cards.value[i].blocks.value = cards_[i]->blocks(order.blocks[i]);
        });
        return said;
    }
    void require_each(std::size_t asked) const {
        if (asked != cards_.size())
            throw std::runtime_error("the server asks for other cards than there are");
    }

    template <class Answer, class Message>
    Answer sent(const std::string& step, const Message& message) {
        const Call call{.target = path_ + step, .body = wire::encode(message)};
        for (int tries = 1;; ++tries) {
            try {
                const http::Response response = parts_.link.send(call);
                if (response.status == 200)
                    return wire::decode_known<Answer>(response.body, "answer");
                throw std::runtime_error(fmt::format("the server answered {} to a proof: {}",
                                                     response.status,
                                                     response.body.substr(0, 300)));
            } catch (const http::TransportError&) {
                if (tries == proof_sends_max) throw;
            }
        }
    }

    const ProofParts& parts_;
    const std::string path_;
    const gpu::Inventory inventory_;
    const Cards cards_;
};

Check proof_check(CheckStatus status, std::string summary) {
    Check said;
    said.id = {"gpu.proof"};
    said.status = status;
    summary.resize(std::min<std::size_t>(summary.size(), 400));
    said.summary.emplace(wire::Text<0, 500>{std::move(summary)});
    return said;
}

}  // namespace

Check prove_cards(const ProofParts& parts, RunId run) {
    std::string why;
    try {
        Proof proof(parts, run);
        if (!proof.is_possible())
            return proof_check(CheckStatus::skipped, "These cards cannot be proven.");
        proof.carry_through();
        return proof_check(CheckStatus::pass, "Every card did what the server asked for.");
    } catch (const Problem& problem) {
        why = problem.message;
    } catch (const std::exception& error) {
        why = error.what();
    }
    log(Level::warn, "cards_not_proven", {{"why", why}});
    return proof_check(CheckStatus::fail, why);
}

}  // namespace berth::host_agent
