// A marketplace, its gates and a host behind two routers, all of them real programs in networks of
// their own (networks.hpp). It is made once for all stories of a test program, since that takes
// longer than most of them; mend() brings everything back up that a story killed.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/random.hpp"
#include "base/time.hpp"
#include "gate_world/networks.hpp"
#include "host_agent/card_of_host.hpp"
#include "http/client.hpp"
#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::test {

// How long anything may take that happens at all: met only by what is broken.
inline constexpr std::chrono::seconds world_patience{240};

template <class Predicate>
[[nodiscard]] bool soon(const Predicate& predicate,
                        std::chrono::milliseconds at_most = world_patience) {
    return support::eventually(predicate,
                               {.at_most = at_most, .look_every = std::chrono::milliseconds(50)});
}

// What the machine offers; without more, processes of the tests' own engine.
struct HostKind {
    std::string tier = "inference";
    std::string template_kind = "model";
    std::vector<std::string> options{};  // of enroll
    std::string state{};                 // the agent's folder; empty: one in the world's own
    std::string ssh_key{};               // of the renter
    std::function<void(db::Transaction&)> prepare{};
};

// Between two knocks at a door: a gate takes five a second from one address.
inline constexpr std::chrono::milliseconds knock_every{300};

class World {
public:
    static constexpr std::int64_t rate = 360'000'000;  // 0.1 of a dollar a second

    // How the host of the next world is made; empty: as any.
    inline static std::function<HostKind(const Networks&)> make_host;

    inline static std::string missing;  // why there is none on this machine
    static World& only();               // made at the first call; throws when that fails
    static void end();

    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    // Every program runs, and no packet is hindered.
    void mend();

    // ---- Programs

    struct Gate {
        std::string name;
        std::string address;
        std::string folder;
        std::unique_ptr<Process> process;
        int starts = 0;
    };
    void start_server();
    void start_agent();
    void start_gate(Gate& gate);  // a second one of the same folder, too
    void add_gate(Gate& gate);    // makes it, tells the server of it, and starts it
    static void kill(std::unique_ptr<Process>& process);
    bool is_live(const Gate& gate);

    // ---- Requests from the renter's network

    struct Account {
        std::string key;
        std::string id;
    };
    http::Response send(const std::string& key, const std::string& method,
                        const std::string& target, const std::string& body = "");
    std::string get(const Account& who, const std::string& target);
    // The body of an answer of that status; anything else throws: what follows would wait in vain.
    std::string post(const Account& who, const std::string& target, const std::string& body,
                     int status, const std::string& method = "POST");

    // ---- Host and renter

    std::string machine_place() const { return "/api/v1/hosts/machines/" + machine; }
    std::string reserve(std::int64_t budget = 20'000'000);
    std::string show(const std::string& job) { return get(ben, "/api/v1/jobs/" + job); }
    std::string state_of(const std::string& job);
    bool await_state(const std::string& job, const std::string& wanted);
    // The job that stories share: RUNNING, and its door answers.
    const std::string& running();
    void free_machine();  // ends that job, if there is one
    void stop(const std::string& job);
    std::int64_t charged(const std::string& job);

    // As `access` tells it.
    struct Door {
        std::string host;
        std::string port;
        std::string key;
        std::string tls_key;
    };
    Door door_of(const std::string& job);
    http::Outbound through(const Door& door, const std::string& path) const;
    bool answers(const Door& door);  // once
    // Knocks until it is answered, or until it is not.
    bool knocks_in(const Door& door);
    bool knocks_in_vain(const Door& door);
    std::string words_body(std::int64_t words, std::chrono::milliseconds delay) const;

    std::string check_books();  // what `berthd check ledger` says; empty when they are sound
    std::string logs() const;   // the last words of every program

    Networks networks;
    const CardOfHost card;
    TemporaryFolder folder;
    std::unique_ptr<TestDatabase> database = TestDatabase::sqlite();
    SystemClock clock;
    SystemRandom random;
    http::CurlClient client;
    const std::string url = std::string("https://") + Networks::server_address;
    std::unique_ptr<Process> server;
    std::unique_ptr<Process> agent;
    Gate first{"first", Networks::first_gate_address, "", nullptr};
    Gate second{"second", Networks::second_gate_address, "", nullptr};
    Account ada;  // has the machine
    Account ben;  // rents it
    std::string machine;
    std::string offer;
    std::string enrolled;  // what the agent said then
    HostKind kind;

private:
    World();
    std::string at(const std::string& name) const { return folder.path() + "/" + name; }
    Account enlist();
    void make_accounts();
    void provide_engine();
    void enroll();
    void open_host();
    std::string find_template();

    std::string job_;
};

// What comes through a door word by word, read by a thread of its own.
class Counting {
public:
    Counting(World& world, const World::Door& door, std::int64_t words,
             std::chrono::milliseconds delay);
    ~Counting();
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;

    std::int64_t count() const { return count_; }
    bool reaches(std::int64_t number) const;  // or has come to its end
    bool is_over() const { return over_; }
    // Waits for its end: every word came once, in order, and then the last line.
    bool ends_whole();
    std::string said() const;  // what went wrong

private:
    void take(std::string_view bytes);

    std::atomic<std::int64_t> count_ = 0;
    std::atomic<bool> over_ = false;
    bool done_ = false;
    std::string fault_;
    std::string rest_;  // of a line
    std::int64_t words_;
    std::thread thread_;
};

// A story in it; skipped, with words, where there can be no such world.
class GateStory : public testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;
    World& world() { return *world_; }

private:
    World* world_ = nullptr;
};

}  // namespace berth::test
