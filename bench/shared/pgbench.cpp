#include "bench/pgbench.hpp"

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace berth::bench {

double pgbench_per_second(const test::PostgresCluster& cluster, int clients,
                          const std::string& length, const std::string& script) {
    const std::filesystem::path output = cluster.folder() / "pgbench.log";
    const bool done = cluster.run(
        fmt::format("pgbench --no-vacuum --protocol=prepared --client={} --jobs=2 {} --file={} "
                    "postgres",
                    clients, length, (cluster.folder() / script).string()),
        output);
    std::stringstream text;
    text << std::ifstream(output).rdbuf();
    const std::string all = text.str();
    std::smatch found;
    if (!done || all.find("ERROR") != all.npos ||
        !std::regex_search(all, found, std::regex("tps = ([0-9.]+)")))
        throw std::runtime_error("pgbench failed: " + all);
    return std::stod(found[1]);
}

}  // namespace berth::bench
