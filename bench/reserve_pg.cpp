// Pairs of a quote and a reservation a second on PostgreSQL, by 16 callers of the handlers, each in
// a transaction of its own, against pgbench with the same statements on the same tables of the same
// server, in turns. Both take a machine for each pair that nobody has taken.
#include <atomic>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "api/settings.hpp"
#include "bench/catalog_server.hpp"
#include "bench/cycle.hpp"
#include "bench/pgbench.hpp"
#include "ledger/settings.hpp"
#include "machines/settings.hpp"
#include "offers/settings.hpp"
#include "rentals/quotes.hpp"
#include "rentals/settings.hpp"
#include "rentals/store.hpp"
#include "server/schema.hpp"

namespace {

using namespace berth;
using berth::bench::Sent;

constexpr int callers = 16;
constexpr int pairs_of_caller = 100;
constexpr int pairs = callers * pairs_of_caller;
constexpr int rounds = 5;
// No other values are like these.
constexpr std::int64_t sequence_mark = 777'000'000;
constexpr std::int64_t entries_mark = 888'000'000;
constexpr std::int64_t entries_of_hold = 2;  // both of the renter
constexpr std::size_t head_bytes = 32;

const settings::Registry& registry() {
    static const settings::Registry all = settings::Registry()
                                              .add<api::Settings>()
                                              .add<ledger::Settings>()
                                              .add<machines::Settings>()
                                              .add<offers::Settings>()
                                              .add<rentals::Settings>();
    return all;
}

// The handlers, and what they stand on.
class Desk {
public:
    explicit Desk(db::Database& database)
        : database_(database),
          seed_(database, 2 * pairs * rounds + 1, bench::Seed::Keys::none,
                bench::Seed::Ids::numbered) {
        database_.write([&](db::Transaction& tx) {
            rentals::note_listening(tx, clock_.now(), Duration{});
            template_ = find_template(tx);
        });
    }

    struct Pair {
        std::size_t machine = 0;
        int renter = 1;
    };
    using Wrapped = std::function<void(const std::function<void(db::Transaction&)>&)>;
    // Each of the two in what `transaction` gives it.
    JobId rent(const Pair& pair, const Wrapped& transaction) {
        rentals::QuoteId quote;
        JobId job;
        transaction([&](db::Transaction& tx) {
            as(pair.renter, tx, [&](api::Call& call) {
                rentals::NewQuote wish;
                wish.offer_id = bench::numbered_offer(pair.machine);
                wish.template_id = template_;
                wish.duration_limit_s = {3600};
                wish.budget_micro = {bench::budget.value};
                quote = *quotes_.create(call, wish).quote_id.value;
            });
        });
        transaction([&](db::Transaction& tx) {
            as(pair.renter, tx, [&](api::Call& call) {
                rentals::NewJob wish;
                wish.quote_id = quote;
                wish.ssh_public_key =
                    wire::Text<1, 4096>{"ssh-ed25519 " + std::string(68, 'A') + " me"};
                job = quotes_.reserve(call, wish).job_id;
            });
        });
        return job;
    }
    double pairs_per_second() {
        std::atomic<int> left = pairs;
        std::atomic<bool> failed = false;
        std::vector<std::thread> threads;
        const auto begin = std::chrono::steady_clock::now();
        for (int caller = 0; caller < callers; ++caller)
            threads.emplace_back([&, caller] {
                std::mt19937_64 dice(static_cast<unsigned>(caller));
                try {
                    while (left-- > 0)
                        rent({next_++, 1 + static_cast<int>(dice() % bench::renters)},
                             [&](const auto& work) { database_.write(work); });
                } catch (const std::exception& error) {
                    fmt::print(stderr, "{}\n", error.what());
                    failed = true;
                }
            });
        for (std::thread& thread : threads) thread.join();
        if (failed) throw std::runtime_error("a caller was refused");
        const std::chrono::duration<double> span = std::chrono::steady_clock::now() - begin;
        return pairs / span.count();
    }
    AccountId owner() const { return seed_.owner(); }
    std::size_t take(std::size_t machines) { return next_.fetch_add(machines); }

private:
    template <class Function>
    void as(int renter, db::Transaction& tx, const Function& function) {
        api::Caller caller;
        caller.credential = api::Credential::session;
        caller.account = bench::renter_id(renter);
        caller.renter = true;
        const http::Request request;
        const auto settings = live_.now();
        api::Call call({caller, clock_.now(), random_, cursors_, api::StepUp::none, request,
                        RequestId::make(clock_.now(), random_), *settings, &tx});
        function(call);
    }
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

    db::Database& database_;
    bench::Seed seed_;
    const SystemClock clock_;
    SystemRandom random_;
    const api::Cursors cursors_{"secret"};
    settings::Live live_{registry(),
                         registry().read({.flags = {{"starts-open-max", "100000"},
                                                    {"unbilled-starts-per-hour", "0"}}})};
    const crypto::Sealer sealer_{crypto::Secret(std::string(32, 's'))};
    const agent_protocol::CommandKey key_{bench::key_of(0)};
    const machines::Commands commands_{sealer_, key_};
    const rentals::Lifecycle lifecycle_{commands_};
    const accounts::Integrations integrations_{sealer_};
    const rentals::Quotes quotes_{{lifecycle_, sealer_, integrations_}};
    offers::TemplateId template_;
    std::atomic<std::size_t> next_{0};
};

// What the handlers send for one pair as a script for pgbench: ids become numbers that differ from
// pair to pair, the end of the renter's chain is carried on, all other values stay.
class Script {
public:
    Script() {
        text_ = "\\set i :i + 1\n\\set machine :first + :client_id * :each + :i\n";
        text_ +=
            fmt::format("\\set offer :machine + {}\n", bench::offers_begin - bench::machines_begin);
        text_ += fmt::format("\\set renter random(1, {})\n", bench::renters);
    }
    void name(const Uuid& id, const std::string& name) { names_[std::string(id.view())] = name; }
    void keep(const Uuid& id) { kept_.insert(std::string(id.view())); }

    void add_transaction(const std::vector<Sent>& all) {
        std::string body;
        for (const Sent& sent : all) body += statement(sent);
        text_ += "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;\n" + body + "COMMIT;\n";
    }
    const std::string& text() const { return text_; }

private:
    std::string statement(const Sent& sent) {
        const std::string sql = bench::filled_in(
            sent.sql, sent.values, [this](const Sent::Value& value) { return expression(value); });
        const bool returns_head = sql.find("RETURNING sequence, head") != sql.npos;
        return sql + (returns_head ? " \\gset\n" : ";\n");
    }

    std::string expression(const Sent::Value& value) {
        if (value.null) return "NULL";
        switch (value.kind) {
            case db::Param::Kind::integer:
                if (value.integer >= sequence_mark && value.integer < sequence_mark + 10)
                    return "CAST(:sequence AS BIGINT)";
                if (value.integer > entries_mark && value.integer <= entries_mark + entries_of_hold)
                    return fmt::format("CAST(:entries - {} AS BIGINT)",
                                       entries_mark + entries_of_hold - value.integer);
                return fmt::format("CAST({} AS BIGINT)", value.integer);
            case db::Param::Kind::text: return text_expression(value.bytes);
            case db::Param::Kind::blob:
                if (value.bytes.size() == head_bytes) return "CAST(:head AS BYTEA)";
                return "CAST('\\x" + to_hex(value.bytes) + "' AS BYTEA)";
            case db::Param::Kind::uuid: return id_expression(value.bytes);
        }
        return {};
    }

    std::string id_expression(const std::string& bytes) {
        const Uuid id = uuid_from_bytes(bytes).value();
        if (kept_.contains(bytes)) return "CAST('" + to_string(id) + "' AS UUID)";
        auto found = names_.find(bytes);
        if (found == names_.end()) {
            const std::string name = fmt::format("id{}", names_.size());
            found = names_.emplace(bytes, name).first;
            text_ += fmt::format("\\set {} random(1, 4611686018427387904)\n", name);
        }
        return fmt::format("CAST(lpad(to_hex(CAST(:{} AS BIGINT)), 32, '0') AS UUID)",
                           found->second);
    }

    std::string text_expression(const std::string& text) const {
        for (const auto& [bytes, name] : names_) {
            const std::string id = to_string(uuid_from_bytes(bytes).value());
            const std::size_t at = text.find(id);
            if (at == text.npos) continue;
            return fmt::format("'{}' || CAST(:{} AS TEXT) || '{}'", text.substr(0, at), name,
                               text.substr(at + id.size()));
        }
        std::string quoted;
        for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
        return "'" + quoted + "'";
    }

    std::map<std::string, std::string> names_;  // of ids, by their bytes
    std::set<std::string> kept_;                // ids that are the same for all
    std::string text_;
};

std::string record_script(db::Database& database, Desk& desk) {
    const Desk::Pair pair{desk.take(1), 1};
    Script script;
    script.name(bench::numbered_machine(pair.machine).uuid, "machine");
    script.name(bench::numbered_offer(pair.machine).uuid, "offer");
    script.name(bench::renter_id(pair.renter).uuid, "renter");
    script.keep(desk.owner().uuid);
    script.keep(Uuid{});
    database.read([&](db::Transaction& tx) {
        for (const offers::TemplateRow& row : offers::published_templates(tx))
            script.keep(row.template_id.uuid);
    });
    database.write([&](db::Transaction& tx) {
        tx.run("UPDATE ledger_accounts SET sequence = $2, entries = $3 WHERE account_id = $1",
               bench::renter_id(pair.renter), sequence_mark, entries_mark);
    });
    desk.rent(pair, [&](const auto& work) {
        database.write([&](db::Transaction& tx) {
            bench::Recorder recorder(tx);
            work(recorder);
            recorder.write_batches();  // what is told comes last
            script.add_transaction(recorder.take());
        });
    });
    return script.text();
}

void measure() {
    const test::PostgresCluster cluster;
    const auto database = db::open(cluster.url(), {.connections_max = callers});
    db::migrate(*database, server::schema());
    bench::fill_books(*database);
    Desk desk(*database);
    std::ofstream(cluster.folder() / "pair.sql") << record_script(*database, desk);
    std::vector<double> ours;
    std::vector<double> baseline;
    for (int round = 0; round < rounds; ++round) {
        baseline.push_back(bench::pgbench_per_second(
            cluster, callers,
            fmt::format("--transactions={} -D i=-1 -D first={} -D each={}", pairs_of_caller,
                        bench::machines_begin + desk.take(pairs), pairs_of_caller),
            "pair.sql"));
        ours.push_back(desk.pairs_per_second());
    }
    bench::print("reserve_pg", ours, "pgbench", baseline);
}

}  // namespace

int main() { return bench::run("reserve_pg", measure); }
