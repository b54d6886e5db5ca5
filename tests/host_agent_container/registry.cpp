#include "host_agent_container/registry.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "host_agent/core/tool.hpp"
#include "http/tls_key.hpp"
#include "support/eventually.hpp"

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

bool is_listening(std::uint16_t port) {
    const int peer = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool yes = ::connect(peer, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    ::close(peer);
    return yes;
}

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
    return fmt::format("registry.test:{}/{}", port_, repository);
}

std::string Registry::place_of(const std::string& host, std::uint16_t port) {
    return fmt::format("{0}:{1}=127.0.0.1:{1}", host, port);
}

std::string Registry::local_image() const {
    return fmt::format("127.0.0.1:{}/{}", port_, image_.substr(image_.find('/') + 1));
}

std::string Registry::place() const { return place_of("registry.test", port_); }

void Registry::serve() {
    http::make_self_signed(folder_ + "/tls.crt", folder_ + "/tls.key");
    write_file(folder_ + "/registries.conf",
               fmt::format("[[registry]]\nprefix = \"*.test\"\ninsecure = true\n"
                           "[[registry]]\nlocation = \"registry.test:{}\"\ninsecure = true\n",
                           port_));
    ::setenv("CONTAINERS_REGISTRIES_CONF", (folder_ + "/registries.conf").c_str(), 1);
    write_file(folder_ + "/config.yml",
               fmt::format("version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n"
                           "    rootdirectory: {0}/blobs\nhttp:\n  addr: 127.0.0.1:{1}\n"
                           "  tls:\n    certificate: {0}/tls.crt\n    key: {0}/tls.key\n",
                           folder_, port_));
    process_ = std::make_unique<Process>(
        std::vector<std::string>{"/usr/bin/docker-registry", "serve", folder_ + "/config.yml"},
        folder_ + "/registry.log");
    if (!support::eventually([&] { return is_listening(port_); }))
        throw std::runtime_error("no registry: " + read_text(process_->log_path()));
}

// In a store of its own, so that the runtime has to pull what is made there.
std::vector<std::string> Registry::podman(const std::vector<std::string>& words) const {
    std::vector<std::string> all = {"podman",           "--root",         folder_ + "/store",
                                    "--runroot",        folder_ + "/run", "--tmpdir",
                                    folder_ + "/tmp",   "--runtime",      "runc",
                                    "--cgroup-manager", "cgroupfs"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

void Registry::empty_store() const {
    run_tool({.arguments = podman({"rmi", "--all", "--force"})});
    run_tool({.arguments = {"umount", folder_ + "/store/overlay"}});
}

std::string Registry::add_index(const std::string& repository) {
    const std::string local = "localhost/" + repository + "-index";
    const std::string there = fmt::format("docker://127.0.0.1:{}/{}", port_, repository);
    run_tool_or_throw({.arguments = podman({"manifest", "create", local})});
    run_tool_or_throw(
        {.arguments = podman({"manifest", "add", "--tls-verify=false", local, there + ":1"})});
    run_tool_or_throw(
        {.arguments = podman({"manifest", "push", "--all", "--tls-verify=false", "--digestfile",
                              folder_ + "/digest", local, there + ":index"})});
    empty_store();
    return name(repository) + "@" + read_text(folder_ + "/digest");
}

std::string Registry::add(const std::string& repository, const std::string& root,
                          const std::vector<std::string>& changes) {
    run_tool_or_throw({.arguments = {"tar", "-C", root, "-cf", folder_ + "/image.tar", "."}});
    std::vector<std::string> import = {"import", "--quiet"};
    for (const std::string& change : changes) import.insert(import.end(), {"--change", change});
    const std::string local = "localhost/" + repository + ":1";
    import.insert(import.end(), {folder_ + "/image.tar", local});
    run_tool_or_throw({.arguments = podman(import)});
    run_tool_or_throw(
        {.arguments =
             podman({"push", "--quiet", "--tls-verify=false", "--digestfile", folder_ + "/digest",
                     local, fmt::format("docker://127.0.0.1:{}/{}:1", port_, repository)})});
    empty_store();
    return name(repository) + "@" + read_text(folder_ + "/digest");
}

Registry::Registry() : folder_(folder_of_root()), port_(free_port()) {
    struct AtExit {
        std::string folder;
        ~AtExit() { std::filesystem::remove_all(folder); }
    };
    static const AtExit at_exit{folder_};
    serve();
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
    // /data is a volume of the image: one more place that could be writable.
    image_ = add("berth/test", root, {"VOLUME /data", "ENV PATH=/bin", engine_command});
}

}  // namespace berth::test
