// Jobs' money on PostgreSQL by 16 callers through the ledger and db/, against pgbench with the same
// statements on the same tables of the same server, in turns. Then with fees, which all go to the
// one platform account, against without.
#include <fstream>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "base/log.hpp"
#include "bench/cycle.hpp"
#include "bench/pgbench.hpp"

namespace {

using namespace berth;
using berth::bench::Sent;

constexpr int callers = 16;
constexpr int rounds = 5;
constexpr int cycles = 2500;
constexpr std::chrono::seconds pgbench_length{4};

// Numbers that no other value of the recorded cycle has, so that they are known for what they are.
constexpr std::int64_t sequence_mark = 777'000'000;
constexpr std::int64_t renter_entries_mark = 888'000'000;
constexpr std::int64_t host_entries_mark = 999'000'000;
constexpr std::int64_t marked_numbers = 100;
constexpr std::string_view mark_sql =
    "UPDATE ledger_accounts SET sequence = $2, entries = $3 WHERE account_id = $1";

// Turns what the ledger sends for one job into a script for pgbench: values that differ from job to
// job become variables, all others stay as they are. What a statement returns and a later one needs
// (the end of the renter's chain, how many entries each has) goes through variables too.
class Script {
public:
    explicit Script(const bench::Cycle& cycle) {
        names_[std::string(cycle.job.uuid.view())] = "job";
        names_[renter_.id = std::string(cycle.renter.uuid.view())] = "renter";
        names_[host_.id = std::string(cycle.host.uuid.view())] = "host";
        job_ = to_string(cycle.job);
        text_ = "\\set job random(1, 4611686018427387904)\n";
        text_ += fmt::format("\\set renter random(1, {})\n", bench::renters);
        text_ += fmt::format("\\set host random({}, {})\n", bench::renters + 1,
                             bench::renters + bench::hosts);
    }

    void add_step(const std::vector<Sent>& step) {
        std::string body;
        for (const Sent& sent : step) body += statement(sent);
        text_ += "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;\n" + body + "COMMIT;\n";
    }

    const std::string& text() const { return text_; }

private:
    std::string statement(const Sent& sent) {
        const std::string sql = bench::filled_in(
            sent.sql, sent.values, [this](const Sent::Value& value) { return expression(value); });
        if (sql.find("RETURNING sequence, head, entries") == sql.npos) return sql + ";\n";
        Party& party = sent.values[0].bytes == renter_.id ? renter_ : host_;
        party.entries += sent.values.at(added_entries_index(sent.sql)).integer;
        return fmt::format("{} \\gset {}_\n", sql, names_.at(party.id));
    }

    // Which value of the statement says how many entries an account gets.
    static std::size_t added_entries_index(std::string_view sql) {
        constexpr std::string_view before = "entries = entries + $";
        const std::size_t at = sql.find(before);
        if (at == sql.npos)
            throw std::runtime_error("no entries are counted by " + std::string(sql));
        return std::stoul(std::string(sql.substr(at + before.size()))) - 1;
    }

    std::string expression(const Sent::Value& value) {
        if (value.null) return "NULL";
        switch (value.kind) {
            case db::Param::Kind::integer:
                if (is_marked(value.integer, sequence_mark))
                    return "CAST(:renter_sequence AS BIGINT)";
                for (const Party& party : {renter_, host_})
                    if (is_marked(value.integer, party.mark))  // an entry's place among them
                        return fmt::format("CAST(:{}_entries - {} AS BIGINT)", names_.at(party.id),
                                           party.entries - value.integer);
                return fmt::format("CAST({} AS BIGINT)", value.integer);
            case db::Param::Kind::text: return text_expression(value.bytes);
            case db::Param::Kind::blob: return "CAST(:renter_head AS BYTEA)";
            case db::Param::Kind::uuid: return id_expression(value.bytes);
        }
        return {};
    }

    std::string id_expression(const std::string& bytes) {
        if (bytes == std::string(16, '\0')) return "CAST('" + to_string(Uuid{}) + "' AS UUID)";
        auto found = names_.find(bytes);
        if (found == names_.end()) {  // the id of a transaction
            const std::string name = fmt::format("id{}", names_.size());
            found = names_.emplace(bytes, name).first;
            text_ += fmt::format("\\set {} random(1, 4611686018427387904)\n", name);
        }
        return fmt::format("CAST(lpad(to_hex(CAST(:{} AS BIGINT)), 32, '0') AS UUID)",
                           found->second);
    }

    std::string text_expression(std::string text) const {
        const std::size_t at = text.find(job_);
        if (at == text.npos) return "'" + text + "'";
        return fmt::format("'{}' || CAST(:job AS TEXT) || '{}'", text.substr(0, at),
                           text.substr(at + job_.size()));
    }

    struct Party {
        std::int64_t mark;
        std::int64_t entries = mark;  // as the last statement that counted them left them
        std::string id = {};
    };
    static bool is_marked(std::int64_t number, std::int64_t mark) {
        return number >= mark && number < mark + marked_numbers;
    }

    Party renter_{renter_entries_mark};
    Party host_{host_entries_mark};
    std::map<std::string, std::string> names_;  // of ids, by their bytes
    std::string job_;
    std::string text_;
};

std::string record_script(db::Database& database) {
    std::mt19937_64 random{1};
    const bench::Cycle cycle = bench::any_cycle(random);
    const SystemClock clock;
    SystemRandom bytes;
    Script script(cycle);
    struct Undo {};
    try {
        database.write([&](db::Transaction& tx) {
            tx.run(mark_sql, cycle.renter, sequence_mark, renter_entries_mark);
            tx.run(mark_sql, cycle.host, sequence_mark, host_entries_mark);
            bench::Recorder recorder(tx);
            for (int step = 0; step < bench::steps_of_cycle; ++step) {
                bench::run_step({recorder, bytes, clock.now()}, cycle, step);
                script.add_step(recorder.take());
            }
            throw Undo();
        });
    } catch (const Undo&) {
    }
    return script.text();
}

void measure() {
    const test::PostgresCluster cluster;
    const auto database = db::open(cluster.url(), {.connections_max = callers});
    bench::prepare_books(*database);
    std::ofstream(cluster.folder() / "cycle.sql") << record_script(*database);
    std::vector<double> ours;
    std::vector<double> without_fees;
    std::vector<double> baseline;
    for (int round = 0; round < rounds; ++round) {
        baseline.push_back(bench::pgbench_per_second(
            cluster, callers, fmt::format("--time={}", pgbench_length.count()), "cycle.sql"));
        ours.push_back(bench::cycles_per_second(*database, {callers, cycles}));
        without_fees.push_back(bench::cycles_per_second(*database, {callers, cycles, 0}));
    }
    bench::print("ledger_pg", ours, "pgbench", baseline);
    bench::print("ledger_pg_one_platform", ours, "without-fees", without_fees);
}

}  // namespace

int main() { return bench::run("ledger_pg", measure); }
