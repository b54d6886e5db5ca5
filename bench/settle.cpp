// A thousand transfers through a node that takes 50 ms for every request: from INTENT to SETTLED,
// by the settler, against a thousand bare sends of signed bytes to the same node, a batch of a
// hundred every second. The chain makes a block a second, and the third one makes it final.
//
// What limits it is the node and its blocks, not the distance: it takes about 46 requests, which
// wait 2.3 s in all, where one for each transfer would wait 50 s and more. The rest is the node
// executing what it was sent (the bare sends wait for it, too) and the two blocks to finality: of
// the processor time of the whole run the settler has one part in twenty-five, its database and
// signatures included.
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include <fmt/format.h>

#include "accounts/accounts.hpp"
#include "base/log.hpp"
#include "bench/measure.hpp"
#include "chain/json_rpc.hpp"
#include "server/schema.hpp"
#include "server/settings.hpp"
#include "support/evm_node.hpp"
#include "transfers/settler.hpp"
#include "transfers/transfers.hpp"

namespace {

using namespace berth;
using SteadyClock = std::chrono::steady_clock;

constexpr int transfers_wanted = 1000;
constexpr int accounts_wanted = 100;
constexpr std::size_t sends_of_batch = 100;
constexpr auto call_time = std::chrono::milliseconds(50);
constexpr auto block_time = std::chrono::seconds(1);
constexpr int seconds_max = 300;

double seconds_since(SteadyClock::time_point begin) {
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// Of this process and not of the node, which is one of its own.
double processor_seconds() {
    rusage used{};
    check(::getrusage(RUSAGE_SELF, &used) == 0, "the processor time is known");
    const auto seconds = [](const timeval& span) {
        return static_cast<double>(span.tv_sec) + static_cast<double>(span.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// As far away as a provider on another continent.
class FarClient final : public http::Client {
public:
    http::Response send(const http::Outbound& request) override {
        ++calls;
        std::this_thread::sleep_for(call_time);
        return client_.send(request);
    }
    std::atomic<int> calls = 0;

private:
    http::CurlClient client_;
};

// Makes blocks for as long as it lives.
class Miner {
public:
    explicit Miner(test::EvmNode& node)
        : thread_([this, &node] {
              while (!stopping_) {
                  std::this_thread::sleep_for(block_time);
                  mine(node);
              }
          }) {}
    ~Miner() {
        stopping_ = true;
        thread_.join();
    }

private:
    static void mine(test::EvmNode& node) {
        try {
            node.mine();
        } catch (const std::exception& error) {  // a busy node; the next block has it all
            fmt::print(stderr, "settle: a block is late: {}\n", error.what());
        }
    }

    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

// Accounts with money, and what each of them has asked for.
void prepare(db::Database& database, const Clock& clock, Random& random) {
    db::migrate(database, server::schema());
    database.write([&](db::Transaction& tx) {
        const Time now = clock.now();
        const ledger::Context context{tx, random, now};
        for (int i = 0; i < accounts_wanted; ++i) {
            const auto account = AccountId::make(now, random);
            accounts::add_agent(tx, account, now);
            ledger::deposit(
                context, {account, ledger::Asset::usdc, Micro{1'000'000'000}, to_string(account)});
            for (int j = 0; j < transfers_wanted / accounts_wanted; ++j) {
                transfers::TransferRow row;
                row.transfer_id = transfers::TransferId::make(now, random);
                row.account_id = account;
                row.amount = Micro{1'000'000};
                row.address = test::EvmNode::account(1 + i % 5).address();
                row.address_id = transfers::AddressId::make(now, random);
                row.state = transfers::TransferState::INTENT;
                row.created_at = now;
                transfers::add_transfer(tx, row);
                transfers::lock_transfer(context, row);
            }
        }
    });
}

std::int64_t settled(db::Database& database) {
    return database.read([](db::Transaction& tx) {
        return tx
            .fetch_value<std::int64_t>("SELECT COUNT(*) FROM transfers WHERE state = 'SETTLED'")
            .value();
    });
}

// Seconds until the last one is booked. Rounds follow each other as the worker would start them.
double settle_all(test::EvmNode& node, FarClient& client) {
    const bench::Folder folder;
    const SystemClock clock;
    SystemRandom random;
    const auto database = db::open("sqlite:" + folder.path + "/settle.db");
    prepare(*database, clock, random);
    const auto key = crypto::SigningKey::from_bytes(Bytes(32, '\x11')).value();
    node.set_ether(key.address(), 1'000'000'000'000'000'000);
    node.mint(node.usdc(), {key.address(), Micro{10'000'000'000}});
    node.finalize();
    settings::Live settings(server::registry(), {});
    chain::JsonRpcChain chain(client, {.urls = {node.url()}, .chain_id = test::EvmNode::chain_id});
    ledger::Treasury treasury;
    treasury.address = key.address();
    treasury.tokens = {node.usdc(), node.usdt()};
    const transfers::Settler settler({treasury, settings, key, chain, *database, clock, random});
    const Miner miner(node);
    const auto begin = SteadyClock::now();
    const double used_before = processor_seconds();
    int rounds = 0;
    while (settled(*database) < transfers_wanted) {
        check(seconds_since(begin) < seconds_max, "a thousand transfers settle in minutes");
        settler.run();
        ++rounds;
    }
    const double took = seconds_since(begin);
    fmt::print(stderr,
               "settle: {} rounds, {} requests; {:.2f} s of processor time for the settler, "
               "{:.1f} s of waiting for the distance\n",
               rounds, client.calls.load(), processor_seconds() - used_before,
               std::chrono::duration<double>(call_time).count() * client.calls);
    return took;
}

// Seconds until the node has the last of as many signed transactions.
double send_bare(test::EvmNode& node, FarClient& client) {
    const auto key = test::EvmNode::account(6);
    node.mint(node.usdc(), {key.address(), Micro{10'000'000'000}});
    chain::JsonRpcChain chain(client, {.urls = {node.url()}, .chain_id = test::EvmNode::chain_id});
    const chain::Standing standing = chain.standing(key.address(), {});
    std::vector<std::vector<Bytes>> batches;
    for (int i = 0; i < transfers_wanted; ++i) {
        if (batches.empty() || batches.back().size() == sends_of_batch) batches.emplace_back();
        const chain::Transaction transaction{
            .chain_id = test::EvmNode::chain_id,
            .nonce = standing.latest_nonce + i,
            .priority_fee = standing.fees.priority,
            .fee_max = 2 * standing.fees.base + standing.fees.priority,
            .gas_max = transfers::transfer_gas_max,
            .to = node.usdc(),
            .data = chain::erc20_transfer({test::EvmNode::account(2).address(), Micro{1'000'000}})};
        batches.back().push_back(chain::sign(transaction, key).bytes);
    }
    const Miner miner(node);
    const auto begin = SteadyClock::now();
    for (std::size_t i = 0; i < batches.size(); ++i) {
        std::this_thread::sleep_until(begin + std::chrono::seconds(i));
        for (const chain::Sent& sent : chain.send(batches[i]))
            if (sent.status != chain::Sent::Status::taken)
                throw std::runtime_error("the node does not take what is sent: " + sent.why);
    }
    return seconds_since(begin);
}

}  // namespace

int main() {
    set_log(Level::error);
    try {
        test::EvmNode node;
        FarClient client;
        const double baseline = send_bare(node, client);
        client.calls = 0;
        const double ours = settle_all(node, client);
        fmt::print("BENCH settle ours={:.1f} baseline=bare-sends:{:.1f} ratio={:.2f}\n", ours,
                   baseline, baseline / ours);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "settle: {}\n", error.what());
        return 1;
    }
}
