#include "host_agent/core/process_filter.hpp"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth::host_agent {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#endif
constexpr std::uint32_t x32_calls = 0x40000000;  // the same kernel by other numbers

constexpr std::uint32_t refused_calls[] = {
    // Mounts and namespaces.
    SYS_mount, SYS_umount2, SYS_mount_setattr, SYS_move_mount, SYS_open_tree, SYS_fsopen,
    SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns,
    SYS_open_by_handle_at, SYS_name_to_handle_at,
    // The kernel itself, and the host's clock, name, power, swap and accounts.
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load,
    SYS_reboot, SYS_syslog, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_swapon, SYS_swapoff,
    SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname,
    SYS_setdomainname, SYS_acct, SYS_quotactl, SYS_quotactl_fd, SYS_vhangup, SYS_lookup_dcookie,
    SYS_nfsservctl, SYS_fanotify_init,
#if defined(__x86_64__)
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
    // Memory that no limit counts, and other processes.
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_mq_open, SYS_ptrace, SYS_kcmp};

// Fail as on a kernel that is older, so that libraries do without. No filter sees the flags of
// clone3; clone's it does.
constexpr std::uint32_t unknown_calls[] = {SYS_clone3, SYS_io_uring_setup, SYS_io_uring_enter,
                                           SYS_io_uring_register};

// Neither the hypervisor's sockets nor the kernel's ciphers nor raw frames.
constexpr std::uint32_t families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

constexpr std::uint32_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr std::uint32_t failing_with(std::uint32_t error) { return SECCOMP_RET_ERRNO | error; }

class Program {
public:
    void load(std::size_t offset) {
        add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
    }
    void end(std::uint32_t outcome) { add(BPF_RET | BPF_K, outcome); }
    // The instructions that `then` adds are passed over unless the loaded word compares so.
    template <class Then>
    void when(std::uint16_t comparison, std::uint32_t value, const Then& then) {
        const std::size_t at = words_.size();
        add(static_cast<std::uint16_t>(BPF_JMP | BPF_K | comparison), value);
        then();
        words_[at].jf = static_cast<std::uint8_t>(words_.size() - at - 1);
    }
    void end_when(std::uint32_t value, std::uint32_t outcome) {
        when(BPF_JEQ, value, [&] { end(outcome); });
    }
    void end_unless(std::uint32_t value, std::uint32_t outcome) {
        add(BPF_JMP | BPF_K | BPF_JEQ, value);
        words_.back().jt = 1;
        end(outcome);
    }
    std::string bytes() const {
        return {reinterpret_cast<const char*>(words_.data()), words_.size() * sizeof(sock_filter)};
    }

private:
    void add(std::uint16_t code, std::uint32_t value) { words_.push_back({code, 0, 0, value}); }
    std::vector<sock_filter> words_;
};

}  // namespace

std::string process_filter() {
    Program program;
    program.load(offsetof(seccomp_data, arch));
    program.end_unless(architecture, SECCOMP_RET_KILL_PROCESS);
    program.load(offsetof(seccomp_data, nr));
    program.when(BPF_JGE, x32_calls, [&] { program.end(failing_with(ENOSYS)); });
    for (const std::uint32_t call : refused_calls) program.end_when(call, failing_with(EPERM));
    for (const std::uint32_t call : unknown_calls) program.end_when(call, failing_with(ENOSYS));
    program.when(BPF_JEQ, SYS_clone, [&] {
        program.load(offsetof(seccomp_data, args));  // its lower half: both machines store it first
        program.when(BPF_JSET, namespaces, [&] { program.end(failing_with(EPERM)); });
        program.end(SECCOMP_RET_ALLOW);
    });
    program.when(BPF_JEQ, SYS_socket, [&] {
        program.load(offsetof(seccomp_data, args));
        for (const std::uint32_t family : families) program.end_when(family, SECCOMP_RET_ALLOW);
        program.end(failing_with(EAFNOSUPPORT));
    });
    program.end(SECCOMP_RET_ALLOW);
    return program.bytes();
}

bool put_on_filter(const std::string& filter) {
    const sock_fprog program{static_cast<unsigned short>(filter.size() / sizeof(sock_filter)),
                             reinterpret_cast<sock_filter*>(const_cast<char*>(filter.data()))};
    return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace berth::host_agent
