// A GPU driver's files in a folder of their own, as --driver-root takes it: libraries that are
// fakes, device nodes that are /dev/full by another name, and what the kernel's module would tell.
#pragma once

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace berth::test {

class FakeDriver {
public:
#if defined(__aarch64__)
    static constexpr const char* libraries = "/usr/lib/aarch64-linux-gnu";
#else
    static constexpr const char* libraries = "/usr/lib/x86_64-linux-gnu";
#endif
    static constexpr const char* version = "580.1";  // as the fake library tells
    static constexpr const char* uuid = "GPU-berth-fake-1";
    static constexpr const char* address = "0000:01:00.0";
    static constexpr const char* other_address = "0000:02:00.0";

    // `management` is the fake of the library that tells of cards.
    FakeDriver(std::string root, const std::string& management) : root_(std::move(root)) {
        std::filesystem::create_directories(root_ + libraries);
        add_library("libnvidia-ml.so", version, management);
        add_library("libcuda.so", version, management);
        add_node("nvidiactl");
        add_node("nvidia-uvm");
        add_card(address, 0);
        add_card(other_address, 1);
        // Everybody may read them, whatever the umask of a test is.
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root_))
            if (entry.is_directory()) ::chmod(entry.path().c_str(), 0755);
        ::chmod(root_.c_str(), 0755);
    }

    const std::string& root() const { return root_; }

    void say_module_version(const std::string& of_module) const {
        std::ofstream(root_ + "/proc/driver/nvidia/version") << fmt::format(
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release Build\n"
            "GCC version:  gcc version 12.2.0\n",
            of_module);
    }

    void add_library(const std::string& name, const std::string& of_version,
                     const std::string& file) const {
        const std::string whole = name + "." + of_version;
        std::filesystem::copy_file(file, root_ + libraries + "/" + whole);
        ::chmod((root_ + libraries + "/" + whole).c_str(), 0755);
        std::filesystem::create_symlink(whole, root_ + libraries + "/" + name + ".1");
    }

private:
    void add_node(const std::string& name) const {
        std::filesystem::create_directories(root_ + "/dev");
        const std::string path = root_ + "/dev/" + name;
        ::mknod(path.c_str(), S_IFCHR | 0666, makedev(1, 7));
    }
    void add_card(const std::string& pci_address, int minor) const {
        add_node(fmt::format("nvidia{}", minor));
        const std::string told = root_ + "/proc/driver/nvidia/gpus/" + pci_address;
        std::filesystem::create_directories(told);
        std::ofstream(told + "/information")
            << fmt::format("Model: \t\t Fake\nIRQ:   \t\t 0\nDevice Minor: \t {}\n", minor);
    }

    const std::string root_;
};

}  // namespace berth::test
