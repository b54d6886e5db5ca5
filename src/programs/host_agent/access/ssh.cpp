#include "host_agent/access/ssh.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "agent_protocol/structured.hpp"
#include "base/log.hpp"
#include "crypto/hash.hpp"
#include "host_agent/access/ssh_entrance.hpp"
#include "host_agent/access/ssh_world.hpp"
#include "host_agent/core/runtime.hpp"
#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

// Who was killed while it waits for a disk ends when that has answered. Without its end the machine
// is put aside, and the server waits fifteen minutes for that.
constexpr auto end_max = std::chrono::seconds(60);
constexpr auto look_every = std::chrono::milliseconds(5);
constexpr auto listen_pause = std::chrono::seconds(2);

void write_file(const std::string& path, const std::string& text) {
    std::ofstream out(path);
    out << text;
    out.close();
    if (!out || ::chmod(path.c_str(), 0644) != 0) throw std::runtime_error("cannot write " + path);
}

std::string door_folder(JobId job, const std::string& run) {
    return fmt::format("{}/ssh/{}", run, to_string(job));
}

// As sshd reads it where it lives. Forwarding needs no list of places: nothing but the job is
// there, and what listens for the client does so on loopback.
std::string configuration() {
    return fmt::format(
        R"(HostKey {key}
AuthorizedKeysFile {door}/authorized_keys
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
PermitRootLogin no
AllowUsers {login}
PermitUserRC no
PermitUserEnvironment no
AllowTcpForwarding yes
AllowStreamLocalForwarding yes
StreamLocalBindUnlink yes
GatewayPorts no
AllowAgentForwarding no
X11Forwarding no
PermitTunnel no
Banner none
DebianBanner no
PrintMotd no
PrintLastLog no
UseDNS no
LoginGraceTime {grace}
MaxAuthTries 6
MaxSessions 64
ClientAliveInterval 30
ClientAliveCountMax 4
LogLevel ERROR
Subsystem sftp {sftp}
ForceCommand {program} ssh-enter {door}/socket
)",
        fmt::arg("key", ssh_world_host_key), fmt::arg("door", ssh_world_door),
        fmt::arg("login", ssh_login), fmt::arg("grace", ssh_login_seconds_max),
        fmt::arg("sftp", sftp_request), fmt::arg("program", ssh_world_program));
}

// The process whose number was written, if it still is the one of this door.
pid_t running_listener(const std::string& folder) {
    pid_t pid = 0;
    std::ifstream(folder + "/pid") >> pid;
    if (pid <= 0) return 0;
    const std::string line = read_host_file(fmt::format("/proc/{}/cmdline", pid));
    return line.find(folder) != std::string::npos ? pid : 0;
}

// Empty when the process has ended, also while it only waits to be counted: then it has no
// namespace any more.
std::optional<pid_t> parent_of(pid_t process) {
    const std::string stat = read_host_file(fmt::format("/proc/{}/stat", process));
    const std::size_t end = stat.rfind(')');
    if (end == std::string::npos) return {};
    std::istringstream rest(stat.substr(end + 1));
    std::string state;
    pid_t parent = 0;
    rest >> state >> parent;
    if (state == "Z" || state == "X") return {};
    return parent;
}

std::vector<pid_t> with_descendants(pid_t first) {
    std::multimap<pid_t, pid_t> children;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const pid_t process = std::stoi(name);
        if (const auto parent = parent_of(process)) children.emplace(*parent, process);
    }
    std::vector<pid_t> all = {first};
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto [from, to] = children.equal_range(all[i]);
        for (auto each = from; each != to; ++each) all.push_back(each->second);
    }
    return all;
}

// The listener is stopped first, so that nobody comes in meanwhile. Each of them holds the work
// volume in a namespace of mounts, so all are waited for.
void end_listener(const std::string& folder) {
    const pid_t pid = running_listener(folder);
    if (pid == 0) return;
    ::kill(pid, SIGSTOP);
    const std::vector<pid_t> all = with_descendants(pid);
    for (const pid_t each : all) ::kill(each, SIGKILL);
    const auto until = std::chrono::steady_clock::now() + end_max;
    while (std::ranges::any_of(all, [](pid_t each) { return parent_of(each).has_value(); })) {
        if (std::chrono::steady_clock::now() > until)
            throw std::runtime_error("the listener of the job's SSH door does not end");
        std::this_thread::sleep_for(look_every);
    }
}

}  // namespace

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
    const auto bytes = from_base64(key->substr(key->find(' ') + 1));
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

SshDoor::SshDoor(SshPlace place, std::function<std::optional<std::string>()> container)
    : place_(std::move(place)), folder_(door_folder(place_.job, place_.run)) {
    const auto key = plain_public_key(place_.public_key);
    if (!key) throw std::runtime_error("the SSH key of the job is not a line of OpenSSH");
    std::filesystem::create_directories(folder_);
    for (const std::string& each : {place_.run, place_.run + "/ssh", folder_})
        ::chmod(each.c_str(), 0755);
    make_host_key(place_.folder);
    fingerprint_ = key_fingerprint(read_host_file(place_.folder + "/ssh_host_key.pub"));
    write_file(folder_ + "/authorized_keys", "restrict,pty,port-forwarding " + *key + "\n");
    write_file(folder_ + "/config", configuration());
    entrance_ = std::make_unique<SshEntrance>(EntrancePlace{.socket = folder_ + "/socket",
                                                            .user = workload_user,
                                                            .work = place_.work,
                                                            .group = place_.group},
                                              std::move(container));
    listen();
}

SshDoor::~SshDoor() = default;

// One that an agent before this left is taken over when it is the same, and else replaced.
void SshDoor::listen() const {
    const SshPlan plan{.address = place_.address,
                       .port = place_.port,
                       .host_key = place_.folder + "/ssh_host_key",
                       .work = place_.work,
                       .program = place_.program,
                       .name_server = place_.name_server,
                       .container = place_.container,
                       .process = place_.process,
                       .group = place_.group};
    const std::string file = folder_ + "/plan";
    if (running_listener(folder_) != 0) {
        if (read_host_file(file) == plan.written()) return;
        end_listener(folder_);
    }
    write_file(file, plan.written());
    run_tool_or_throw({.arguments = {place_.program, "ssh-listen", folder_}});
}

void SshDoor::keep_listening() const {
    const std::lock_guard lock(mutex_);
    if (!place_.container.empty() && running_listener(folder_) == 0) listen();
}

bool SshDoor::stays_open(const SshPlace& place) const {
    const std::lock_guard lock(mutex_);
    if (place != place_) return false;
    listen();
    return true;
}

bool SshDoor::try_to_listen() const {
    const std::lock_guard lock(mutex_);
    try {
        listen();
        return true;
    } catch (const std::exception& error) {
        log(Level::error, "ssh_not_listening", {{"why", error.what()}});
        return false;
    }
}

// Nobody asks for it a second time, and until the job is cleaned the renter may fetch what is left.
void SshDoor::end_sessions() {
    entrance_->end_sessions();
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(place_.container, {}).empty()) return;
        place_.process = 0;
    }
    if (try_to_listen()) return;
    again_ = std::jthread([this](const std::stop_token& over) {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock lock(mutex);
        do wake.wait_for(lock, over, listen_pause, [] { return false; });
        while (!over.stop_requested() && !try_to_listen());
    });
}

void SshDoor::remove(JobId job, const std::string& folder, const std::string& run) {
    const std::string own = door_folder(job, run);
    end_listener(own);
    std::filesystem::remove_all(own);
    for (const char* each : {"/ssh_host_key", "/ssh_host_key.pub"})
        std::filesystem::remove(folder + each);
}

}  // namespace berth::host_agent
