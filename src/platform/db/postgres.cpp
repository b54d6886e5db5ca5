// PostgreSQL as a Database: a pool of connections, closures that run again after a conflict or a
// lost connection, and quick refusals while the server is away.
#include <libpq-fe.h>

#include <atomic>
#include <chrono>
#include <random>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "base/log.hpp"
#include "db/pool.hpp"
#include "db/postgres_transaction.hpp"

namespace berth::db {
namespace {

constexpr int attempts_max = 10;
constexpr Duration back_off_first = std::chrono::milliseconds(2);
constexpr Duration back_off_max = std::chrono::milliseconds(250);
constexpr Duration reply_grace = std::chrono::seconds(5);  // beyond the server's own timeout
constexpr Duration away_retry = std::chrono::milliseconds(200);

using Parameters = std::vector<std::pair<std::string, std::string>>;
using Mode = PostgresTransaction::Mode;

// Full jitter. The randomness decides when we try again, never what we write.
void back_off(int attempt) {
    thread_local std::minstd_rand random{std::random_device{}()};
    const Duration limit = std::min(back_off_max, back_off_first * (1 << attempt));
    std::uniform_int_distribution<Duration::rep> spread(0, limit.count());
    std::this_thread::sleep_for(Duration(spread(random)));
}

// The parts of `url`, and our own settings where it says nothing else.
Parameters connection_parameters(const std::string& url, const Options& options) {
    char* error = nullptr;
    PQconninfoOption* const parts = PQconninfoParse(url.c_str(), &error);
    if (parts == nullptr) {
        std::string reason = error == nullptr ? "out of memory" : error;
        PQfreemem(error);
        reason = reason.substr(0, reason.find_first_of("\"\n"));  // it quotes what holds a password
        throw std::invalid_argument("the database address cannot be read: " + reason);
    }
    Parameters parameters;
    std::string server_options;
    for (const PQconninfoOption* part = parts; part->keyword != nullptr; ++part) {
        if (part->val == nullptr) continue;
        if (std::string_view(part->keyword) == "options")
            server_options = part->val;
        else
            parameters.emplace_back(part->keyword, part->val);
    }
    PQconninfoFree(parts);

    const auto use_unless_given = [&](std::string_view keyword, std::string value) {
        const auto given = [&](const auto& parameter) { return parameter.first == keyword; };
        if (std::none_of(parameters.begin(), parameters.end(), given))
            parameters.emplace_back(keyword, std::move(value));
    };
    const auto seconds = [](Duration span) {
        return std::to_string(std::chrono::ceil<std::chrono::seconds>(span).count());
    };
    const auto statement_ms = std::chrono::ceil<std::chrono::milliseconds>(options.statement_max);
    use_unless_given("connect_timeout", seconds(options.connect_max));
    use_unless_given("application_name", "berth");
    use_unless_given("client_encoding", "UTF8");
    use_unless_given("gssencmode", "disable");
    // Of several hosts the one that takes writes: after a failover the pool finds the new one.
    use_unless_given("target_session_attrs", "read-write");
    use_unless_given("keepalives_idle", "10");
    use_unless_given("keepalives_interval", "5");
    use_unless_given("keepalives_count", "3");
    use_unless_given("tcp_user_timeout", std::to_string(statement_ms.count()));
    parameters.emplace_back(
        "options", fmt::format("{} -c statement_timeout={} -c "
                               "idle_in_transaction_session_timeout={}",
                               server_options, statement_ms.count(), statement_ms.count()));
    return parameters;
}

// Opens connections. While the server is away one caller at a time finds out whether it is back;
// the others are refused at once instead of waiting for a timeout each.
class Connector {
public:
    explicit Connector(PostgresSettings settings) : settings_(std::move(settings)) {}

    std::unique_ptr<PostgresConnection> connect() {
        {
            const std::lock_guard lock(mutex_);
            if (away_ && (probing_ || Clock::now() < next_probe_)) throw Unavailable(reason_);
            probing_ = away_;
        }
        try {
            auto connection = std::make_unique<PostgresConnection>(settings_);
            warn_of_pooler(*connection);
            remember(false, "");
            return connection;
        } catch (const Unavailable& unavailable) {
            remember(true, unavailable.what());
            throw;
        }
    }

private:
    using Clock = std::chrono::steady_clock;

    // Told once, before anything fails by it: what a pooler breaks looks like many other things.
    void warn_of_pooler(PostgresConnection& connection) {
        if (looked_for_pooler_.exchange(true) || !connection.is_pooled()) return;
        log(Level::warn, "postgres_pooled",
            {{"help",
              "a pooler stands between; it must keep sessions (pgbouncer: pool_mode = "
              "session), for statements are prepared on the connection"}});
    }

    void remember(bool away, std::string_view reason) {
        const std::lock_guard lock(mutex_);
        if (away && !away_) log(Level::warn, "postgres_away", {{"reason", reason}});
        if (!away && away_) log(Level::info, "postgres_back");
        away_ = away;
        probing_ = false;
        reason_ = reason;
        next_probe_ = Clock::now() + away_retry;
    }

    const PostgresSettings settings_;
    std::atomic<bool> looked_for_pooler_ = false;
    std::mutex mutex_;
    bool away_ = false;
    bool probing_ = false;
    std::string reason_;
    Clock::time_point next_probe_;
};

class PostgresDatabase final : public Database {
public:
    PostgresDatabase(PostgresSettings settings, const Options& options)
        : changes_(options.watched),
          connector_(std::move(settings)),
          pool_({options.connections_max, options.wait_max},
                [this] { return connector_.connect(); }) {}

    Engine engine() const override { return Engine::postgres; }
    std::uint64_t changes() const override { return changes_.count(); }
    bool is_touched(const Uuid& id) const override { return changes_.touched().has(id); }

protected:
    void run_write(const Work& work) override { run(work, Mode::write); }
    void run_read(const Work& work) override { run(work, Mode::read); }

private:
    void run(const Work& work, Mode mode) {
        NestingGuard::check_outside(this);
        for (int attempt = 1;; ++attempt) {
            const Failure failure = try_once(work, mode);
            if (!failure) return;
            if (!failure.retryable() || attempt == attempts_max) failure.raise();
            if (failure.kind == Failure::Kind::lost)
                pool_.close_idle();
            else
                back_off(attempt);
        }
    }

    // One run of the closure. A failure worth another try counts more than what the closure made
    // of it; otherwise what the closure throws comes out.
    Failure try_once(const Work& work, Mode mode) {
        auto connection = pool_.take();
        PostgresTransaction transaction(*connection, changes_, mode);
        std::exception_ptr thrown;
        try {
            const NestingGuard guard(this);
            work(transaction);
            if (mode == Mode::write)
                transaction.write_batches();
            else
                transaction.require_no_batches();
        } catch (...) {
            thrown = std::current_exception();
        }
        try {
            if (!thrown && !transaction.failure()) transaction.commit();
        } catch (const OutcomeUnknown&) {
            if (transaction.has_changes()) changes_.note();
            connection.drop();
            wakes_.tell(transaction.wakes());
            throw;
        }
        if (transaction.has_changes()) changes_.note();
        if (thrown || transaction.failure())
            transaction.roll_back();
        else
            wakes_.tell(transaction.wakes());
        if (!connection->usable()) connection.drop();
        if (thrown && !transaction.failure().retryable()) std::rethrow_exception(thrown);
        return transaction.failure();
    }

    Changes changes_;
    Connector connector_;
    Pool<PostgresConnection> pool_;
};

}  // namespace

std::unique_ptr<Database> open_postgres(const std::string& url, const Options& options) {
    return std::make_unique<PostgresDatabase>(
        PostgresSettings{connection_parameters(url, options), options.statement_max + reply_grace},
        options);
}

}  // namespace berth::db
