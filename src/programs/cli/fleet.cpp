#include "cli/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json_text.hpp"
#include "cli/special.hpp"

namespace berth::cli {
namespace {

constexpr std::string_view machines_path = "/api/v1/hosts/machines";
constexpr Duration heard_within = std::chrono::seconds(90);
constexpr int pages_of_machines_max = 1000;

// What a first offer promises where its host does not say.
constexpr std::int64_t first_disk_gib = 100;
constexpr std::string_view first_egress_gib = "1000";
constexpr std::string_view first_until = "+365d";

std::string path_of(const std::string& machine, std::string_view more = "") {
    return fmt::format("{}/{}{}", machines_path, percent_encode(machine), more);
}

std::vector<std::string> strings_at(const Reading& answer, std::string_view member) {
    std::vector<std::string> found;
    if (const auto list = answer.find(member))
        for (const Reading::Place each : answer.items(*list)) found.push_back(answer.text(each));
    return found;
}

struct Machines {
    std::vector<std::string> ids;
    std::string next_cursor;
};

Machines find_page(Context& context, const std::string& query) {
    const Reading answer(context.api().get(std::string(machines_path) + query).body);
    Machines page{{}, answer.text("next_cursor")};
    for (const Reading::Place row : answer.rows())
        page.ids.push_back(answer.text("machine_id", row));
    return page;
}

// Every machine of the account.
std::vector<std::string> find_machines(Context& context) {
    std::vector<std::string> ids;
    std::string query = "?limit=100";
    for (int page = 0; page < pages_of_machines_max; ++page) {
        const Machines found = find_page(context, query);
        ids.insert(ids.end(), found.ids.begin(), found.ids.end());
        if (found.next_cursor.empty()) return ids;
        query = "?limit=100&cursor=" + percent_encode(found.next_cursor);
    }
    throw Failure(Exit::unexpected, "the list of machines has no end");
}

// The page that was asked for; all of them where none was.
Machines asked_machines(Context& context) {
    std::string query;
    for (const Flag& flag : context.flags())
        if (const auto given = context.arguments().find(flag.name))
            query += fmt::format("{}{}={}", query.empty() ? "?" : "&", flag.member,
                                 percent_encode(*given));
    return query.empty() ? Machines{find_machines(context), ""} : find_page(context, query);
}

// The one next step of a machine; the lower its place, the more it needs its owner.
struct Step {
    int place = 0;
    std::string text;
};

Step step_of(const Reading& machine, const std::string& id, Time now) {
    const std::string state = machine.text("state");
    const std::string test = machine.text("auto_qualify.state");
    const auto blockers = strings_at(machine, "listing_blockers");
    const auto has = [&](std::string_view code) {
        return std::find(blockers.begin(), blockers.end(), code) != blockers.end();
    };
    const auto heard = parse_rfc3339(machine.text("last_healthy_at"));
    if (state == "QUARANTINED") return {0, fmt::format("put aside: berth machines doctor {}", id)};
    if (!heard || now - *heard > heard_within) return {1, mend_of("HEARTBEAT_STALE", id)};
    if (has("GPU_LOST")) return {2, mend_of("GPU_LOST", id)};
    if (test == "needs_attention" || test == "retrying")
        return {3, fmt::format("its test failed: berth machines test {}", id)};
    for (const std::string_view code : {"NO_OFFER", "OFFER_EXPIRED"})
        if (has(code)) return {5, mend_of(code, id)};
    if (test == "testing" || test == "waiting") return {6, "wait: it is being tested"};
    if (!blockers.empty() && state != "ALLOCATED" && state != "CLEANING")
        return {4, mend_of(blockers.front(), id)};
    if (state == "UNLISTED" && machine.text("current_offer.state") != "listed")
        return {5, fmt::format("berth machines list-for-rent {}", id)};
    if (state == "DRAINING")
        return {7, fmt::format("to take it back: berth machines list-for-rent {}", id)};
    return {state == "ALLOCATED" ? 9 : 8, ""};
}

std::string raw(const Reading& answer, std::string_view member) {
    const auto place = answer.find(member);
    if (!place) return "null";
    if (answer.is_object(*place)) return answer.text(*place);
    return json_quoted(answer.text(*place));
}

struct MachineLine {
    Step step;
    std::string json;
};

MachineLine machine_line(const Reading& machine, const std::string& id, Time now) {
    MachineLine line{step_of(machine, id, now), "{\"machine_id\":" + json_quoted(id)};
    for (const char* member : {"label", "state", "gpu_model", "gpu_count", "current_offer"})
        line.json += fmt::format(",\"{}\":{}", member, raw(machine, member));
    line.json += fmt::format(",\"next_step\":{}}}", json_quoted(line.step.text));
    return line;
}

// What an edit says, by the names of its members.
using Edit = std::map<std::string, std::string, std::less<>>;

std::string body_of(const Edit& edit) {
    std::string body;
    for (const auto& [member, json] : edit)
        body += fmt::format("{}\"{}\":{}", body.empty() ? "{" : ",", member, json);
    return body + "}";
}

constexpr std::string_view kept[] = {"rate_micro_per_hour", "included_disk_gib",
                                     "included_egress_gib", "available_from", "available_until"};

class Editor {
public:
    explicit Editor(Context& context) : context_(context), now_(context.now()) {
        for (const Flag& flag : context.flags())
            if (const auto given = context.arguments().find(flag.name);
                given && flag.place == Place::body)
                given_.emplace(flag.member, json_of(flag, *given, now_));
    }

    bool has_some() const { return !given_.empty(); }

    Request request(const std::string& machine, const Edit& edit) const {
        Request made{.method = "PATCH",
                     .path = path_of(machine, "/offer"),
                     .body = body_of(edit),
                     .access = context_.api().access_for(Access::key),
                     .idempotency_key = context_.given_key()};
        if (const auto file = context_.arguments().find("from"))
            made.body = read_input(*file, "--from");
        if (!made.idempotency_key) made.idempotency_key = context_.api().make_key();
        return made;
    }

    // What --explain shows, which asks nothing.
    Edit unread(const std::string& machine) const {
        Edit edit = given_;
        const std::string from = "of GET " + path_of(machine, "/offers?limit=1");
        for (const std::string_view member : kept)
            edit.emplace(member, fmt::format("\"{} {}\"", member, from));
        edit.emplace("expected_version", fmt::format("\"offer_version {}\"", from));
        return edit;
    }

    // What was given, and the rest as it is in the present version. With `changes` nothing where
    // that is what was given already.
    std::optional<Edit> whole(const std::string& machine, bool changes) const {
        const Reading versions(context_.api().get(path_of(machine, "/offers?limit=1")).body);
        const auto rows = versions.rows();
        if (rows.empty()) return first(machine);
        const Reading::Place present = rows.front();
        if (!has_some())
            throw Failure(Exit::usage, fmt::format("say what is to change: berth offers edit {} "
                                                   "--rate 0.45",
                                                   machine));
        const bool is_same = std::all_of(given_.begin(), given_.end(), [&](const auto& each) {
            return versions.text(each.first, present) == Reading(each.second).text(Reading::root);
        });
        if (changes && is_same) return std::nullopt;
        Edit edit = given_;
        for (const std::string_view member : kept) {
            const std::string value = versions.text(member, present);
            edit.emplace(member, member.ends_with("_gib") ? value : json_quoted(value));
        }
        edit.emplace("expected_version", json_quoted(versions.text("offer_version", present)));
        const auto until = parse_rfc3339(versions.text("available_until", present));
        if (!given_.contains("available_until") && until && *until <= now_)
            context_.console().say(fmt::format(
                "its time was over at {}: --available-until +30d goes on", to_rfc3339(*until)));
        return edit;
    }

private:
    // A machine that was never offered has nothing to be kept: only its price must be said.
    Edit first(const std::string& machine) const {
        if (!given_.contains("rate_micro_per_hour"))
            throw Failure(Exit::usage,
                          fmt::format("machine {} has no offer yet: its first one needs --rate",
                                      printable(machine)));
        const Reading shown(context_.api().get(path_of(machine)).body);
        const auto disk = parse_decimal(shown.text("disk_bytes"));
        Edit edit = given_;
        edit.emplace("expected_version", "\"0\"");
        edit.emplace("included_disk_gib",
                     std::to_string(disk ? std::min(first_disk_gib, *disk >> 30) : first_disk_gib));
        edit.emplace("included_egress_gib", first_egress_gib);
        edit.emplace("available_from", json_quoted(to_rfc3339(now_)));
        edit.emplace("available_until",
                     json_quoted(to_rfc3339(parse_moment(first_until, now_).value())));
        return edit;
    }

    Context& context_;
    const Time now_;
    Edit given_;
};

int edit_one(Context& context, const Editor& editor, const std::string& machine) {
    const bool is_whole = context.arguments().has("from");
    if (context.is_rehearsal()) {
        context.rehearse(editor.request(machine, editor.unread(machine)));
        return 0;
    }
    const Request request =
        editor.request(machine, is_whole ? Edit() : editor.whole(machine, false).value());
    const Answer answer = context.api().send(request);
    context.print(answer.body, "");
    if (context.output() == Output::table && Reading(answer.body).text("state") != "listed")
        context.console().say("next: " + std::string(context.command().next));
    return 0;
}

// Each by itself: one that is refused keeps no other from its new price.
int edit_all(Context& context, const Editor& editor, const std::string& label) {
    if (context.rehearse_all()) return 0;
    for (const char* flag : {"from", "idempotency-key", "expected-version"})
        if (context.arguments().has(flag))
            throw Failure(Exit::usage,
                          fmt::format("--{} is for one machine, not for --label", flag));
    if (label.empty())  // a variable of the shell that was never set; many machines have no name
        throw Failure(Exit::usage, "--label: must not be empty");
    if (!editor.has_some())
        throw Failure(Exit::usage, "say what is to change, as with --rate 0.45");
    std::string items;
    Exit exit = Exit::ok;
    for (const std::string& machine : find_machines(context)) {
        std::string offer = "null";
        std::string what = "changed";
        try {
            if (Reading(context.api().get(path_of(machine)).body).text("label") != label) continue;
            if (const auto edit = editor.whole(machine, true))
                offer = context.api().send(editor.request(machine, *edit)).body;
            else
                what = "has it already";
        } catch (const Failure& failure) {
            what = failure.message;
            if (exit == Exit::ok) exit = failure.exit;
        }
        items +=
            fmt::format("{}{{\"machine_id\":{},\"what\":{},\"offer\":{}}}",
                        items.empty() ? "" : ",", json_quoted(machine), json_quoted(what), offer);
    }
    if (items.empty())
        throw Failure(Exit::not_found,
                      fmt::format("none of your machines is called {}: berth machines name MACHINE "
                                  "--label NAME names one",
                                  printable(label)));
    context.print(fmt::format("{{\"items\":[{}]}}", items),
                  "MACHINE=machine_id PRICE=offer.rate_micro_per_hour VERSION=offer.offer_version "
                  "OFFER=offer.state WHAT=what");
    return static_cast<int>(exit);
}

}  // namespace

std::string mend_of(std::string_view blocker, const std::string& machine) {
    if (blocker == "NO_OFFER")
        return fmt::format(
            "berth offers edit {0} --rate 0.45, then berth machines list-for-rent {0}", machine);
    if (blocker == "OFFER_EXPIRED")
        return fmt::format(
            "berth offers edit {0} --available-until +30d, then berth machines list-for-rent {0}",
            machine);
    if (blocker == "NOT_QUALIFIED" || blocker == "WIPE_UNAVAILABLE")
        return fmt::format(
            "berth machines test {} says what failed, berth machines retry-test {} tries again",
            machine, machine);
    if (blocker == "GPU_LOST")
        return "restart the host, or put the card back in; the agent says when it answers again";
    if (blocker == "HEARTBEAT_STALE")
        return "on the machine: berth-agent status, berth-agent doctor";
    return fmt::format("berth machines list-for-rent {} says it in a sentence", machine);
}

// What programs read is the server's own list; people are told what to do.
int list_machines(Context& context) {
    if (context.output() != Output::table || context.is_rehearsal()) return run_row(context);
    const Machines found = asked_machines(context);
    std::vector<MachineLine> lines;
    const Time now = context.now();
    for (const std::string& id : found.ids)
        lines.push_back(machine_line(Reading(context.api().get(path_of(id)).body), id, now));
    std::stable_sort(lines.begin(), lines.end(),
                     [](const MachineLine& one, const MachineLine& other) {
                         return one.step.place < other.step.place;
                     });
    std::string items;
    for (const MachineLine& line : lines) items += (items.empty() ? "" : ",") + line.json;
    context.print(fmt::format("{{\"items\":[{}],\"next_cursor\":{}}}", items,
                              found.next_cursor.empty() ? "null" : json_quoted(found.next_cursor)),
                  machine_columns);
    return 0;
}

int edit_offers(Context& context) {
    const auto& operands = context.arguments().operands;
    const auto label = context.arguments().find("label");
    if (operands.empty() == !label)
        throw Failure(Exit::usage, "which machine? Name one MACHINE, or all of a --label");
    const Editor editor(context);
    return label ? edit_all(context, editor, *label) : edit_one(context, editor, operands[0]);
}

}  // namespace berth::cli
