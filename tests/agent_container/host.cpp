#include "agent_container/host.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/volume.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using agent::run_tool;
using agent::run_tool_or_throw;

// Not in /tmp: sshd wants folders that only root can change.
std::string own_folder() {
    std::string path = "/var/lib/berth-test-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no folder");
    ::chmod(path.c_str(), 0755);
    return path;
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

std::string why_no_containers() {
    if (::geteuid() != 0) return "containers are tested as root alone";
    for (const char* program : {"podman", "runc", "nft", "iptables", "ip", "mkfs.ext4", "sshd",
                                "sftp", "bwrap", "docker-registry", "busybox"})
        if (!agent::has_tool(program)) return fmt::format("{} is not installed", program);
    if (::access("/dev/loop-control", W_OK) != 0) return "there are no loop devices";
    // A machine may be a container itself, whose root is not root.
    if (!run_tool({.arguments = {"unshare", "--mount", "--net", "--pid", "--fork", "true"}}).good())
        return "this machine makes no namespaces";
    const std::string table = fmt::format("berth_look_{}", ::getpid());
    if (!run_tool({.arguments = {"nft", "add", "table", "inet", table}}).good())
        return "this machine has no nftables";
    run_tool({.arguments = {"nft", "delete", "table", "inet", table}});
    return {};
}

Registry& Registry::get() {
    static Registry registry;
    return registry;
}

std::string Registry::name(const std::string& repository) const {
    return fmt::format("127.0.0.1:{}/{}", port_, repository);
}

// The image is made in a store of its own, so that the runtime has to pull it.
Registry::Registry() : folder_(own_folder()), port_(free_port()) {
    struct AtExit {
        std::string folder;
        ~AtExit() { std::filesystem::remove_all(folder); }
    };
    static const AtExit at_exit{folder_};
    write_file(folder_ + "/registries.conf",
               fmt::format("[[registry]]\nlocation = \"127.0.0.1:{}\"\ninsecure = true\n", port_));
    ::setenv("CONTAINERS_REGISTRIES_CONF", (folder_ + "/registries.conf").c_str(), 1);
    write_file(folder_ + "/config.yml",
               fmt::format("version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n"
                           "    rootdirectory: {}/blobs\nhttp:\n  addr: 127.0.0.1:{}\n",
                           folder_, port_));
    process_ = std::make_unique<Process>(
        std::vector<std::string>{"/usr/bin/docker-registry", "serve", folder_ + "/config.yml"},
        folder_ + "/registry.log");
    if (!wait_until_ready(*process_, fmt::format("http://127.0.0.1:{}/v2/", port_)))
        throw std::runtime_error("no registry: " + read_text(process_->log_path()));

    const std::string root = folder_ + "/root";
    for (const char* each : {"/bin", "/etc", "/work", "/cache", "/tmp", "/run", "/var", "/data"})
        std::filesystem::create_directories(root + each);
    ::chmod((root + "/tmp").c_str(), 01777);
    ::chmod((root + "/data").c_str(), 0777);
    std::filesystem::copy("/bin/busybox", root + "/bin/busybox");
    std::filesystem::copy(program_path("berth-inside"), root + "/bin/berth-inside");
    for (const char* each : {"sh", "cat", "echo", "id", "ls", "sleep", "stty", "tty", "env", "dd",
                             "ps", "test", "true", "touch"})
        std::filesystem::create_symlink("busybox", root + "/bin/" + each);
    run_tool_or_throw({.arguments = {"tar", "-C", root, "-cf", folder_ + "/image.tar", "."}});
    const std::vector<std::string> podman = {
        "podman",         "--root",           folder_ + "/store", "--runroot",
        folder_ + "/run", "--tmpdir",         folder_ + "/tmp",   "--runtime",
        "runc",           "--cgroup-manager", "cgroupfs"};
    const auto with = [&](std::initializer_list<std::string> words) {
        std::vector<std::string> all = podman;
        all.insert(all.end(), words);
        return all;
    };
    // /data is a volume of the image: one more place that could be writable.
    run_tool_or_throw(
        {.arguments = with({"import", "--quiet", "--change", "VOLUME /data", "--change",
                            "ENV PATH=/bin", folder_ + "/image.tar", name("berth/test:1")})});
    run_tool_or_throw({.arguments = with({"push", "--quiet", "--digestfile", folder_ + "/digest",
                                          name("berth/test:1")})});
    image_ = name("berth/test") + "@" + read_text(folder_ + "/digest");
    run_tool({.arguments = with({"rmi", "--all", "--force"})});
    run_tool({.arguments = {"umount", folder_ + "/store/overlay"}});
}

std::string ContainerTest::folder;
std::string ContainerTest::run;

void ContainerTest::SetUp() {
    if (const std::string why = why_no_containers(); !why.empty()) GTEST_SKIP() << why;
    Registry::get();
    if (folder.empty()) folder = own_folder();
    run = folder + "/run";
    runtime = make_runtime();
}

void ContainerTest::TearDown() {
    for (const agent::Workload& workload : made) {
        EXPECT_NO_THROW(runtime->clean(workload));
        EXPECT_EQ(leftovers(workload), "");
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

std::unique_ptr<agent::PodmanRuntime> ContainerTest::make_runtime() const {
    agent::PodmanOptions options;
    options.state = folder;
    options.run = run;
    options.pool = "10.217";
    options.program = program_path("berth-agent");
    options.inside_program = program_path("berth-inside");
    options.ssh_address = "127.0.0.1";
    return std::make_unique<agent::PodmanRuntime>(options);
}

agent::Workload ContainerTest::make_workload(std::vector<std::string> arguments) {
    agent::Workload workload;
    workload.job = JobId::make(SystemClock().now(), random);
    workload.image = Registry::get().image();
    workload.arguments = std::move(arguments);
    workload.limits = {.memory_bytes = 64 * mebibyte,
                       .cpus = 1,
                       .pids = 64,
                       .work_bytes = 32 * mebibyte,
                       .egress_bytes = 0};
    workload.folder = folder + "/" + to_string(workload.job);
    std::filesystem::create_directory(workload.folder);
    std::filesystem::create_directory(workload.folder + "/notice");
    ::chmod(workload.folder.c_str(), 0700);
    made.push_back(workload);
    return workload;
}

void ContainerTest::pull(const agent::Workload& workload) {
    const std::atomic<bool> cancelled = false;
    runtime->prepare(workload,
                     {std::chrono::steady_clock::now() + std::chrono::seconds(30), cancelled}, {});
}

agent::Started ContainerTest::start(const agent::Workload& workload) {
    pull(workload);
    return runtime->start(workload);
}

agent::Look ContainerTest::wait_for_exit(const agent::Workload& workload) {
    agent::Look look;
    EXPECT_TRUE(support::eventually([&] {
        look = runtime->look(workload);
        return look.status != agent::Look::Status::running;
    }));
    return look;
}

bool ContainerTest::log_has(const agent::Workload& workload, const std::string& text) {
    return support::eventually(
        [&] { return runtime->log_tail(workload, 8192).find(text) != std::string::npos; });
}

std::string ContainerTest::inside(const agent::Started& started, std::vector<std::string> words) {
    std::vector<std::string> all = {"runc", "exec", started.container_id, "/bin/berth-inside"};
    all.insert(all.end(), words.begin(), words.end());
    return run_tool({.arguments = all}).output;
}

std::string ContainerTest::leftovers(const agent::Workload& workload) const {
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
