#include "support/postgres_cluster.hpp"

#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

namespace berth::test {
namespace {

constexpr std::string_view programs = "/usr/lib/postgresql/15/bin";
constexpr int start_attempts_max = 20;

void require(bool holds, std::string_view what) {
    if (!holds) throw std::runtime_error(std::string(what));
}

std::filesystem::path make_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth_pg_XXXXXX").string();
    require(mkdtemp(pattern.data()) != nullptr, "cannot make a folder for PostgreSQL");
    // PostgreSQL refuses to run as root, so root makes it the postgres user's folder.
    if (geteuid() == 0) {
        const passwd* owner = getpwnam("postgres");
        require(owner != nullptr, "there is no user postgres");
        require(chown(pattern.c_str(), owner->pw_uid, owner->pw_gid) == 0, "cannot give a folder");
    }
    return pattern;
}

}  // namespace

PostgresCluster::PostgresCluster(std::string_view settings) : folder_(make_folder()) {
    const std::string data = (folder_ / "data").string();
    require(run(fmt::format("initdb --no-sync --auth=trust --username=postgres --encoding=UTF8 "
                            "--locale=C --pgdata={}",
                            data),
                folder_ / "initdb.log"),
            "initdb failed");
    std::ofstream(folder_ / "data" / "postgresql.conf", std::ios::app)
        << "listen_addresses = ''\n"
        << "unix_socket_directories = '" << folder_.string() << "'\n"
        << settings << '\n';
    start();
}

PostgresCluster::~PostgresCluster() {
    if (running_) control("stop -m immediate");
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void PostgresCluster::start() {
    // After a kill, processes of the old server may hold its memory a little longer.
    const std::string command = fmt::format("start -l {}", (folder_ / "server.log").string());
    for (int attempt = 0; attempt < start_attempts_max && !running_; ++attempt)
        running_ = control(command);
    require(running_, "PostgreSQL did not start");
}

void PostgresCluster::stop(Stop how) {
    require(control(how == Stop::fast ? "stop -m fast" : "stop -m immediate"),
            "PostgreSQL did not stop");
    running_ = false;
}

void PostgresCluster::kill() {
    pid_t server = 0;
    std::ifstream(folder_ / "data" / "postmaster.pid") >> server;
    require(server > 0 && ::kill(server, SIGKILL) == 0, "cannot kill PostgreSQL");
    running_ = false;
}

std::string PostgresCluster::url(std::string_view database) const {
    return fmt::format("postgres:///{}?host={}&user=postgres", database, folder_.string());
}

bool PostgresCluster::run(const std::string& command, const std::filesystem::path& output) const {
    return std::system(fmt::format("cd {} && {} env PGHOST={} PGUSER=postgres {}/{} > {} 2>&1 "
                                   "< /dev/null",
                                   folder_.string(), geteuid() == 0 ? "runuser -u postgres --" : "",
                                   folder_.string(), programs, command, output.string())
                           .c_str()) == 0;
}

bool PostgresCluster::control(const std::string& what) const {
    return run(fmt::format("pg_ctl --wait --pgdata={} {}", (folder_ / "data").string(), what),
               folder_ / "control.log");
}

}  // namespace berth::test
