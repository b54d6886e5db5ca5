// What it takes to start the command line: `berth version` against `curl --version`, a program with
// the same library for HTTP. Both are started in turns; the medians are compared.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>

#include "bench/measure.hpp"

extern char** environ;

namespace berth {
namespace {

constexpr int rounds = 201;

double milliseconds_of(const std::string& program, const std::string& word) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", 1 /* O_WRONLY */, 0);
    char* const words[] = {const_cast<char*>(program.c_str()), const_cast<char*>(word.c_str()),
                           nullptr};
    const auto begin = std::chrono::steady_clock::now();
    pid_t child = 0;
    int status = 0;
    const bool is_good =
        ::posix_spawnp(&child, program.c_str(), &files, nullptr, words, environ) == 0 &&
        ::waitpid(child, &status, 0) == child && status == 0;
    const auto spent = std::chrono::steady_clock::now() - begin;
    posix_spawn_file_actions_destroy(&files);
    if (!is_good) throw std::runtime_error(program + " did not run");
    return std::chrono::duration<double, std::milli>(spent).count();
}

int run() {
    const std::string berth =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "berth";
    std::vector<double> ours;
    std::vector<double> theirs;
    for (int i = 0; i < rounds; ++i) {
        ours.push_back(milliseconds_of(berth, "version"));
        theirs.push_back(milliseconds_of("curl", "--version"));
    }
    const double own = bench::median(ours);
    const double other = bench::median(theirs);
    fmt::print("BENCH cli_start ours={:.2f}ms baseline=curl--version:{:.2f}ms ratio={:.2f}\n", own,
               other, other / own);
    return 0;
}

}  // namespace
}  // namespace berth

int main() { return berth::run(); }
