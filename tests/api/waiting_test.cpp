// Requests that wait for news: woken in the process, found by the look at the database, out of
// time, ended by a stop; and ten thousand of them at once.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <condition_variable>

#include "http/server.hpp"
#include "support/harness.hpp"
#include "support/raw_socket.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;
using api::Access;
using api::Call;
using api::Path;
using api::Query;
using api::Work;

constexpr std::string_view topic = "accounts";
constexpr std::chrono::seconds patience{120};

struct WaitQuery {
    std::optional<wire::Integer<0, 600'000>> wait_ms;
};
BOOST_DESCRIBE_STRUCT(WaitQuery, (), (wait_ms))

struct Seen {
    bool is_open = false;
};
BOOST_DESCRIBE_STRUCT(Seen, (), (is_open))

bool is_open(Call& call, AccountId id) {
    return !call.tx().run("SELECT 1 FROM bank_accounts WHERE account_id = $1", id).empty();
}

void open_account(db::Transaction& tx, AccountId id) {
    tx.run("INSERT INTO bank_accounts (account_id, balance) VALUES ($1, 0)", id);
}

std::vector<std::string> open_accounts(db::Transaction& tx) {
    const auto rows = tx.run("SELECT account_id FROM bank_accounts ORDER BY account_id LIMIT 100");
    std::vector<std::string> names;
    for (std::size_t i = 0; i < rows.size(); ++i) names.push_back(to_string(rows[i].get<Uuid>(0)));
    return names;
}

// Answers of requests that are carried out elsewhere.
class Answers {
public:
    http::Reply keep() {
        return [this](http::Response response) {
            const std::lock_guard lock(mutex_);
            bodies_.push_back(response.body);
            changed_.notify_all();
        };
    }
    std::vector<std::string> wait_for(std::size_t count) {
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(changed_.wait_for(lock, patience, [&] { return bodies_.size() >= count; }));
        return bodies_;
    }
    std::size_t count() {
        const std::lock_guard lock(mutex_);
        return bodies_.size();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> bodies_;
};

class Waiting : public ::testing::Test {
protected:
    Waiting() {
        router.add(
            {.method = "GET",
             .path = "/accounts/{id}",
             .name = "await",
             .group = "test",
             .summary = "Waits for an account.",
             .access = Access::anyone,
             .work = Work::read,
             .rate = &api::unlimited},
            [](Call& call, const Path<AccountPath>& path, const Query<WaitQuery>& query) {
                if (is_open(call, path->id)) return Seen{true};
                const std::int64_t wait_ms = query->wait_ms ? query->wait_ms->value : 0;
                call.wait_for({topic, to_string(path->id)}, std::chrono::milliseconds(wait_ms));
                return Seen{false};
            });
        router.add({.method = "POST",
                    .path = "/accounts/{id}",
                    .name = "open",
                    .group = "test",
                    .summary = "Opens an account.",
                    .access = Access::anyone,
                    .work = Work::write,
                    .status = 204,
                    .rate = &api::unlimited},
                   [](Call& call, const Path<AccountPath>& path) {
                       open_account(call.tx(), path->id);
                       call.tx().wake_after_commit({topic, to_string(path->id)});
                   });
        service.emplace(api::Service::Parts{router,
                                            harness.app->database(),
                                            {},
                                            harness.clock,
                                            harness.random,
                                            Bytes(32, 'c'),
                                            metrics,
                                            harness.app->settings(),
                                            {{std::string(topic), open_accounts}}});
        pool.emplace(4, 16'384);  // ten thousand may come at once
        service->set_pool(&*pool);
    }
    ~Waiting() override {
        service->end_waiting();
        pool.reset();
    }

    void ask(const std::string& id, int wait_ms) {
        http::Request request =
            make_request({.target = "/accounts/" + id + "?wait_ms=" + std::to_string(wait_ms)});
        request.client = client;
        service->handle(std::move(request), answers.keep());
    }
    bool eventually_waiting(std::size_t count) {
        const auto until = std::chrono::steady_clock::now() + patience;
        while (service->notifier().waiting() != count) {
            if (std::chrono::steady_clock::now() > until) return false;
            std::this_thread::yield();
        }
        return true;
    }

    Harness harness;
    api::Metrics metrics;
    api::Router router;
    Answers answers;
    std::shared_ptr<const void> client = std::make_shared<char>();
    std::optional<api::Service> service;
    std::optional<http::Pool> pool;
};

const std::string yes = R"({"is_open":true})";
const std::string no = R"({"is_open":false})";

TEST_F(Waiting, WhatIsThereIsAnsweredAtOnce) {
    const std::string id = harness.new_id();
    harness.app->database().write(
        [&](db::Transaction& tx) { open_account(tx, {*parse_uuid(id)}); });
    ask(id, 600'000);
    EXPECT_EQ(answers.wait_for(1), std::vector{yes});
}

TEST_F(Waiting, NewsOfTheOwnProcessAnswerThoseWhoWaitForItAndNoOthers) {
    const std::string mine = harness.new_id();
    ask(mine, 600'000);
    ask(harness.new_id(), 600'000);
    ASSERT_TRUE(eventually_waiting(2));
    Answers opened;
    service->handle(make_request({.method = "POST", .target = "/accounts/" + mine}), opened.keep());
    EXPECT_EQ(answers.wait_for(1), std::vector{yes});
    EXPECT_EQ(service->notifier().waiting(), 1U);
    opened.wait_for(1);  // it must not come when nobody is there to keep it
}

TEST_F(Waiting, WhatAnotherProcessWroteIsFoundByTheLook) {
    const std::string id = harness.new_id();
    ask(id, 600'000);
    ASSERT_TRUE(eventually_waiting(1));
    harness.app->database().write(
        [&](db::Transaction& tx) { open_account(tx, {*parse_uuid(id)}); });
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(answers.wait_for(1), std::vector{yes});
    EXPECT_LT(std::chrono::steady_clock::now() - began, 20s);
}

TEST_F(Waiting, WhoseTimeIsOverGetsWhatThereIs) {
    ask(harness.new_id(), 0);
    ask(harness.new_id(), 20);
    EXPECT_EQ(answers.wait_for(2), (std::vector{no, no}));
    EXPECT_EQ(service->notifier().waiting(), 0U);
}

TEST_F(Waiting, AStopAnswersEveryoneAndNobodyWaitsAfterwards) {
    for (int i = 0; i < 1000; ++i) ask(harness.new_id(), 600'000);
    ASSERT_TRUE(eventually_waiting(1000));
    service->end_waiting();
    EXPECT_EQ(answers.wait_for(1000).size(), 1000U);
    ask(harness.new_id(), 600'000);
    EXPECT_EQ(answers.wait_for(1001).back(), no);
}

TEST_F(Waiting, AWakeBetweenTheLookAndTheWaitIsNotLost) {
    api::Notifier& notifier = service->notifier();
    const auto before = notifier.moment();
    notifier.wake({topic, "x"});
    const auto waiter = [&](std::uint64_t since, const char* name) {
        return notifier.add({{topic, name},
                             since,
                             std::chrono::steady_clock::now() + 60s,
                             client,
                             [](const api::Notifier::Turn&) { return true; }});
    };
    EXPECT_FALSE(waiter(before, "x")) << "it was woken since";
    EXPECT_TRUE(waiter(before, "y"));
    EXPECT_TRUE(waiter(notifier.moment(), "x"));
    for (int i = 0; i < 5000; ++i) notifier.wake({topic, "z"});
    EXPECT_FALSE(waiter(before, "y")) << "what is not remembered may have been";
}

TEST_F(Waiting, NobodyWaitsForAClientThatHasGone) {
    ask(harness.new_id(), 600'000);
    ASSERT_TRUE(eventually_waiting(1));
    client.reset();
    EXPECT_EQ(answers.wait_for(1), std::vector{no});
    ask(harness.new_id(), 600'000);
    EXPECT_EQ(answers.wait_for(2).back(), no);
}

void allow_files(rlim_t wanted) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    ASSERT_GE(limit.rlim_max, wanted);
    limit.rlim_cur = limit.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

// The other ends of the connections, in a process of their own: both ends would be more files than
// a process may have. It sends each request, waits for each answer, and tells how many of them
// said yes and no. Between fork() and _exit() it makes system calls alone.
class Clients {
public:
    struct Heard {
        int yes = 0;
        int no = 0;
    };

    Clients(std::uint16_t port, const std::vector<std::string>& requests)
        : sockets_(requests.size(), -1) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe(ends.data()), 0);
        process_ = ::fork();
        if (process_ == 0) run(port, requests, ends[1]);
        ::close(ends[1]);
        told_ = ends[0];
    }
    ~Clients() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        ::close(told_);
    }
    Clients(const Clients&) = delete;
    Clients& operator=(const Clients&) = delete;

    Heard heard() const {
        Heard heard;
        EXPECT_EQ(::read(told_, &heard, sizeof heard), static_cast<ssize_t>(sizeof heard));
        return heard;
    }

private:
    [[noreturn]] void run(std::uint16_t port, const std::vector<std::string>& requests, int tell) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval patience_of_system{patience.count(), 0};
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const int socket = sockets_[i] = ::socket(AF_INET, SOCK_STREAM, 0);
            ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience_of_system,
                         sizeof patience_of_system);
            if (::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0 ||
                ::write(socket, requests[i].data(), requests[i].size()) < 0)
                ::_exit(1);
        }
        Heard heard;
        std::array<char, 2048> answer{};
        for (const int socket : sockets_) {
            const ssize_t bytes = ::read(socket, answer.data(), answer.size());
            const std::string_view text(answer.data(), bytes < 0 ? 0 : std::size_t(bytes));
            heard.yes += text.ends_with(yes) ? 1 : 0;
            heard.no += text.ends_with(no) ? 1 : 0;
        }
        if (::write(tell, &heard, sizeof heard) < 0) ::_exit(1);
        ::_exit(0);
    }

    std::vector<int> sockets_;
    pid_t process_;
    int told_ = -1;
};

TEST_F(Waiting, TenThousandConnectionsWaitWhileOthersAreServed) {
    constexpr std::size_t connections = 10'000;
    ASSERT_NO_FATAL_FAILURE(allow_files(connections + 500));
    http::Server server({}, *service);
    server.start();
    std::vector<std::string> ids;
    std::vector<std::string> requests;
    for (std::size_t i = 0; i < connections; ++i) {
        ids.push_back(harness.new_id());
        requests.push_back("GET /accounts/" + ids.back() +
                           "?wait_ms=600000 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    const Clients clients(server.port(), requests);
    ASSERT_TRUE(eventually_waiting(connections));

    support::RawSocket other(server.port());
    const auto began = std::chrono::steady_clock::now();
    other.send("POST /accounts/" + ids[5000] + " HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(other.receive().status, 204) << "nobody who waits holds a thread";
    ASSERT_TRUE(eventually_waiting(connections - 1));
    EXPECT_LT(std::chrono::steady_clock::now() - began, 20s);

    service->end_waiting();
    const Clients::Heard heard = clients.heard();
    EXPECT_EQ(heard.yes, 1);
    EXPECT_EQ(heard.no, static_cast<int>(connections) - 1);
    server.stop();
}

}  // namespace
}  // namespace berth::test
