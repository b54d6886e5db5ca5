// What a stopped box leaves in the kernel of rentals that ran: nothing.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/program.hpp"
#include "box/containers.hpp"
#include "support/folder.hpp"

namespace berth::test {
namespace {

namespace fs = std::filesystem;

bool runs(const std::vector<std::string>& words) {
    return berth::run_program({.arguments = words}).ok();
}

// In a network and with mounts of its own, as another process.
int left_behind(const std::string& state) {
    const std::string id = "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57";
    const std::string table = "berth_01941f29_7c00_7a3e_9b1d_2f4c6a8e0b57";
    if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return 100;
    const std::string work = state + "/jobs/" + id + "/work";
    fs::create_directories(work + "/inner");
    fs::create_directories(state + "/networks");
    std::ofstream(state + "/networks/berth-" + id + ".json") << "{}";
    std::ofstream(state + "/networks/other.json") << "{}";
    const bool is_made = runs({"ip", "link", "add", "berth-6a8e0b57", "type", "bridge"}) &&
                         runs({"ip", "link", "add", "berth-other", "type", "bridge"}) &&
                         runs({"nft", "add", "table", "inet", table}) &&
                         ::mount("none", work.c_str(), "tmpfs", 0, nullptr) == 0 &&
                         fs::create_directories(work + "/inner") &&
                         ::mount("none", (work + "/inner").c_str(), "tmpfs", 0, nullptr) == 0;
    if (!is_made) return 101;
    box::forget_rentals(state);
    return (runs({"ip", "link", "show", "berth-6a8e0b57"}) ? 1 : 0) +
           (runs({"nft", "list", "table", "inet", table}) ? 2 : 0) +
           (runs({"ip", "link", "show", "berth-other"}) ? 0 : 4) +
           (fs::remove_all(state) > 0 && !fs::exists(state) ? 0 : 8);
}

TEST(BoxContainers, LeaveNothingInTheKernelOnceTheyHaveEnded) {
    if (::geteuid() != 0) GTEST_SKIP() << "bridges are root's";
    const TemporaryFolder folder;
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            ::_exit(left_behind(folder.path() + "/state"));
        } catch (const std::exception&) {
            ::_exit(102);  // a folder that is busy
        }
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace berth::test
