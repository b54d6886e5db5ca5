// The way in by SSH, with the clients that renters have.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "host_agent/access/host_user.hpp"
#include "host_agent/access/ssh.hpp"
#include "host_agent/access/ssh_world.hpp"
#include "host_agent/runtimes/container_profile.hpp"
#include "host_agent/runtimes/guard.hpp"
#include "host_agent/runtimes/shaper.hpp"
#include "host_agent_container/elsewhere.hpp"
#include "host_agent_container/registry.hpp"
#include "host_agent_container/renter.hpp"
#include "http/dial.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/raw_socket.hpp"

namespace berth::test {
namespace {

TEST_F(SshTest, CommandsRunInsideWithTheirInputAndExitCodes) {
    const auto asked = ssh({"id -u; cat; echo $BERTH_API_KEY >&2; exit 42"}, "right", "typed\n");
    EXPECT_EQ(asked.output, "10001\ntyped\n");
    EXPECT_NE(asked.error.find("given-to-shells-too"), std::string::npos) << asked.error;
    EXPECT_EQ(asked.status, 42);
    const auto shell = ssh({}, "right", "echo in $PWD\nexit 3\n");
    EXPECT_EQ(shell.output, "in /work\n") << shell.error;
    EXPECT_EQ(shell.status, 3);
}

TEST_F(SshTest, AShellHasTheProfileToo) {
    const auto asked = ssh({"/bin/berth-inside profile"});
    EXPECT_EQ(host_agent::broken_profile(host_agent::read_inside(asked.output), workload.limits),
              std::vector<std::string>{})
        << asked.output << asked.error;
}

TEST_F(SshTest, TheHostKeyIsTheOneThatReadyNames) {
    ssh({"true"});
    const auto seen =
        host_agent::run_tool({.arguments = {"ssh-keygen", "-l", "-f", keys + "/known"}});
    EXPECT_NE(seen.output.find(*started.ssh_host_key_fingerprint), std::string::npos)
        << seen.output;
}

// Neither whose key is right, nor what is behind, nor what system the host has.
TEST_F(SshTest, StrangersAreRefusedAndToldNothing) {
    ssh({"true"});  // the host key is known now, and ssh itself says nothing about it
    const auto refused = ssh({"true"}, "wrong");
    EXPECT_EQ(refused.status, 255);
    EXPECT_EQ(refused.error, "renter@127.0.0.1: Permission denied (publickey).\r\n");
    http::DialledConnection stranger(*http::parse_address("127.0.0.1"),
                                     static_cast<std::uint16_t>(workload.ssh_port),
                                     std::chrono::minutes(3));
    std::string greeting;
    while (!greeting.ends_with('\n') && greeting.size() < 300) greeting += stranger.receive(1);
    EXPECT_TRUE(greeting.starts_with("SSH-2.0-OpenSSH_")) << greeting;
    EXPECT_EQ(greeting.find(' '), std::string::npos) << greeting;
}

TEST_F(SshTest, ThirtyAtOnceGetIn) {
    ssh({"true"});
    std::vector<std::unique_ptr<Process>> clients;
    for (int i = 0; i < 30; ++i)
        clients.push_back(client({}, {fmt::format("echo {} > /work/{}", i, i)}));
    for (const auto& each : clients) EXPECT_EQ(each->wait(), 0) << read_text(keys + "/client.log");
    EXPECT_EQ(ssh({"cat /work/[0-9]* | busybox wc -l"}).output, "30\n");
}

// How many of them sshd spoke to; each stays until it is put out.
std::size_t say_nothing(std::vector<support::RawSocket>& kept, const char* from, std::uint16_t port,
                        std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        sockaddr_in own{};
        own.sin_family = AF_INET;
        ::inet_pton(AF_INET, from, &own.sin_addr);
        sockaddr_in there = own;
        there.sin_port = htons(port);
        ::inet_pton(AF_INET, "127.0.0.1", &there.sin_addr);
        const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        kept.push_back(support::RawSocket::adopt(socket));
        EXPECT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
        EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&there), sizeof there), 0);
    }
    std::size_t heard = 0;
    for (std::size_t i = kept.size() - count; i < kept.size(); ++i)
        if (kept[i].skip_some()) ++heard;
    return heard;
}

TEST_F(SshTest, StrangersWhoSayNothingDoNotKeepTheRenterOut) {
    const auto renter = client({}, {"touch /work/here; sleep 4321"});
    ASSERT_TRUE(support::eventually(
        [&] { return std::filesystem::exists(workload.folder + "/work/here"); }));
    const auto port = static_cast<std::uint16_t>(workload.ssh_port);
    std::vector<support::RawSocket> strangers;
    EXPECT_GE(say_nothing(strangers, "127.0.0.2", port, 70), 63U);
    EXPECT_GT(say_nothing(strangers, "127.0.0.3", port, 5), 0U);
    EXPECT_EQ(ssh({"echo in"}).output, "in\n");
    EXPECT_TRUE(renter->running()) << "who has shown the key stays";
}

// As it does when READY has been heard and the meter runs: by then the renter may be at work.
TEST_F(SshTest, AnAgentThatLooksAgainPutsNobodyOut) {
    const auto renter =
        client({}, {"touch /work/here; while [ ! -e /work/go ]; do sleep 0.1; done; exit 7"});
    ASSERT_TRUE(support::eventually(
        [&] { return std::filesystem::exists(workload.folder + "/work/here"); }));
    const auto again = runtime->rejoin(workload);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->ssh_host_key_fingerprint, started.ssh_host_key_fingerprint);
    ssh({"touch /work/go"});
    EXPECT_EQ(renter->wait(), 7) << read_text(keys + "/client.log");
}

// It may be killed for want of memory, and the container runs on: nobody is to pay for a shut door.
TEST_F(SshTest, AListenerThatWasKilledListensAgainAtTheNextLook) {
    ASSERT_EQ(ssh({"echo in"}).output, "in\n");
    std::istringstream number(read_text(run + "/ssh/" + to_string(workload.job) + "/pid"));
    pid_t listener = 0;
    number >> listener;
    ASSERT_GT(listener, 1);
    ASSERT_EQ(::kill(listener, SIGKILL), 0);
    EXPECT_TRUE(support::eventually([&] { return ssh({"echo in"}).status != 0; }));
    EXPECT_EQ(runtime->look(workload).status, host_agent::Look::Status::running);
    EXPECT_EQ(ssh({"echo in"}).output, "in\n");
}

TEST_F(SshTest, FindWhatProgramsTakeForGranted) {
    const auto asked =
        ssh({"echo $HOME $TMPDIR $LANG $USER; for each in $HOME $TMPDIR; do touch $each/made && "
             "echo made; done"});
    EXPECT_EQ(asked.output, "/work /tmp C.UTF-8 renter\nmade\nmade\n") << asked.error;
}

TEST_F(SshTest, ATerminalIsOne) {
    const auto asked = ssh({"-tt", "tty; stty size; echo $TERM; exit 5"});
    EXPECT_NE(asked.output.find("/dev/pts/"), std::string::npos) << asked.output << asked.error;
    EXPECT_EQ(asked.status, 5);
}

TEST_F(SshTest, ATerminalThatIsGoneEndsItsShell) {
    {
        const Process client(
            [&] {
                std::vector<std::string> all = {"/usr/bin/ssh", "-tt", "-p",
                                                std::to_string(workload.ssh_port)};
                const auto more = options("right");
                all.insert(all.end(), more.begin(), more.end());
                all.insert(all.end(), {"renter@127.0.0.1", "touch /work/here; sleep 4321"});
                return all;
            }(),
            "/dev/null");
        ASSERT_TRUE(support::eventually(
            [&] { return std::filesystem::exists(workload.folder + "/work/here"); }));
    }
    EXPECT_TRUE(support::eventually(
        [&] { return ssh({"ps"}).output.find("sleep 4321") == std::string::npos; }));
}

TEST_F(SshTest, FilesGoBothWays) {
    std::ofstream(keys + "/up") << std::string(300'000, 'u');
    const auto put = files("scp", {keys + "/up", "renter@127.0.0.1:up"});
    ASSERT_TRUE(put.good()) << put.error;
    EXPECT_EQ(ssh({"ls -ln /work/up"}).output.find("-rw"), 0U);
    EXPECT_NE(ssh({"ls -ln /work/up"}).output.find("10001    10001       300000"),
              std::string::npos);
    ssh({"echo made inside > /work/down"});
    const auto got =
        files("sftp", {"-b", "-", "renter@127.0.0.1"},
              fmt::format("get /work/down {}/down\nput {}/up sub\nls -1 /\n", keys, keys));
    EXPECT_TRUE(got.good()) << got.error;
    EXPECT_EQ(read_text(keys + "/down"), "made inside\n");
    EXPECT_EQ(ssh({"ls /work/sub"}).output, "/work/sub\n");
    // Nothing of the host is there to be taken.
    EXPECT_FALSE(files("scp", {"renter@127.0.0.1:/etc/shadow", keys + "/shadow"}).good());
    EXPECT_FALSE(files("scp", {"renter@127.0.0.1:/proc/1/environ", keys + "/x"}).good());
    EXPECT_FALSE(files("scp", {keys + "/up", "renter@127.0.0.1:/usr/up"}).good());
}

TEST_F(SshTest, AfterTheStopTheVolumeIsReadUntilItIsCleaned) {
    ssh({"echo result > /work/result"});
    runtime->stop(workload, std::chrono::seconds(30));
    const auto shell = ssh({"true"});
    EXPECT_EQ(shell.status, 1);
    EXPECT_NE(shell.error.find("the job has ended"), std::string::npos) << shell.error;
    EXPECT_TRUE(files("scp", {"renter@127.0.0.1:/work/result", keys + "/result"}).good());
    EXPECT_EQ(read_text(keys + "/result"), "result\n");
    EXPECT_FALSE(files("scp", {keys + "/right.pub", "renter@127.0.0.1:/work/more"}).good());
    runtime->clean(workload);
    EXPECT_EQ(ssh({"true"}).status, 255);
}

TEST_F(SshTest, AVolumeThatCannotBeReadAtOnceIsReadLater) {
    ssh({"echo result > /work/result"});
    const std::string plan = run + "/ssh/" + to_string(workload.job) + "/plan";
    std::filesystem::remove(plan);
    std::filesystem::create_directory(plan);  // so that it cannot be written
    runtime->stop(workload, std::chrono::seconds(30));
    EXPECT_EQ(ssh({"true"}).status, 255);
    std::filesystem::remove(plan);
    EXPECT_TRUE(support::eventually([&] {
        return files("scp", {"renter@127.0.0.1:/work/result", keys + "/result"}).good();
    }));
    EXPECT_EQ(read_text(keys + "/result"), "result\n");
}

TEST_F(SshTest, SessionsEndWithTheJob) {
    std::vector<std::string> all = {"/usr/bin/ssh", "-p", std::to_string(workload.ssh_port)};
    const auto more = options("right");
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), {"renter@127.0.0.1", "touch /work/here; sleep 4321"});
    Process client(all, "/dev/null");
    ASSERT_TRUE(support::eventually(
        [&] { return std::filesystem::exists(workload.folder + "/work/here"); }));
    runtime->stop(workload, std::chrono::seconds(30));
    EXPECT_TRUE(support::eventually([&] { return !client.running(); }));
}

// It has the right to end processes, for logins are of another user.
TEST_F(SshTest, SshdSeesNoProcessOfTheHost) {
    const std::string listener = read_text(run + "/ssh/" + to_string(workload.job) + "/pid");
    const std::string place = "/proc/" + listener.substr(0, listener.find('\n'));
    EXPECT_NE(std::filesystem::read_symlink(place + "/ns/pid_for_children"),
              std::filesystem::read_symlink("/proc/self/ns/pid"));
    EXPECT_EQ(ssh({"echo in"}).output, "in\n");
    ASSERT_EQ(::kill(std::stoi(listener), SIGKILL), 0);
    EXPECT_TRUE(support::eventually([&] { return ssh({"true"}).status == 255; }))
        << "nothing goes on without the listener";
}

TEST_F(SshTest, AnotherAgentTakesTheDoorOver) {
    runtime.reset();
    const auto away = ssh({"true"});
    EXPECT_EQ(away.status, 255);
    EXPECT_NE(away.error.find("the host's agent is not there"), std::string::npos) << away.error;
    runtime = make_runtime();
    const auto again = runtime->rejoin(workload);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->ssh_host_key_fingerprint, started.ssh_host_key_fingerprint);
    EXPECT_EQ(ssh({"echo back"}).output, "back\n");
}

// Whoever is not the login is not heard, even root.
TEST_F(SshTest, TheSocketIsForTheLoginAlone) {
    const std::string path = run + "/ssh/" + to_string(workload.job) + "/socket";
    const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    char byte = 0;
    EXPECT_LE(::recv(socket, &byte, 1, 0), 0);
    ::close(socket);
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U);
    EXPECT_NE(facts.st_uid, 0U);
}

class SshFromElsewhereTest : public SshTest {
protected:
    SshFromElsewhereTest() { ssh_address = "0.0.0.0"; }

    // How long it took.
    std::chrono::steady_clock::duration copy(const Elsewhere& elsewhere, const std::string& from,
                                             const std::string& to) const {
        std::vector<std::string> all = {"scp", "-P", std::to_string(workload.ssh_port)};
        const auto more = options("right");
        all.insert(all.end(), more.begin(), more.end());
        all.insert(all.end(), {from, to});
        const auto began = std::chrono::steady_clock::now();
        const auto got = elsewhere.run(all);
        EXPECT_TRUE(got.good()) << got.error;
        return std::chrono::steady_clock::now() - began;
    }
};

// Its bytes leave by a port of the host, not by the container's own network.
TEST_F(SshFromElsewhereTest, PastWhatIsIncludedFilesComeSlowlyToo) {
    const Elsewhere elsewhere("198.51.100");
    const std::string large = workload.folder + "/work/large";
    std::ofstream(large) << std::string(4 * mebibyte, 'x');
    ::chmod(large.c_str(), 0644);
    workload.limits.egress_bytes = mebibyte;
    const auto fetch = [&] {
        const auto took =
            copy(elsewhere, "renter@" + elsewhere.host() + ":/work/large", keys + "/large");
        EXPECT_EQ(std::filesystem::file_size(keys + "/large"), 4U * mebibyte);
        return took;
    };
    fetch();
    EXPECT_GT(runtime->look(workload).egress_bytes, 4 * mebibyte);
    // Ten megabits a second; what of a second was not used is let through at once.
    EXPECT_GT(fetch(), std::chrono::milliseconds(1500));
    runtime = make_runtime();
    ASSERT_TRUE(runtime->rejoin(workload));
    EXPECT_NO_THROW(runtime->look(workload)) << "again is harmless";
}

// Nor do they come by that network.
TEST_F(SshFromElsewhereTest, WhatIsBroughtKeepsToTheShareOfASlot) {
    const Elsewhere elsewhere("198.51.100");
    std::ofstream(keys + "/large") << std::string(4 * mebibyte, 'x');
    const auto bring = [&] {
        return copy(elsewhere, keys + "/large", "renter@" + elsewhere.host() + ":/work/large");
    };
    bring();
    host_agent::Guard(workload.job).keep_to(host_agent::bytes_per_second(10));
    EXPECT_GT(bring(), std::chrono::milliseconds(1500));
    EXPECT_EQ(std::filesystem::file_size(workload.folder + "/work/large"), 4U * mebibyte);
}

// In namespaces of its own, with a copy of /etc that has no such user yet; the numbers that several
// agents got, each on a line.
std::string users_made_at_once(const std::string& folder) {
    const std::string told = folder + "/told";
    const pid_t outer = ::fork();
    if (outer == 0) {
        const std::string etc = folder + "/etc";
        const bool apart =
            ::unshare(CLONE_NEWNS) == 0 &&
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
            host_agent::run_tool({.arguments = {"cp", "-a", "/etc", etc}}).good() &&
            host_agent::run_tool({.arguments = {"sed", "-i", "/^berth-front:/d", etc + "/passwd",
                                                etc + "/shadow", etc + "/group", etc + "/gshadow"}})
                .good() &&
            ::mount(etc.c_str(), "/etc", nullptr, MS_BIND, nullptr) == 0;
        for (int i = 0; apart && i < 8; ++i) {
            if (::fork() != 0) continue;
            std::string line;
            try {
                line = fmt::format("{}\n", host_agent::front_user());
            } catch (const std::exception& failure) {
                line = fmt::format("{}\n", failure.what());
            }
            std::ofstream(told, std::ios::app) << line;
            ::_exit(0);
        }
        while (::wait(nullptr) > 0) {
        }
        ::_exit(0);
    }
    ::waitpid(outer, nullptr, 0);
    return read_text(told);
}

TEST(FrontUserTest, IsOneForAllAgentsThatMakeItAtOnce) {
    if (const std::string why = why_no_containers(); !why.empty()) GTEST_SKIP() << why;
    const TemporaryFolder folder;
    const std::string told = users_made_at_once(folder.path());
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 8) << told;
    const std::string first = told.substr(0, told.find('\n') + 1);
    for (std::size_t at = 0; at < told.size(); at += first.size())
        EXPECT_EQ(told.substr(at, first.size()), first) << told;
}

TEST(SshPlanTest, IsReadAsItWasWritten) {
    const host_agent::SshPlan plan{.address = "0.0.0.0",
                                   .port = 40022,
                                   .host_key = "/var/lib/a b/key",
                                   .work = "/work",
                                   .program = "/usr/bin/berth-agent",
                                   .name_server = "10.213.0.1",
                                   .container = "",
                                   .process = 0};
    EXPECT_EQ(host_agent::SshPlan::read(plan.written()).written(), plan.written());
    EXPECT_EQ(host_agent::SshPlan::read(plan.written()).host_key, "/var/lib/a b/key");
    for (const char* bad : {"", "port 1\n", "port x\nhost_key a\nwork b\nprogram c\n"})
        EXPECT_THROW(host_agent::SshPlan::read(bad), std::runtime_error) << bad;
}

TEST(SshKeyTest, IsAKeyAndNothingElse) {
    EXPECT_EQ(host_agent::plain_public_key("ssh-ed25519 AAAA me@here\n"), "ssh-ed25519 AAAA");
    for (const char* bad : {"", "AAAA", "command=\"x\" ssh-ed25519 AAAA", "ssh-ed25519",
                            "ssh-ed25519 AA\nssh-ed25519 BB", "ssh-ed25519 A\"A", "ssh-dss AAAA"})
        EXPECT_FALSE(host_agent::plain_public_key(bad)) << bad;
}

TEST(SshKeyTest, HasTheFingerprintThatKeygenTells) {
    const TemporaryFolder folder;
    const std::string file = folder.path() + "/key";
    host_agent::run_tool_or_throw(
        {.arguments = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "me", "-f", file}});
    const std::string told =
        host_agent::run_tool_or_throw({.arguments = {"ssh-keygen", "-l", "-f", file + ".pub"}});
    const std::string fingerprint = host_agent::key_fingerprint(read_text(file + ".pub"));
    EXPECT_NE(told.find(" " + fingerprint + " "), std::string::npos) << told << fingerprint;
    EXPECT_THROW(host_agent::key_fingerprint("ssh-ed25519 A=A"), std::runtime_error);
}

}  // namespace
}  // namespace berth::test
