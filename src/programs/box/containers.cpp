#include "box/containers.hpp"

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "base/ids.hpp"
#include "base/program.hpp"
#include "box/market.hpp"
#include "http/tls_key.hpp"

namespace berth::box {
namespace {

namespace fs = std::filesystem;

constexpr const char* tools[] = {"podman",    "runc", "nft",   "iptables",        "ip",
                                 "mkfs.ext4", "sshd", "bwrap", "docker-registry", "busybox"};

bool is_in_path(std::string_view program) {
    std::istringstream path(std::string(std::getenv("PATH")) + ":/usr/sbin:/sbin");
    for (std::string folder; std::getline(path, folder, ':');)
        if (::access(fmt::format("{}/{}", folder, program).c_str(), X_OK) == 0) return true;
    return false;
}

ProgramEnd run_or_throw(Words words) {
    ProgramEnd end =
        run_program({.arguments = std::move(words), .deadline = std::chrono::minutes(2)});
    if (!end.ok()) throw std::runtime_error("the image with a shell: " + end.output + end.errors);
    return end;
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// sshd trusts no folder that others than root can change.
std::string foreign_folder(const fs::path& folder) {
    for (fs::path at = fs::absolute(folder);; at = at.parent_path()) {
        struct stat facts {};
        const bool is_there = ::stat(at.c_str(), &facts) == 0;
        if (is_there && (facts.st_uid != 0 || (facts.st_mode & 022) != 0)) return at.string();
        if (at == at.parent_path()) return "";
    }
}

}  // namespace

std::string why_no_containers(const std::string& folder) {
    if (::geteuid() != 0) return "it takes root";
    std::string missing;
    for (const char* program : tools)
        if (!is_in_path(program)) missing += (missing.empty() ? "" : ", ") + std::string(program);
    if (!missing.empty())
        return fmt::format("there is no {} (`tools/install test` brings what is missing)", missing);
    if (::access("/dev/loop-control", W_OK) != 0) return "there are no loop devices";
    if (const std::string other = foreign_folder(folder); !other.empty())
        return other + " can be changed by others than root (--data FOLDER says where else)";
    const ProgramEnd apart = run_program(
        {.arguments = {"unshare", "--mount", "--net", "--pid", "--fork", "nft", "list", "tables"}});
    return apart.ok() ? "" : "this machine makes no namespaces, or has no nftables";
}

void forget_rentals(const std::string& state) {
    constexpr std::string_view begin = "berth-";
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(state + "/networks", none)) {
        const std::string name = entry.path().stem().string();
        if (!name.starts_with(begin) || !parse_uuid(name.substr(begin.size()))) continue;
        std::string table = name;
        std::replace(table.begin(), table.end(), '-', '_');
        const std::string bridge = std::string(begin) + name.substr(name.size() - 8);
        run_program({.arguments = {"ip", "link", "delete", bridge}});
        run_program({.arguments = {"nft", "delete", "table", "inet", table}});
    }
    std::vector<std::string> places;
    std::ifstream mounts("/proc/self/mounts");
    for (std::string device, place; mounts >> device >> place;) {
        if (place.starts_with(state + "/")) places.push_back(place);
        mounts.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    std::sort(places.rbegin(), places.rend());  // the innermost first
    for (const std::string& place : places) ::umount2(place.c_str(), MNT_DETACH);
}

Words ShellImage::registry() {
    fs::create_directories(folder_);
    http::make_self_signed(folder_ + "/tls.crt", folder_ + "/tls.key");
    write_file(
        folder_ + "/registries.conf",
        fmt::format("[[registry]]\nlocation = \"registry.box:{}\"\ninsecure = true\n", port_));
    write_file(folder_ + "/config.yml",
               fmt::format("version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n"
                           "    rootdirectory: {0}/blobs\nhttp:\n  addr: 127.0.0.1:{1}\n"
                           "  tls:\n    certificate: {0}/tls.crt\n    key: {0}/tls.key\n",
                           folder_, port_));
    ::setenv("CONTAINERS_REGISTRIES_CONF", (folder_ + "/registries.conf").c_str(), 1);
    return {"/usr/bin/docker-registry", "serve", folder_ + "/config.yml"};
}

// In a store of its own, which is not kept.
Words ShellImage::podman(const Words& words) const {
    Words all{"podman",         "--root",           folder_ + "/store", "--runroot",
              folder_ + "/run", "--tmpdir",         folder_ + "/tmp",   "--runtime",
              "runc",           "--cgroup-manager", "cgroupfs"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

void ShellImage::make() {
    if (!read_private(folder_ + "/digest").empty()) return;
    const std::string root = folder_ + "/root";
    fs::remove_all(root);
    for (const char* each : {"/bin", "/etc", "/work", "/cache", "/tmp", "/run", "/var"})
        fs::create_directories(root + each);
    fs::permissions(root + "/tmp", fs::perms::all | fs::perms::sticky_bit);
    fs::copy("/bin/busybox", root + "/bin/busybox");
    std::istringstream applets(run_or_throw({"busybox", "--list"}).output);
    for (std::string name; applets >> name;)
        if (!fs::exists(root + "/bin/" + name))
            fs::create_symlink("busybox", root + "/bin/" + name);
    const std::string tar = folder_ + "/image.tar";
    run_or_throw({"tar", "-C", root, "--owner=0", "--group=0", "--mode=go+rX", "-cf", tar, "."});
    run_or_throw(podman({"import", "--quiet", "--change", "ENV PATH=/bin", "--change",
                         R"(CMD ["/bin/sleep","infinity"])", tar, "localhost/shell:1"}));
    const std::string digest = folder_ + "/digest.made";
    run_or_throw(
        podman({"push", "--quiet", "--tls-verify=false", "--digestfile", digest,
                "localhost/shell:1", fmt::format("docker://127.0.0.1:{}/shell:1", port_)}));
    run_program({.arguments = podman({"rmi", "--all", "--force"})});
    run_program({.arguments = {"umount", folder_ + "/store/overlay"}});
    for (const std::string& each : {root, tar, folder_ + "/store"}) fs::remove_all(each);
    write_private(folder_ + "/digest", read_private(digest));
}

std::string ShellImage::name() const {
    return fmt::format("registry.box:{}/shell@{}", port_, read_private(folder_ + "/digest"));
}

std::string ShellImage::allowed_registry() const {
    return fmt::format("registry.box:{0}=127.0.0.1:{0}", port_);
}

}  // namespace berth::box
