#include <stdexcept>

#include "db/engine.hpp"

namespace berth::db {

std::unique_ptr<Database> open(const std::string& url, const Options& options) {
    constexpr std::string_view sqlite = "sqlite:";
    if (url.starts_with(sqlite)) return open_sqlite(url.substr(sqlite.size()), options);
    if (url.starts_with("postgres://") || url.starts_with("postgresql://"))
        return open_postgres(url, options);
    throw std::invalid_argument(
        "the database address must be sqlite:PATH or postgres://USER@HOST/NAME");
}

}  // namespace berth::db
