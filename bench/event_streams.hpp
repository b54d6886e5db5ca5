// A server of events in a process of its own, with accounts whose keys its parent knows as well,
// and clients that hold streams open and read what comes.
#pragma once

#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.hpp"
#include "bench/measure.hpp"
#include "db/db.hpp"

namespace berth::bench {

inline constexpr int streams_of_account = 20;

void allow_files(rlim_t needed);

struct StreamAccount {
    AccountId id;
    std::string secret;
};
// The same in parent and child.
std::vector<StreamAccount> stream_accounts(int count);

// Tells each account once a second, spread over it, until it is asked to stop.
void tell_each_second(db::Database& database, const std::vector<StreamAccount>& accounts,
                      const std::stop_token& ended);

class EventServer {
public:
    // `db` empty: SQLite of its own. It tells by itself, or somebody else does.
    EventServer(int accounts, bool tells, const std::string& db = "");
    ~EventServer();
    EventServer(const EventServer&) = delete;
    EventServer& operator=(const EventServer&) = delete;

    std::uint16_t port() const { return port_; }
    pid_t process() const { return process_; }

private:
    pid_t process_ = 0;
    std::uint16_t port_ = 0;
};

// Seconds of processor that a process has used.
double cpu_seconds(pid_t process);
double resident_kib(pid_t process);

// Streams that are read and, where they carry the time of what they tell, timed.
class Audience {
public:
    Audience() : poll_(::epoll_create1(EPOLL_CLOEXEC)) {}
    ~Audience() {
        for (const int socket : sockets_) ::close(socket);
        ::close(poll_);
    }
    Audience(const Audience&) = delete;
    Audience& operator=(const Audience&) = delete;

    void open(std::uint16_t port, const std::string& secret);

    // Reads for so long; milliseconds between each event's own time and its arrival.
    std::vector<double> read_for(std::chrono::seconds span);
    std::size_t size() const { return sockets_.size(); }

private:
    int poll_;
    std::vector<int> sockets_;
};

double percentile(std::vector<double> values, double part);

// For values of which less is better.
void print_goal(std::string_view name, double ours, double goal, std::string_view more = "");

}  // namespace berth::bench
