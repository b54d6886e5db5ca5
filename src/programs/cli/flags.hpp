// Flags made from the types of a request: `budget_micro` is --budget and takes 2.50,
// `duration_limit_s` is --duration and takes 90m, `min_vram_gib` is --min-vram and takes 24GB, a
// secret is read from the file that --token-file names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "cli/command.hpp"

namespace berth::cli {

enum class Place { own, query, body };

struct Flag {
    std::string name;   // without the dashes
    std::string value;  // what it takes; empty: a switch
    std::string help;
    std::string fallback;
    bool required = false;
    bool secret = false;
    Place place = Place::own;
    std::string_view member{};
    const wire::Type* type = nullptr;
};

// What a flag is called by now that was called by the whole name of its member: --offer-id is
// --offer.
std::string_view present_name(std::string_view flag);

bool is_secret(std::string_view member);  // of a request: never shown

// What the flag of a member is called where nothing else is said: --budget of budget_micro.
std::string flag_of_member(std::string_view member);
// What stands for this part of the path: "ID" for `id`; empty where the command has none.
std::string operand_of_path(const Command& command, std::string_view member);

std::vector<Flag> flags_of(const Command& command);
std::vector<std::string> operands_of(const Command& command);  // "[X]" may be left out

// What the type of a member takes, as JSON.
std::string json_of(const Flag& flag, const std::string& text, Time now);

std::optional<std::int64_t> parse_money(std::string_view text);     // micro-units
std::optional<std::int64_t> parse_seconds(std::string_view text);   // 90, 90s, 10m, 2h, 7d
std::optional<std::int64_t> parse_bytes(std::string_view text);     // 1000, 24GiB, 24G
std::optional<std::int64_t> parse_gib(std::string_view text);       // 24, 24G, 24GB, 24GiB
std::optional<Time> parse_moment(std::string_view text, Time now);  // RFC 3339, now, +2h

}  // namespace berth::cli
