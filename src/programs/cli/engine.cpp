// Carries out the rows of the tables.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/letters.hpp"
#include "base/problem.hpp"
#include "cli/context.hpp"
#include "cli/describe.hpp"
#include "cli/ids.hpp"
#include "cli/repeat.hpp"
#include "cli/shortage.hpp"
#include "cli/show.hpp"
#include "cli/ssh_key.hpp"

namespace berth::cli {
namespace {

constexpr int pages_max = 10'000;

// Every page of a table begins with the names of its columns.
std::string without_head(const std::string& csv) { return csv.substr(csv.find('\n') + 1); }

class Row {
public:
    explicit Row(Context& context) : context_(context), command_(context.command()) {}

    Request request() {
        Request made{.method = std::string(command_.method),
                     .path = with_operands(command_.path),
                     .access = context_.api().access_for(command_.access)};
        std::string query;
        std::string body;
        for (const Flag& flag : context_.flags()) {
            if (flag.place == Place::own) continue;
            const auto json = json_for(flag);
            if (!json) continue;
            if (flag.place == Place::query)
                query += fmt::format("{}{}={}", query.empty() ? "?" : "&", flag.member,
                                     percent_encode(as_text(*json)));
            else
                body += fmt::format("{}\"{}\":{}", body.empty() ? "{" : ",", flag.member, *json);
        }
        made.path += query;
        if (command_.body != nullptr) made.body = body.empty() ? "{}" : body + "}";
        if (const auto file = context_.arguments().find("from"))
            made.body = read_input(*file, "--from");
        if (made.method != "GET") {
            made.idempotency_key = context_.given_key();
            if (!made.idempotency_key) made.idempotency_key = context_.api().make_key();
        }
        return made;
    }
    // The flags by which the same words make the same request later.
    const std::string& words_to_repeat() const { return words_to_repeat_; }

private:
    std::string with_operands(std::string_view path) {
        std::string out;
        std::size_t operand = 0;
        while (!path.empty()) {
            const std::size_t open = std::min(path.find('{'), path.size());
            out += path.substr(0, open);
            path.remove_prefix(open);
            if (path.empty()) break;
            path.remove_prefix(path.find('}') + 1);
            const std::string value = command_.words.starts_with("rentals ")
                                          ? context_.rental(operand)
                                          : context_.arguments().operands[operand];
            ++operand;
            out += percent_encode(value);
        }
        return out;
    }

    std::optional<std::string> json_for(const Flag& flag) {
        const auto given = context_.arguments().find(flag.name);
        if (given && flag.secret && context_.is_rehearsal()) return std::string(hidden_secret);
        if (given && flag.secret)
            return json_of(flag, read_token(*given, flag.name), context_.now());
        if (given) {
            std::string json = json_of(flag, *given, context_.now());
            if (given->starts_with('+') || *given == "now") note(flag, json);
            return json;
        }
        if (flag.member == command_.preset.member)
            return json_of(flag, std::string(command_.preset.value), context_.now());
        if (flag.member != command_.lookup.member) return std::nullopt;
        std::string json = look_up(command_.lookup, flag);
        note(flag, json);
        return json;
    }
    void note(const Flag& flag, const std::string& json) {
        words_to_repeat_ += fmt::format(" --{} {}", flag.name, as_text(json));
    }

    std::string look_up(const Lookup& lookup, const Flag& flag) {
        const std::string path = with_operands(lookup.path);
        if (context_.is_rehearsal()) return fmt::format("\"{} of GET {}\"", lookup.field, path);
        const Reading answer(context_.api().get(path, command_.access).body);
        if (!lookup.unless_set.empty())
            return json_of(flag, the_only_one(answer, lookup, flag), {});
        Reading::Place place = Reading::root;
        if (!lookup.item_member.empty())
            for (const Reading::Place row : answer.rows())
                if (answer.text(lookup.item_member, row) == context_.arguments().operands.back())
                    place = row;
        std::string value = answer.text(lookup.field, place);
        if (value.empty()) value = lookup.missing;
        return json_of(flag, value, context_.now());
    }

    std::string the_only_one(const Reading& answer, const Lookup& lookup, const Flag& flag) {
        std::vector<Reading::Place> found;
        for (const Reading::Place row : answer.rows())
            if (!answer.find(lookup.unless_set, row)) found.push_back(row);
        if (found.empty())
            throw Failure(Exit::conflict,
                          fmt::format("there is no {0} yet: berth {0}s link", flag.name));
        if (found.size() > 1)
            throw Failure(Exit::usage, fmt::format("which {0}? Give --{0}, as berth {0}s list "
                                                   "shows them",
                                                   flag.name));
        return answer.text(lookup.field, found[0]);
    }

    static std::string read_token(const std::string& file, const std::string& flag) {
        std::string token = read_secret(file, "--" + flag);
        if (!can_be_token(token))
            throw Failure(Exit::usage, fmt::format("--{}: holds no secret of one word", flag));
        return token;
    }

    static std::string as_text(const std::string& json) {
        const Reading value(json);
        return value.is_array(Reading::root) || value.is_object(Reading::root)
                   ? json
                   : value.text(Reading::root);
    }

    Context& context_;
    const Command& command_;
    std::string words_to_repeat_;
};

// A rental that is to cost more says what that needs.
Answer send_row(Context& context, const Request& request, const std::string& to_repeat) {
    try {
        return send_once(context, request, to_repeat);
    } catch (const Failure& failure) {
        const auto add = parse_money(context.arguments().get("add"));
        const bool is_short = failure.body.find("\"INSUFFICIENT_FUNDS\"") != std::string::npos;
        if (!is_short || !add || context.command().words != "rentals budget") throw;
        const Reading job(context.api().get(request.path.substr(0, request.path.rfind('/'))).body);
        throw with_shortage(context, failure, Micro{*add}, job.text("asset"));
    }
}

}  // namespace

int run_row(Context& context) {
    const Command& command = context.command();
    Row row(context);
    Request request = row.request();
    const bool as_csv = context.output() == Output::csv;
    request.as_csv = as_csv;
    if (context.is_rehearsal()) {
        context.rehearse(request);
        return 0;
    }
    const std::string path = request.path;
    for (int page = 0; page < pages_max; ++page) {
        Answer answer = send_row(context, request, row.words_to_repeat());
        if (as_csv && page > 0) answer.body = without_head(answer.body);
        std::string next;
        if (context.arguments().is_on("all"))
            next = as_csv ? answer.next_cursor : Reading(answer.body).text("next_cursor");
        else if (!answer.next_cursor.empty())
            context.console().say("there is more: --all, or --cursor " + answer.next_cursor);
        if (next.empty()) {
            context.print(answer.body, command.columns);
            if (context.output() == Output::table && !command.next.empty())
                context.console().say("next: " + std::string(command.next));
            return 0;
        }
        // The note about more pages is for those who did not ask for all.
        context.console().set_quiet(true);
        context.print(answer.body, command.columns);
        context.console().set_quiet(context.output() == Output::json);
        request.path = path + (path.find('?') == std::string::npos ? "?" : "&") +
                       "cursor=" + percent_encode(next);
    }
    throw Failure(Exit::unexpected, "the list has no end");
}

namespace {

bool is_in_member(char c) {
    return is_alphanumeric(c) || c == '_' || c == '.' || c == '[' || c == ']';
}

// What a member of the request is called on this command line, if it has a name there.
std::string typed_name(Place place, std::string_view member, const CommandLine& line) {
    const std::string own(present_name(flag_of_member(member)));
    for (const Flag& flag : line.flags) {
        const bool is_meant = flag.place == Place::own
                                  ? flag.name == own
                                  : flag.place == place && flag.member == member;
        if (is_meant) return "--" + flag.name;
    }
    return "";
}

// The server names the members of a request; people know the flags and operands that they gave.
std::string with_names_of_flags(std::string_view message, const CommandLine& line) {
    struct Part {
        std::string_view prefix;
        Place place;
    };
    constexpr Part parts[] = {{"body.", Place::body}, {"query.", Place::query}, {"path.", {}}};
    std::string out;
    while (!message.empty()) {
        const auto part = std::find_if(std::begin(parts), std::end(parts), [&](const Part& each) {
            return message.starts_with(each.prefix);
        });
        const bool is_word = out.empty() || !is_in_member(out.back());
        if (part == std::end(parts) || !is_word || line.arguments.has("from")) {
            out += message[0];
            message.remove_prefix(1);
            continue;
        }
        message.remove_prefix(part->prefix.size());
        const auto end = std::find_if_not(message.begin(), message.end(), is_in_member);
        std::string_view whole = message.substr(0, static_cast<std::size_t>(end - message.begin()));
        while (whole.ends_with('.')) whole.remove_suffix(1);
        message.remove_prefix(whole.size());
        const std::string_view member = whole.substr(0, whole.find_first_of(".["));
        const std::string name = part->place == Place::own && line.command != nullptr
                                     ? operand_of_path(*line.command, member)
                                     : typed_name(part->place, member, line);
        out += name.empty() ? std::string(whole) : name + std::string(whole.substr(member.size()));
    }
    return out;
}

int fail(Console& console, Failure failure, bool as_json) {
    console.end_progress();
    // Standard error may be a log that others read.
    if (holds_private_key(failure.message))
        failure.message = "a private key stands where something else is wanted";
    std::fflush(stdout);
    if (as_json && !failure.body.empty()) {
        fmt::print(stderr, "{}\n",
                   console.err_is_terminal() ? printable(failure.body) : failure.body);
    } else if (as_json) {
        fmt::print(stderr, "{}\n", error_json(failure));
    } else {
        fmt::print(stderr, "berth: {}\n", printable(failure.message));
    }
    return static_cast<int>(failure.exit);
}

}  // namespace

int run(const Words& words) {
    Console console;
    bool as_json =
        wanted_output(words).empty() ? !console.out_is_terminal() : wanted_output(words) == "json";
    CommandLine line;
    try {
        line = parse_command_line(words);
        if (line.arguments.is_on("help")) {
            console.write(line.command == nullptr ? overview(line.arguments.operands[0])
                                                  : help_of(*line.command, line.flags));
            console.flush();
            return 0;
        }
        Context context(line, console);
        as_json = context.output() == Output::json;
        console.set_quiet(as_json && !console.err_is_terminal());
        // Before anything leaves: looking up what a short id means asks the server.
        if (const auto key = line.arguments.find("ssh-key"))
            line.arguments.set("ssh-key", read_public_key(*key));
        complete_ids(context, line);
        return line.command->run != nullptr ? line.command->run(context) : run_row(context);
    } catch (const Failure& failure) {
        return fail(console,
                    {failure.exit, with_names_of_flags(failure.message, line), failure.body},
                    as_json);
    } catch (const Problem& problem) {
        return fail(console, {exit_of_status(problem.status), problem.message}, as_json);
    } catch (const std::exception& error) {
        return fail(console, {Exit::unexpected, error.what()}, as_json);
    }
}

}  // namespace berth::cli
