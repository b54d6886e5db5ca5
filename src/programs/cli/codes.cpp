#include "cli/codes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/letters.hpp"

namespace berth::cli {
namespace {

constexpr int tries_max = 5;  // the server looks at no more
constexpr std::size_t digits_count = 6;

// As people type them: "123 456".
std::string without_spaces(std::string text) {
    std::erase(text, ' ');
    return text;
}

bool is_six_digits(const std::string& text) {
    return text.size() == digits_count && std::all_of(text.begin(), text.end(), is_digit);
}

std::string ask_for_code(Context& context, const CodeWanted& wanted) {
    for (;;) {
        std::string code = without_spaces(context.console().ask(wanted.question));
        if (!wanted.is_digits || is_six_digits(code)) return code;
        if (wanted.may_skip && code.empty()) return code;
        context.console().say("that is no code: it has six digits");
    }
}

bool is_wrong_code(const Failure& failure) {
    return !failure.body.empty() &&
           Reading(failure.body).text("error.code") == "AUTHORIZATION_INVALID";
}

}  // namespace

Answer give_code(Context& context, const CodeWanted& wanted, const GiveCode& give) {
    if (!wanted.flag.empty())
        if (const auto file = context.arguments().find(wanted.flag))
            return give(read_secret(*file, "--" + std::string(wanted.flag)));
    if (!context.console().can_ask())
        throw Failure(Exit::usage,
                      wanted.flag.empty()
                          ? fmt::format("the {} is asked for at a terminal", wanted.question)
                          : fmt::format("without a terminal, --{} FILE brings the {}", wanted.flag,
                                        wanted.question));
    for (int left = tries_max - 1;; --left) {
        const std::string code = ask_for_code(context, wanted);
        if (code.empty() && wanted.may_skip) return {};
        try {
            return give(code);
        } catch (const Failure& failure) {
            if (!is_wrong_code(failure) || left == 0) throw;
            context.console().say(fmt::format("{}; {} {} left at most", failure.message, left,
                                              left == 1 ? "try is" : "tries are"));
        }
    }
}

}  // namespace berth::cli
