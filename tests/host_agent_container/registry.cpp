#include "host_agent_container/registry.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "host_agent/core/tool.hpp"

namespace berth::test {
namespace {

using host_agent::run_tool;
using host_agent::run_tool_or_throw;

// One request and its answer, whatever is asked, by the key of the job alone.
constexpr const char* engine_answer = R"sh(#!/bin/sh
length=0
key=
while read -r name value && [ "$name" != "$(printf '\r')" ]; do
    case $name in
    [Cc]ontent-[Ll]ength:) length=${value%?} ;;
    [Aa]uthorization:) key=${value%?} ;;
    esac
done
head -c "$length" >/dev/null
status='200 OK'
body='{"id":"1","object":"chat.completion","created":1,"model":"m","data":[],'
body=$body'"choices":[{"index":0,'
body=$body'"message":{"role":"assistant","content":"from inside"},"finish_reason":"stop"}],'
body=$body'"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}'
[ "$key" = "Bearer $BERTH_API_KEY" ] || status='401 Unauthorized'
printf 'HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %s\r\n' \
    "$status" "${#body}"
printf 'Connection: close\r\n\r\n%s' "$body"
)sh";
constexpr const char* engine_command =
    R"(CMD ["/bin/sh", "-c", "trap 'exit 0' TERM; nc -ll -p 8000 -e /bin/answer & wait"])";

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

// Not in /tmp: sshd wants folders that only root can change.
std::string folder_of_root() {
    std::string path = "/var/lib/berth-test-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no folder");
    ::chmod(path.c_str(), 0755);
    return path;
}

std::string why_no_containers() {
    if (::geteuid() != 0) return "containers are tested as root alone";
    for (const char* program : {"podman", "runc", "nft", "iptables", "ip", "mkfs.ext4", "sshd",
                                "sftp", "bwrap", "docker-registry", "busybox"})
        if (!host_agent::has_tool(program)) return fmt::format("{} is not installed", program);
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
Registry::Registry() : folder_(folder_of_root()), port_(free_port()) {
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
    write_file(root + "/bin/answer", engine_answer);
    ::chmod((root + "/bin/answer").c_str(), 0755);
    write_file(root + "/bin/vllm", "#!/bin/sh\necho \"$@\"\n");
    ::chmod((root + "/bin/vllm").c_str(), 0755);
    std::filesystem::copy("/bin/busybox", root + "/bin/busybox");
    std::filesystem::copy(program_path("berth-inside"), root + "/bin/berth-inside");
    for (const char* each : {"sh", "cat", "echo", "id", "ls", "sleep", "stty", "tty", "env", "dd",
                             "ps", "test", "true", "touch", "head", "printf", "nc"})
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
    run_tool_or_throw({.arguments = with({"import", "--quiet", "--change", "VOLUME /data",
                                          "--change", "ENV PATH=/bin", "--change", engine_command,
                                          folder_ + "/image.tar", name("berth/test:1")})});
    run_tool_or_throw({.arguments = with({"push", "--quiet", "--digestfile", folder_ + "/digest",
                                          name("berth/test:1")})});
    image_ = name("berth/test") + "@" + read_text(folder_ + "/digest");
    run_tool({.arguments = with({"rmi", "--all", "--force"})});
    run_tool({.arguments = {"umount", folder_ + "/store/overlay"}});
}

}  // namespace berth::test
