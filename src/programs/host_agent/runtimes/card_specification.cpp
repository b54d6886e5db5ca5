#include "host_agent/runtimes/card_specification.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/check.hpp"
#include "base/json_text.hpp"
#include "base/letters.hpp"
#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

namespace files = std::filesystem;

// For computing, for video and for asking; not for screens.
constexpr auto plain_libraries = std::to_array<std::string_view>(
    {"libcuda.so.1", "libcudadebugger.so.1", "libnvcuvid.so.1", "libnvidia-allocator.so.1",
     "libnvidia-cfg.so.1", "libnvidia-encode.so.1", "libnvidia-ml.so.1", "libnvidia-nvvm.so.4",
     "libnvidia-nvvm70.so.4", "libnvidia-opencl.so.1", "libnvidia-opticalflow.so.1",
     "libnvidia-ptxjitcompiler.so.1"});
// Loaded by others by their full version.
constexpr auto versioned_libraries =
    std::to_array<std::string_view>({"libnvidia-gpucomp.so.", "libnvidia-pkcs11.so.",
                                     "libnvidia-pkcs11-openssl3.so.", "libnvidia-tileiras.so."});

#if defined(__aarch64__)
constexpr std::string_view debian_folder = "/usr/lib/aarch64-linux-gnu";
#else
constexpr std::string_view debian_folder = "/usr/lib/x86_64-linux-gnu";
#endif
// Where the linkers of Debian's and of Fedora's kin look without being told, and where NVIDIA's own
// images look.
constexpr auto inside_folders =
    std::to_array<std::string_view>({debian_folder, "/usr/lib64", "/usr/local/nvidia/lib64"});

// Where drivers are installed.
std::vector<std::string> library_folders(const std::string& root) {
    std::vector<std::string> all;
    if (root.empty()) {
        // Where the linker found it for us.
        const std::string folder =
            folder_of_loaded(read_host_file("/proc/self/maps"), "/libnvidia-ml.so");
        if (!folder.empty()) all.push_back(folder);
    }
    for (const std::string_view each :
         {debian_folder, std::string_view("/usr/lib64"), std::string_view("/usr/lib"),
          std::string_view("/usr/local/nvidia/lib64"), std::string_view("/lib64"),
          std::string_view("/lib")})
        all.push_back(root + std::string(each));
    all.push_back(root + std::string(debian_folder) + "/nvidia/current");
    return all;
}

std::optional<std::string> real_file(const std::string& path) {
    std::error_code failed;
    const files::path real = files::canonical(path, failed);
    if (failed || !files::is_regular_file(real, failed)) return std::nullopt;
    return real.string();
}

// "580.159.04" of ".../libnvidia-ml.so.580.159.04".
std::string version_in(const std::string& file) {
    constexpr std::string_view mark = ".so.";
    const std::size_t at = file.rfind(mark);
    if (at == std::string::npos) return {};
    const std::string version = file.substr(at + mark.size());
    const auto allowed = [](char c) { return is_digit(c) || c == '.'; };
    return version.find('.') != std::string::npos &&
                   std::all_of(version.begin(), version.end(), allowed)
               ? version
               : std::string();
}

std::optional<DriverNode> node_at(const std::string& root, const std::string& path) {
    struct stat facts {};
    if (::stat((root + path).c_str(), &facts) != 0 || !S_ISCHR(facts.st_mode))
        // A driver whose libraries are elsewhere has its nodes where they always are.
        return root.empty() ? std::nullopt : node_at("", path);
    return DriverNode{path, ::major(facts.st_rdev), ::minor(facts.st_rdev)};
}

// A line of what the driver's module tells of a card: "Device Minor: 0", with tabs.
std::optional<unsigned> minor_of(const std::string& root, const std::string& pci_address) {
    const std::string text =
        read_host_file(fmt::format("{}/proc/driver/nvidia/gpus/{}/information", root, pci_address));
    constexpr std::string_view label = "Device Minor:";
    std::size_t at = text.find(label);
    if (at == std::string::npos) return std::nullopt;
    at += label.size();
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    unsigned number = 0;
    if (std::from_chars(text.data() + at, text.data() + text.size(), number).ec != std::errc())
        return std::nullopt;
    return number;
}

bool has_node(const Driver& driver, std::string_view path) {
    return std::any_of(driver.nodes.begin(), driver.nodes.end(),
                       [&](const DriverNode& node) { return node.path == path; });
}

std::string node_text(const DriverNode& node) {
    return fmt::format(R"({{"path":{},"type":"c","major":{},"minor":{},"permissions":"rw"}})",
                       json_quoted(node.path), node.major, node.minor);
}

std::string mount_text(const std::string& file, const std::string& inside) {
    return fmt::format(
        R"({{"hostPath":{},"containerPath":{},"options":["ro","nosuid","nodev","bind"]}})",
        json_quoted(file), json_quoted(inside));
}

}  // namespace

std::string folder_of_loaded(const std::string& maps, std::string_view name) {
    const std::size_t at = maps.find(name);
    if (at == std::string::npos) return {};
    const std::size_t begin = maps.rfind(' ', at) + 1;
    return maps.substr(begin, at - begin);
}

Driver find_driver(const std::string& root) {
    Driver driver;
    const std::vector<std::string> folders = library_folders(root);
    // The first of that name; of that version, once it is known.
    const auto find = [&](const std::string& name, const std::optional<std::string>& version) {
        for (const std::string& folder : folders)
            if (auto file = real_file(folder + "/" + name);
                file && (!version || version_in(*file) == *version))
                return file;
        return std::optional<std::string>();
    };
    const auto management = find("libnvidia-ml.so.1", std::nullopt);
    if (management) driver.version = version_in(*management);
    // What an older driver left behind is not this one's.
    const auto add = [&](const std::string& name) {
        const auto file = management ? find(name, driver.version) : std::nullopt;
        if (file) driver.libraries.push_back({name, *file});
    };
    for (const std::string_view name : plain_libraries) add(std::string(name));
    if (!driver.version.empty())
        for (const std::string_view name : versioned_libraries)
            add(std::string(name) + driver.version);
    for (const char* folder : {"/usr/bin", "/bin", "/usr/local/nvidia/bin"})
        if (const auto file = real_file(root + folder + "/nvidia-smi");
            file && driver.programs.empty())
            driver.programs.push_back({"/usr/bin/nvidia-smi", *file});
    for (const char* path : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"})
        if (const auto node = node_at(root, path)) driver.nodes.push_back(*node);
    return driver;
}

std::string module_version(const std::string& root) {
    std::string text = read_host_file(root + "/proc/driver/nvidia/version");
    if (text.empty()) text = read_host_file("/proc/driver/nvidia/version");
    // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (…)"
    std::istringstream words(text.substr(0, text.find('\n')));
    const auto allowed = [](char c) { return is_digit(c) || c == '.'; };
    for (std::string word; words >> word;)
        if (word.find('.') != std::string::npos && std::all_of(word.begin(), word.end(), allowed))
            return word;
    return {};
}

DriverNode find_card_node(const std::string& root, const GpuName& gpu) {
    auto minor = minor_of(root, gpu.pci_address);
    if (!minor) minor = minor_of("", gpu.pci_address);
    // A driver that tells nothing, and one card, which then is that card.
    if (!minor && node_at(root, "/dev/nvidia0") && !node_at(root, "/dev/nvidia1")) minor = 0;
    const auto node =
        minor ? node_at(root, fmt::format("/dev/nvidia{}", *minor)) : std::optional<DriverNode>();
    if (!node)
        throw RuntimeError("INTERNAL", fmt::format("the host has no device node for its card {}",
                                                   gpu.pci_address));
    return *node;
}

std::string card_specification(const std::string& kind, const Driver& driver,
                               const std::vector<std::pair<GpuName, DriverNode>>& cards) {
    std::vector<std::string> nodes;
    for (const DriverNode& node : driver.nodes) nodes.push_back(node_text(node));
    std::vector<std::string> mounts;
    for (const std::string_view folder : inside_folders)
        for (const DriverLibrary& library : driver.libraries)
            mounts.push_back(mount_text(library.file, fmt::format("{}/{}", folder, library.name)));
    for (const DriverLibrary& program : driver.programs)
        mounts.push_back(mount_text(program.file, program.name));
    std::vector<std::string> devices;
    for (const auto& [gpu, node] : cards)
        devices.push_back(fmt::format(R"({{"name":{},"containerEdits":{{"deviceNodes":[{}]}}}})",
                                      json_quoted(gpu.uuid), node_text(node)));
    return fmt::format(
        R"({{"cdiVersion":"0.5.0","kind":{},"containerEdits":{{"env":["TRITON_LIBCUDA_PATH={}"],)"
        R"("deviceNodes":[{}],"mounts":[{}]}},"devices":[{}]}})"
        "\n",
        json_quoted(kind), inside_folders.back(), fmt::join(nodes, ","), fmt::join(mounts, ","),
        fmt::join(devices, ","));
}

CardSpecification::CardSpecification(std::string vendor, std::string driver_root,
                                     std::string folder)
    : vendor_(std::move(vendor)),
      driver_root_(std::move(driver_root)),
      folder_(std::move(folder)),
      file_(folder_ + "/" + vendor_ + ".json") {}

void CardSpecification::make_nodes() const {
    const Driver driver = find_driver(driver_root_);
    // Where there is no such program the owner is told by trouble().
    if (!driver.libraries.empty() && !has_node(driver, "/dev/nvidia-uvm"))
        run_tool({.arguments = {"nvidia-modprobe", "-u", "-c=0"}});
}

std::string CardSpecification::trouble() const {
    const Driver driver = find_driver(driver_root_);
    if (driver.libraries.empty())
        return "the driver's libraries are not found: install the driver of the GPU's vendor, or "
               "say where it is with --driver-root";
    // Whoever starts now gets the new libraries, which do not speak to the old module.
    const std::string loaded = module_version(driver_root_);
    if (!loaded.empty() && !driver.version.empty() && loaded != driver.version)
        return fmt::format(
            "the driver was changed to {} and its module is still {}: restart the "
            "host",
            driver.version, loaded);
    if (!has_node(driver, "/dev/nvidiactl"))
        return "the driver is not loaded: there is no /dev/nvidiactl";
    if (!has_node(driver, "/dev/nvidia-uvm"))
        return "/dev/nvidia-uvm is missing: nvidia-modprobe -u -c=0 makes it, and "
               "nvidia-persistenced keeps it";
    return {};
}

std::vector<std::string> CardSpecification::names_for(const std::vector<GpuName>& gpus) const {
    if (gpus.empty()) return {};
    refuse_others();
    make_nodes();
    const std::string wrong = trouble();
    if (!wrong.empty())
        throw RuntimeError("INTERNAL", "the host cannot hand its cards on: " + wrong);
    std::vector<std::pair<GpuName, DriverNode>> cards;
    std::vector<std::string> names;
    for (const GpuName& gpu : gpus) {
        if (gpu.uuid.empty())
            throw RuntimeError("INTERNAL", "a card of the host has no identity of its own");
        cards.emplace_back(gpu, find_card_node(driver_root_, gpu));
        names.push_back(kind() + "=" + gpu.uuid);
    }
    files::create_directories(folder_);
    const std::string draft = folder_ + "/." + vendor_ + ".new";
    std::ofstream out(draft);
    const std::string text = card_specification(kind(), find_driver(driver_root_), cards);
    check(!has_hooks(text), "a specification of ours has no hooks");
    out << text;
    out.close();
    if (!out || ::chmod(draft.c_str(), 0644) != 0 || ::rename(draft.c_str(), file_.c_str()) != 0)
        throw RuntimeError("INTERNAL", "the host cannot write the specification of its cards");
    return names;
}

// podman reads every file in these folders. What somebody else says of our kind could bring hooks
// with it.
void CardSpecification::refuse_others() const {
    for (const std::string& folder : {std::string("/etc/cdi"), folder_}) {
        std::error_code ignored;
        for (const auto& entry : files::directory_iterator(folder, ignored)) {
            const std::string path = entry.path().string();
            if (path == file_ || !(path.ends_with(".json") || path.ends_with(".yaml"))) continue;
            const std::string text = read_host_file(path);
            if (text.find(vendor_) == std::string::npos) continue;
            throw RuntimeError(
                "HOST_REJECTED",
                fmt::format("another specification speaks for the host's cards{}; the host's owner "
                            "must remove it",
                            has_hooks(text) ? ", with programs to be run as root" : ""));
        }
    }
}

bool has_hooks(const std::string& specification) {
    return specification.find("\"hooks\"") != std::string::npos ||
           specification.find("hooks:") != std::string::npos ||
           specification.find("hookName") != std::string::npos;
}

}  // namespace berth::host_agent
