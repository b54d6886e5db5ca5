#include "host_agent/access/ssh_world.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "base/descriptor.hpp"
#include "host_agent/core/runtime.hpp"
#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

constexpr uid_t nobody = 65534;

[[noreturn]] void cannot_have(const std::string& what) {
    throw std::runtime_error(fmt::format("no {} for sshd: {}", what, ::strerror(errno)));
}

struct Spaces {
    Descriptor network;
    Descriptor mounts;
};

bool is_our_own(const Descriptor& space, const char* own) {
    struct stat theirs {};
    struct stat ours {};
    return ::fstat(space.number(), &theirs) != 0 || ::stat(own, &ours) != 0 ||
           (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino);
}

// Through one descriptor, which is of this process and never of a later one with its number.
std::optional<Spaces> spaces_of(const SshPlan& plan) {
    if (plan.container.empty() || plan.process <= 0) return {};
    const Descriptor process(
        ::open(fmt::format("/proc/{}", plan.process).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto open = [&](const char* name) {
        return Descriptor(::openat(process.number(), name, O_RDONLY | O_CLOEXEC));
    };
    const Descriptor group = open("cgroup");
    std::string text(4096, '\0');
    const ssize_t count = ::read(group.number(), text.data(), text.size());
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (text.find(plan.container) == std::string::npos) return {};
    Spaces spaces{open("ns/net"), open("ns/mnt")};
    if (is_our_own(spaces.network, "/proc/self/ns/net") ||
        is_our_own(spaces.mounts, "/proc/self/ns/mnt"))
        return {};
    return spaces;
}

// What of the container's memory is mounted as files, by where it is. Images choose their folders:
// a link is not followed, and what is no such memory is left.
std::map<std::string, Descriptor> memory_of(const Spaces& spaces) {
    std::map<std::string, Descriptor> found;
    const Descriptor back(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
    if (::setns(spaces.mounts.number(), CLONE_NEWNS) != 0) cannot_have("sight of the container");
    for (const char* place : {"/tmp", "/dev/shm"}) {
        open_how how{};
        how.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        how.resolve = RESOLVE_NO_SYMLINKS;
        const Descriptor folder(
            static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, place, &how, sizeof how)));
        struct statfs kind {};
        if (::fstatfs(folder.number(), &kind) != 0 || kind.f_type != TMPFS_MAGIC) continue;
        Descriptor tree(
            ::open_tree(folder.number(), "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
        if (tree.number() >= 0) found.emplace(place, std::move(tree));
    }
    if (::setns(back.number(), CLONE_NEWNS) != 0) cannot_have("way back from the container");
    return found;
}

class Root {
public:
    explicit Root(const std::string& folder) : root_(folder + "/root") {
        std::filesystem::create_directories(root_);
        put("none", "", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755");
    }

    void put(const char* source, const std::string& place, const char* kind, unsigned long flags,
             const char* options = nullptr) const {
        if (::mount(source, (root_ + place).c_str(), kind, flags, options) != 0)
            cannot_have("mount of " + place);
    }
    void folder(const std::string& place) const {
        std::filesystem::create_directories(root_ + place);
    }
    void file(const std::string& place, const std::string& text) const {
        std::ofstream out(root_ + place);
        out << text;
        if (!out.flush()) cannot_have("file " + place);
    }
    void link(const std::string& place, const std::string& target) const {
        std::filesystem::create_symlink(target, root_ + place);
    }
    enum class Use { reading, writing };
    void bind(const std::string& from, const std::string& place, Use use) const {
        if (std::filesystem::is_directory(from))
            folder(place);
        else
            file(place, "");
        put(from.c_str(), place, nullptr, MS_BIND);
        if (use == Use::reading)
            put(nullptr, place, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID);
    }
    void move(const Descriptor& tree, const std::string& place) const {
        folder(place);
        if (::move_mount(tree.number(), "", AT_FDCWD, (root_ + place).c_str(),
                         MOVE_MOUNT_F_EMPTY_PATH) != 0)
            cannot_have("mount of " + place);
    }
    void enter() const {
        if (::chdir(root_.c_str()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 ||
            ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0 ||
            ::mount(nullptr, "/", nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV,
                    nullptr) != 0)
            cannot_have("root");
    }

private:
    const std::string root_;
};

// The system's folders as the host has them: links where it has links.
void put_system(const Root& root) {
    root.bind("/usr", "/usr", Root::Use::reading);
    for (const char* folder : {"/bin", "/sbin", "/lib", "/lib64"}) {
        std::error_code ignored;
        if (std::filesystem::is_symlink(folder, ignored))
            root.link(folder, std::filesystem::read_symlink(folder));
        else if (std::filesystem::exists(folder, ignored))
            root.bind(folder, folder, Root::Use::reading);
    }
    root.folder("/run/sshd");  // where sshd shuts up whoever has not shown a key
    root.folder("/dev/pts");
    for (const char* device : {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty"})
        root.bind(device, device, Root::Use::writing);
    root.put("none", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
             "newinstance,ptmxmode=0666,mode=620");
    root.link("/dev/ptmx", "pts/ptmx");
}

// One login, with the number that everything in the container has: it must be able to open the
// sockets that the renter's programs make. Nobody has a password, and sshd takes none as locked.
void put_names(const Root& root, const SshPlan& plan) {
    const passwd* const sshd = ::getpwnam("sshd");
    root.folder("/etc");
    root.file("/etc/passwd", fmt::format("root:*:0:0::/:/usr/sbin/nologin\n"
                                         "sshd:*:{}:{}::/run/sshd:/usr/sbin/nologin\n"
                                         "{}:*:{}:{}::/:/bin/sh\n",
                                         sshd == nullptr ? nobody : sshd->pw_uid,
                                         sshd == nullptr ? nobody : sshd->pw_gid, ssh_login,
                                         workload_user, workload_user));
    root.file("/etc/group", fmt::format("root:*:0:\n{}:*:{}:\n", ssh_login, workload_user));
    root.file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
    root.file("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n");
    root.file("/etc/resolv.conf", fmt::format("nameserver {}\n", plan.name_server));
}

// sshd becomes another user, gives terminals away, and shuts strangers up.
void keep_only_what_sshd_needs() {
    constexpr std::array kept = {CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,     CAP_KILL,
                                 CAP_SETGID, CAP_SETUID,       CAP_SYS_CHROOT, CAP_AUDIT_WRITE};
    for (int each = 0; each <= CAP_LAST_CAP; ++each)
        if (std::find(kept.begin(), kept.end(), each) == kept.end())
            ::prctl(PR_CAPBSET_DROP, each, 0, 0, 0);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) cannot_have("promise");
}

}  // namespace

std::string SshPlan::written() const {
    return fmt::format(
        "address {}\nport {}\nhost_key {}\nwork {}\nprogram {}\nname_server {}\n"
        "container {}\nprocess {}\n{}",
        address, port, host_key, work, program, name_server, container, process,
        group.empty() ? "" : fmt::format("group {}\n", group));
}

SshPlan SshPlan::read(const std::string& written) {
    std::map<std::string, std::string> values;
    std::istringstream lines(written);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = std::min(line.find(' '), line.size());
        values[line.substr(0, space)] = line.substr(std::min(space + 1, line.size()));
    }
    SshPlan plan{.address = values["address"],
                 .host_key = values["host_key"],
                 .work = values["work"],
                 .program = values["program"],
                 .name_server = values["name_server"],
                 .container = values["container"],
                 .group = values["group"]};
    std::istringstream(values["port"]) >> plan.port;
    std::istringstream(values["process"]) >> plan.process;
    if (plan.port <= 0 || plan.host_key.empty() || plan.work.empty() || plan.program.empty())
        throw std::runtime_error("the plan of the SSH door cannot be read");
    return plan;
}

void enter_ssh_world(const SshPlan& plan, const std::string& folder) {
    const std::optional<Spaces> spaces = spaces_of(plan);
    if (::unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        cannot_have("mounts of its own");
    const auto memory = spaces ? memory_of(*spaces) : std::map<std::string, Descriptor>();
    if ((spaces ? ::setns(spaces->network.number(), CLONE_NEWNET) : ::unshare(CLONE_NEWNET)) != 0)
        cannot_have("network");
    const Root root(folder);
    put_system(root);
    put_names(root, plan);
    root.bind(folder, ssh_world_door, Root::Use::reading);
    root.bind(plan.host_key, ssh_world_host_key, Root::Use::reading);
    root.bind(plan.program, ssh_world_program, Root::Use::reading);
    root.bind(plan.work, "/work", spaces ? Root::Use::writing : Root::Use::reading);
    for (const auto& [place, tree] : memory) root.move(tree, place);
    root.enter();
    keep_only_what_sshd_needs();
}

}  // namespace berth::host_agent
