#include "host_agent/access/host_user.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/file.h>
#include <unistd.h>

#include <mutex>
#include <stdexcept>

#include "base/descriptor.hpp"
#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

constexpr const char* front_name = "berth-front";
constexpr const char* user_lock = "/run/berth-agent-user.lock";

}  // namespace

uid_t front_user() {
    static std::mutex mutex;  // getpwnam() has one place for all threads
    const std::lock_guard lock(mutex);
    if (::geteuid() != 0) return ::geteuid();
    if (const passwd* const known = ::getpwnam(front_name)) return known->pw_uid;
    // One agent at a time: of two that make it at once, the second gives it another number, and the
    // first goes on with one that is nobody's.
    const Descriptor turn{::open(user_lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    if (turn.number() < 0 || ::flock(turn.number(), LOCK_EX) != 0)
        throw std::runtime_error(fmt::format("cannot lock {}", user_lock));
    if (const passwd* const known = ::getpwnam(front_name)) return known->pw_uid;
    run_tool_or_throw({.arguments = {"useradd", "--system", "--no-create-home", "--home-dir",
                                     "/nonexistent", "--shell", "/usr/sbin/nologin", front_name}});
    const passwd* const made = ::getpwnam(front_name);
    if (made == nullptr) throw std::runtime_error("the user of the front cannot be made");
    return made->pw_uid;
}

}  // namespace berth::host_agent
