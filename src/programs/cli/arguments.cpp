#include "cli/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace berth::cli {
namespace {

const OwnFlag* find_common(std::string_view name) {
    for (const OwnFlag& flag : common_flags())
        if (flag.name == name) return &flag;
    return nullptr;
}

// "--name=value" into its parts.
struct Option {
    std::string name;
    std::optional<std::string> value;
};
Option take_apart(const std::string& word) {
    static constexpr std::string_view short_names[] = {"-o", "output", "-h", "help",
                                                       "-y", "yes",    "-f", "follow"};
    for (std::size_t i = 0; i < std::size(short_names); i += 2)
        if (word == short_names[i]) return {std::string(short_names[i + 1]), std::nullopt};
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return {word.substr(2), std::nullopt};
    return {word.substr(2, equals - 2), word.substr(equals + 1)};
}

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

struct FoundCommand {
    const Command* command = nullptr;
    std::string words;              // that were a part of its name
    std::vector<std::size_t> used;  // where they stand
    Words next;                     // those that were not, three at most
};

// The command with the most words that the line begins with.
FoundCommand find_command(const Words& words) {
    const auto commands = all_commands();
    FoundCommand found;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--") break;
        if (is_option(words[i])) {
            const Option option = take_apart(words[i]);
            const OwnFlag* const common = find_common(option.name);
            if (common != nullptr && !common->value.empty() && !option.value) ++i;
            if (common == nullptr && found.words.empty())
                throw Failure(Exit::usage,
                              fmt::format("{} stands before the command; see berth --help",
                                          printable(words[i])));
            if (common == nullptr) break;
            continue;
        }
        const std::string longer = found.words.empty() ? words[i] : found.words + " " + words[i];
        const bool is_begun = std::any_of(commands.begin(), commands.end(), [&](const Command* c) {
            return c->words == longer || c->words.starts_with(longer + " ");
        });
        if (!is_begun) {
            // Behind a flag stand its value and what is no part of the command's name.
            for (std::size_t j = i; j < std::min(i + 3, words.size()) && !is_option(words[j]); ++j)
                found.next.push_back(words[j]);
            break;
        }
        found.words = longer;
        found.used.push_back(i);
    }
    for (const Command* command : commands)
        if (command->words == found.words) found.command = command;
    return found;
}

Failure unknown_command(const FoundCommand& found) {
    std::vector<std::string> names;
    std::string verbs;
    for (const Command* command : all_commands()) {
        names.emplace_back(command->words);
        if (!found.words.empty() && command->words.starts_with(found.words + " "))
            verbs += (verbs.empty() ? "" : ", ") +
                     std::string(command->words.substr(found.words.size() + 1));
        names.emplace_back(command->words.substr(0, command->words.find(' ')));
    }
    if (found.words.empty() && found.next.empty())
        return {Exit::usage,
                "no command was given: berth --help lists them, berth doctor says how to begin"};
    if (found.next.empty())
        return {Exit::usage, fmt::format("berth {} needs one of: {}", found.words, verbs)};
    // The last words may be operands: the fewer of them are counted in, the more is guessed.
    std::string typed;
    for (std::size_t count = found.next.size(); count > 0; --count) {
        typed = found.words;
        for (std::size_t i = 0; i < count; ++i) typed += (typed.empty() ? "" : " ") + found.next[i];
        if (const std::string meant = nearest(typed, names); !meant.empty())
            return {Exit::usage, fmt::format("there is no command '{}'; did you mean 'berth {}'?",
                                             printable(typed), meant)};
    }
    return {Exit::usage,
            verbs.empty()
                ? fmt::format("there is no command '{}'; see berth --help", printable(typed))
                : fmt::format("there is no command '{}'; there are: {}", printable(typed), verbs)};
}

class Parser {
public:
    Parser(CommandLine& line, const Words& words) : line_(line), words_(words) {}

    void parse(const std::vector<std::size_t>& skipped) {
        bool only_operands = false;
        for (at_ = 0; at_ < words_.size(); ++at_) {
            if (std::find(skipped.begin(), skipped.end(), at_) != skipped.end()) continue;
            const std::string& word = words_[at_];
            if (!only_operands && word == "--")
                only_operands = true;
            else if (!only_operands && is_option(word))
                take_option(word);
            else
                line_.arguments.operands.push_back(word);
        }
    }

    void check_complete() const {
        const auto wanted = operands_of(*line_.command);
        const auto& given = line_.arguments.operands;
        const bool has_rest = !wanted.empty() && wanted.back().ends_with("…]");
        if (given.size() > wanted.size() && !has_rest)
            throw Failure(Exit::usage,
                          fmt::format("'{}' is one word too many; see berth {} --help",
                                      printable(given[wanted.size()]), line_.command->words));
        for (std::size_t i = given.size(); i < wanted.size(); ++i)
            if (!wanted[i].starts_with('['))
                throw Failure(Exit::usage,
                              fmt::format("berth {} needs {}", line_.command->words, wanted[i]));
        for (const Flag& flag : line_.flags) {
            const bool is_told = line_.arguments.has(flag.name) ||
                                 fills_in(*line_.command, flag.member) ||
                                 (flag.place == Place::body && line_.arguments.has("from"));
            if (flag.required && !is_told)
                throw Failure(Exit::usage,
                              fmt::format("berth {} needs --{} {}", line_.command->words, flag.name,
                                          flag.value));
        }
    }

private:
    auto find_own(std::string_view name) const {
        return std::find_if(line_.flags.begin(), line_.flags.end(),
                            [&](const Flag& f) { return f.name == name; });
    }

    void take_option(const std::string& word) {
        Option option = take_apart(word);
        auto own = find_own(option.name);
        if (own == line_.flags.end()) {
            own = find_own(present_name(option.name));
            if (own != line_.flags.end()) option.name = own->name;
        }
        const OwnFlag* const common = find_common(option.name);
        if (own == line_.flags.end() && common == nullptr) throw unknown_flag(option.name);
        const bool is_switch =
            own != line_.flags.end() ? own->value.empty() : common->value.empty();
        if (line_.arguments.has(option.name))
            throw Failure(Exit::usage, fmt::format("--{} is there twice", option.name));
        std::string value = option.value.value_or("true");
        if (!is_switch && !option.value) {
            if (++at_ == words_.size())
                throw Failure(Exit::usage, fmt::format("--{} needs a value", option.name));
            value = words_[at_];
        }
        // --dry-run=1 that is not understood would rent.
        if (is_switch && value != "true" && value != "false")
            throw Failure(Exit::usage, fmt::format("--{}: must be true or false", option.name));
        line_.arguments.set(option.name, value);
    }

    Failure unknown_flag(const std::string& name) const {
        std::vector<std::string> names;
        for (const Flag& flag : line_.flags) names.push_back(flag.name);
        for (const OwnFlag& flag : common_flags()) names.emplace_back(flag.name);
        const std::string meant = nearest(name, names);
        return {Exit::usage,
                meant.empty()
                    ? fmt::format("berth {} has no flag --{}; see berth {} --help",
                                  line_.command->words, printable(name), line_.command->words)
                    : fmt::format("berth {} has no flag --{}; did you mean --{}?",
                                  line_.command->words, printable(name), meant)};
    }

    CommandLine& line_;
    const Words& words_;
    std::size_t at_ = 0;
};

}  // namespace

std::string Arguments::get(std::string_view flag, std::string_view fallback) const {
    const auto found = values_.find(flag);
    return found == values_.end() ? std::string(fallback) : found->second;
}

std::optional<std::string> Arguments::find(std::string_view flag) const {
    const auto found = values_.find(flag);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
}

namespace {

// Spellings that other programs understand, too: `berth help rentals`, `berth --version`.
Words with_usual_spellings(Words words) {
    if (!words.empty() && words[0] == "--version") words[0] = "version";
    if (!words.empty() && words[0] == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    return words;
}

}  // namespace

CommandLine parse_command_line(const Words& given) {
    const Words words = with_usual_spellings(given);
    const FoundCommand found = find_command(words);
    CommandLine line;
    line.command = found.command;
    const bool wants_help = std::any_of(words.begin(), words.end(), [](const std::string& word) {
        return word == "--help" || word == "-h";
    });
    if (line.command == nullptr && wants_help) {
        line.arguments.set("help", "true");
        line.arguments.operands.push_back(found.words);
        return line;
    }
    if (line.command == nullptr) throw unknown_command(found);
    line.flags = flags_of(*line.command);
    if (wants_help) {
        line.arguments.set("help", "true");
        return line;
    }
    Parser parser(line, words);
    parser.parse(found.used);
    parser.check_complete();
    return line;
}

std::string_view wanted_output(const Words& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word.starts_with("--output=")) return word.substr(9);
        if ((word == "--output" || word == "-o") && i + 1 < words.size()) return words[i + 1];
    }
    return {};
}

// By the letters that must be added, taken away or exchanged; a third of them at most.
std::string nearest(std::string_view typed, const std::vector<std::string>& names) {
    std::string best;
    std::size_t least = std::max<std::size_t>(2, typed.size() / 3) + 1;
    for (const std::string& name : names) {
        std::vector<std::size_t> row(name.size() + 1);
        std::iota(row.begin(), row.end(), std::size_t{0});
        for (std::size_t i = 1; i <= typed.size(); ++i) {
            std::size_t diagonal = row[0];
            row[0] = i;
            for (std::size_t j = 1; j <= name.size(); ++j) {
                const std::size_t exchanged = diagonal + (typed[i - 1] == name[j - 1] ? 0 : 1);
                diagonal = row[j];
                row[j] = std::min({row[j] + 1, row[j - 1] + 1, exchanged});
            }
        }
        if (row.back() < least) {
            least = row.back();
            best = name;
        }
    }
    return best;
}

}  // namespace berth::cli
