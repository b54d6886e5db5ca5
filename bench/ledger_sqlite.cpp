// Jobs' money on SQLite, durably, by 64 callers through the ledger and db/, against a plain loop
// over the same statements with the same values, prepared once and 64 steps to a commit.
#include <sqlite3.h>

#include <filesystem>
#include <unordered_map>

#include <fmt/format.h>

#include "base/log.hpp"
#include "bench/cycle.hpp"

namespace {

using namespace berth;
using berth::bench::Sent;

constexpr int callers = 64;
constexpr int rounds = 5;
constexpr int cycles = 4000;
constexpr std::size_t steps_of_commit = 64;

using Steps = std::vector<std::vector<Sent>>;

// What the ledger sends for `cycles` jobs, on a database of its own.
Steps record(const std::string& path) {
    const auto database = db::open("sqlite:" + path);
    const SystemClock clock;
    SystemRandom bytes;
    std::mt19937_64 random{1};
    Steps steps;
    database->write([&](db::Transaction& tx) {
        bench::Recorder recorder(tx);
        for (int i = 0; i < cycles; ++i) {
            const bench::Cycle cycle = bench::any_cycle(random);
            for (int step = 0; step < bench::steps_of_cycle; ++step) {
                bench::run_step({recorder, bytes, clock.now()}, cycle, step);
                steps.push_back(recorder.take());
            }
        }
    });
    return steps;
}

class Loop {
public:
    explicit Loop(const std::string& path) {
        check(sqlite3_open(path.c_str(), &handle_) == SQLITE_OK, "the file can be opened");
        execute("PRAGMA journal_mode = WAL");
        execute("PRAGMA synchronous = FULL");
    }
    ~Loop() {
        for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement.handle);
        sqlite3_close(handle_);
    }
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    double cycles_per_second(const Steps& steps) {
        for (const auto& step : steps)
            for (const Sent& sent : step) prepare(sent);
        const auto begin = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (i % steps_of_commit == 0) execute("BEGIN IMMEDIATE");
            for (const Sent& sent : steps[i]) run(sent);
            if (i % steps_of_commit == steps_of_commit - 1) execute("COMMIT");
        }
        if (sqlite3_get_autocommit(handle_) == 0) execute("COMMIT");
        const std::chrono::duration<double> span = std::chrono::steady_clock::now() - begin;
        return cycles / span.count();
    }

private:
    void execute(const char* sql) {
        check(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sql);
    }

    struct Statement {
        sqlite3_stmt* handle = nullptr;
        std::vector<int> places;  // of $1, $2, …
    };

    const Statement& prepare(const Sent& sent) {
        Statement& statement = statements_[sent.sql];
        if (statement.handle != nullptr) return statement;
        check(sqlite3_prepare_v3(handle_, sent.sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT,
                                 &statement.handle, nullptr) == SQLITE_OK,
              sent.sql.c_str());
        for (std::size_t i = 1; i <= sent.values.size(); ++i)
            statement.places.push_back(
                sqlite3_bind_parameter_index(statement.handle, fmt::format("${}", i).c_str()));
        return statement;
    }

    void run(const Sent& sent) {
        const Statement& statement = prepare(sent);
        for (std::size_t i = 0; i < sent.values.size(); ++i)
            bind(statement.handle, statement.places[i], sent.values[i]);
        int code = sqlite3_step(statement.handle);
        while (code == SQLITE_ROW) code = sqlite3_step(statement.handle);
        check(code == SQLITE_DONE && sqlite3_changes(handle_) > 0, "a statement changes something");
        sqlite3_reset(statement.handle);
    }

    static void bind(sqlite3_stmt* handle, int place, const Sent::Value& value) {
        const int size = static_cast<int>(value.bytes.size());
        if (value.null)
            sqlite3_bind_null(handle, place);
        else if (value.kind == db::Param::Kind::integer)
            sqlite3_bind_int64(handle, place, value.integer);
        else if (value.kind == db::Param::Kind::text)
            sqlite3_bind_text(handle, place, value.bytes.data(), size, SQLITE_STATIC);
        else
            sqlite3_bind_blob(handle, place, value.bytes.data(), size, SQLITE_STATIC);
    }

    sqlite3* handle_ = nullptr;
    std::unordered_map<std::string, Statement> statements_;
};

void measure(const std::filesystem::path& folder) {
    const std::string empty = (folder / "empty.db").string();
    const std::string file = (folder / "file.db").string();
    bench::prepare_books(*db::open("sqlite:" + empty));
    const auto begin_anew = [&] {
        for (const char* rest : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(file + rest);
        std::filesystem::copy_file(empty, file);
    };
    begin_anew();
    const Steps steps = record(file);
    std::vector<double> ours;
    std::vector<double> baseline;
    for (int round = 0; round < rounds; ++round) {
        begin_anew();
        ours.push_back(bench::cycles_per_second(*db::open("sqlite:" + file), {callers, cycles}));
        begin_anew();
        baseline.push_back(Loop(file).cycles_per_second(steps));
    }
    bench::print("ledger_sqlite", ours, "plain-loop", baseline);
}

}  // namespace

int main() {
    set_log(Level::error);
    // Beside the program: on the disk, where a flush costs what it costs, and never in memory.
    const std::filesystem::path folder =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "ledger_sqlite.data";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    measure(folder);
    std::filesystem::remove_all(folder);
}
