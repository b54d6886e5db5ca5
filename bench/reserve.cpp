// Pairs of a quote and a reservation a second through HTTP on SQLite, by 64 renters who each wait
// for their answers, against the bare hold of the ledger that each pair needs, by as many callers.
#include <atomic>
#include <thread>

#include "accounts/store.hpp"
#include "bench/catalog_server.hpp"
#include "bench/cycle.hpp"
#include "bench/service.hpp"
#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "server/app.hpp"

namespace {

using namespace berth;

constexpr int callers = 64;
constexpr int pairs = 2'000;
constexpr int holds = 20'000;
constexpr int rounds = 5;

// Runs `work(caller)` until so many are done; how many that were a second.
template <class Work>
double per_second(int times, const Work& work) {
    std::atomic<int> left = times;
    std::atomic<bool> failed = false;
    std::vector<std::thread> threads;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t caller = 0; caller < callers; ++caller)
        threads.emplace_back([&, caller] {
            try {
                const auto mine = work(caller);
                while (left-- > 0) mine();
            } catch (const std::exception& error) {
                fmt::print(stderr, "{}\n", error.what());
                failed = true;
            }
        });
    for (std::thread& thread : threads) thread.join();
    if (failed) throw std::runtime_error("a caller was refused");
    const std::chrono::duration<double> span = std::chrono::steady_clock::now() - begin;
    return times / span.count();
}

class Market {
public:
    Market()
        : app_(server::load_settings(sources()), clock_, random_),
          seed_(app_.database(), pairs * rounds) {
        app_.database().write([&](db::Transaction& tx) {
            for (int i = 0; i < callers; ++i) secrets_.push_back(add_renter(tx));
            for (const MachineId& id : seed_.machines())
                offers_.push_back(to_string(machines::find(tx, id)->offer_id));
            template_ = to_string(find_template(tx));
        });
        app_.serve();
    }

    double pairs_per_second() {
        return per_second(pairs, [this](std::size_t caller) {
            return [this, caller, connection = std::make_shared<bench::Connection>(app_.port())] {
                rent(*connection, secrets_[caller], offers_.at(next_++));
            };
        });
    }

private:
    settings::Sources sources() const {
        return bench::service_sources(folder_, {{"rate-account-per-minute", "1000000000"},
                                                {"rate-quotes-per-minute", "1000000000"},
                                                {"starts-open-max", "100000"},
                                                {"unbilled-starts-per-hour", "0"},
                                                {"threads", std::to_string(callers)},
                                                {"worker-threads", "0"}});
    }

    std::string add_renter(db::Transaction& tx) {
        const auto account = AccountId::make(clock_.now(), random_);
        tx.run(
            "INSERT INTO accounts (account_id, kind, email, role, host_capability, "
            "host_barred, suspended, version, totp_step, created_at) "
            "VALUES ($1, 'agent', NULL, 'renter', 0, 0, 0, 1, 0, $2)",
            account, clock_.now());
        std::string secret = crypto::make_token("ark_", random_);
        accounts::KeyRow key;
        key.id = accounts::KeyId::make(clock_.now(), random_);
        key.key_hash = crypto::sha256(secret);
        key.account = account;
        key.name = "bench";
        key.prefix = secret.substr(0, 12);
        key.renter = true;
        key.created_at = clock_.now();
        accounts::add_key(tx, key);
        ledger::deposit({tx, random_, clock_.now()},
                        {account, ledger::Asset::usdc, bench::funds, to_string(account)});
        return secret;
    }

    // One without a computed need, for any GPU of the seed.
    static offers::TemplateId find_template(db::Transaction& tx) {
        for (const offers::TemplateRow& row : offers::published_templates(tx))
            if (row.kind == offers::TemplateKind::classical &&
                offers::fit({.backends = offers::backend_bits("cuda,vulkan"),
                             .gpu_count = 1,
                             .vram_bytes = 25'757'220'864,
                             .cuda_max = offers::parse_version("12.8")},
                            offers::needs_of(row))
                    .fits())
                return row.template_id;
        throw std::runtime_error("no template fits");
    }

    std::string post(const std::string& path, const std::string& secret, const std::string& body) {
        return fmt::format(
            "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n"
            "Idempotency-Key: {}\r\nContent-Type: application/json\r\n"
            "Content-Length: {}\r\n\r\n{}",
            path, secret, to_string(make_uuid(clock_.now(), random_)), body.size(), body);
    }

    void rent(bench::Connection& connection, const std::string& secret, const std::string& offer) {
        const std::string quote = connection.ask(
            post("/api/v1/quotes", secret,
                 fmt::format(R"({{"offer_id":"{}","template_id":"{}","duration_limit_s":3600,)"
                             R"("budget_micro":"1000003"}})",
                             offer, template_)));
        constexpr std::string_view name = R"("quote_id":")";
        const std::size_t at = quote.find(name);
        if (!quote.starts_with("HTTP/1.1 201") || at == quote.npos) throw std::runtime_error(quote);
        const std::string job = connection.ask(
            post("/api/v1/jobs", secret,
                 fmt::format(R"({{"quote_id":"{}","ssh_public_key":"ssh-ed25519 {} me"}})",
                             quote.substr(at + name.size(), 36), std::string(68, 'A'))));
        if (!job.starts_with("HTTP/1.1 202")) throw std::runtime_error(job);
    }

    bench::Folder folder_;
    SystemClock clock_;
    SystemRandom random_;
    server::App app_;
    bench::Seed seed_;
    std::vector<std::string> secrets_;
    std::vector<std::string> offers_;
    std::string template_;
    std::atomic<std::size_t> next_{0};
};

// The first step of the cycle that ledger_sqlite measures.
class Books {
public:
    Books() : database_(db::open("sqlite:" + folder_.path + "/books.db")) {
        bench::prepare_books(*database_);
    }
    double holds_per_second() {
        return per_second(holds, [this](std::size_t) {
            return [this, random = std::make_shared<std::mt19937_64>(std::random_device{}())] {
                const bench::Cycle cycle = bench::any_cycle(*random);
                database_->write([&](db::Transaction& tx) {
                    bench::run_step({tx, bytes_, clock_.now()}, cycle, 0);
                });
            };
        });
    }

private:
    bench::Folder folder_;
    SystemClock clock_;
    SystemRandom bytes_;
    std::unique_ptr<db::Database> database_;
};

void measure() {
    Market market;
    Books books;
    std::vector<double> ours;
    std::vector<double> baseline;
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(market.pairs_per_second());
        baseline.push_back(books.holds_per_second());
    }
    bench::print("reserve", ours, "ledger-hold", baseline);
}

}  // namespace

int main() { return bench::run("reserve", measure); }
