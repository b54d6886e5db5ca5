// A host with a card whose drivers are fakes: programs that are started while this is there find
// them before any others.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "support/folder.hpp"

namespace berth::test {

class CardOfHost {
public:
    CardOfHost() {
        std::filesystem::create_symlink(FAKE_NVML, path() + "/libnvidia-ml.so.1");
        std::filesystem::create_symlink(FAKE_CUDA, path() + "/libcuda.so.1");
        ::setenv("LD_LIBRARY_PATH", path().c_str(), 1);
        ::setenv("BERTH_FAKE_DRIVERS", path().c_str(), 1);
    }
    ~CardOfHost() {
        ::unsetenv("LD_LIBRARY_PATH");
        ::unsetenv("BERTH_FAKE_DRIVERS");
    }
    CardOfHost(const CardOfHost&) = delete;
    CardOfHost& operator=(const CardOfHost&) = delete;

    void report(int type, int number) const {
        std::ofstream(path() + "/events", std::ios::app) << type << " " << number << "\n";
    }
    void fall_off() const { std::ofstream(path() + "/lost").flush(); }
    void come_back() const { std::filesystem::remove(path() + "/lost"); }
    void forget_what_is_written() const { std::ofstream(path() + "/dead").flush(); }
    void remember_again() const { std::filesystem::remove(path() + "/dead"); }

    static constexpr const char* uuid = "GPU-berth-fake-1";

private:
    const std::string& path() const { return folder_.path(); }

    TemporaryFolder folder_;
};

}  // namespace berth::test
