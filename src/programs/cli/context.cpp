#include "cli/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/json_text.hpp"
#include "base/letters.hpp"
#include "base/shared_clock.hpp"
#include "cli/show.hpp"
#include "cli/ssh_key.hpp"
#include "wire/document.hpp"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

std::string shell_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'')
            out += "'\\''";
        else
            out += c;
    }
    return out + "'";
}

// As it is typed: in quotes where a shell would take it apart.
std::string shell_word(std::string_view text) {
    const bool is_plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == ',' || c == ':';
    });
    return is_plain ? std::string(text) : shell_quoted(text);
}

}  // namespace

Output choose_output(std::string_view wanted, const Console& console) {
    if (wanted == "table") return Output::table;
    if (wanted == "json") return Output::json;
    if (wanted == "ids") return Output::ids;
    if (wanted == "csv") return Output::csv;
    if (!wanted.empty())
        throw Failure(Exit::usage, fmt::format("--output {}: must be table, json, ids or csv",
                                               printable(wanted)));
    return console.out_is_terminal() ? Output::table : Output::json;
}

Context::Context(const CommandLine& line, Console& console)
    : line_(line),
      console_(console),
      output_(choose_output(line.arguments.get("output"), console)) {
    if (output_ == Output::csv && line.command->rows.empty())
        throw Failure(Exit::usage, "--output csv: is for reports and statements");
}

Profiles& Context::profiles() {
    if (!profiles_) profiles_ = std::make_unique<Profiles>(arguments().get("profile"));
    return *profiles_;
}

Api& Context::api() {
    if (!api_) {
        api_ = std::make_unique<Api>(
            choose_target(profiles(), arguments().get("server")),
            Api::Parts{client_, console_, profiles(), random_,
                       [](Duration span) { std::this_thread::sleep_for(span); }});
        api_->prove = [this](Access access, std::string_view purpose) {
            return give_proof(*this, access, purpose);
        };
    }
    return *api_;
}

Time Context::now() {
    const fs::path clock = fs::path(profiles().folder()).parent_path() / "simulated-clock";
    if (!fs::exists(clock)) return SystemClock().now();
    return SharedClock(clock.string(), SharedClock::Use::read).now();
}

void Context::print(const std::string& body, std::string_view columns) {
    if (output_ == Output::csv) {
        console_.write_received(body);
    } else if (output_ == Output::json) {
        console_.write_received(body.empty() ? "" : body + "\n");
    } else if (body.empty()) {
        console_.say("done");
    } else {
        const Reading answer(body);
        bool is_cut = false;
        if (output_ == Output::ids)
            console_.write(to_ids(answer, columns));
        else
            console_.write(
                to_table(answer, columns,
                         {console_.colours(), console_.columns(), &is_cut,
                          columns.empty() ? std::string_view() : command().rows, command().inner}));
        if (is_cut) console_.say("the terminal is too narrow for all of it; --output json has it");
        const std::string next = answer.text("next_cursor");
        const bool is_enough = output_ == Output::ids && arguments().has("limit");
        if (!next.empty() && !is_enough) console_.say("there is more: --all, or --cursor " + next);
        if (output_ == Output::table && answer.find("items") && answer.rows().empty())
            console_.say("nothing there" + advice_on_nothing());
    }
    console_.flush();
}

// With the filters that were given, so that it says which of them it was.
std::string Context::advice_on_nothing() const {
    if (command().empty.empty()) return "";
    std::string line = fmt::format(": berth {}", command().empty);
    for (const Flag& flag : flags())
        if (const auto given = arguments().find(flag.name); given && flag.place == Place::query)
            line += flag.value.empty() ? fmt::format(" --{}={}", flag.name, *given)
                                       : fmt::format(" --{} {}", flag.name, shell_word(*given));
    return line + " says why, and what comes near";
}

void Context::print_own(const std::string& json, const std::string& text) {
    console_.write_received(output_ == Output::json ? json + "\n" : text);
    console_.flush();
}

std::string Context::rental(std::size_t operand) {
    if (operand < arguments().operands.size()) return arguments().operands[operand];
    const auto profile = profiles().load();
    if (!profile || !profile->last_rental)
        throw Failure(Exit::usage, "which rental? Name one, as `berth rentals list` shows them");
    console_.say("rental " + *profile->last_rental);
    return *profile->last_rental;
}

void Context::remember_rental(const std::string& id) {
    if (!parse_uuid(id)) return;  // nothing that a server calls so by mistake
    try {
        Profile profile = profiles().load().value_or(Profile{});
        if (profile.server.empty()) profile.server = api().target().origin;
        if (profile.server != api().target().origin) return;
        profile.last_rental = id;
        profiles().save(profile);
    } catch (const Failure& failure) {  // the rental is there all the same
        console_.say("not remembered as the last rental: " + failure.message);
    }
}

bool Context::is_rehearsal() const {
    return arguments().is_on("explain") || arguments().is_on("curl");
}

void Context::rehearse(const Request& asked) {
    check_body(asked.body, is_relayed(asked));
    Request request = asked;
    request.body = without_secrets(asked.body);
    if (arguments().is_on("curl"))
        console_.write(curl_text(request, api().target().origin) + "\n");
    else
        console_.write(fmt::format("{} {}\n{}{}", request.method, request.path, request.body,
                                   request.body.empty() ? "" : "\n"));
    console_.flush();
}

bool Context::rehearse_all() {
    if (!is_rehearsal()) return false;
    std::string_view uses = command().uses;
    if (uses.empty()) console_.say("nothing is sent to a server");
    while (!uses.empty()) {
        const std::size_t end = std::min(uses.find(", "), uses.size());
        console_.write(fmt::format("{}\n", uses.substr(0, end)));
        uses.remove_prefix(std::min(end + 2, uses.size()));
    }
    console_.flush();
    return true;
}

std::optional<Uuid> Context::given_key() const {
    const auto text = arguments().find("idempotency-key");
    if (!text) return std::nullopt;
    const auto key = parse_uuid(*text);
    if (!key) throw Failure(Exit::usage, "--idempotency-key: must be a UUID");
    return key;
}

std::string without_secrets(const std::string& body) {
    if (body.empty()) return body;
    wire::Document json;
    if (const auto fault = json.parse(body)) throw Failure(Exit::usage, "the body " + *fault);
    if (json[0].shape != wire::Shape::object) return body;
    bool has_some = false;
    std::string shown;
    for (std::uint32_t at = 1; at < json[0].end; at = json[at + 1].end) {
        shown += shown.empty() ? "{" : ",";
        append_json_string(shown, json[at].text);
        shown += ":";
        if (is_secret(json[at].text)) {
            has_some = true;
            shown += hidden_secret;
        } else {
            json.append_compact(at + 1, shown);
        }
    }
    return has_some ? shown + "}" : body;
}

std::string curl_text(const Request& request, const std::string& origin) {
    std::string out = "curl -sS";
    if (request.method != "GET") out += " -X " + request.method;
    if (request.access == Access::key) out += " -H \"Authorization: Bearer $BERTH_API_KEY\"";
    if (request.access == Access::session)
        out += " -A berth-cli -b \"$BERTH_COOKIE\" -H \"Origin: " + origin + "\"" +
               (request.method == "GET" ? "" : " -H \"X-CSRF-Token: $BERTH_CSRF\"");
    if (request.idempotency_key)
        out += fmt::format(" -H 'Idempotency-Key: {}'", to_string(*request.idempotency_key));
    if (request.as_csv) out += " -H 'Accept: text/csv'";
    if (!request.body.empty())
        out += " -H 'Content-Type: application/json' -d " + shell_quoted(request.body);
    return out + " " + shell_quoted(origin + request.path);
}

}  // namespace berth::cli
