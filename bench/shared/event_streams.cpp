#include "bench/event_streams.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <fstream>

#include "accounts/store.hpp"
#include "bench/service.hpp"
#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "events/events.hpp"
#include "server/app.hpp"
#include "server/settings.hpp"
#include "support/fakes.hpp"
#include "tickets/told.hpp"

namespace berth::bench {
namespace {

void add_stream_account(db::Transaction& tx, const StreamAccount& account) {
    const Time now = SystemClock().now();
    accounts::add_agent(tx, account.id, now);
    accounts::KeyRow key;
    key.id = accounts::KeyId{account.id.uuid};
    key.key_hash = crypto::sha256(account.secret);
    key.account = account.id;
    key.name = "bench";
    key.prefix = account.secret.substr(0, 12);
    key.renter = true;
    key.created_at = now;
    accounts::add_key(tx, key);
}

void tell_once(db::Database& database, Random& random, AccountId account) {
    database.write([&](db::Transaction& tx) {
        events::tell({tx, random, SystemClock().now()}, tickets::ticket_answered, account, "t",
                     tickets::TicketFacts{tickets::TicketState::answered});
    });
}

[[noreturn]] void serve(int tell, int count, bool tells, const std::string& db) {
    try {
        const Folder folder;
        std::map<std::string, std::string> flags{{"connections-per-address", "20000"},
                                                 {"rate-account-per-minute", "1000000000"},
                                                 {"worker-threads", "0"}};
        if (!db.empty()) flags["db"] = db;
        const SystemClock clock;
        SystemRandom random;
        server::App app(server::load_settings(service_sources(folder, flags)), clock, random);
        const auto accounts = stream_accounts(count);
        app.database().write([&](db::Transaction& tx) {
            for (const StreamAccount& one : accounts) add_stream_account(tx, one);
        });
        app.serve();
        const std::uint16_t port = app.port();
        if (::write(tell, &port, sizeof port) != sizeof port) ::_exit(1);
        std::jthread teller;
        if (tells)
            teller = std::jthread([&](const std::stop_token& ended) {
                tell_each_second(app.database(), accounts, ended);
            });
        while (true) ::pause();
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        ::_exit(1);
    }
}

void note(std::string_view text, std::vector<double>& delays) {
    constexpr std::string_view mark = R"("timestamp":")";
    const Time now = SystemClock().now();
    for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
        const std::string_view rest = text.substr(at + mark.size());
        if (const auto told = parse_rfc3339(rest.substr(0, rest.find('"'))))
            delays.push_back(static_cast<double>((now - *told).count()) / 1000);
    }
}

}  // namespace

void allow_files(rlim_t needed) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < needed) throw std::runtime_error("too few open files allowed");
}

std::vector<StreamAccount> stream_accounts(int count) {
    test::SeededRandom random(25);
    std::vector<StreamAccount> all;
    for (int i = 0; i < count; ++i)
        all.push_back(
            {AccountId::make({1'800'000'000'000'000}, random), crypto::make_token("ark_", random)});
    return all;
}

void tell_each_second(db::Database& database, const std::vector<StreamAccount>& accounts,
                      const std::stop_token& ended) {
    SystemRandom random;
    const auto step = std::chrono::nanoseconds(std::chrono::seconds(1)) / std::ssize(accounts);
    auto next = std::chrono::steady_clock::now();
    while (!ended.stop_requested())
        for (const StreamAccount& account : accounts) {
            if (ended.stop_requested()) return;
            std::this_thread::sleep_until(next += step);
            tell_once(database, random, account.id);
        }
}

EventServer::EventServer(int accounts, bool tells, const std::string& db) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    process_ = ::fork();
    if (process_ == 0) serve(ends[1], accounts, tells, db);
    ::close(ends[1]);
    if (::read(ends[0], &port_, sizeof port_) != sizeof port_)
        throw std::runtime_error("the server did not start");
    ::close(ends[0]);
}
EventServer::~EventServer() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
}
double cpu_seconds(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string text;
    std::getline(file, text);
    text.erase(0, text.rfind(')') + 2);
    std::vector<std::string> words;
    for (std::size_t at = 0; at != text.npos && words.size() < 15;) {
        const std::size_t space = text.find(' ', at);
        words.push_back(text.substr(at, space - at));
        at = space == text.npos ? space : space + 1;
    }
    const double ticks = std::stod(words.at(11)) + std::stod(words.at(12));
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double resident_kib(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("VmRSS:")) return std::stod(line.substr(6));
    throw std::runtime_error("the server is gone");
}

void Audience::open(std::uint16_t port, const std::string& secret) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
        throw std::runtime_error("cannot connect");
    const std::string request = fmt::format(
        "GET /api/v1/events/stream HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\r\n",
        secret);
    if (::send(socket, request.data(), request.size(), 0) != static_cast<ssize_t>(request.size()))
        throw std::runtime_error("cannot send");
    char answer[4096];
    pollfd entry{socket, POLLIN, 0};
    if (::poll(&entry, 1, 10'000) != 1 || ::recv(socket, answer, sizeof answer, 0) <= 0 ||
        !std::string_view(answer, 12).starts_with("HTTP/1.1 200"))
        throw std::runtime_error("no stream");
    sockets_.push_back(socket);
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.fd = socket;
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, socket, &wanted);
}

std::vector<double> Audience::read_for(std::chrono::seconds span) {
    std::vector<double> delays;
    const auto end = std::chrono::steady_clock::now() + span;
    std::array<epoll_event, 256> ready{};
    std::array<char, 65536> bytes{};
    while (std::chrono::steady_clock::now() < end) {
        const int count = ::epoll_wait(poll_, ready.data(), static_cast<int>(ready.size()), 100);
        for (int i = 0; i < count; ++i) {
            const ssize_t size =
                ::recv(ready[static_cast<std::size_t>(i)].data.fd, bytes.data(), bytes.size(), 0);
            if (size <= 0) throw std::runtime_error("a stream ended");
            note({bytes.data(), static_cast<std::size_t>(size)}, delays);
        }
    }
    return delays;
}
double percentile(std::vector<double> values, double part) {
    if (values.empty()) throw std::runtime_error("nothing came");
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

void print_goal(std::string_view name, double ours, double goal, std::string_view more) {
    fmt::print("BENCH {} ours={:.1f} baseline=goal:{:.0f} ratio={:.2f}{}{}\n", name, ours, goal,
               goal / ours, more.empty() ? "" : " ", more);
}

}  // namespace berth::bench
