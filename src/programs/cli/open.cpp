// An endpoint of a rental in a browser. It speaks TLS with a key that no authority knows and wants
// a Bearer, neither of which a browser can do: so a door on this machine does both.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>

#include "base/bytes.hpp"
#include "base/json_text.hpp"
#include "cli/browser_door.hpp"
#include "cli/special.hpp"
#include "http/resolve.hpp"
#include "http/server.hpp"

extern char** environ;

namespace berth::cli {
namespace {

constexpr std::size_t label_bytes = 16;
constexpr std::size_t secret_bytes = 32;
constexpr std::size_t browser_connections_max = 256;
constexpr std::size_t browser_header_bytes_max = 64 * 1024;  // pages keep much in cookies

struct Wished {
    std::string rental;
    std::string endpoint;  // empty: the only one
};

// One word alone is the endpoint, unless it is an id.
Wished read_wish(Context& context) {
    const auto& words = context.arguments().operands;
    if (words.size() == 1 && !parse_uuid(words[0])) return {context.rental(1), words[0]};
    return {context.rental(0), words.size() > 1 ? words[1] : ""};
}

std::uint16_t read_port(Context& context) {
    const std::string text = context.arguments().get("port", "0");
    std::uint16_t port = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, port);
    if (read.ec != std::errc() || read.ptr != end)
        throw Failure(Exit::usage, "--port: must be a number up to 65535");
    return port;
}

Reading::Place choose_endpoint(const Reading& access, const std::string& wanted) {
    std::vector<Reading::Place> pages;
    std::string names;
    if (const auto endpoints = access.find("endpoints")) {
        for (const Reading::Place each : access.items(*endpoints)) {
            if (access.text("url", each).empty()) continue;
            const std::string name = access.text("name", each);
            if (!wanted.empty() && name == wanted) return each;
            pages.push_back(each);
            names += (names.empty() ? "" : ", ") + name;
        }
    }
    if (pages.empty())
        throw Failure(Exit::conflict, "this rental has no page to open; see berth rentals access");
    if (!wanted.empty())
        throw Failure(Exit::usage,
                      fmt::format("there is no endpoint '{}', but: {}", wanted, names));
    if (pages.size() > 1)
        throw Failure(Exit::usage, fmt::format("which endpoint? Name one of: {}", names));
    return pages[0];
}

// A key goes over TLS to who has the key that the service was told; without TLS nowhere but to a
// marketplace on this very machine.
BrowserDoor::Behind behind(Context& context, const Reading& access, Reading::Place endpoint) {
    const std::string pin = access.text("tls_key_sha256", endpoint);
    const std::string port = access.text("external_port", endpoint);
    const bool is_all_here = context.api().target().origin.starts_with("http://");
    if (pin.empty() && !is_all_here)
        throw Failure(Exit::unexpected,
                      "the host offers this endpoint without TLS; nothing is sent to it");
    BrowserDoor::Behind made;
    made.key = access.text("endpoint_api_key");
    made.endpoint.host = access.text("external_host", endpoint);
    made.endpoint.tls = !pin.empty();
    made.endpoint.key_sha256 = from_hex(pin).value_or("");
    const bool is_port =
        std::from_chars(port.data(), port.data() + port.size(), made.endpoint.port).ec ==
        std::errc();
    if (made.key.empty() || !is_port ||
        (made.endpoint.tls && made.endpoint.key_sha256.size() != 32))
        throw Failure(Exit::unexpected, "the server does not say how the endpoint is reached");
    const http::Resolved found = http::resolve(made.endpoint.host, http::Reach::anywhere);
    if (found.addresses.empty())
        throw Failure(Exit::network, fmt::format("the host {} is not found: {}", made.endpoint.host,
                                                 found.reason));
    made.endpoint.address = found.addresses.front();
    return made;
}

// Browsers that snap or flatpak confine read no folder of one's home whose name begins with a dot,
// as that of profiles does.
std::string signpost_folder(const std::string& of_profiles) {
    const char* const home = ::getenv("HOME");
    const bool is_good = home != nullptr && *home != '\0' && ::access(home, W_OK) == 0;
    return is_good ? std::string(home) : of_profiles;
}

// A file leads the browser there: what stands in a command line others on this machine can read.
class Signpost {
public:
    Signpost(const std::string& folder, const std::string& name)
        : file_(folder + "/berth-open-" + name + ".html") {}
    ~Signpost() { remove(); }
    Signpost(const Signpost&) = delete;
    Signpost& operator=(const Signpost&) = delete;

    // False when there is nothing to show it with.
    bool show(const std::string& address) const {
        write_private(file_, fmt::format("<!doctype html><meta charset=\"utf-8\">"
                                         "<meta http-equiv=\"refresh\" content=\"0;url={}\">"
                                         "<a href=\"{}\">the rental</a>\n",
                                         address, address));
        std::string program = "xdg-open";
        std::string file = file_;
        std::array<char*, 3> words{program.data(), file.data(), nullptr};
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
        for (const int each : {STDOUT_FILENO, STDERR_FILENO})
            posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, each);
        posix_spawnattr_t how;
        posix_spawnattr_init(&how);
        posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&how, &none);
        pid_t process = 0;
        const int failed =
            ::posix_spawnp(&process, words[0], &actions, &how, words.data(), environ);
        posix_spawnattr_destroy(&how);
        posix_spawn_file_actions_destroy(&actions);
        return failed == 0;
    }
    void remove() const {
        std::error_code ignored;
        std::filesystem::remove(file_, ignored);
    }

private:
    const std::string file_;
};

std::unique_ptr<http::Server> listen(std::uint16_t port, http::Handler& door) {
    http::ServerOptions options;
    options.port = port;
    options.connections_max = browser_connections_max;
    options.header_bytes_max = browser_header_bytes_max;
    options.drain_max = std::chrono::seconds(0);
    try {
        return std::make_unique<http::Server>(std::move(options), door);
    } catch (const std::runtime_error& error) {
        throw Failure(Exit::usage, fmt::format("--port: {}", error.what()));
    }
}

// Until one of these signals comes; `after_a_while` is called once if none does soon.
void wait_for_end(const sigset_t& ends, const std::function<void()>& after_a_while) {
    const timespec patience{.tv_sec = 5, .tv_nsec = 0};
    int ended_by = ::sigtimedwait(&ends, nullptr, &patience);
    if (ended_by > 0) return;
    after_a_while();
    while (::sigwait(&ends, &ended_by) != 0) {
    }
}

}  // namespace

int open_endpoint(Context& context) {
    const Wished wished = read_wish(context);
    const Request ask{.path = "/api/v1/jobs/" + percent_encode(wished.rental) + "/access"};
    if (context.is_rehearsal()) {
        context.rehearse(ask);
        return 0;
    }
    const std::uint16_t port = read_port(context);
    const Reading access(context.api().send(ask).body);
    const Reading::Place chosen = choose_endpoint(access, wished.endpoint);
    const auto secret = [&](std::size_t bytes) { return to_hex(context.random().bytes(bytes)); };
    const Signpost signpost(signpost_folder(context.profiles().folder()), secret(label_bytes));
    std::atomic<bool> is_entered = false;
    BrowserDoor door(behind(context, access, chosen),
                     {secret(label_bytes), secret(secret_bytes), secret(secret_bytes)}, [&] {
                         is_entered = true;
                         signpost.remove();
                     });
    const std::unique_ptr<http::Server> server = listen(port, door);
    door.set_port(server->port());
    // Before there are threads, so that none of them takes these.
    sigset_t ends;
    sigemptyset(&ends);
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, each);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    server->start();
    context.print_own(
        fmt::format(R"({{"rental":{},"endpoint":{},"url":{}}})", json_quoted(wished.rental),
                    json_quoted(access.text("name", chosen)), json_quoted(door.address())),
        door.address() + "\n");
    const bool is_shown = !context.arguments().is_on("no-browser");
    if (is_shown && !signpost.show(door.address()))
        context.console().say("there is no xdg-open here: open the address in your browser");
    context.console().say("it is open until you end this (Ctrl-C); the address opens it once");
    wait_for_end(ends, [&] {
        if (is_shown && !is_entered)
            context.console().say("no browser has come yet: open " + door.address());
    });
    server->stop();
    return 0;
}

}  // namespace berth::cli
