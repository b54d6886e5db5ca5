// The words of a command line, taken apart by the flags that the command has.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.hpp"

namespace berth::cli {

using Words = std::vector<std::string>;

class Arguments {
public:
    bool has(std::string_view flag) const { return values_.find(flag) != values_.end(); }
    bool is_on(std::string_view flag) const { return get(flag, "false") == "true"; }
    std::string get(std::string_view flag, std::string_view fallback = "") const;
    std::optional<std::string> find(std::string_view flag) const;

    void set(std::string_view flag, std::string value) {
        values_.insert_or_assign(std::string(flag), std::move(value));
    }

    std::vector<std::string> operands;

private:
    std::map<std::string, std::string, std::less<>> values_;
};

struct CommandLine {
    const Command* command = nullptr;
    std::vector<Flag> flags;  // of the command
    Arguments arguments;
};

// Throws a Failure that says what to type instead. With `--help` nothing else is looked at, and a
// noun alone gives no command.
CommandLine parse_command_line(const Words& words);

// What of the command line can be told before it is understood: how a failure is to be printed.
std::string_view wanted_output(const Words& words);

// The name that was meant, if one is near.
std::string nearest(std::string_view typed, const std::vector<std::string>& names);

}  // namespace berth::cli
