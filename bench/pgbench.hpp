// The baseline on PostgreSQL: pgbench, with statements that were recorded from the service.
#pragma once

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "support/postgres_cluster.hpp"

namespace berth::bench {

// Runs a script of the cluster's folder; the times a second that it counted.
inline double pgbench_per_second(const test::PostgresCluster& cluster, int clients,
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

// A statement with an expression of pgbench's in the place of each of its values.
template <class Values, class Expression>
std::string filled_in(std::string sql, const Values& values, const Expression& expression) {
    for (std::size_t i = values.size(); i > 0; --i) {  // $10 before $1
        const std::string number = fmt::format("${}", i);
        const std::string value = expression(values[i - 1]);
        for (std::size_t at = sql.find(number); at != sql.npos;
             at = sql.find(number, at + value.size()))
            sql.replace(at, number.size(), value);
    }
    return sql;
}

}  // namespace berth::bench
