// Whether something was told, whoever heard of it.
#pragma once

#include <initializer_list>
#include <string>

#include "db/db.hpp"

namespace berth::test {

// Those of some types of event of which there is none in any stream.
inline std::string untold(db::Database& database, std::initializer_list<const char*> types) {
    return database.read([&](db::Transaction& tx) {
        std::string all;
        for (const std::string type : types) {
            const auto count =
                tx.fetch_value<std::int64_t>("SELECT COUNT(*) FROM events WHERE type = $1", type);
            if (count.value_or(0) == 0) all += type + " ";
        }
        return all;
    });
}

}  // namespace berth::test
