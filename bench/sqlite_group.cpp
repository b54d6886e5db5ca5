// Durable SQLite writes of 64 callers: groups in one commit, against one commit each.
#include <filesystem>

#include <fmt/format.h>

#include "base/log.hpp"
#include "transfer.hpp"

namespace {

constexpr int callers = 64;
constexpr int rounds = 3;
constexpr std::chrono::seconds round_length{2};

}  // namespace

int main() {
    using namespace berth;
    set_log(Level::error);
    // Beside the program: on the disk, where a flush costs what it costs, and never in memory.
    const std::filesystem::path folder =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "sqlite_group.data";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    {
        const auto grouped = db::open("sqlite:" + (folder / "grouped.db").string());
        const auto single = db::open("sqlite:" + (folder / "single.db").string(), {.group_max = 1});
        bench::prepare_transfers(*grouped);
        bench::prepare_transfers(*single);
        std::vector<double> ours;
        std::vector<double> baseline;
        for (int round = 0; round < rounds; ++round) {
            ours.push_back(bench::transfers_per_second(*grouped, callers, round_length));
            baseline.push_back(bench::transfers_per_second(*single, callers, round_length));
        }
        bench::print("sqlite_group", ours, "one-commit-each", baseline);
    }
    std::filesystem::remove_all(folder);
}
