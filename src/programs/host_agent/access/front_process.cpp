#include "host_agent/access/front_process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <malloc.h>
#include <pwd.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <stdexcept>

#include "base/bytes.hpp"
#include "base/log.hpp"
#include "crypto/hash.hpp"
#include "host_agent/access/front_order.hpp"
#include "host_agent/access/handover.hpp"
#include "host_agent/core/process_filter.hpp"
#include "http/passing.hpp"
#include "http/server.hpp"

namespace berth::host_agent {
namespace {

constexpr std::size_t body_bytes_max = std::size_t{16} * 1024 * 1024;
constexpr std::size_t all_bodies_bytes_max = std::size_t{64} * 1024 * 1024;
constexpr std::size_t connections_max = 1'000;
constexpr std::size_t per_address_max = 500;  // the relay comes from one
// The relay has bounds of its own for what people wait for; these only end what is dead.
constexpr auto first_byte_max = std::chrono::seconds(900);
constexpr auto silence_max = std::chrono::seconds(900);

http::Response told(int status, std::string_view sentence) {
    http::Response response{.status = status};
    response.body = R"({"error":{"message":")" + std::string(sentence) + R"("}})";
    return response;
}

class Doorkeeper final : public http::Handler {
public:
    Doorkeeper(Bytes shown_sha256, std::int64_t local_port) : shown_(std::move(shown_sha256)) {
        workload_.address = *http::parse_address("127.0.0.1");
        workload_.port = static_cast<std::uint16_t>(local_port);
        workload_.host = "localhost";
    }

    std::size_t body_bytes_max(const http::Request& head) override {
        return may_enter(head) ? host_agent::body_bytes_max : 0;
    }

    void handle(http::Request request, http::Reply reply) override {
        if (!may_enter(request)) {
            http::Response response = told(401, "show the job's key: Authorization: Bearer KEY");
            response.headers.add("WWW-Authenticate", "Bearer");
            return reply(std::move(response));
        }
        if (request.unread == http::Unread::too_large)
            return reply(told(413, "a body may have 16 MiB here"));
        if (request.unread == http::Unread::no_room)
            return reply(told(503, "too many bodies are on their way; try again later"));
        http::UpstreamRequest onwards = http::onward(std::move(request), workload_);
        onwards.try_again = true;
        onwards.first_byte_max = host_agent::first_byte_max;
        onwards.silence_max = host_agent::silence_max;
        http::Response response;
        response.source = http::pass_on({.request = std::move(onwards),
                                         .unanswered = told(502, "the workload does not answer")});
        reply(std::move(response));
    }

private:
    // Hashes are compared, so that the time tells nothing, not even a length.
    bool may_enter(const http::Request& request) const {
        const auto shown = request.headers.find("Authorization");
        return shown && request.headers.count("Authorization") == 1 &&
               crypto::equal_in_constant_time(crypto::sha256(*shown), shown_);
    }

    const Bytes shown_;
    http::Endpoint workload_;
};

struct OpenedDoor {
    OpenedDoor(const FrontOrder& order, http::ServerOptions options)
        : keeper(from_hex(order.shown_sha256).value_or(""), order.local_port),
          server(std::move(options), keeper) {
        server.start();
    }
    Doorkeeper keeper;
    http::Server server;
};

class OpenedDoors {
public:
    // Empty, or why not.
    std::string carry_out(Handed handed) {
        const auto order = read_order(handed.bytes);
        if (!order) return "the order is none";
        doors_.erase(order->port);
        if (!order->opens) return "";
        if (handed.files.size() != 1) return "there is no socket to listen on";
        http::ServerOptions options;
        options.listening_socket = handed.files[0].release();
        options.tls_certificate = order->certificate;
        options.tls_key = order->key;
        options.connections_max = connections_max;
        options.connections_per_address_max = per_address_max;
        options.request_bytes = request_bytes_;
        options.drain_max = std::chrono::seconds(0);
        try {
            doors_.emplace(order->port, std::make_unique<OpenedDoor>(*order, std::move(options)));
            return "";
        } catch (const std::exception& error) {
            return error.what();
        }
    }

private:
    std::shared_ptr<http::ByteBudget> request_bytes_ =
        std::make_shared<http::ByteBudget>(all_bodies_bytes_max);
    std::map<std::int64_t, std::unique_ptr<OpenedDoor>> doors_;
};

[[noreturn]] void cannot(const char* what) {
    throw std::runtime_error(fmt::format("the front cannot {}: {}", what, ::strerror(errno)));
}

// Nothing is to be found where it goes: an empty folder that cannot be written. A root that may
// make no namespaces is that of a container, whose files are few; all else is given up there, too.
void leave_all_files() {
    if (::unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS) != 0) {
        if (errno != EPERM) cannot("have namespaces");
        return log(Level::warn, "front_sees_files", {{"why", "namespaces are not allowed here"}});
    }
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", "/tmp", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                "size=4k,mode=555") != 0)
        cannot("have an empty folder");
    if (::chdir("/tmp") != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 ||
        ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0)
        cannot("leave the host's files");
}

void become(uid_t user) {
    const passwd* const known = ::getpwuid(user);
    const gid_t group = known == nullptr ? user : known->pw_gid;
    leave_all_files();
    for (int capability = 0; capability <= CAP_LAST_CAP; ++capability)
        ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    // With another user all capabilities that it had are gone as well.
    if (::setgroups(0, nullptr) != 0 || ::setresgid(group, group, group) != 0 ||
        ::setresuid(user, user, user) != 0)
        cannot("become another user");
}

void give_up_rights(uid_t user) {
    if (::geteuid() == 0 && user != 0) become(user);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        cannot("give up its rights");
    if (!put_on_filter(process_filter())) cannot("give up system calls");
}

}  // namespace

int run_front(int socket, uid_t user) {
    ::mallopt(M_ARENA_MAX, 1);  // each door has a thread, and none needs memory of its own
    try {
        give_up_rights(user);
    } catch (const std::exception& error) {
        log(Level::error, "front_not_started", {{"why", error.what()}});
        return 1;
    }
    OpenedDoors doors;
    while (auto handed = take_handed(socket, order_bytes_max)) {
        const std::string why_not = doors.carry_out(std::move(*handed));
        if (!hand_over(socket, why_not.empty() ? front_obeyed : why_not)) break;
    }
    // Whoever is still being served loses the door with the agent.
    ::_exit(0);
}

}  // namespace berth::host_agent
