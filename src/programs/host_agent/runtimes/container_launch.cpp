#include "host_agent/runtimes/container_launch.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

constexpr rlim_t open_files_max = 65536;
constexpr std::int64_t page_bytes = 65536;  // the largest that a kernel has

std::string ulimit(const char* name, int resource, rlim_t wanted) {
    rlimit ours{};
    ::getrlimit(resource, &ours);
    const rlim_t most = std::min(wanted, ours.rlim_max);
    return fmt::format("--ulimit={}={}:{}", name, most, most);
}

// A limit of so many is none: the kernel has numbers for no more. One above it podman has not got
// itself, where it may raise none.
rlim_t processes_of_host() {
    rlim_t numbers = 32768;
    const std::string text = read_host_file("/proc/sys/kernel/pid_max");
    std::from_chars(text.data(), text.data() + text.size(), numbers);
    return numbers;
}

// The kernel counts the processes of a user of the host, and jobs of all slots are one: with a
// limit of its own each would be refused what the others have. There the cgroup alone bounds them.
std::string process_limit(const ContainerLaunch& launch) {
    return ulimit("nproc", RLIMIT_NPROC,
                  launch.group.empty() ? static_cast<rlim_t>(launch.workload.limits.pids)
                                       : processes_of_host());
}

void add(std::vector<std::string>& out, std::initializer_list<std::string> words) {
    out.insert(out.end(), words);
}

// Memory that programs take for granted. What is written there counts as the job's own memory, and
// each may be half of that. An image may have a /tmp that is only root's, so that it is given to
// the workload's user. Memory for messages has no such limit: an empty folder hides it.
void add_mounts(std::vector<std::string>& out, const ContainerLaunch& launch) {
    const std::int64_t half = launch.workload.limits.memory_bytes / 2 / page_bytes * page_bytes;
    for (const char* memory : {"/tmp", "/dev/shm"})
        add(out, {"--mount", fmt::format("type=tmpfs,destination={},rw,nosuid,nodev,tmpfs-size={},"
                                         "tmpfs-mode=1777,notmpcopyup,U=true",
                                         memory, half)});
    add(out, {"--mount", "type=tmpfs,destination=/dev/mqueue,ro,tmpfs-size=4k"});
    add(out, {"-v", launch.work + ":/work:rw,nosuid,nodev", "-v",
              launch.workload.folder + "/notice:/work/.berth:ro,nosuid,nodev,noexec", "-v",
              launch.cache + ":/cache:ro,nosuid,nodev,noexec"});
}

void add_environment(std::vector<std::string>& out, const Workload& workload, bool has_weights) {
    add(out, {"--env", "HOME=/work", "--env", "TMPDIR=/tmp", "--env", "LANG=C.UTF-8"});
    for (const auto& [name, value] : workload.environment)
        add(out, {"--env", fmt::format("{}={}", name, value)});
    if (has_weights) add(out, {"--env", "HF_HUB_CACHE=/cache/hub", "--env", "HF_HUB_OFFLINE=1"});
    const auto secrets = secrets_of(workload);
    for (const auto& [name, value] : workload.secrets)
        add(out, {"--secret", fmt::format("{},type=env,target={}", secrets.at(value), name)});
}

// What is started in place of what the image would start. A template of vLLM that names nothing,
// as those of earlier servers, has variables which vLLM does not read: they are its arguments. Its
// image names another program to start than `vllm`, and which one has changed between versions.
std::vector<std::string> replaced_command(const Workload& workload) {
    if (!workload.command.empty()) return workload.command;
    const auto& variables = workload.environment;
    const auto model = variables.find("MODEL_ID");
    if (workload.engine != "vllm" || model == variables.end() || workload.serves.empty()) return {};
    std::vector<std::string> out = {"vllm",
                                    "serve",
                                    model->second,
                                    "--host",
                                    "0.0.0.0",
                                    "--port",
                                    std::to_string(workload.serves.front().port)};
    for (const auto& [name, option] : {std::pair{"MAX_MODEL_LEN", "--max-model-len"},
                                       std::pair{"TENSOR_PARALLEL_SIZE", "--tensor-parallel-size"}})
        if (const auto given = variables.find(name); given != variables.end())
            add(out, {option, given->second});
    return out;
}

}  // namespace

std::string container_name(JobId job) { return "berth-" + to_string(job); }

std::map<std::string, std::string> secrets_of(const Workload& workload) {
    std::map<std::string, std::string> all;
    for (const auto& [name, value] : workload.secrets)
        all.emplace(value, fmt::format("berth-{}-{}", to_string(workload.job), name));
    return all;
}

std::vector<std::string> launch_arguments(const ContainerLaunch& launch) {
    const Workload& workload = launch.workload;
    const Limits& limits = workload.limits;
    const std::string user = fmt::format("{0}:{0}", workload_user);
    const auto cpus = std::min<std::int64_t>(limits.cpus, std::thread::hardware_concurrency());
    const std::string memory = std::to_string(limits.memory_bytes);
    std::vector<std::string> out = {
        "run", "--detach", "--pull=never", "--name=" + container_name(workload.job),
        "--label=berth.job=" + to_string(workload.job), "--user=" + user, "--workdir=/work",
        "--read-only", "--read-only-tmpfs=false", "--image-volume=ignore", "--cap-drop=all",
        "--security-opt=no-new-privileges", "--security-opt=seccomp=" + launch.seccomp_file,
        "--ipc=private", "--uts=private", "--pid=private", "--cgroupns=private",
        fmt::format("--pids-limit={}", limits.pids), fmt::format("--memory={}b", memory),
        fmt::format("--memory-swap={}b", memory),  // the sum: there is no swap
        fmt::format("--cpus={}", cpus), ulimit("nofile", RLIMIT_NOFILE, open_files_max),
        process_limit(launch), "--ulimit=core=0:0",
        // What podman would take from the host or the image by itself.
        "--http-proxy=false", "--systemd=false", "--sdnotify=ignore", "--no-healthcheck",
        "--log-driver=k8s-file", "--log-opt=path=" + launch.log_file, "--log-opt=max-size=4mb",
        "--pidfile=" + launch.pid_file, "--network=" + launch.network.name,
        "--ip=" + launch.network.address};
    if (!launch.group.empty()) out.push_back("--cgroup-parent=" + launch.group);
    for (const Serve& serve : workload.serves)
        add(out, {"--publish", fmt::format("127.0.0.1:{}:{}/tcp", serve.local_port, serve.port)});
    for (const std::string& device : launch.devices) add(out, {"--device", device});
    add_mounts(out, launch);
    add_environment(out, workload, launch.has_weights);
    if (workload.has_init) add(out, {"--init", "--init-path=" + launch.init_program});
    const std::vector<std::string> command = replaced_command(workload);
    if (!command.empty()) out.push_back("--entrypoint=" + command.front());
    if (launch.image_is_folder) out.emplace_back("--rootfs");
    out.push_back(workload.image);
    out.insert(out.end(), workload.arguments.begin(), workload.arguments.end());
    if (!command.empty()) out.insert(out.end(), command.begin() + 1, command.end());
    return out;
}

}  // namespace berth::host_agent
