#include "server/commands.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

#include "agent_protocol/messages.hpp"
#include "audit/audit.hpp"
#include "base/check.hpp"
#include "base/log_queue.hpp"
#include "billing/receipts.hpp"
#include "events/docs.hpp"
#include "liabilities/liabilities.hpp"
#include "liabilities/verify.hpp"
#include "mail/settings.hpp"
#include "server/app.hpp"
#include "server/features.hpp"
#include "server/ledger_check.hpp"
#include "server/local_requests.hpp"
#include "server/schema.hpp"
#include "server/simulation.hpp"
#include "settings/changes.hpp"
#include "settings/show.hpp"

namespace berth::server {
namespace {

// `name` is the argument that names the file.
std::string text_in(const std::string& file, const std::string& name) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw std::invalid_argument(name + ": cannot be read");
    return std::string(std::istreambuf_iterator<char>(in), {});
}

// Signals are blocked before any thread starts, so that only wait_for_signal() receives them.
class Signals {
public:
    Signals() {
        sigemptyset(&set_);
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set_, number);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
        signal(SIGPIPE, SIG_IGN);
    }

    int wait() const {
        int number = 0;
        check(sigwait(&set_, &number) == 0, "signals can be waited for");
        return number;
    }

private:
    sigset_t set_{};
};

constexpr std::chrono::seconds stop_max{40};
constexpr int exit_stuck = 3;

// Ends the process when stopping takes too long, whatever holds it up. Nothing is lost by it: what
// was acknowledged is committed, and what was not is tried again by whoever asked.
class Watchdog {
public:
    explicit Watchdog(std::chrono::seconds at_most)
        : thread_([this, at_most] {
              std::unique_lock lock(mutex_);
              if (ended_wake_.wait_for(lock, at_most, [this] { return ended_; })) return;
              log(Level::error, "stopping_took_too_long");
              LogQueue::flush();
              std::_Exit(exit_stuck);
          }) {}
    ~Watchdog() {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
        }
        ended_wake_.notify_all();
        thread_.join();
    }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

private:
    std::mutex mutex_;
    std::condition_variable ended_wake_;
    bool ended_ = false;
    std::thread thread_;
};

// A core dump would hold every key of the service.
void forbid_core_dumps() {
    constexpr rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::prctl(PR_SET_DUMPABLE, 0);
}

// The folder of a new SQLite file is ours to make.
void make_database_folder(const std::string& url) {
    if (!url.starts_with(sqlite_scheme)) return;
    const auto folder = std::filesystem::path(url.substr(sqlite_scheme.size())).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder);
}

// A new installation can be looked at before its first start.
bool database_exists(const std::string& url) {
    return !url.starts_with(sqlite_scheme) ||
           std::filesystem::exists(url.substr(sqlite_scheme.size()));
}

// Also beside a running server; one statement may look at very many rows.
std::unique_ptr<db::Database> open_for_proof(const Settings& settings) {
    db::Options options;
    options.read_only = true;
    options.statement_max = std::chrono::hours(1);
    return db::open(*settings.db, options);
}

void wait_until_stopped(const Signals& signals, App& app) {
    for (int number = signals.wait(); number == SIGHUP || number == SIGUSR1;
         number = signals.wait()) {
        if (number == SIGHUP)
            app.reload();
        else
            app.answer_local_requests();
    }
    log(Level::info, "stopping");
    app.leave();
    const Watchdog watchdog(stop_max);
    app.stop();
    log(Level::info, "stopped");
}

// A process that serves or works: `begin` starts what it is for.
int run_until_stopped(const settings::Given& given,
                      const std::function<void(App&, const Settings&)>& begin) {
    const Settings settings = start_settings(given);
    const Signals signals;
    SystemRandom random;
    set_log(*settings.log_level);
    const LogQueue log_queue;  // after the signals, which are for this thread
    forbid_core_dumps();
    make_database_folder(*settings.db);
    const auto clock = make_clock(settings);
    Overrides overrides;
    overrides.may_start_without_database = true;
    App app(given, *clock, random, std::move(overrides));
    begin(app, settings);
    wait_until_stopped(signals, app);
    return 0;
}

}  // namespace

int serve(const settings::Given& given) {
    return run_until_stopped(given, [](App& app, const Settings& settings) {
        app.serve();
        log(Level::info, "serving",
            {{"address", settings.listen->address},
             {"port", app.port()},
             {"base_url", base_url_of(settings)},
             {"db", *settings.db}});
    });
}

int run_worker(const settings::Given& given) {
    if (*start_settings(given).worker_threads == 0)
        throw BadSettings("--worker-threads: must be at least 1 for berthd worker");
    return run_until_stopped(given, [](App& app, const Settings& settings) {
        app.serve_tasks();
        log(Level::info, "working", {{"db", *settings.db}});
    });
}

int migrate(const settings::Given& given) {
    const Settings settings = start_settings(given);
    make_database_folder(*settings.db);
    const auto database = db::open(*settings.db);
    const auto migrations = schema();
    const int ran = db::migrate(*database, migrations);
    fmt::print("{} migrations, {} ran now\n", migrations.size(), ran);
    return 0;
}

int verify_liabilities(const std::string& file) {
    const liabilities::Verdict verdict = liabilities::verify(text_in(file, "FILE"));
    fmt::print("{}\n", verdict.sentence);
    return verdict.good ? 0 : 1;
}

int verify_receipt(const std::string& file, const std::string& keys) {
    const billing::Verdict verdict = billing::verify_receipt(
        text_in(file, "FILE"),
        keys.empty() ? std::nullopt : std::optional(text_in(keys, "--keys")));
    fmt::print("{}\n", verdict.sentence);
    return verdict.good ? 0 : 1;
}

int print_openapi() {
    fmt::print("{}", specification());
    return 0;
}

int check_setup(const settings::Given& given) {
    const Settings settings = start_settings(given);
    SystemRandom random;
    const Secrets secrets = load_secrets(*settings.secrets, random);
    const auto database = open_for_proof(settings);
    const db::SchemaState state = db::schema_state(*database, schema());
    if (state.missing == 0) compare_fingerprints(*database, secrets, *settings.secrets);
    fmt::print("secrets: {} is usable\n", *settings.secrets);
    fmt::print("database: {} migrations applied, {} missing, {} unknown to this program\n",
               state.applied, state.missing, state.unknown);
    return state.missing == 0 && state.unknown == 0 ? 0 : 1;
}

int check_audit(const settings::Given& given, const std::string& verified_file) {
    const Settings settings = start_settings(given);
    audit::CheckOptions options;
    if (!verified_file.empty() && std::filesystem::exists(verified_file)) {
        options.verified = audit::parse_verified(text_in(verified_file, "--verified"));
        if (!options.verified)
            throw BadSettings("--verified: " + verified_file + ": is not what this program wrote");
    }
    liabilities::AuditMarks signed_marks;
    auto report = open_for_proof(settings)->read([&](db::Transaction& tx) {
        signed_marks = liabilities::audit_marks(tx);
        options.marks = signed_marks.marks;
        return audit::check_events_with(tx, options);
    });
    for (const std::string& fault : signed_marks.faults) report.faults.push_back(fault);
    for (const std::string& newest : signed_marks.newest)
        fmt::print("{}: compare with what was published\n", newest);
    fmt::print("{}", audit::to_text(report));
    if (!report.sound()) return 1;
    if (!verified_file.empty())
        replace_file(verified_file, audit::write_verified({report.sequence, report.head}));
    return 0;
}

int print_settings(const settings::Given& given, bool json) {
    const Settings settings = start_settings(given);
    settings::Live live(registry(), given);
    if (database_exists(*settings.db)) {
        const auto database = open_for_proof(settings);
        if (db::schema_state(*database, settings::migrations).missing == 0) live.refresh(*database);
    }
    fmt::print("{}", json ? settings::to_json(*live.now()) : settings::to_table(*live.now()));
    return 0;
}

int print_events_page() {
    fmt::print("{}", events::to_markdown(event_registry()));
    return 0;
}

int print_agent_messages() {
    fmt::print("{}", agent_protocol::messages_page());
    return 0;
}

int print_settings_page() {
    fmt::print("{}", settings::to_markdown(registry()));
    return 0;
}

int turn_four_eyes_off(const settings::Given& given, const std::string& reason) {
    const auto snapshot = registry().snapshot(given);
    const std::string folder = *snapshot->get<Settings>().secrets;
    return run_on_this_machine(
        given, {std::string(four_eyes_off_word), reason, std::filesystem::absolute(folder).string(),
                *snapshot->get<mail::Settings>().from});
}

int run_on_this_machine(const settings::Given& given, const Words& request) {
    const Settings settings = start_settings(given);
    SystemRandom random;
    std::string sentence;
    try {
        make_database_folder(*settings.db);
        const auto database = db::open(*settings.db);
        db::migrate(*database, schema());
        sentence = carry_out(request, *database, *make_clock(settings), random);
    } catch (const db::Held& held) {
        sentence = ask_server(*settings.db, held.holder(), request, random);
    }
    fmt::print("{}\n", sentence);
    return 0;
}

}  // namespace berth::server
