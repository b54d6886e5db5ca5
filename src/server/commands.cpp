#include "server/commands.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <filesystem>

#include "audit/audit.hpp"
#include "base/check.hpp"
#include "server/local_requests.hpp"
#include "server/app.hpp"
#include "settings/show.hpp"

namespace berth::server {
namespace {

constexpr std::string_view sqlite_scheme = "sqlite:";

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
    app.stop();
    log(Level::info, "stopped");
}

}  // namespace

int serve(const settings::Given& given) {
    const Settings settings = start_settings(given);
    const Signals signals;
    const SystemClock clock;
    SystemRandom random;
    set_log(*settings.log_level);
    make_database_folder(*settings.db);
    App app(given, clock, random);
    app.serve();
    log(Level::info, "serving",
        {{"address", settings.listen->address},
         {"port", app.port()},
         {"base_url", base_url_of(settings)},
         {"db", *settings.db}});
    wait_until_stopped(signals, app);
    return 0;
}

int run_worker(const settings::Given& given) {
    const Settings settings = start_settings(given);
    if (*settings.worker_threads == 0)
        throw BadSettings("--worker-threads: must be at least 1 for berthd worker");
    const Signals signals;
    const SystemClock clock;
    SystemRandom random;
    set_log(*settings.log_level);
    make_database_folder(*settings.db);
    App app(given, clock, random);
    app.serve_tasks();
    log(Level::info, "working", {{"db", *settings.db}});
    wait_until_stopped(signals, app);
    return 0;
}

int migrate(const settings::Given& given) {
    const Settings settings = start_settings(given);
    make_database_folder(*settings.db);
    const auto database = db::open(*settings.db);
    const auto migrations = Features::schema();
    const int ran = db::migrate(*database, migrations);
    fmt::print("{} migrations, {} ran now\n", migrations.size(), ran);
    return 0;
}

int print_openapi() {
    fmt::print("{}", specification());
    return 0;
}

int check_setup(const settings::Given& given) {
    const Settings settings = start_settings(given);
    SystemRandom random;
    load_secrets(*settings.secrets, random);
    fmt::print("secrets: {} is usable\n", *settings.secrets);
    const auto database = db::open(*settings.db);
    const db::SchemaState schema = db::schema_state(*database, Features::schema());
    fmt::print("database: {} migrations applied, {} missing, {} unknown to this program\n",
               schema.applied, schema.missing, schema.unknown);
    return schema.missing == 0 && schema.unknown == 0 ? 0 : 1;
}

int check_audit(const settings::Given& given) {
    const Settings settings = start_settings(given);
    const auto report = open_for_proof(settings)->read(audit::check_events);
    fmt::print("{}", audit::to_text(report));
    return report.sound() ? 0 : 1;
}

int print_settings(const settings::Given& given, bool json) {
    const Settings settings = start_settings(given);
    settings::Live live(registry(), given);
    if (database_exists(*settings.db)) live.refresh(*open_for_proof(settings));
    fmt::print("{}", json ? settings::to_json(*live.now()) : settings::to_table(*live.now()));
    return 0;
}

int print_settings_page() {
    fmt::print("{}", settings::to_markdown(registry()));
    return 0;
}

int run_on_this_machine(const settings::Given& given, const Words& request) {
    const Settings settings = start_settings(given);
    SystemRandom random;
    const SystemClock clock;
    std::string sentence;
    try {
        make_database_folder(*settings.db);
        const auto database = db::open(*settings.db);
        db::migrate(*database, Features::schema());
        sentence = carry_out(request, *database, clock, random);
    } catch (const db::Held& held) {
        sentence = ask_server(*settings.db, held.holder(), request, random);
    }
    fmt::print("{}\n", sentence);
    return 0;
}

}  // namespace berth::server
