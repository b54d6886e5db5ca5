// What the program says of itself, all of it made from the tables of commands.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.hpp"

namespace berth::cli {

std::string overview(std::string_view noun);  // every command, or those that begin with the word
std::string help_of(const Command& command, const std::vector<Flag>& flags);
// Every command, flag, default and exit code, as JSON for programs.
std::string everything_as_json();
// The ids that begin so, of a list that a command shows.
using IdsOnOffer =
    std::function<std::vector<std::string>(const Command& list, std::string_view begin)>;
// What may follow these words, a line each.
std::string completions(const std::vector<std::string>& words, const IdsOnOffer& ids = {});
// The same shape as the API's own errors.
std::string error_json(const Failure& failure);

}  // namespace berth::cli
