// Figures of tables that operators watch. Each feature declares those of its own tables in its
// census.hpp; the server asks for all of them now and then and shows them as metrics.
#pragma once

#include <string_view>

namespace berth::db {

// How much there is by each value of a column. It is answered out of what is open, by an index or
// over a table that stays small: what has ended is not counted again and again.
struct CensusQuestion {
    std::string_view name;  // of the metric
    std::string_view help;
    std::string_view by;  // the column, and the metric's label; empty: one number of all
    std::string_view from;
    std::string_view where = {};
    std::string_view amount = "COUNT(*)";
    bool at_time = false;  // the statement asks for the present time as $1
    // What the column may say, with spaces between: of these a number is there though it is zero.
    std::string_view labels = {};
};

}  // namespace berth::db
