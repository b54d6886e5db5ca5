#include "host_agent/runtimes/container.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include "base/log.hpp"
#include "crypto/hash.hpp"
#include "host_agent/access/host_user.hpp"
#include "host_agent/core/tool.hpp"
#include "host_agent/runtimes/container_launch.hpp"
#include "host_agent/runtimes/container_seccomp.hpp"
#include "host_agent/runtimes/guard.hpp"
#include "host_agent/runtimes/shaper.hpp"
#include "host_agent/runtimes/volume.hpp"

namespace berth::host_agent {
namespace {

constexpr auto egress_every = std::chrono::seconds(30);
constexpr auto known_version_max = std::chrono::seconds(5);
constexpr auto settle_max = std::chrono::seconds(10);
constexpr auto settle_pause = std::chrono::milliseconds(20);

void write_file(const std::string& path, const std::string& text) {
    std::ofstream out(path);
    out << text;
    out.close();
    if (!out) throw std::runtime_error("cannot write " + path);
}

// The process is there, of this container, and not one that only waits to be counted.
bool is_alive(pid_t pid, const std::string& container) {
    if (pid <= 0) return false;
    const std::string stat = read_host_file(fmt::format("/proc/{}/stat", pid));
    const std::size_t end = stat.rfind(')');
    if (end == std::string::npos || end + 2 >= stat.size()) return false;
    if (stat[end + 2] == 'Z' || stat[end + 2] == 'X') return false;
    return read_host_file(fmt::format("/proc/{}/cgroup", pid)).find(container) != std::string::npos;
}

// SIGTERM, the grace, SIGKILL to the first process; the kernel ends all others with it.
void end_process(pid_t pid, const std::string& container, Duration grace) {
    const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (handle < 0) return;
    const auto send = [&](int signal) { ::syscall(SYS_pidfd_send_signal, handle, signal, 0, 0); };
    const auto is_over = [&](Duration most) {
        pollfd watched{handle, POLLIN, 0};
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(most).count();
        return ::poll(&watched, 1, static_cast<int>(ms)) > 0;
    };
    if (is_alive(pid, container)) {
        send(SIGTERM);
        if (!is_over(grace)) {
            send(SIGKILL);
            is_over(std::chrono::seconds(10));
        }
    }
    ::close(handle);
}

// Each line of podman's log has a time, a stream and whether it ends here in front.
std::string plain_log(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line(text.data() + at, end - at);
        bool whole = true;
        for (int words = 0; words < 3; ++words) {
            const std::size_t space = line.find(' ');
            if (space == std::string_view::npos) break;
            if (words == 2) whole = line.substr(0, space) != "P";
            line.remove_prefix(space + 1);
        }
        out += line;
        if (whole) out += '\n';
        at = end + 1;
    }
    return out;
}

// On a thread of its own, which whoever holds the future waits for.
std::future<void> beside(std::function<void()> work) {
    return std::async(std::launch::async, std::move(work));
}

}  // namespace

PodmanRuntime::PodmanRuntime(PodmanOptions options)
    : options_(std::move(options)),
      // Each state has its own, so that agents of one host do not speak for each other's cards.
      cards_("berth-" + to_hex(crypto::sha256(options_.state)).substr(0, 8), options_.driver_root),
      networks_(options_.state + "/networks", options_.pool),
      images_(options_.state + "/images.json", options_.store_bytes),
      weights_(options_.state + "/weights", options_.hub) {
    for (const std::string& folder :
         {options_.state + "/cache", options_.state + "/networks", options_.state + "/weights",
          options_.run, options_.run + "/no-hooks"}) {
        std::filesystem::create_directories(folder);
        ::chmod(folder.c_str(), 0755);
    }
    write_file(options_.run + "/seccomp.json", seccomp_profile());
    write_file(login_file(), "{}\n");
}

PodmanRuntime::~PodmanRuntime() = default;

agent_protocol::RuntimeKind PodmanRuntime::kind() const {
    return options_.is_simulated ? agent_protocol::RuntimeKind::simulated
                                 : agent_protocol::RuntimeKind::container;
}

std::vector<std::string> PodmanRuntime::podman(std::initializer_list<std::string> words) const {
    std::vector<std::string> all = {
        "podman", "--root", options_.state + "/containers", "--runroot",
        options_.run + "/containers", "--tmpdir", options_.run + "/podman", "--network-config-dir",
        options_.state + "/networks", "--runtime", "runc", "--cgroup-manager", "cgroupfs",
        // Programs that the host runs as root for its own containers
        // are not run for a renter's.
        "--hooks-dir", options_.run + "/no-hooks"};
    all.insert(all.end(), words);
    return all;
}

// Heartbeats wait for it, and another manifest takes the machine from the market: a podman that
// does not answer now is the one that did before, as long as it is installed.
std::optional<std::string> PodmanRuntime::version() {
    std::optional<std::string> known;
    {
        const std::lock_guard lock(mutex_);
        known = version_;
    }
    Tool tool{.arguments = {"podman", "--version"}};
    if (known) tool.until = std::chrono::steady_clock::now() + known_version_max;
    const ToolOutcome outcome = run_tool(tool);
    constexpr std::string_view before = "podman version ";
    if (!outcome.good() || !outcome.output.starts_with(before))
        return has_tool("podman") ? known : std::nullopt;
    std::string number = outcome.output.substr(before.size());
    number.resize(std::min(number.find('\n'), number.size()));
    const std::lock_guard lock(mutex_);
    return version_ = "podman " + number;
}

Started PodmanRuntime::start(const Workload& workload) {
    if (workload.limits.memory_bytes <= 0 || workload.limits.work_bytes <= 0)
        throw RuntimeError("INTERNAL", "a job needs limits for its memory and its work volume");
    try {
        const JobNetwork network = [&] {
            const std::lock_guard lock(mutex_);
            return networks_.make(workload.job);
        }();
        make_ready(workload, network);
        const Inspected made = launch(workload, network);
        keep_to_share(made, network);
        {
            const std::lock_guard lock(mutex_);
            known_[workload.job] = made;
        }
        const auto tidying = beside([&] { remove_secrets(workload); });
        return {.container_id = made.id,
                .ssh_host_key_fingerprint = open_ssh(workload, network, &made)};
    } catch (const RuntimeError&) {
        throw;
    } catch (const std::exception& error) {
        log(Level::error, "start_failed",
            {{"job", to_string(workload.job)}, {"why", error.what()}});
        throw RuntimeError("INTERNAL",
                           fmt::format("the host could not start the container: {}", error.what()));
    }
}

// Side by side, for none needs another. All of it is there before podman is asked for a container:
// no packet of the workload is sent without its guard.
void PodmanRuntime::make_ready(const Workload& workload, const JobNetwork& network) const {
    auto volume = beside([&] { Volume(workload.folder).make(workload.limits.work_bytes); });
    auto secrets = beside([&] { put_secrets(workload); });
    auto key = beside([&] {
        if (workload.ssh_public_key) SshDoor::make_host_key(workload.folder);
    });
    put_guard(workload, network);
    for (auto* each : {&volume, &secrets, &key}) each->get();
}

void PodmanRuntime::put_guard(const Workload& workload, const JobNetwork& network) const {
    GuardedNetwork guarded{.bridge = network.bridge,
                           .subnet = network.subnet,
                           .gateway = network.gateway,
                           .host_ports = {},
                           .host_users = {},
                           .neighbours = neighbour_networks()};
    if (workload.ssh_port != 0) guarded.host_ports.push_back(workload.ssh_port);
    guarded.leaves_by_loopback = workload.is_by_gate;
    guarded.host_users.push_back(front_user());  // who passes requests on
    guarded.passing_max = bytes_per_second(options_.network_mbit);
    Guard(workload.job).put(guarded);
}

// Where podman works: there a file named `oom` tells of memory that ran out. What it starts for all
// containers of the host stays there when the job is over, and would keep the disk of its slot.
std::string PodmanRuntime::podman_folder(const Workload& workload) const {
    return options_.group ? options_.run + "/jobs/" + to_string(workload.job)
                          : workload.folder + "/podman";
}

PodmanRuntime::Inspected PodmanRuntime::launch(const Workload& workload,
                                               const JobNetwork& network) {
    const std::string folder = podman_folder(workload);
    std::filesystem::create_directories(folder);
    std::filesystem::create_directories(workload.folder + "/notice");
    std::vector<std::string> arguments = podman({});
    const auto name = weights_of(workload);
    const auto weights = name ? weights_.find(*name) : std::nullopt;
    const std::vector<std::string> profile =
        launch_arguments({.workload = workload,
                          .network = network,
                          .work = Volume(workload.folder).path(),
                          .cache = weights.value_or(options_.state + "/cache"),
                          .has_weights = weights.has_value(),
                          .seccomp_file = options_.run + "/seccomp.json",
                          .log_file = workload.folder + "/log",
                          .pid_file = folder + "/pid",
                          .devices = cards_.names_for(workload.gpus),
                          .init_program = options_.inside_program,
                          .image_is_folder = workload.image.starts_with(profile_folder()),
                          .group = options_.group ? options_.group->parent() : ""});
    arguments.insert(arguments.end(), profile.begin(), profile.end());
    const ToolOutcome outcome = run_tool({.arguments = std::move(arguments), .folder = folder});
    if (outcome.good()) {
        Inspected made;
        made.id = outcome.output;
        made.running = true;
        made.id.resize(std::min(made.id.find('\n'), made.id.size()));
        std::ifstream(folder + "/pid") >> made.pid;
        return made;
    }
    remove_secrets(workload);
    log(Level::warn, "container_not_started",
        {{"job", to_string(workload.job)}, {"why", outcome.why()}});
    if (outcome.why().find("no space left on device") != std::string::npos)
        throw RuntimeError("DISK_FULL", "the host has not enough disk for the container");
    if (outcome.why().find("CDI device") != std::string::npos)
        throw RuntimeError("INTERNAL", "podman did not find the host's cards: it ended with 126");
    const bool port_is_taken = outcome.why().find("address already in use") != std::string::npos;
    if ((outcome.status == 126 || outcome.status == 127) && !port_is_taken)
        throw RuntimeError("ENGINE_EXITED",
                           fmt::format("nothing of the image could be started: {}", outcome.why()));
    throw RuntimeError("INTERNAL",
                       fmt::format("the host could not start the container: {}", outcome.why()));
}

void PodmanRuntime::put_secrets(const Workload& workload) const {
    for (const auto& [value, secret] : secrets_of(workload))
        run_tool_or_throw({.arguments = podman({"secret", "create", secret, "-"}), .input = value});
}

// The container has got them; podman keeps its copy on disk.
void PodmanRuntime::remove_secrets(const Workload& workload) const {
    std::vector<std::string> arguments = podman({"secret", "rm"});
    for (const auto& [value, secret] : secrets_of(workload)) arguments.push_back(secret);
    if (!workload.secrets.empty()) run_tool({.arguments = std::move(arguments)});
}

// Without a container that runs there is what it left. A job is rejoined also by the agent that
// started it, when somebody may be in already: the door that there is stays.
std::optional<std::string> PodmanRuntime::open_ssh(const Workload& workload,
                                                   const JobNetwork& network,
                                                   const Inspected* running) {
    if (!workload.ssh_public_key || workload.ssh_port == 0) return {};
    SshPlace place{.job = workload.job,
                   .folder = workload.folder,
                   .run = options_.run,
                   .program = options_.program,
                   .address = workload.is_by_gate ? "127.0.0.1" : options_.ssh_address,
                   .port = workload.ssh_port,
                   .public_key = *workload.ssh_public_key,
                   .name_server = network.gateway,
                   .work = Volume(workload.folder).path(),
                   .container = running ? running->id : "",
                   .process = running ? running->pid : 0,
                   .group = options_.group ? options_.group->name() : ""};
    if (const auto open = door_of(workload); open && open->stays_open(place))
        return open->fingerprint();
    auto door = std::make_shared<SshDoor>(std::move(place),
                                          [this, workload] { return running_container(workload); });
    const std::string fingerprint = door->fingerprint();
    const std::lock_guard lock(mutex_);
    doors_[workload.job].swap(door);
    return fingerprint;
}

// For who comes by SSH, and may come again.
std::optional<std::string> PodmanRuntime::running_container(const Workload& workload) {
    try {
        const auto seen = find(workload);
        return seen && seen->running ? std::optional(seen->id) : std::nullopt;
    } catch (const std::exception& error) {
        log(Level::warn, "container_not_found",
            {{"job", to_string(workload.job)}, {"why", error.what()}});
        return {};
    }
}

void PodmanRuntime::close_ssh(const Workload& workload) {
    if (auto door = door_of(workload)) {
        const std::lock_guard lock(mutex_);
        doors_.erase(workload.job);
    }
    SshDoor::remove(workload.job, workload.folder, options_.run);
}

std::shared_ptr<SshDoor> PodmanRuntime::door_of(const Workload& workload) {
    const std::lock_guard lock(mutex_);
    const auto found = doors_.find(workload.job);
    return found == doors_.end() ? nullptr : found->second;
}

std::optional<Started> PodmanRuntime::rejoin(const Workload& workload) {
    const auto seen = find(workload);
    const auto network = networks_.find(workload.job);
    if (!network && seen && seen->running)
        throw std::runtime_error("the container runs, and what its network was is lost");
    if (!network) return {};
    if (!seen || !seen->running) {
        // What it left can still be read.
        const Volume volume(workload.folder);
        if (seen && volume.exists()) {
            Volume(workload.folder).mount();
            open_ssh(workload, *network, nullptr);
        }
        return {};
    }
    keep_in_bounds(workload, *seen, *network);
    return Started{.container_id = seen->id,
                   .ssh_host_key_fingerprint = open_ssh(workload, *network, &*seen)};
}

// Podman has looked, and there is none. That it did not answer says nothing.
bool PodmanRuntime::is_absent(const std::string& container) const {
    constexpr int no_such_container = 1;  // 125: it could not look
    const ToolOutcome outcome = run_tool({.arguments = podman({"container", "exists", container})});
    return outcome.end == ToolOutcome::End::exited && outcome.status == no_such_container;
}

std::optional<PodmanRuntime::Inspected> PodmanRuntime::inspect(const Workload& workload) const {
    const std::string name = container_name(workload.job);
    const ToolOutcome outcome = run_tool(
        {.arguments = podman({"container", "inspect", "--format",
                              "{{.Id}} {{.State.Status}} {{.State.Pid}} {{.State.ExitCode}} "
                              "{{.State.OOMKilled}} {{.State.ConmonPid}} "
                              "{{.State.FinishedAt.UnixNano}}",
                              name})});
    if (!outcome.good()) {
        if (is_absent(name)) return {};
        throw NotKnown("podman did not tell of the container: " + outcome.why());
    }
    std::istringstream words(outcome.output);
    Inspected seen;
    std::string status;
    std::int64_t exit_code = 0;
    std::string killed;
    pid_t watcher = 0;
    std::int64_t finished_ns = 0;  // of the wall clock; 0 or less when it has not
    words >> seen.id >> status >> seen.pid >> exit_code >> killed >> watcher >> finished_ns;
    if (!words) throw NotKnown("podman tells of the container in words that we do not know");
    seen.running = is_alive(seen.pid, seen.id);
    seen.watched = std::filesystem::exists(fmt::format("/proc/{}", watcher));
    if (status == "exited" || status == "stopped") {
        seen.exit_code = exit_code;
        const Duration ago = SystemClock().now() - Time{finished_ns / 1000};
        if (finished_ns > 0 && ago.count() >= 0) seen.ended_ago = ago;
    }
    seen.out_of_memory =
        killed == "true" || std::filesystem::exists(podman_folder(workload) + "/oom");
    return seen;
}

// While it runs podman is not asked: a look every second would cost more than all else here.
std::optional<PodmanRuntime::Inspected> PodmanRuntime::find(const Workload& workload) {
    {
        const std::lock_guard lock(mutex_);
        const auto known = known_.find(workload.job);
        if (known != known_.end()) {
            if (is_alive(known->second.pid, known->second.id)) return known->second;
            known_.erase(known);
        }
    }
    const auto until = std::chrono::steady_clock::now() + settle_max;
    auto seen = inspect(workload);
    // conmon tells podman of an end a moment after it; a conmon that was killed never does.
    while (seen && !seen->running && !seen->exit_code && seen->watched &&
           std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(settle_pause);
        seen = inspect(workload);
    }
    if (!seen || !seen->running) return seen;
    const std::lock_guard lock(mutex_);
    known_[workload.job] = *seen;
    return seen;
}

Look PodmanRuntime::look(const Workload& workload) {
    Look out;
    const auto seen = find(workload);
    out.egress_bytes = egress(workload);
    if (seen && seen->running && out.egress_bytes) shape(workload, seen->pid, *out.egress_bytes);
    if (!seen) return out;
    if (seen->running) keep_ssh_open(workload);
    out.container_id = seen->id;
    out.status = seen->running ? Look::Status::running : Look::Status::exited;
    out.exit_code = seen->exit_code;
    out.ended_ago = seen->ended_ago;
    out.out_of_memory = seen->out_of_memory && !seen->running;
    return out;
}

// A machine that cannot be entered is not to be paid for: until it can be again, nothing is known.
void PodmanRuntime::keep_ssh_open(const Workload& workload) {
    const auto door = door_of(workload);
    try {
        if (door) door->keep_listening();
    } catch (const std::exception& error) {
        throw NotKnown(fmt::format("the job's SSH door does not open: {}", error.what()));
    }
}

std::optional<std::int64_t> PodmanRuntime::egress(const Workload& workload) {
    const auto now = std::chrono::steady_clock::now();
    {
        const std::lock_guard lock(mutex_);
        const auto known = egress_.find(workload.job);
        if (known != egress_.end() && now - known->second.at < egress_every)
            return known->second.bytes;
    }
    const auto bytes = Guard(workload.job).egress_bytes();
    const auto network = networks_.find(workload.job);
    if (!bytes && network) {
        // Somebody emptied the host's tables. Nothing may run without its guard.
        log(Level::error, "guard_was_gone", {{"job", to_string(workload.job)}});
        put_guard(workload, *network);
    }
    const std::lock_guard lock(mutex_);
    egress_[workload.job] = {now, bytes};
    return bytes;
}

// Once for each agent that takes the job up: a queue that is there already is put there again.
void PodmanRuntime::shape(const Workload& workload, pid_t pid, std::int64_t sent_bytes) {
    if (!workload.limits.egress_bytes || sent_bytes <= *workload.limits.egress_bytes) return;
    {
        const std::lock_guard lock(mutex_);
        if (!shaped_.insert(workload.job).second) return;
    }
    const std::int64_t mbit =
        options_.network_mbit == 0 ? shaped_mbit : std::min(shaped_mbit, options_.network_mbit);
    try {
        slow_down(pid, mbit);
        Guard(workload.job).slow_down(bytes_per_second(mbit));
        log(Level::info, "job_shaped", {{"job", to_string(workload.job)}, {"sent", sent_bytes}});
    } catch (const std::exception& error) {
        log(Level::error, "job_not_shaped",
            {{"job", to_string(workload.job)}, {"why", error.what()}});
        const std::lock_guard lock(mutex_);
        shaped_.erase(workload.job);  // tried again with the next look
    }
}

// A job that has the line to itself would leave nothing of it to the slots beside its own.
void PodmanRuntime::keep_to_share(const Inspected& made, const JobNetwork& network) const {
    if (options_.network_mbit == 0) return;
    try {
        slow_down(made.pid, options_.network_mbit);
        slow_down_bridge(network.bridge, options_.network_mbit);
    } catch (const std::exception&) {
        if (is_alive(made.pid, made.id)) throw;  // else it is over, and its network with it
    }
}

// Of one that runs on. An agent may have another share than the one before it had; where that
// cannot be had what the rental began with holds it.
void PodmanRuntime::keep_in_bounds(const Workload& workload, const Inspected& running,
                                   const JobNetwork& network) {
    const auto sent = Guard(workload.job).egress_bytes();
    if (!sent) put_guard(workload, network);
    if (options_.network_mbit == 0) return;
    try {
        Guard(workload.job).keep_to(bytes_per_second(options_.network_mbit));
        keep_to_share(running, network);
    } catch (const std::exception& error) {
        log(Level::error, "share_not_changed",
            {{"job", to_string(workload.job)}, {"why", error.what()}});
    }
    {
        const std::lock_guard lock(mutex_);
        shaped_.erase(workload.job);
    }
    if (sent) shape(workload, running.pid, *sent);
}

// For programs that work beside the containers of a slot, as whoever unpacks its images.
std::function<void(pid_t)> PodmanRuntime::counting_in() const {
    if (!options_.group) return {};
    return [group = *options_.group](pid_t process) { group.take_in(process); };
}

std::string PodmanRuntime::log_tail(const Workload& workload, std::size_t bytes_max) {
    // Lines may be short, and what is in front of each is long.
    const std::size_t with_prefixes = bytes_max * 4 + 4096;
    std::ifstream in(workload.folder + "/log", std::ios::binary | std::ios::ate);
    if (!in) return {};
    const auto size = static_cast<std::size_t>(in.tellg());
    const std::size_t from = size - std::min(size, with_prefixes);
    in.seekg(static_cast<std::streamoff>(from));
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (from > 0) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text = plain_log(text);
    for (const auto& [name, value] : workload.secrets)
        for (std::size_t at = text.find(value); !value.empty() && at != std::string::npos;
             at = text.find(value, at))
            text.replace(at, value.size(), "…");
    if (text.size() <= bytes_max) return text;
    text.erase(0, text.size() - bytes_max);
    return text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
}

void PodmanRuntime::stop(const Workload& workload, Duration grace) {
    const auto seen = find(workload);
    if (seen && seen->running) end_process(seen->pid, seen->id, grace);
    const auto after = find(workload);
    if (after && after->running) throw std::runtime_error("the container does not end");
    if (const auto door = door_of(workload)) door->end_sessions();
    const std::lock_guard lock(mutex_);
    egress_.erase(workload.job);
}

void PodmanRuntime::clean(const Workload& workload) {
    stop(workload, Duration{0});
    close_ssh(workload);
    const std::string name = container_name(workload.job);
    run_tool_or_throw({.arguments = podman({"rm", "--force", "--time", "0", "--ignore", name})});
    remove_secrets(workload);
    {
        const std::lock_guard lock(mutex_);
        networks_.remove(workload.job);
        known_.erase(workload.job);
        egress_.erase(workload.job);
        shaped_.erase(workload.job);
    }
    Guard(workload.job).remove();
    Volume(workload.folder).clean();
    // A renter's own image is the renter's; those of templates come again.
    if (workload.kind == JobKind::custom && !workload.image.empty()) remove_image(workload.image);
    for (const char* each : {"/podman", "/pull", "/log"})
        std::filesystem::remove_all(workload.folder + each);
    std::filesystem::remove_all(podman_folder(workload));
    if (inspect(workload)) throw std::runtime_error("the container is still there");
}

std::vector<JobId> PodmanRuntime::present() {
    std::set<JobId> all;
    const auto add = [&](std::string_view text) {
        if (const auto id = parse_uuid(text)) all.insert(JobId{*id});
    };
    const ToolOutcome outcome = run_tool(
        {.arguments = podman({"ps", "--all", "--format", "{{index .Labels \"berth.job\"}}"})});
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) add(line);
    constexpr std::string_view before = "berth-";
    for (const auto& file : std::filesystem::directory_iterator(options_.state + "/networks")) {
        const std::string name = file.path().stem();
        if (name.starts_with(before)) add(std::string_view(name).substr(before.size()));
    }
    return {all.begin(), all.end()};
}

}  // namespace berth::host_agent
