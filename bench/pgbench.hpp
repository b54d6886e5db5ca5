// The baseline on PostgreSQL: pgbench, with statements that were recorded from the service.
#pragma once

#include <string>

#include <fmt/format.h>

#include "support/postgres_cluster.hpp"

namespace berth::bench {

// Runs a script of the cluster's folder; the times a second that it counted.
double pgbench_per_second(const test::PostgresCluster& cluster, int clients,
                          const std::string& length, const std::string& script);

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
