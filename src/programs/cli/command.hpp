// The commands. Most are one row: words, method, path, and the types of the request, from which the
// flags are made; one engine carries them out. The others have a function of their own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/api.hpp"
#include "wire/type.hpp"

namespace berth::cli {

class Context;

// A flag of a command that has its own function, and of every command.
struct OwnFlag {
    std::string_view name;   // without the dashes
    std::string_view value;  // what its value is; empty: a switch
    std::string_view help;
    std::string_view fallback{};
    bool required = false;
};

// The value of a member of the request whose flag was left out.
struct Preset {
    std::string_view member;
    std::string_view value;
};

// The same, read from the server when the command runs: the version that something has by now.
struct Lookup {
    std::string_view member;         // of the request
    std::string_view path;           // what is asked with GET, with the operands of the command
    std::string_view field;          // of the answer: "current_offer.offer_version"
    std::string_view missing = "0";  // its value where the answer has none
    std::string_view item_member =
        {};  // the answer is a list, and the item meant has here the operand
    std::string_view unless_set = {};  // the answer is a list: of its one item without this
};

using TypeOf = const wire::Type& (*)();

struct Command {
    std::string_view words;     // "offers list"
    std::string_view method{};  // empty: it has a function and no one request
    std::string_view path{};
    TypeOf query = nullptr;
    TypeOf body = nullptr;
    std::string_view columns{};  // of the table: "HEAD=member HEAD=member.member"
    std::string_view help{};
    Access access = Access::key;
    std::string_view step_up{};  // the purpose of the fresh proof that the route wants
    Preset preset{};
    Lookup lookup{};
    std::string_view rows{};   // the list of its answer that the server gives as CSV, too
    std::string_view next{};   // what people do after it
    std::string_view empty{};  // the command that says why its list is empty; takes its filters
    std::string_view inner{};  // the list with these columns inside an answer that is none
    int (*run)(Context&) = nullptr;
    std::span<const OwnFlag> flags{};
    std::string_view operands{};  // of one with a function: "[RENTAL] [TEXT]"
    std::string_view uses{};      // of one with a function: "GET /a, POST /b"
    bool keeps_rest = false;      // its function knows what is left out of the body
};

// Whether a flag for this member may be left out, although the request needs the member.
constexpr bool fills_in(const Command& command, std::string_view member) {
    return !member.empty() && (command.keeps_rest || command.preset.member == member ||
                               command.lookup.member == member);
}

std::vector<const Command*> all_commands();

// The tables, by who uses them.
std::span<const Command> market_commands();
std::span<const Command> money_commands();
std::span<const Command> host_commands();
std::span<const Command> account_commands();
std::span<const Command> admin_commands();
std::span<const Command> local_commands();

// Flags that every command takes.
std::span<const OwnFlag> common_flags();

}  // namespace berth::cli
