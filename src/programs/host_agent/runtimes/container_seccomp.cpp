#include "host_agent/runtimes/container_seccomp.hpp"

#include <string_view>

namespace berth::host_agent {
namespace {

// What programs need. Left out on purpose: mounts and namespaces (each is a way to more of the
// kernel than a job should see, and a user namespace gives capabilities in it), message queues and
// kernel keys (memory that no limit of the job counts), other machines' and the host's clocks,
// logs and modules, bpf, perf events, io_uring, userfaultfd and handles that reach around mounts.
constexpr std::string_view allowed =
    "accept accept4 access alarm arch_prctl bind brk cachestat capget capset chdir chmod "
    "chown clock_getres clock_gettime clock_nanosleep close close_range connect "
    "copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait "
    "epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat "
    "faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl "
    "fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat fstatfs fsync "
    "ftruncate futex futex_requeue futex_wait futex_waitv futex_wake futimesat get_mempolicy "
    "get_robust_list getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups "
    "getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid "
    "getresuid getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid "
    "getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel "
    "io_destroy io_getevents io_pgetevents io_setup io_submit ioctl ioprio_get ioprio_set "
    "kill landlock_add_rule landlock_create_ruleset landlock_restrict_self lchown lgetxattr "
    "link linkat listen listxattr llistxattr lremovexattr lseek lsetxattr lstat madvise "
    "map_shadow_stack mbind membarrier memfd_create memfd_secret migrate_pages mincore mkdir "
    "mkdirat mknod mknodat mlock mlock2 mlockall mmap move_pages mprotect mremap mseal msgctl "
    "msgget msgrcv msgsnd msync munlock munlockall munmap nanosleep newfstatat open openat "
    "openat2 pause pidfd_getfd pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc pkey_free "
    "pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64 process_madvise "
    "process_mrelease process_vm_readv process_vm_writev pselect6 ptrace pwrite64 pwritev "
    "pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg recvmsg removexattr "
    "rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending "
    "rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait "
    "rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity "
    "sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity "
    "sched_setattr sched_setparam sched_setscheduler sched_yield seccomp select semctl semget "
    "semop semtimedop sendfile sendmmsg sendmsg sendto set_mempolicy set_mempolicy_home_node "
    "set_robust_list set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid "
    "setpriority setregid setresgid setresuid setreuid setrlimit setsid setsockopt setuid "
    "setxattr shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4 socketpair "
    "splice stat statfs statx symlink symlinkat sync sync_file_range sync_file_range2 syncfs "
    "sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime "
    "timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask "
    "uname unlink unlinkat utime utimensat utimes vfork wait4 waitid write writev";

constexpr std::string_view refused =
    "mount umount umount2 mount_setattr move_mount open_tree fsopen fsconfig fsmount fspick "
    "pivot_root unshare setns chroot keyctl add_key request_key bpf perf_event_open mq_open "
    "userfaultfd open_by_handle_at name_to_handle_at reboot syslog";

std::string listed(std::string_view names) {
    std::string out;
    for (std::size_t at = 0; at < names.size();) {
        const std::size_t end = std::min(names.find(' ', at), names.size());
        out += out.empty() ? "\"" : ",\"";
        out += names.substr(at, end - at);
        out += '"';
        at = end + 1;
    }
    return out;
}

std::string allowed_with(std::string_view name, std::string_view argument) {
    return R"(,{"names":[")" + std::string(name) + R"("],"action":"SCMP_ACT_ALLOW","args":[)" +
           std::string(argument) + "]}";
}

std::string equal_to(std::string_view value) {
    return R"({"index":0,"value":)" + std::string(value) + R"(,"op":"SCMP_CMP_EQ"})";
}

}  // namespace

// What is not known fails as if the kernel were older (38, ENOSYS), so that libraries fall back:
// clone3, whose flags no filter can see, becomes clone. Only the machine's own architecture is let
// in, so none of this can be walked around by a 32-bit program.
std::string seccomp_profile() {
    std::string out = R"({"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":38,"syscalls":[)"
                      R"({"names":[)" +
                      listed(allowed) + R"(],"action":"SCMP_ACT_ALLOW"},{"names":[)" +
                      listed(refused) + R"(],"action":"SCMP_ACT_ERRNO","errnoRet":1})";
    // Every CLONE_NEW flag.
    out += allowed_with("clone",
                        R"({"index":0,"value":2114060288,"valueTwo":0,"op":"SCMP_CMP_MASKED_EQ"})");
    // UNIX, IPv4, IPv6, netlink: neither the hypervisor's sockets nor the kernel's ciphers.
    for (const std::string_view family : {"1", "2", "10", "16"})
        out += allowed_with("socket", equal_to(family));
    for (const std::string_view persona : {"0", "8", "131072", "131080", "4294967295"})
        out += allowed_with("personality", equal_to(persona));
    return out + "]}";
}

}  // namespace berth::host_agent
