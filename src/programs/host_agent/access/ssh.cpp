#include "host_agent/access/ssh.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "agent_protocol/structured.hpp"
#include "base/descriptor.hpp"
#include "crypto/hash.hpp"
#include "host_agent/access/ssh_entrance.hpp"
#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

constexpr const char* login = "renter";
constexpr const char* login_lock = "/run/berth-agent-login.lock";
constexpr auto end_max = std::chrono::seconds(5);
constexpr auto listen_max = std::chrono::seconds(10);
constexpr auto look_every = std::chrono::milliseconds(5);

void write_file(const std::string& path, const std::string& text) {
    std::ofstream out(path);
    out << text;
    out.close();
    if (!out || ::chmod(path.c_str(), 0644) != 0) throw std::runtime_error("cannot write " + path);
}

std::string door_folder(JobId job, const std::string& run) {
    return fmt::format("{}/ssh/{}", run, to_string(job));
}

std::string configuration(const SshPlace& place, const std::string& folder) {
    return fmt::format(
        R"(Port {port}
ListenAddress {address}
HostKey {job}/ssh_host_key
PidFile {folder}/pid
AuthorizedKeysFile {folder}/authorized_keys
Banner {folder}/banner
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
PermitRootLogin no
AllowUsers {login}
PermitUserRC no
PermitUserEnvironment no
AllowTcpForwarding local
PermitOpen {container}:*
PermitListen none
AllowStreamLocalForwarding no
AllowAgentForwarding no
X11Forwarding no
PermitTunnel no
PrintMotd no
PrintLastLog no
UseDNS no
LoginGraceTime 30
MaxAuthTries 6
MaxStartups 10:30:60
MaxSessions 16
ClientAliveInterval 30
ClientAliveCountMax 4
LogLevel ERROR
Subsystem sftp {sftp}
ForceCommand {program} ssh-enter {folder}/socket
)",
        fmt::arg("port", place.port), fmt::arg("address", place.address),
        fmt::arg("job", place.folder), fmt::arg("folder", folder), fmt::arg("login", login),
        fmt::arg("container", place.container_address), fmt::arg("sftp", sftp_request),
        fmt::arg("program", place.program));
}

// The process whose number sshd wrote, if it still is that sshd.
pid_t running_sshd(const std::string& folder) {
    pid_t pid = 0;
    std::ifstream(folder + "/pid") >> pid;
    if (pid <= 0) return 0;
    const std::string line = read_host_file(fmt::format("/proc/{}/cmdline", pid));
    return line.find(folder + "/config") != std::string::npos ? pid : 0;
}

void start_sshd(const std::string& folder) {
    std::filesystem::create_directories("/run/sshd");  // where it shuts itself up
    run_tool_or_throw(
        {.arguments = {"/usr/sbin/sshd", "-f", folder + "/config", "-E", folder + "/log"}});
    // It listens before it writes its number.
    const auto until = std::chrono::steady_clock::now() + listen_max;
    while (running_sshd(folder) == 0) {
        if (std::chrono::steady_clock::now() > until)
            throw std::runtime_error("sshd does not listen: " + read_host_file(folder + "/log"));
        std::this_thread::sleep_for(look_every);
    }
}

std::vector<pid_t> with_descendants(pid_t first) {
    std::multimap<pid_t, pid_t> children;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const std::string stat = read_host_file(entry.path() / "stat");
        const std::size_t end = stat.rfind(')');
        if (end == std::string::npos) continue;
        std::istringstream rest(stat.substr(end + 1));
        std::string state;
        pid_t parent = 0;
        rest >> state >> parent;
        if (state != "Z") children.emplace(parent, std::stoi(name));
    }
    std::vector<pid_t> all = {first};
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto [from, to] = children.equal_range(all[i]);
        for (auto each = from; each != to; ++each) all.push_back(each->second);
    }
    return all;
}

// The listener is stopped first, so that nobody comes in meanwhile.
void end_sshd(const std::string& folder) {
    const pid_t pid = running_sshd(folder);
    if (pid == 0) return;
    ::kill(pid, SIGSTOP);
    const std::vector<pid_t> all = with_descendants(pid);
    for (const pid_t each : all) ::kill(each, SIGKILL);
    const auto until = std::chrono::steady_clock::now() + end_max;
    while (running_sshd(folder) != 0) {
        if (std::chrono::steady_clock::now() > until)
            throw std::runtime_error("the job's sshd does not end");
        std::this_thread::sleep_for(look_every);
    }
}

}  // namespace

// A login that nobody has a password for, which sshd does not take for a locked one.
uid_t ssh_user() {
    if (const passwd* const known = ::getpwnam(login)) return known->pw_uid;
    // One agent at a time: of two that make it at once, the second gives it another number, and the
    // first goes on with one that is nobody's.
    const Descriptor turn{::open(login_lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    if (turn.number() < 0 || ::flock(turn.number(), LOCK_EX) != 0)
        throw std::runtime_error(fmt::format("cannot lock {}", login_lock));
    if (const passwd* const known = ::getpwnam(login)) return known->pw_uid;
    run_tool_or_throw({.arguments = {"useradd", "--system", "--no-create-home", "--home-dir", "/",
                                     "--shell", "/bin/sh", "--password", "*", login}});
    const passwd* const made = ::getpwnam(login);
    if (made == nullptr) throw std::runtime_error("the login for SSH cannot be made");
    return made->pw_uid;
}

std::optional<std::string> plain_public_key(const std::string& line) {
    static constexpr std::array<std::string_view, 7> kinds = {"ssh-ed25519",
                                                              "ssh-rsa",
                                                              "ecdsa-sha2-nistp256",
                                                              "ecdsa-sha2-nistp384",
                                                              "ecdsa-sha2-nistp521",
                                                              "sk-ssh-ed25519@openssh.com",
                                                              "sk-ecdsa-sha2-nistp256@openssh.com"};
    const std::string end = line.substr(0, line.find_last_not_of(" \t\r\n") + 1);
    if (end.find_first_of("\r\n") != std::string::npos) return {};
    std::istringstream words(end);
    std::string kind;
    std::string key;
    words >> kind >> key;
    const bool known = std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    const bool sound = key.find_first_not_of(
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") ==
                       std::string::npos;
    if (!known || key.empty() || !sound) return {};
    return kind + " " + key;
}

std::string key_fingerprint(const std::string& line) {
    const auto key = plain_public_key(line);
    if (!key) throw std::runtime_error("the SSH key is not a line of OpenSSH");
    const auto bytes = agent_protocol::from_base64(key->substr(key->find(' ') + 1));
    if (!bytes) throw std::runtime_error("the SSH key is not base64");
    std::string hash = to_base64(crypto::sha256(*bytes));
    hash.resize(std::min(hash.find('='), hash.size()));
    return "SHA256:" + hash;
}

void SshDoor::make_host_key(const std::string& folder) {
    const std::string file = folder + "/ssh_host_key";
    if (std::filesystem::exists(file + ".pub")) return;
    std::filesystem::remove(file);  // half made
    run_tool_or_throw(
        {.arguments = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file}});
}

SshDoor::SshDoor(SshPlace place, std::function<std::optional<std::string>()> container) {
    const auto key = plain_public_key(place.public_key);
    if (!key) throw std::runtime_error("the SSH key of the job is not a line of OpenSSH");
    const std::string folder = door_folder(place.job, place.run);
    std::filesystem::create_directories(folder);
    for (const std::string& each : {place.run, place.run + "/ssh", folder})
        ::chmod(each.c_str(), 0755);
    const uid_t user = ssh_user();
    make_host_key(place.folder);
    fingerprint_ = key_fingerprint(read_host_file(place.folder + "/ssh_host_key.pub"));
    write_file(folder + "/authorized_keys", "restrict,pty,port-forwarding " + *key + "\n");
    write_file(folder + "/banner",
               fmt::format("This job lets in one key: {}\n"
                           "Its files are in /work. A port of it: ssh -L 8000:{}:8000 …\n",
                           key_fingerprint(*key), place.container_address));
    write_file(folder + "/config", configuration(place, folder));
    entrance_ = std::make_unique<SshEntrance>(
        EntrancePlace{.socket = folder + "/socket", .user = user, .work = place.work},
        std::move(container));
    if (running_sshd(folder) == 0) start_sshd(folder);
}

SshDoor::~SshDoor() = default;

void SshDoor::end_sessions() { entrance_->end_sessions(); }

void SshDoor::remove(JobId job, const std::string& folder, const std::string& run) {
    const std::string own = door_folder(job, run);
    end_sshd(own);
    std::filesystem::remove_all(own);
    for (const char* each : {"/ssh_host_key", "/ssh_host_key.pub"})
        std::filesystem::remove(folder + each);
}

}  // namespace berth::host_agent
