// berth-gate: what hosts without an open port are reached by.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <CLI/CLI.hpp>
#include <ctime>

#include <algorithm>
#include <functional>
#include <thread>

#include "base/log.hpp"
#include "base/log_queue.hpp"
#include "base/shared_clock.hpp"
#include "base/version.hpp"
#include "gate/gate.hpp"
#include "http/client.hpp"

namespace {

using namespace berth;
using namespace berth::gate;

constexpr int exit_failed = 1;
constexpr int exit_bad_options = 2;
constexpr long look_ns = 200'000'000;  // how soon the end of the last stream is noticed

struct InitOptions {
    std::string folder;
    Folder::NewGate gate;
    std::string ports = "20000-32767";
};

struct RunOptions {
    std::string folder;
    std::string server;
    std::string ca_file;
    std::string listen = "0.0.0.0";
    std::string metrics = "127.0.0.1:9466";
    std::string clock_file;
    std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, 4);
};

int init_gate(InitOptions& options) {
    SystemRandom random;
    options.gate.ports = parse_range(options.ports);
    const Folder folder(options.folder);
    const Identity identity = folder.init(options.gate, SystemClock().now(), random);
    fmt::print(stderr, "Tell the server of this gate, where berthd runs:\n");
    fmt::print("{}\n", add_command(identity, folder.make_tls()));
    return 0;
}

void check_server(const std::string& server) {
    const bool plain = server.starts_with("http://127.") ||
                       server.starts_with("http://localhost") || server.starts_with("http://[::1]");
    if (!server.starts_with("https://") && !plain)
        throw std::invalid_argument("--server must be an https address");
}

void name_metrics(const std::string& text, GateOptions& options) {
    if (text.empty()) return;
    const std::size_t colon = text.rfind(':');
    const std::string port = colon == text.npos ? "" : text.substr(colon + 1);
    const bool digits =
        !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == port.npos;
    if (!digits || std::stoi(port) > 65'535)
        throw std::invalid_argument("--metrics must be an address and a port");
    options.metrics_address = text.substr(0, colon);
    options.metrics_port = static_cast<std::uint16_t>(std::stoi(port));
}

// The first signal drains, the second ends, and so does the end of the last stream.
void serve_until_told(Gate& gate, const sigset_t& signals) {
    bool draining = false;
    while (!gate.is_drained()) {
        const timespec look{.tv_sec = 0, .tv_nsec = look_ns};
        const int number = ::sigtimedwait(&signals, nullptr, &look);
        if (number <= 0) continue;
        if (std::exchange(draining, true)) return;
        gate.drain();
    }
}

// As many files as the system lets this process open: links, doors and streams are.
void raise_file_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

int run_gate(const RunOptions& options) {
    raise_file_limit();
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int number : {SIGINT, SIGTERM}) ::sigaddset(&signals, number);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    ::signal(SIGPIPE, SIG_IGN);

    check_server(options.server);
    GateOptions made;
    made.folder = options.folder;
    made.reporter.server = options.server;
    while (made.reporter.server.ends_with('/')) made.reporter.server.pop_back();
    made.reporter.ca_file = options.ca_file;
    made.board.address = options.listen;
    made.io_threads = options.threads;
    name_metrics(options.metrics, made);
    std::unique_ptr<Clock> clock = std::make_unique<SystemClock>();
    if (!options.clock_file.empty()) {
        clock = std::make_unique<SharedClock>(options.clock_file, SharedClock::Use::read);
        made.clock_off = HeardClock::Off::ignored;
    }
    const LogQueue queue;
    SystemRandom random;
    http::CurlClient client;
    Gate gate(made, *clock, random, client);
    gate.start();
    serve_until_told(gate, signals);
    gate.stop();
    return 0;
}

void add_init(CLI::App& program, InitOptions& options, std::function<int()>& chosen) {
    CLI::App* const init = program.add_subcommand(
        "init", "make a gate: its keys, and the line that makes it known to the server");
    init->add_option("--dir", options.folder, "where its keys are kept")->required();
    init->add_option("--host", options.gate.host, "the name or address that it is reached by")
        ->required();
    init->add_option("--link-port", options.gate.link_port,
                     "where host agents keep their links, by TLS [443]");
    init->add_option("--call-port", options.gate.call_port,
                     "where they answer calls, by plain TCP [8443]");
    init->add_option("--ports", options.ports, "of the doors [20000-32767]");
    init->callback([&] { chosen = [&] { return init_gate(options); }; });
}

void add_run(CLI::App& program, RunOptions& options, std::function<int()>& chosen) {
    CLI::App* const run = program.add_subcommand(
        "run",
        "carry connections until told to end. SIGTERM, or a newer process of the same gate, lets "
        "it drain: it ends with its last stream; a second SIGTERM ends it at once");
    run->add_option("--dir", options.folder, "of `init`")->required();
    run->add_option("--server", options.server, "the server's address, https")->required();
    run->add_option("--ca", options.ca_file,
                    "file with the authorities that the server's certificate is judged by [the "
                    "system's]");
    run->add_option("--listen", options.listen, "the address of all its ports [0.0.0.0]");
    run->add_option("--metrics", options.metrics,
                    "where Prometheus finds /metrics; empty: nowhere [127.0.0.1:9466]");
    run->add_option("--threads", options.threads,
                    "for links and calls, and as many for streams [half the cores, 4 at most]");
    run->add_option("--clock-file", options.clock_file,
                    "for development: the clock of a simulated server");
    run->callback([&] { chosen = [&] { return run_gate(options); }; });
}

int run_program(int count, char** words) {
    std::function<int()> chosen;
    CLI::App program("The Berth gate: lets hosts without an open port be reached.", "berth-gate");
    program.require_subcommand(1);
    program.set_version_flag("--version", name_and_version("berth-gate"));
    InitOptions init;
    RunOptions run;
    add_init(program, init, chosen);
    add_run(program, run, chosen);
    CLI11_PARSE(program, count, words);
    return chosen();
}

}  // namespace

int main(int count, char** words) {
    try {
        return run_program(count, words);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr, "berth-gate: {}\n", error.what());
        return exit_bad_options;
    } catch (const std::exception& error) {
        fmt::print(stderr, "berth-gate: {}\n", error.what());
        return exit_failed;
    }
}
