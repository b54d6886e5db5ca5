// Looking after things: `berth doctor`, `machines doctor`, `berth verify …`, `berth api`.
#include <fmt/format.h>

#include "base/json_text.hpp"
#include "base/letters.hpp"
#include "billing/receipts.hpp"
#include "cli/credentials.hpp"
#include "cli/fleet.hpp"
#include "cli/repeat.hpp"
#include "cli/show.hpp"
#include "cli/special.hpp"
#include "liabilities/verify.hpp"

namespace berth::cli {
namespace {

struct Finding {
    bool good;
    std::string what;
    std::string mend{};
};

int report(Context& context, const std::vector<Finding>& findings) {
    std::string json;
    std::string text;
    bool all_good = true;
    for (const Finding& each : findings) {
        all_good = all_good && each.good;
        json += fmt::format("{}{{\"ok\":{},\"what\":{},\"mend\":{}}}", json.empty() ? "" : ",",
                            each.good, json_quoted(each.what),
                            each.good || each.mend.empty() ? "null" : json_quoted(each.mend));
        text += fmt::format("{}  {}\n", each.good ? "ok  " : "FAIL", printable(each.what));
        if (!each.good && !each.mend.empty())
            text += fmt::format("      {}\n", printable(each.mend));
    }
    context.print_own(fmt::format("{{\"ok\":{},\"findings\":[{}]}}", all_good, json), text);
    return static_cast<int>(all_good ? Exit::ok : Exit::unexpected);
}

Finding check_server(Context& context) {
    const std::string& origin = context.api().target().origin;
    try {
        context.api().get("/readyz", Access::anyone);
        return {true, origin + " is ready"};
    } catch (const Failure& failure) {
        return {false, origin + ": " + failure.message,
                failure.exit == Exit::network
                    ? "start a server with ./run, or name another with --server"
                    : "wait until the server is ready"};
    }
}

Finding check_key(Context& context) {
    constexpr Duration soon = std::chrono::hours(24 * 7);
    const auto profile = context.profiles().load();
    try {
        const Reading who(context.api().get("/api/v1/auth/session").body);
        if (profile && profile->expires_at && *profile->expires_at - context.now() < soon)
            return {false, "the key ends at " + to_rfc3339(*profile->expires_at),
                    "berth login makes another"};
        const std::string name = who.text("email");
        return {true, "signed in as " + (name.empty() ? who.text("account_id") : name)};
    } catch (const Failure& failure) {
        return {false, failure.message, "berth login, or berth agents register"};
    }
}

Finding check_balance(Context& context) {
    try {
        const Reading balance(context.api().get("/api/v1/billing").body);
        const std::string spendable = balance.text("spendable_micro");
        return {spendable != "0",
                "spendable: " + money_text(spendable) + " " + balance.text("asset"),
                "berth funding create, to pay money in"};
    } catch (const Failure& failure) {
        return {false, "the balance: " + failure.message, "see the lines above"};
    }
}

}  // namespace

int show_status(Context& context) {
    const Request ask{.path = "/api/v1/status", .access = Access::anyone};
    if (context.is_rehearsal()) {
        context.rehearse(ask);
        return 0;
    }
    const std::string body = context.api().send(ask).body;
    context.print(body, "");
    const Reading status(body);
    const auto parts = status.find("components");
    bool has_chain = false;
    if (parts)
        for (const Reading::Place each : status.items(*parts))
            has_chain = has_chain || status.text("name", each) == "chain";
    if (!has_chain) context.console().say("chain and payments: not configured on this server");
    return 0;
}

int check_everything(Context& context) {
    if (context.rehearse_all()) return 0;
    std::vector<Finding> findings;
    try {
        const auto profile = context.profiles().load();
        findings.push_back({profile.has_value(),
                            fmt::format("profile {} ({})", context.profiles().name(),
                                        profile ? profile->server : "not there yet"),
                            "berth login, or berth agents register, makes it"});
    } catch (const Failure& failure) {
        findings.push_back({false, failure.message, "then run berth doctor again"});
        return report(context, findings);
    }
    findings.push_back(check_server(context));
    if (findings.back().good) {
        findings.push_back(check_key(context));
        if (findings.back().good) findings.push_back(check_balance(context));
    }
    return report(context, findings);
}

int inspect_machine(Context& context) {
    const std::string& id = context.arguments().operands[0];
    const Request ask{.path = "/api/v1/hosts/machines/" + percent_encode(id)};
    if (context.is_rehearsal()) {
        context.rehearse(ask);
        return 0;
    }
    const Reading machine(context.api().send(ask).body);
    std::vector<Finding> findings;
    const std::string state = machine.text("state");
    const bool is_earning = state == "AVAILABLE" || state == "ALLOCATED" || state == "CLEANING";
    const auto blockers = machine.find("listing_blockers");
    const bool is_blocked = blockers && !machine.items(*blockers).empty();
    findings.push_back({is_earning, "the machine is " + state,
                        is_blocked ? "the findings below say what keeps it from being rented"
                                   : "berth machines list-for-rent " + id});
    const std::string test = machine.text("auto_qualify.state");
    if (!test.empty())
        findings.push_back(
            {test != "needs_attention" && test != "retrying", "its test: " + test,
             fmt::format("berth machines test {0}, then berth machines retry-test {0}", id)});
    // It says so only once a test has found it out.
    if (const std::string why = machine.text("reach_why"); !why.empty())
        findings.push_back(
            {true, fmt::format("reached {}: {}",
                               machine.text("reach") == "gate" ? "by a gate" : "directly", why)});
    if (is_blocked)
        for (const Reading::Place each : machine.items(*blockers))
            findings.push_back({false, machine.text(each), mend_of(machine.text(each), id)});
    if (const auto events = machine.find("health_events"))
        for (const Reading::Place each : machine.items(*events))
            findings.push_back(
                {machine.text("kind", each) == "GPU_BACK",
                 fmt::format("{} at {}: {} {}", machine.text("kind", each),
                             machine.text("at", each), machine.text("pci_address", each),
                             machine.text("text", each)),
                 "look at the driver's messages on the host (dmesg)"});
    return report(context, findings);
}

int verify_receipt(Context& context) {
    const auto keys = context.arguments().find("keys");
    const billing::Verdict verdict =
        billing::verify_receipt(read_input(context.arguments().operands[0], "FILE"),
                                keys ? std::optional(read_input(*keys, "--keys")) : std::nullopt);
    return report(context, {{verdict.good, verdict.sentence}});
}

int verify_liabilities(Context& context) {
    const liabilities::Verdict verdict =
        liabilities::verify(read_input(context.arguments().operands[0], "FILE"));
    return report(context, {{verdict.good, verdict.sentence}});
}

int call_api(Context& context) {
    const auto& operands = context.arguments().operands;
    Request request{.method = operands[0], .path = operands[1], .may_be_page = true};
    std::transform(request.method.begin(), request.method.end(), request.method.begin(), to_upper);
    if (!std::all_of(request.method.begin(), request.method.end(), is_alphanumeric))
        throw Failure(Exit::usage, "METHOD is a word such as GET or POST");
    const bool is_plain = std::all_of(request.path.begin(), request.path.end(),
                                      [](char c) { return c > ' ' && c < 0x7f; });
    if (!request.path.starts_with('/') || !is_plain)
        throw Failure(Exit::usage,
                      "PATH begins with /, as in /api/v1/status, and is percent-encoded");
    if (const auto file = context.arguments().find("from"))
        request.body = read_input(*file, "--from");
    request.idempotency_key = context.given_key();
    const bool is_admin = request.path.starts_with("/api/v1/admin/");
    if (is_admin)
        request.access = Access::session;
    else if (context.api().target().api_key.empty())
        request.access = Access::anyone;
    if (request.method != "GET" && !request.idempotency_key)
        request.idempotency_key = context.api().make_key();
    if (context.is_rehearsal()) {
        context.rehearse(request);
        return 0;
    }
    constexpr std::string_view keys_path = "/api/v1/account/api-keys/";
    if (request.method == "DELETE" && request.path.starts_with(keys_path))
        agree_to_revoke(context, request.path.substr(keys_path.size(),
                                                     request.path.find('?') - keys_path.size()));
    const Answer answer = send_once(context, request);
    // The body as it came, of whichever route.
    context.console().write_received(
        answer.body.empty() || answer.body.ends_with('\n') ? answer.body : answer.body + "\n");
    context.console().flush();
    return 0;
}

}  // namespace berth::cli
