#include "host_agent/runtimes/process_runtime.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "agent_protocol/durable.hpp"
#include "agent_protocol/variables.hpp"
#include "host_agent/core/boot_clock.hpp"
#include "host_agent/runtimes/child_program.hpp"
#include "host_agent/runtimes/shim.hpp"

namespace berth::host_agent {
namespace {

namespace files = std::filesystem;
using namespace std::chrono_literals;

constexpr std::int64_t job_user = 10001;  // as in containers
constexpr std::string_view inside = "/work";
constexpr const char* toy_command = "engine";  // of this program

bool is_root() { return ::geteuid() == 0; }

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    return text;
}

std::optional<ProcessName> process_of(const Workload& workload) {
    const auto text = agent_protocol::read_durable(workload.folder + "/process.json");
    return text ? std::optional(wire::decode<ProcessName>(*text, "file")) : std::nullopt;
}

std::string container_id(const ProcessName& name) {
    return fmt::format("process-{}-{}", name.pid.value, name.started_ticks.value);
}

// Where the engine sees its folder.
std::string work_seen(const Workload& workload, bool is_wrapped) {
    return is_wrapped ? std::string(inside) : workload.folder + "/work";
}

std::vector<std::string> environment_of(const Workload& workload, const Engine& engine,
                                        const std::string& work) {
    std::map<std::string, std::string> all{{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                           {"HOME", work},
                                           // The job's user has no name in the host's list.
                                           {"USER", "job"},
                                           {"LOGNAME", "job"},
                                           {"LANG", "C.UTF-8"},
                                           {"BERTH_JOB_ID", to_string(workload.job)}};
    std::string cards;
    for (const GpuName& gpu : workload.gpus)
        if (!gpu.uuid.empty()) cards += (cards.empty() ? "" : ",") + gpu.uuid;
    if (!cards.empty()) all["CUDA_VISIBLE_DEVICES"] = cards;
    // bubblewrap is started with them, as root: what would steer it is left out, whoever sent it.
    for (const auto& [name, value] : workload.environment)
        if (!agent_protocol::steers_programs(name))
            all[name] = value.starts_with(inside) ? work + value.substr(inside.size()) : value;
    if (engine.environment)
        for (const auto& [name, value] : *engine.environment) all[name] = value;
    for (const auto& [name, value] : workload.secrets) all[name] = value;
    std::vector<std::string> lines;
    for (const auto& [name, value] : all) lines.push_back(name + "=" + value);
    return lines;
}

std::vector<std::string> command_of(const Workload& workload, const Engine& engine,
                                    const std::string& work) {
    std::vector<std::string> command{engine.program};
    for (std::string word : engine.arguments) {
        word = replace_all(
            word, "{port}",
            std::to_string(workload.serves.empty() ? 0 : workload.serves.front().local_port));
        word = replace_all(word, "{folder}", work);
        word = replace_all(word, "{engine}", workload.engine);
        for (const auto& [name, value] : workload.environment)
            word = replace_all(word, "{" + name + "}", value);
        command.push_back(std::move(word));
    }
    return command;
}

bool is_toy(const Engine& engine) {
    return !engine.arguments.empty() && engine.arguments.front() == toy_command;
}

// The engine sees the system, its own program, the job's folder and the cards; nothing else.
std::vector<std::string> wrapped(const std::string& bubblewrap, const Workload& workload,
                                 const Engine& engine, std::vector<std::string> command) {
    std::vector<std::string> all{
        bubblewrap,          "--unshare-pid", "--unshare-ipc", "--unshare-uts",
        "--die-with-parent", "--new-session", "--seccomp",     std::to_string(filter_descriptor)};
    const auto add = [&](std::initializer_list<std::string> words) {
        all.insert(all.end(), words);
    };
    if (!is_root()) add({"--unshare-user", "--disable-userns"});
    for (const char* folder : {"/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib64"}) {
        if (files::is_symlink(folder))
            add({"--symlink", files::read_symlink(folder).string(), folder});
        else if (files::exists(folder))
            add({"--ro-bind", folder, folder});
    }
    add({"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"});
    for (const auto& entry : files::directory_iterator("/dev")) {
        const std::string name = entry.path().string();
        if (name.starts_with("/dev/nvidia") || name == "/dev/dri" || name == "/dev/kfd")
            add({"--dev-bind", name, name});
    }
    // Folders that bubblewrap makes on the way to another only root may enter.
    const auto show = [&](const std::string& folder) {
        std::string way;
        for (const files::path& step : files::path(folder).parent_path().relative_path())
            add({"--perms", "0755", "--dir", way += "/" + step.string()});
        add({"--ro-bind", folder, folder});
    };
    // Our own program, which serves as the toy, may lie anywhere; the others where they were put.
    const std::string own = files::path(engine.program).parent_path().string();
    if (is_toy(engine)) {
        command.front() = "/run/berth-agent";
        add({"--ro-bind", engine.program, command.front()});
    } else if (!own.starts_with("/usr") && !files::is_symlink(own)) {
        show(own);
    }
    for (const std::string& folder : engine.readable.value_or(std::vector<std::string>()))
        show(folder);
    add({"--bind", workload.folder + "/work", std::string(inside)});
    add({"--ro-bind", workload.folder + "/notice", std::string(inside) + "/.berth"});
    add({"--chdir", std::string(inside)});
    if (is_root())
        add({"/usr/bin/setpriv", fmt::format("--reuid={}", job_user),
             fmt::format("--regid={}", job_user), "--clear-groups", "--no-new-privs",
             "--inh-caps=-all", "--bounding-set=-all"});
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

// Where the kernel counts the memory of groups: all controllers in one place, or each in its own.
struct MemoryGroups {
    const char* folder;
    const char* limit;
};
constexpr MemoryGroups memory_groups[] = {{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                                          {"/sys/fs/cgroup", "memory.max"}};

std::string group_name(const Workload& workload) { return "/berth-" + to_string(workload.job); }

// The file of the processes of a group that may use so much memory and no more; empty where this
// host lets us make none.
std::string make_group(const Workload& workload) {
    if (workload.limits.memory_bytes <= 0) return {};
    for (const MemoryGroups& groups : memory_groups) {
        const std::string group = groups.folder + group_name(workload);
        const std::string limit = group + "/" + groups.limit;
        if (::mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) continue;
        std::ofstream file(limit, std::ios::in);  // is there, or the controller is not
        if (file << workload.limits.memory_bytes && file.flush()) return group + "/cgroup.procs";
        ::rmdir(group.c_str());
    }
    return {};
}

void remove_group(const Workload& workload) {
    for (const MemoryGroups& groups : memory_groups)
        ::rmdir((groups.folder + group_name(workload)).c_str());
}

// The work folder, with the notice of the agent in it.
void make_work(const Workload& workload, bool is_wrapped) {
    const std::string work = workload.folder + "/work";
    files::create_directories(work);
    ::chmod(work.c_str(), 0700);
    if (!is_wrapped) files::create_symlink(workload.folder + "/notice", work + "/.berth");
    if (is_root() && ::chown(work.c_str(), job_user, job_user) != 0)
        throw RuntimeError("INTERNAL", "The host could not make a folder for the job.");
}

// True when it is gone before the time is over.
bool wait_gone(const ProcessName& name, Duration within) {
    const auto until = std::chrono::steady_clock::now() + within;
    while (is_alive(name)) {
        if (std::chrono::steady_clock::now() >= until) return false;
        std::this_thread::sleep_for(20ms);
    }
    return true;
}

}  // namespace

EngineTable read_engines(const std::string& path) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file) throw std::invalid_argument(path + ": cannot be read");
    try {
        auto table = wire::decode<EngineTable>(text, "engines");
        for (const Engine& engine : table.engines)
            if (!engine.program.starts_with('/') || ::access(engine.program.c_str(), X_OK) != 0)
                throw std::invalid_argument(fmt::format(
                    "{}: the program of '{}' must be the full path of one that can be run: {}",
                    path, engine.name, engine.program));
        return table;
    } catch (const Problem& problem) {
        throw std::invalid_argument(fmt::format("{}: {}", path, problem.message));
    }
}

ProcessRuntime::ProcessRuntime(Setup setup)
    : setup_(std::move(setup)),
      bubblewrap_(::access("/usr/bin/bwrap", X_OK) == 0 ? "/usr/bin/bwrap" : "") {}

agent_protocol::RuntimeKind ProcessRuntime::kind() const {
    return setup_.is_simulated ? agent_protocol::RuntimeKind::simulated
                               : agent_protocol::RuntimeKind::process;
}

std::optional<std::string> ProcessRuntime::version() {
    return bubblewrap_.empty() ? "processes" : "processes in bubblewrap";
}

std::vector<std::string> ProcessRuntime::troubles() {
    std::vector<std::string> all;
    if (setup_.engines.engines.empty() && !setup_.has_toy)
        all.emplace_back(
            "There is no engine to start: name them in a file and give it with "
            "--engines.");
    if (bubblewrap_.empty())
        all.emplace_back(
            "bubblewrap is not installed: engines see the files of this host that "
            "anybody may read. Install the package bubblewrap.");
    return all;
}

std::optional<Engine> ProcessRuntime::engine_for(const Workload& workload) const {
    for (const Engine& engine : setup_.engines.engines)
        if (engine.name == workload.engine) return engine;
    if (setup_.has_toy)
        return Engine{workload.engine, setup_.program, {toy_command, "--port", "{port}"}, {}, {}};
    return std::nullopt;
}

std::optional<std::string> ProcessRuntime::refusal(const Workload& workload) {
    if (workload.kind != JobKind::model) return "This host runs models only, and no images.";
    if (workload.ssh_public_key) return "This host gives no SSH.";
    const auto engine = engine_for(workload);
    if (!engine) return fmt::format("This host has no engine '{}'.", workload.engine);
    if (::access(engine->program.c_str(), X_OK) != 0)
        return "The host's engine is not there any more.";
    return std::nullopt;
}

// Between the two questions an engine may have gone.
void ProcessRuntime::prepare(const Workload& workload, const Patience&,
                             const std::function<void(const Progress&)>&) {
    if (const auto why = refusal(workload)) throw RuntimeError("HOST_REJECTED", *why);
}

Started ProcessRuntime::start(const Workload& workload) {
    const bool is_wrapped = !bubblewrap_.empty();
    const auto found = engine_for(workload);
    if (!found) throw RuntimeError("HOST_REJECTED", "The host's engine is not there any more.");
    const Engine& engine = *found;
    const std::string work = work_seen(workload, is_wrapped);
    make_work(workload, is_wrapped);
    Launch launch;
    launch.folder = workload.folder;
    launch.command = command_of(workload, engine, work);
    if (is_wrapped) launch.command = wrapped(bubblewrap_, workload, engine, launch.command);
    launch.environment = environment_of(workload, engine, work);
    launch.user.value = is_root() && !is_wrapped ? job_user : -1;
    launch.processes_max.value = workload.limits.pids;
    launch.file_bytes_max.value = workload.limits.work_bytes;
    launch.group = make_group(workload);
    launch.hands_filter_on = is_wrapped;
    const ProgramOutcome shim = run_program({setup_.program, "shim"}, wire::encode(launch));
    if (shim.output != "started")
        throw RuntimeError("INTERNAL", "The host could not start the engine.");
    const auto name = process_of(workload);
    if (!name) throw RuntimeError("INTERNAL", "The host could not start the engine.");
    return {container_id(*name), std::nullopt};
}

std::optional<Started> ProcessRuntime::rejoin(const Workload& workload) {
    const auto name = process_of(workload);
    if (!name || !is_alive(*name)) return std::nullopt;
    return Started{container_id(*name), std::nullopt};
}

Look ProcessRuntime::look(const Workload& workload) {
    Look look;
    const auto name = process_of(workload);
    if (!name) return look;
    look.container_id = container_id(*name);
    // Asked in this order: what ends between the two questions has written its end.
    const bool alive = is_alive(*name);
    const auto text = agent_protocol::read_durable(workload.folder + "/exit.json");
    if (text) {
        const auto end = wire::decode<ProcessEnd>(*text, "file");
        look.status = Look::Status::exited;
        look.exit_code = end.exit_code.value;
        look.out_of_memory = end.out_of_memory;
        const SystemBootClock clock;
        if (end.ended_us && name->boot_id == clock.boot_id())
            look.ended_ago = clock.since_boot() - Duration(end.ended_us->value);
    } else if (alive) {
        look.status = Look::Status::running;
    }
    return look;
}

std::string ProcessRuntime::log_tail(const Workload& workload, std::size_t bytes_max) {
    std::string text;
    for (const char* name : {"/log.1", "/log"}) {
        std::ifstream file(workload.folder + name, std::ios::binary);
        text.append(std::istreambuf_iterator<char>(file), {});
    }
    if (text.size() <= bytes_max) return text;
    text.erase(0, text.size() - bytes_max);
    const std::size_t line = text.find('\n');
    return line == std::string::npos ? text : text.substr(line + 1);
}

void ProcessRuntime::stop(const Workload& workload, Duration grace) {
    const auto name = process_of(workload);
    if (!name || !is_alive(*name)) return;
    const auto pid = static_cast<pid_t>(name->pid.value);
    ::kill(pid, SIGTERM);
    if (wait_gone(*name, grace)) return;
    ::kill(pid, SIGTERM);
    if (wait_gone(*name, 5s)) return;
    ::kill(pid, SIGKILL);
    if (!wait_gone(*name, 5s)) throw RuntimeError("INTERNAL", "The engine could not be ended.");
}

void ProcessRuntime::clean(const Workload& workload) {
    stop(workload, 0s);
    remove_group(workload);
    for (const char* name : {"/work", "/log", "/log.1", "/process.json", "/exit.json"})
        files::remove_all(workload.folder + name);
    if (files::exists(workload.folder + "/work"))
        throw RuntimeError("INTERNAL", "The job's folder could not be removed.");
}

std::vector<JobId> ProcessRuntime::present() {
    std::vector<JobId> all;
    for (const auto& entry : files::directory_iterator(setup_.jobs_folder)) {
        const auto job = parse_uuid(entry.path().filename().string());
        if (job && files::exists(entry.path() / "work")) all.push_back(JobId{*job});
    }
    return all;
}

}  // namespace berth::host_agent
