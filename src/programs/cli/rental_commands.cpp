// Renting: one key for quote and reservation, so that a command that was killed can be repeated.
#include <fmt/format.h>

#include <algorithm>

#include "base/json_text.hpp"
#include "base/letters.hpp"
#include "cli/describe.hpp"
#include "cli/notice.hpp"
#include "cli/repeat.hpp"
#include "cli/shortage.hpp"
#include "cli/show.hpp"
#include "cli/special.hpp"
#include "cli/ssh_key.hpp"
#include "rentals/types.hpp"

namespace berth::cli {
namespace {

using rentals::JobState;

// Where progress is shown it is looked at in between.
constexpr std::chrono::seconds progress_every{3};
constexpr int quotes_max = 5;

struct Wanted {
    std::string quote_begin;  // its body, before the budget
    std::string quote_end;    // and behind it
    Micro budget;
    std::optional<std::string> template_id;  // empty: an image of one's own
    std::optional<std::string> ssh_key;      // that was given

    std::string quote_body(Micro most) const {
        return fmt::format("{},\"budget_micro\":\"{}\"{}}}", quote_begin, to_string(most),
                           quote_end);
    }
};

Wanted read_wanted(Context& context) {
    const Arguments& given = context.arguments();
    const auto seconds = parse_seconds(given.get("duration", "1h"));
    if (!seconds) throw Failure(Exit::usage, "--duration: must be a duration such as 2h");
    const auto budget = parse_money(given.get("budget"));
    if (!budget) throw Failure(Exit::usage, "--budget: must be an amount such as 2.50");
    if (given.has("template") == given.has("image"))
        throw Failure(Exit::usage, "berth rentals create needs either --template or --image");
    Wanted wanted;
    wanted.budget = Micro{*budget};
    if (const auto key = given.find("ssh-key")) wanted.ssh_key = read_public_key(*key);
    std::string what;
    if (given.has("image")) {
        what = "\"image\":" + json_quoted(given.get("image"));
    } else {
        const std::string named = given.get("template");
        // A rehearsal asks nobody.
        wanted.template_id = !context.is_rehearsal() || parse_uuid(named)
                                 ? named
                                 : fmt::format("id of {} in GET /api/v1/templates", named);
        what = "\"template_id\":" + json_quoted(*wanted.template_id);
    }
    wanted.quote_begin = fmt::format("{{\"offer_id\":{},{},\"duration_limit_s\":{}",
                                     json_quoted(given.get("offer")), what, *seconds);
    if (const auto asset = given.find("asset"))
        wanted.quote_end = ",\"asset\":" + json_quoted(*asset);
    return wanted;
}

// Everything has a shell but the models.
bool has_shell(Context& context, const std::optional<std::string>& template_id) {
    if (!template_id) return true;
    if (context.is_rehearsal()) return false;
    const std::string path = "/api/v1/templates/" + percent_encode(*template_id);
    return Reading(context.api().get(path, Access::anyone).body).text("kind") != "model";
}

// The public key for the rental: the one that was given, else one's own where there is a shell.
std::optional<std::string> ssh_key_for(Context& context, const Wanted& wanted) {
    if (wanted.ssh_key || !has_shell(context, wanted.template_id)) return wanted.ssh_key;
    const auto own = find_public_key();
    if (!own && context.is_rehearsal()) return std::nullopt;
    if (!own)
        throw Failure(
            Exit::usage,
            "nothing was reserved: this rental has a shell, and there is no public key for "
            "it in the SSH agent or as ~/.ssh/id_*.pub; give one with --ssh-key FILE, or "
            "make one with ssh-keygen");
    context.console().say("the shell is for the public key of " + own->where);
    return own->key;
}

std::string job_body(Context& context, const std::string& quote_id,
                     const std::optional<std::string>& ssh_key) {
    std::string body = "{\"quote_id\":" + json_quoted(quote_id);
    if (ssh_key) body += ",\"ssh_public_key\":" + json_quoted(*ssh_key);
    if (context.arguments().is_on("use-hub-token")) body += ",\"use_hub_token\":true";
    return body + "}";
}

std::string cost_text(const rentals::Quote& quote) {
    const std::string asset(enum_name(quote.asset));
    const Micro fee = scale_floor(quote.budget_micro, {quote.platform_fee_bps.value, 10'000});
    const Micro most = std::min(quote.budget_micro, quote.estimated_total_micro);
    return fmt::format(
        "price     {} {}/h\n"
        "at most   {} {} ({} for {})\n"
        "of which  {:.2f} % is the fee: {} to the service, {} to the host\n",
        money_text(to_string(quote.machine_rate_micro_per_hour)), asset,
        money_text(to_string(quote.budget_micro)), asset, money_text(to_string(most)),
        duration_text(quote.duration_limit_s.value),
        static_cast<double>(quote.platform_fee_bps.value) / 100, money_text(to_string(fee)),
        money_text(to_string(quote.budget_micro - fee)));
}

bool agrees(Context& context, const std::string& costs) {
    if (context.arguments().is_on("yes")) return true;
    if (!context.console().can_ask())
        throw Failure(Exit::usage, "nothing was reserved: without a terminal this needs --yes");
    for (std::string_view rest = costs; !rest.empty();) {
        const std::size_t end = rest.find('\n');
        context.console().say(rest.substr(0, end));
        rest.remove_prefix(end + 1);
    }
    return context.console().confirm("reserve it?");
}

std::string progress_text(const rentals::Job& job) {
    std::string text(enum_name(job.state));
    if (!job.progress.value) return text;
    const rentals::Progress& progress = *job.progress.value;
    text += fmt::format(": {}", enum_name(progress.step));
    if (progress.done_bytes.value)
        text += " " + gib_text(std::to_string(progress.done_bytes.value->value));
    if (progress.total_bytes.value)
        text += " of " + gib_text(std::to_string(progress.total_bytes.value->value));
    return text;
}

// To whoever ends a wait: the rental does not end with it.
std::string left_alone(const rentals::Job& job) {
    const std::string id = to_string(job.job_id);
    if (job.state > JobState::RUNNING)
        return fmt::format("the wait has ended; the rental is {}", enum_name(job.state));
    return fmt::format(
        "the wait has ended, the rental has not: {}; berth rentals stop {}",
        job.state == JobState::RUNNING ? "its meter runs" : "its meter runs as soon as it is ready",
        id);
}

bool is_terminal(JobState state) {
    return state == JobState::STOPPED || state == JobState::FAILED || state == JobState::CLOSED;
}

// Whether the rental did not come up, or broke.
bool has_failed(const rentals::Job& job) {
    return job.state == JobState::FAILED || job.failure.value.has_value();
}

// A state stays reached: a rental that is STOPPED was stopping, and one that runs is ready.
bool has_reached(JobState now, JobState wanted) {
    if (now == wanted) return true;
    if (wanted == JobState::FAILED || now == JobState::FAILED) return false;
    if (wanted <= JobState::RUNNING) return now <= JobState::RUNNING && now > wanted;
    return now > wanted;
}

JobState wanted_state(Context& context) {
    std::string name = context.arguments().get("for", "running");
    std::transform(name.begin(), name.end(), name.begin(), to_upper);
    const auto state = parse_enum<JobState>(name);
    if (!state)
        throw Failure(Exit::usage, "--for: must be running, stopped, closed, or another state");
    return *state;
}

// A second key that the first one gives: repeated with the first, the command asks the same again.
Uuid key_beside(Uuid key) {
    key.bytes.back() ^= 1;
    return key;
}

struct Quoted {
    std::string body;
    rentals::Quote quote;
};
Quoted ask_quote(Context& context, const Request& ask) {
    std::string body = context.api().send(ask).body;
    auto quote = read_answer<rentals::Quote>(body, "quote");
    return {std::move(body), std::move(quote)};
}

// A budget beyond what the duration can cost would only be held for nothing.
Quoted ask_cheapest_quote(Context& context, Request ask, const Wanted& wanted) {
    Quoted quoted = ask_quote(context, ask);
    const rentals::Quote& first = quoted.quote;
    if (first.estimated_total_micro >= first.budget_micro ||
        first.estimated_total_micro <= Micro{0})
        return quoted;
    context.console().say(
        fmt::format("{} can cost no more than {} {}: that is the budget, and not {}",
                    duration_text(first.duration_limit_s.value),
                    money_text(to_string(first.estimated_total_micro)), enum_name(first.asset),
                    money_text(to_string(first.budget_micro))));
    ask.body = wanted.quote_body(first.estimated_total_micro);
    ask.idempotency_key = key_beside(*ask.idempotency_key);
    return ask_quote(context, ask);
}

bool is_refused_with(const Failure& failure, std::string_view code) {
    return failure.body.find(fmt::format("\"{}\"", code)) != std::string::npos;
}

// What happened to a reservation whose quote had run out.
enum class Reserved { yes, no, quote_expired };

Reserved reserve(Context& context, const Request& ask, const Quoted& quoted,
                 const std::optional<std::string>& ssh_key) {
    try {
        const std::string accepted =
            context.api()
                .send({.method = "POST",
                       .path = "/api/v1/jobs",
                       .body = job_body(context, to_string(*quoted.quote.quote_id.value), ssh_key),
                       .idempotency_key = ask.idempotency_key})
                .body;
        context.print(accepted, "");
        context.remember_rental(Reading(accepted).text("job_id"));
        return Reserved::yes;
    } catch (const Failure& failure) {
        if (is_refused_with(failure, "INSUFFICIENT_FUNDS"))
            throw with_shortage(context, failure, quoted.quote.budget_micro,
                                enum_name(quoted.quote.asset));
        if (!is_refused_with(failure, "QUOTE_EXPIRED")) throw;
        if (!context.given_key()) return Reserved::quote_expired;
        throw Failure(failure.exit,
                      "the quote of this key ran out and nothing was reserved; "
                      "repeat it without --idempotency-key",
                      failure.body);
    }
}

// Quotes, shows, asks and reserves, and all of it again where the person thought longer than a
// quote holds; only where the terms have changed is it asked again. Of a dry run it shows the
// quote. `ask` has the key under which it is to be repeated, which is another for each quote.
int quote_and_reserve(Context& context, Request& ask, const Wanted& wanted) {
    std::string agreed;
    for (int left = quotes_max;; --left) {
        const Quoted quoted = ask_cheapest_quote(context, ask, wanted);
        const std::string costs = cost_text(quoted.quote);
        if (context.arguments().is_on("dry-run")) {
            context.print_own(quoted.body, costs);
            return 0;
        }
        const auto ssh_key = ssh_key_for(context, wanted);
        if (costs != agreed && !agrees(context, costs)) {
            context.console().say("nothing was reserved");
            return static_cast<int>(Exit::usage);
        }
        agreed = costs;
        const Reserved reserved = reserve(context, ask, quoted, ssh_key);
        if (reserved == Reserved::yes) return 0;
        if (left == 0)
            throw Failure(Exit::conflict, "the quotes run out at once, and nothing was reserved");
        context.console().say("the quote ran out meanwhile: here is another");
        ask.idempotency_key = context.api().make_key();
        tell_key(context, *ask.idempotency_key);
    }
}

}  // namespace

int create_rental(Context& context) {
    Api& api = context.api();
    const bool is_dry = context.arguments().is_on("dry-run");
    const Wanted wanted = read_wanted(context);
    const Uuid key = context.given_key() ? *context.given_key() : api.make_key();
    Request ask{.method = "POST",
                .path = is_dry ? "/api/v1/quotes?dry_run=true" : "/api/v1/quotes",
                .body = wanted.quote_body(wanted.budget),
                .idempotency_key = key};
    if (context.is_rehearsal()) {
        context.rehearse(ask);
        if (!is_dry)
            context.rehearse({.method = "POST",
                              .path = "/api/v1/jobs",
                              .body = job_body(context, "QUOTE_ID", ssh_key_for(context, wanted)),
                              .idempotency_key = key});
        return 0;
    }
    if (is_dry || context.given_key()) return quote_and_reserve(context, ask, wanted);
    tell_key(context, key);
    try {
        return quote_and_reserve(context, ask, wanted);
    } catch (const Failure& failure) {
        throw with_key(failure, *ask.idempotency_key);
    }
}

int wait_for_rental(Context& context) {
    const JobState wanted = wanted_state(context);
    const auto seconds = parse_seconds(context.arguments().get("timeout", "10m"));
    if (!seconds) throw Failure(Exit::usage, "--timeout: must be a duration such as 10m");
    const Request ask{.path = "/api/v1/jobs/" + percent_encode(context.rental(0))};
    if (context.is_rehearsal()) {
        context.rehearse(ask);
        return 0;
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(*seconds);
    std::string seen = newest_event(context);
    std::optional<JobState> seen_state;
    Notices notices(context, ask.path.substr(ask.path.rfind('/') + 1));
    while (true) {
        const std::string body = context.api().send(ask).body;
        const auto job = read_answer<rentals::Job>(body, "rental");
        if (seen_state != job.state) context.console().say_if_killed(left_alone(job));
        seen_state = job.state;
        notices.say(job);
        context.console().progress(progress_text(job));
        if (has_reached(job.state, wanted)) {
            context.console().progress("");
            // For people in a line or two; `rentals show` has all of it.
            if (context.output() == Output::table)
                context.print(fmt::format("{{\"job_id\":\"{}\",\"state\":\"{}\"}}",
                                          to_string(job.job_id), enum_name(job.state)),
                              "");
            else
                context.print(body, "");
            return 0;
        }
        if (is_terminal(job.state) &&
            (wanted <= JobState::RUNNING || has_failed(job) || job.state == JobState::CLOSED)) {
            context.console().progress("");
            const std::string why = job.failure.value ? job.failure.value->message
                                    : job.end_reason.value
                                        ? std::string(enum_name(*job.end_reason.value))
                                        : "no reason was given";
            throw Failure(Exit::rental_failed,
                          fmt::format("the rental is {}: {}", enum_name(job.state), why));
        }
        const auto left =
            std::chrono::ceil<std::chrono::seconds>(deadline - std::chrono::steady_clock::now());
        if (left <= std::chrono::seconds(0)) {
            context.console().progress("");
            throw Failure(Exit::timed_out,
                          fmt::format("after {} the rental is still {}", duration_text(*seconds),
                                      progress_text(job)));
        }
        seen = await_event(
            context, to_string(job.job_id), seen,
            context.console().err_is_terminal() ? std::min(left, progress_every) : left);
    }
}

}  // namespace berth::cli
