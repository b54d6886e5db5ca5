// Carries out the rows of the tables.
#include <fmt/format.h>

#include <cstdio>

#include "base/problem.hpp"
#include "cli/context.hpp"
#include "cli/describe.hpp"
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
        if (given) return json_of(flag, *given, context_.now());
        if (flag.member == command_.preset.member)
            return json_of(flag, std::string(command_.preset.value), context_.now());
        if (flag.member == command_.lookup.member) return look_up(command_.lookup, flag);
        return std::nullopt;
    }

    std::string look_up(const Lookup& lookup, const Flag& flag) {
        const std::string path = with_operands(lookup.path);
        if (context_.is_rehearsal()) return fmt::format("\"{} of GET {}\"", lookup.field, path);
        const Reading answer(context_.api().get(path, command_.access).body);
        Reading::Place place = Reading::root;
        if (!lookup.item_member.empty())
            for (const Reading::Place row : answer.rows())
                if (answer.text(lookup.item_member, row) == context_.arguments().operands.back())
                    place = row;
        std::string value = answer.text(lookup.field, place);
        if (value.empty()) value = lookup.missing;
        return json_of(flag, value, context_.now());
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
};

}  // namespace

int run_row(Context& context) {
    const Command& command = context.command();
    Request request = Row(context).request();
    const bool as_csv = context.output() == Output::csv;
    request.as_csv = as_csv;
    if (context.is_rehearsal()) {
        context.rehearse(request);
        return 0;
    }
    const std::string path = request.path;
    for (int page = 0; page < pages_max; ++page) {
        Answer answer = context.api().send(request);
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

// The server names the members of a request; people know the flags that they gave.
std::string with_names_of_flags(std::string message, const std::vector<Flag>& flags) {
    for (const Flag& flag : flags) {
        if (flag.place == Place::own) continue;
        const std::string member =
            fmt::format("{}.{}: ", flag.place == Place::query ? "query" : "body", flag.member);
        for (std::size_t at = message.find(member); at != message.npos; at = message.find(member))
            message.replace(at, member.size(), fmt::format("--{}: ", flag.name));
    }
    return message;
}

int fail(Console& console, Failure failure, bool as_json) {
    console.end_progress();
    // Standard error may be a log that others read.
    if (holds_private_key(failure.message))
        failure.message = "a private key stands where something else is wanted";
    std::fflush(stdout);
    if (as_json && !failure.body.empty()) {
        fmt::print(stderr, "{}\n", failure.body);
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
        return line.command->run != nullptr ? line.command->run(context) : run_row(context);
    } catch (const Failure& failure) {
        return fail(console,
                    {failure.exit, with_names_of_flags(failure.message, line.flags), failure.body},
                    as_json);
    } catch (const Problem& problem) {
        return fail(console, {exit_of_status(problem.status), problem.message}, as_json);
    } catch (const std::exception& error) {
        return fail(console, {Exit::unexpected, error.what()}, as_json);
    }
}

}  // namespace berth::cli
