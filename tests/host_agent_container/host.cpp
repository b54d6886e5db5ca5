#include "host_agent_container/host.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "support/eventually.hpp"

namespace berth::test {

using host_agent::run_tool;

// UMask= of deploy/berth-agent.service.
constexpr mode_t service_umask = 077;

std::string ContainerTest::folder;
std::string ContainerTest::run;

void ContainerTest::SetUp() {
    if (const std::string why = why_no_containers(); !why.empty()) GTEST_SKIP() << why;
    registries = Registry::get().place();
    ::umask(service_umask);
    if (folder.empty()) folder = folder_of_root();
    run = folder + "/run";
    runtime = make_runtime();
}

void ContainerTest::TearDown() {
    for (const host_agent::Workload& workload : made) {
        EXPECT_NO_THROW(runtime->clean(workload));
        expect_nothing_left(workload);
        std::filesystem::remove_all(workload.folder);
    }
    runtime.reset();
}

void ContainerTest::TearDownTestSuite() {
    if (folder.empty()) return;
    run_tool({.arguments = {"umount", folder + "/containers/overlay"}});
    std::error_code failed;
    std::filesystem::remove_all(folder, failed);
    EXPECT_FALSE(failed) << failed.message();
    folder.clear();
}

std::unique_ptr<host_agent::PodmanRuntime> ContainerTest::make_runtime() const {
    host_agent::PodmanOptions options;
    options.state = folder;
    options.run = run;
    options.pool = "10.217";
    options.program = program_path("berth-agent");
    options.inside_program = program_path("berth-inside");
    options.ssh_address = ssh_address;
    options.registries = host_agent::parse_registries(registries);
    options.driver_root = driver_root;
    options.store_bytes = store_bytes;
    options.floor_bytes = floor_bytes;
    options.hub = hub;
    return std::make_unique<host_agent::PodmanRuntime>(options);
}

host_agent::Workload ContainerTest::make_workload(std::vector<std::string> arguments) {
    host_agent::Workload workload;
    workload.job = JobId::make(SystemClock().now(), random);
    workload.image = Registry::get().image();
    workload.arguments = std::move(arguments);
    workload.limits = {.memory_bytes = 64 * mebibyte,
                       .cpus = 1,
                       .pids = 64,
                       .work_bytes = 32 * mebibyte,
                       .egress_bytes = {}};
    workload.folder = folder + "/" + to_string(workload.job);
    std::filesystem::create_directory(workload.folder);
    std::filesystem::create_directory(workload.folder + "/notice");
    ::chmod((workload.folder + "/notice").c_str(), 0755);  // as the agent does
    made.push_back(workload);
    return workload;
}

void ContainerTest::pull(const host_agent::Workload& workload) {
    const std::atomic<bool> cancelled = false;
    runtime->prepare(workload,
                     {std::chrono::steady_clock::now() + std::chrono::minutes(3), cancelled}, {});
}

host_agent::Started ContainerTest::start(const host_agent::Workload& workload) {
    pull(workload);
    return runtime->start(workload);
}

host_agent::Look ContainerTest::wait_for_exit(const host_agent::Workload& workload) {
    host_agent::Look look;
    EXPECT_TRUE(support::eventually([&] {
        look = runtime->look(workload);
        return look.status != host_agent::Look::Status::running;
    }));
    return look;
}

bool ContainerTest::log_has(const host_agent::Workload& workload, const std::string& text) {
    return support::eventually(
        [&] { return runtime->log_tail(workload, 8192).find(text) != std::string::npos; });
}

std::string ContainerTest::inside(const host_agent::Started& started,
                                  std::vector<std::string> words) {
    std::vector<std::string> all = {"runc", "exec", started.container_id, "/bin/berth-inside"};
    all.insert(all.end(), words.begin(), words.end());
    return run_tool({.arguments = all}).output;
}

void ContainerTest::expect_nothing_left(const host_agent::Workload& workload) const {
    std::string left;
    EXPECT_TRUE(support::eventually(
        [&] {
            left = leftovers(workload);
            return left.empty();
        },
        {.look_every = std::chrono::milliseconds(100)}))
        << left;
}

std::string ContainerTest::leftovers(const host_agent::Workload& workload) const {
    std::string left;
    const auto look = [&](const std::string& where, const std::string& text) {
        std::string id = to_string(workload.job);
        std::string table = id;
        std::replace(table.begin(), table.end(), '-', '_');
        for (const std::string& name : {id, table})
            if (text.find(name) != std::string::npos) left += where + " ";
    };
    look("mounts", read_text("/proc/self/mounts"));
    look("loop", run_tool({.arguments = {"losetup", "-a"}}).output);
    look("nft", run_tool({.arguments = {"nft", "list", "tables"}}).output);
    look("networks", run_tool({.arguments = {"ls", folder + "/networks"}}).output);
    const std::string id = to_string(workload.job);
    if (std::filesystem::exists("/sys/class/net/berth-" + id.substr(id.size() - 8)))
        left += "bridge ";
    if (std::filesystem::exists(workload.folder + "/volume")) left += "volume ";
    if (std::filesystem::exists(run + "/ssh/" + id)) left += "ssh ";
    return left;
}

}  // namespace berth::test
