// Flags made from the types of a request: `budget_micro` is --budget and takes 2.50,
// `duration_limit_s` is --duration-limit and takes 90m, `min_vram_bytes` takes 24GiB, a secret is
// read from the file that --token-file names.
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

bool is_secret(std::string_view member);  // of a request: never shown

std::vector<Flag> flags_of(const Command& command);
std::vector<std::string> operands_of(const Command& command);  // "[X]" may be left out

// What the type of a member takes, as JSON.
std::string json_of(const Flag& flag, const std::string& text, Time now);

std::optional<std::int64_t> parse_money(std::string_view text);     // micro-units
std::optional<std::int64_t> parse_seconds(std::string_view text);   // 90, 90s, 10m, 2h, 7d
std::optional<std::int64_t> parse_bytes(std::string_view text);     // 1000, 24GiB, 24G
std::optional<Time> parse_moment(std::string_view text, Time now);  // RFC 3339, now, +2h

}  // namespace berth::cli
