#include "cli/repeat.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"
#include "cli/describe.hpp"

namespace berth::cli {
namespace {

std::string hint(const Uuid& key, const std::string& more = "") {
    return fmt::format("should this be cut short, repeat it with --idempotency-key {}{}",
                       to_string(key), more);
}

bool is_refused_for_other_words(const Failure& failure) {
    return failure.body.find("\"IDEMPOTENCY_CONFLICT\"") != std::string::npos;
}

}  // namespace

void tell_key(Context& context, const Uuid& key) {
    if (context.output() != Output::json || context.console().err_is_terminal())
        context.console().say(hint(key));
    else
        context.console().say_if_killed(hint(key));
}

Failure with_key(const Failure& failure, const Uuid& key, const std::string& more) {
    const bool is_open = failure.exit == Exit::retryable || failure.exit == Exit::network ||
                         failure.exit == Exit::unexpected;
    std::string line = failure.body.empty() ? error_json(failure) : failure.body;
    const std::size_t end = line.rfind('}');
    if (!is_open || end == std::string::npos) return failure;
    const std::string flags = fmt::format("--idempotency-key {}{}", to_string(key), more);
    line.insert(end, fmt::format(",\"idempotency_key\":\"{}\",\"repeat_with\":{}", to_string(key),
                                 json_quoted(flags)));
    return {failure.exit, fmt::format("{}; repeat it with {}", failure.message, flags), line};
}

Answer send_once(Context& context, const Request& request, const std::string& more) {
    const bool has_key = request.method != "GET" && request.idempotency_key &&
                         request.access != Access::anyone && !is_relayed(request);
    if (!has_key) return context.api().send(request);
    const bool is_given = context.given_key().has_value();
    if (!is_given) context.console().say_if_killed(hint(*request.idempotency_key, more));
    try {
        return context.api().send(request);
    } catch (const Failure& failure) {
        if (!is_given) throw with_key(failure, *request.idempotency_key, more);
        if (!is_refused_for_other_words(failure)) throw;
        throw Failure(failure.exit,
                      failure.message +
                          "; something was done under this key before, perhaps just "
                          "this: look before you use another",
                      failure.body);
    }
}

}  // namespace berth::cli
