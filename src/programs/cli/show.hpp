// Answers for people: aligned columns, money with its asset, memory in GiB. How a value is shown
// follows from the name of its member.
#pragma once

#include <string>
#include <string_view>

#include "cli/reading.hpp"

namespace berth::cli {

struct Look {
    bool colours = false;
    std::size_t width = 0;        // what a line has room for; 0: anything
    bool* is_cut = nullptr;       // set where columns did not fit
    std::string_view rows = {};   // the list that is the table; empty: `items`
    std::string_view inner = {};  // the list with these columns inside an answer that is none
};

// Of an answer with `items` a table with these columns ("HEAD=member …"), of another its members.
std::string to_table(const Reading& answer, std::string_view columns, const Look& look);
// A line for each item: the member that is its id.
std::string to_ids(const Reading& answer, std::string_view columns);

// "450000" as "0.4500"; with six decimals where four do not tell all.
std::string money_text(std::string_view micro);
std::string gib_text(std::string_view bytes);
std::string card_text(std::string_view bytes);  // the memory of a GPU, as it is sold: "24 GB"
std::string duration_text(std::int64_t seconds);
// A value as a table shows it; `row` knows the asset.
std::string cell_text(const Reading& answer, std::string_view member, Reading::Place row);

}  // namespace berth::cli
