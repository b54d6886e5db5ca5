// A private PostgreSQL server in a temporary folder, reached over a socket in that folder. Tests
// stop, kill and start it; it disappears with the object.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace berth::test {

class PostgresCluster {
public:
    enum class Stop {
        fast,       // ends sessions, then shuts down in order
        immediate,  // ends at once, as after a power cut; recovers at the next start
    };

    // `settings` are lines of postgresql.conf.
    explicit PostgresCluster(std::string_view settings = "");
    ~PostgresCluster();
    PostgresCluster(const PostgresCluster&) = delete;
    PostgresCluster& operator=(const PostgresCluster&) = delete;

    void start();
    void stop(Stop how);
    void kill();  // SIGKILL to the server process

    std::string url(std::string_view database = "postgres") const;
    // Runs one of PostgreSQL's own programs as the owner of the cluster, connected to it through
    // the environment; true if it succeeded. Its output goes to `output`.
    bool run(const std::string& command, const std::filesystem::path& output) const;
    const std::filesystem::path& folder() const { return folder_; }

private:
    bool control(const std::string& what) const;

    std::filesystem::path folder_;
    bool running_ = false;
};

}  // namespace berth::test
