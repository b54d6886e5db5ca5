#include "cli/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json_text.hpp"
#include "cli/ids.hpp"
#include "cli/profile.hpp"

namespace berth::cli {
namespace {

std::string usage_of(const Command& command) {
    std::string line = "berth " + std::string(command.words);
    for (const std::string& operand : operands_of(command)) line += " " + operand;
    return line;
}

std::string flag_line(std::string_view name, std::string_view value, std::string_view help,
                      std::string_view note) {
    const std::string left = fmt::format("--{}{}{}", name, value.empty() ? "" : " ", value);
    return fmt::format("  {:<32}  {}{}{}\n", left, help, help.empty() || note.empty() ? "" : " ",
                       note);
}

std::string flag_json(std::string_view name, std::string_view value, std::string_view help,
                      std::string_view fallback, bool required) {
    return fmt::format("{{\"name\":{},\"value\":{},\"help\":{},\"default\":{},\"required\":{}}}",
                       json_quoted("--" + std::string(name)),
                       value.empty() ? "null" : json_quoted(value), json_quoted(help),
                       fallback.empty() ? "null" : json_quoted(fallback), required);
}

std::string command_json(const Command& command) {
    std::string operands;
    for (const std::string& operand : operands_of(command))
        operands += (operands.empty() ? "" : ",") + json_quoted(operand);
    std::string flags;
    for (const Flag& flag : flags_of(command))
        flags += (flags.empty() ? "" : ",") +
                 flag_json(flag.name, flag.value, flag.help, flag.fallback,
                           flag.required && !fills_in(command, flag.member));
    return fmt::format(
        "{{\"command\":{},\"help\":{},\"method\":{},\"path\":{},\"operands\":[{}],\"flags\":[{}]}}",
        json_quoted("berth " + std::string(command.words)), json_quoted(command.help),
        command.method.empty() ? "null" : json_quoted(command.method),
        command.path.empty() ? "null" : json_quoted(command.path), operands, flags);
}

}  // namespace

std::string overview(std::string_view noun) {
    const auto line = [](const Command& command) {
        return fmt::format("  {:<30}{}\n", command.words, command.help);
    };
    if (!noun.empty()) {
        std::string out = fmt::format("usage: berth {} VERB [flags]\n\n", noun);
        for (const Command* command : all_commands())
            if (command->words == noun || command->words.starts_with(std::string(noun) + " "))
                out += line(*command);
        return out + fmt::format("\nberth {} VERB --help lists the flags.\n", noun);
    }
    std::string out =
        "Rent GPUs by the millisecond, and rent yours out.\n\nusage: berth NOUN VERB [flags]\n";
    for (const auto& [title, commands] :
         {std::pair("Renting", market_commands()), std::pair("Renting out", host_commands()),
          std::pair("Money", money_commands()), std::pair("Accounts", account_commands()),
          std::pair("Operators", admin_commands()), std::pair("The program", local_commands())}) {
        out += fmt::format("\n{}:\n", title);
        for (const Command& command : commands) out += line(command);
    }
    out += "\nberth NOUN VERB --help lists the flags of one. Flags of every command:\n";
    for (const OwnFlag& flag : common_flags())
        out += flag_line(flag.name, flag.value, flag.help, "");
    return out;
}

std::string help_of(const Command& command, const std::vector<Flag>& flags) {
    std::string out = fmt::format("{}\n\nusage: {} [flags]\n", command.help, usage_of(command));
    if (!command.method.empty()) out += fmt::format("calls: {} {}\n", command.method, command.path);
    if (!command.step_up.empty()) out += "asks for a fresh proof that it is you\n";
    if (!flags.empty()) out += "\nflags:\n";
    for (const Flag& flag : flags) {
        const bool is_needed = flag.required && !fills_in(command, flag.member);
        const bool is_answer = flag.value.empty() && !flag.member.empty();
        out += flag_line(flag.name + (is_answer ? "[=false]" : ""), flag.value, flag.help,
                         is_needed               ? "(needed)"
                         : flag.fallback.empty() ? ""
                                                 : "[" + flag.fallback + "]");
    }
    out += "\nflags of every command:\n";
    for (const OwnFlag& flag : common_flags())
        out += flag_line(flag.name, flag.value, flag.help, "");
    return out;
}

std::string everything_as_json() {
    std::string commands;
    for (const Command* command : all_commands())
        commands += (commands.empty() ? "" : ",\n") + command_json(*command);
    std::string common;
    for (const OwnFlag& flag : common_flags())
        common += (common.empty() ? "" : ",\n") +
                  flag_json(flag.name, flag.value, flag.help, flag.fallback, flag.required);
    std::string exits;
    for (const ExitMeaning& each : exit_meanings)
        exits += fmt::format("{}{{\"exit\":{},\"meaning\":{}}}", exits.empty() ? "" : ",",
                             static_cast<int>(each.exit), json_quoted(each.meaning));
    return fmt::format(
        "{{\"program\":\"berth\",\"exit_codes\":[{}],\n\"common_flags\":[{}],\n"
        "\"commands\":[\n{}\n]}}",
        exits, common, commands);
}

namespace {

// The flag of this word, if it is one whose value is the next word.
std::string awaited_value(const std::string& word, const Command* command) {
    if (!word.starts_with("--") || word.find('=') != word.npos) return "";
    for (const OwnFlag& flag : common_flags())
        if (word.substr(2) == flag.name) return std::string(flag.value);
    if (command != nullptr)
        for (const Flag& flag : flags_of(*command))
            if (word.substr(2) == flag.name) return flag.value;
    return "";
}

const Command* command_of(std::string_view words) {
    for (const Command* command : all_commands())
        if (words == command->words || words.starts_with(std::string(command->words) + " "))
            return command;
    return nullptr;
}

// "table|json|ids|csv" one by one; of a profile those that there are. Other values are anything.
std::set<std::string> choices(const std::string& flag, std::string_view value) {
    std::set<std::string> found;
    if (flag == "--profile")
        for (const std::string& name : Profiles("default").list()) found.insert(name);
    if (value.ends_with(",…")) value.remove_suffix(std::string_view(",…").size());
    while (value.find('|') != value.npos) {
        found.insert(std::string(value.substr(0, value.find('|'))));
        value.remove_prefix(value.find('|') + 1);
        if (value.find('|') == value.npos) found.insert(std::string(value));
    }
    return found;
}

}  // namespace

std::string completions(const std::vector<std::string>& words, const IdsOnOffer& ids) {
    const std::string last = words.empty() ? "" : words.back();
    std::string before;
    std::string awaited;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        if (!awaited.empty()) {
            awaited.clear();
            continue;
        }
        awaited = awaited_value(words[i], command_of(before));
        if (!words[i].starts_with('-')) before += (before.empty() ? "" : " ") + words[i];
    }
    const Command* const command = command_of(before);
    std::set<std::string> found;
    const auto offer_ids = [&](const Command* list) {
        if (list == nullptr || !ids) return;
        for (std::string& id : ids(*list, last)) found.insert(std::move(id));
    };
    if (!awaited.empty()) {
        const std::string& flag = words[words.size() - 2];
        found = choices(flag, awaited);
        if (command != nullptr) offer_ids(list_of_flag(*command, present_name(flag.substr(2))));
    } else if (last.starts_with('-')) {
        if (command != nullptr)
            for (const Flag& flag : flags_of(*command)) found.insert("--" + flag.name);
        for (const OwnFlag& flag : common_flags()) found.insert("--" + std::string(flag.name));
    } else {
        const std::string begin = before.empty() ? "" : before + " ";
        for (const Command* each : all_commands()) {
            if (!each->words.starts_with(begin)) continue;
            const std::string_view rest = each->words.substr(begin.size());
            found.insert(std::string(rest.substr(0, rest.find(' '))));
        }
        const auto operands =
            command == nullptr ? std::vector<std::string>() : operands_of(*command);
        if (command != nullptr && before == command->words && !operands.empty()) {
            found.merge(choices("", operands[0]));
            offer_ids(list_of_operand(*command));
        }
    }
    std::string out;
    for (const std::string& each : found)
        if (!each.empty() && each.starts_with(last)) out += each + "\n";
    return out;
}

std::string error_json(const Failure& failure) {
    const auto meaning =
        std::find_if(exit_meanings.begin(), exit_meanings.end(),
                     [&](const ExitMeaning& each) { return each.exit == failure.exit; });
    return fmt::format("{{\"error\":{{\"code\":{},\"message\":{},\"retryable\":{}}}}}",
                       json_quoted(meaning->code), json_quoted(failure.message),
                       failure.exit == Exit::retryable || failure.exit == Exit::network);
}

}  // namespace berth::cli
