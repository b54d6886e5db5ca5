// Everything about one account. Whatever the API shows the account is asked of the same routes, as
// the account itself would, page by page. Which routes those are is written down here, and a test
// holds the list against all routes that are the account's own.
#include <algorithm>
#include <array>

#include "accounts/accounts.hpp"
#include "accounts/leaving.hpp"
#include "accounts/oversight.hpp"
#include "agent_accounts/leaving.hpp"
#include "audit/events.hpp"
#include "closing/closing.hpp"
#include "wire/document.hpp"

namespace berth::closing {
namespace {

struct Section {
    std::string_view name;
    std::string_view path;
    // Each item of the list is asked for by this member, as the path with it says more.
    std::string_view each_by = {};
};
constexpr std::array sections{
    Section{"sessions", "/api/v1/account/sessions"},
    Section{"api_keys", "/api/v1/account/api-keys"},
    Section{"hub_token", "/api/v1/account/integrations/huggingface"},
    Section{"wallets", "/api/v1/wallets"},
    Section{"recoveries", "/api/v1/account/recoveries"},
    Section{"balance_usdc", "/api/v1/billing?asset=USDC"},
    Section{"balance_usdt", "/api/v1/billing?asset=USDT"},
    Section{"entries", "/api/v1/billing/entries"},
    Section{"credits", "/api/v1/billing/credits"},
    Section{"funding_intents", "/api/v1/funding-intents"},
    Section{"withdrawals", "/api/v1/withdrawals"},
    Section{"withdrawal_addresses", "/api/v1/withdrawal-addresses"},
    Section{"payouts", "/api/v1/hosts/payouts"},
    Section{"rentals", "/api/v1/jobs"},
    Section{"disputes", "/api/v1/disputes"},
    Section{"host_rentals", "/api/v1/hosts/rentals"},
    Section{"machines", "/api/v1/hosts/machines"},
    Section{"earnings_usdc", "/api/v1/hosts/earnings?asset=USDC"},
    Section{"earnings_usdt", "/api/v1/hosts/earnings?asset=USDT"},
    Section{"tickets", "/api/v1/tickets", "ticket_id"},
    Section{"webhooks", "/api/v1/webhooks"},
    Section{"notices", "/api/v1/account/notices"},
};

// Where the value of a member of this object begins; nothing when it is left out.
std::optional<std::uint32_t> value_of(const wire::Document& json, std::uint32_t object,
                                      std::string_view name) {
    const std::uint32_t end = json[object].end;
    for (std::uint32_t key = object + 1; key < end; key = json[key + 1].end)
        if (json[key].text == name) return key + 1;
    return std::nullopt;
}

// Asks the routes as their owner would.
class Gathering {
public:
    Gathering(const api::Call& call, const api::Router& router, const api::Caller& owner)
        : call_(call), router_(router), owner_(owner) {}

    // As the routes answer: a list whole, anything else as it is.
    std::string section(const Section& section) {
        is_cut_ = false;
        const bool has_query = section.path.find('?') != std::string_view::npos;
        const std::string first = get(std::string(section.path) + (has_query ? "" : "?limit=100"));
        wire::Document json;
        require(!json.parse(first), "an answer is JSON");
        const auto items = value_of(json, 0, "items");
        if (!items) return counted(first);
        std::string all;
        std::int64_t count = 0;
        std::string page = first;
        while (add_page(section, page, all, count)) {
            const std::string next = next_of(page);
            if (next.empty()) break;
            page = get(std::string(section.path) + "?limit=100&cursor=" + next);
        }
        return "[" + all + "]";
    }
    bool is_cut() const { return is_cut_; }  // the last section is not whole

private:
    std::string get(const std::string& target) const {
        http::Request request;
        request.method = "GET";
        request.target = target;
        const api::Recalled what = api::recall(router_, request);
        const api::Route& route = what.entry->route;
        require(route.work == api::Work::read && api::permits(route.access, owner_),
                "an export reads what its owner may read");
        api::Call inner = call_.on_behalf_of(owner_);
        api::Answer answer = what.entry->invoke(inner, what.arguments.get(), nullptr);
        return answer.shared_body ? *answer.shared_body : std::move(answer.body);
    }
    // False when there is no room for more.
    bool add_page(const Section& section, const std::string& page, std::string& all,
                  std::int64_t& count) {
        wire::Document json;
        require(!json.parse(page), "an answer is JSON");
        const std::uint32_t list = value_of(json, 0, "items").value();
        for (std::uint32_t at = list + 1; at < json[list].end; at = json[at].end) {
            std::string item;
            if (section.each_by.empty())
                json.append_compact(at, item);
            else
                item = get(std::string(section.path) + "/" +
                           std::string(json[value_of(json, at, section.each_by).value()].text));
            if (count == section_items_max || bytes_ + item.size() > export_bytes_max) {
                is_cut_ = true;
                return false;
            }
            ++count;
            all += (all.empty() ? "" : ",") + counted(std::move(item));
        }
        return true;
    }
    static std::string next_of(const std::string& page) {
        wire::Document json;
        require(!json.parse(page), "an answer is JSON");
        const auto next = value_of(json, 0, "next_cursor");
        if (!next || json[*next].shape != wire::Shape::string) return "";
        return std::string(json[*next].text);
    }
    std::string counted(std::string text) {
        bytes_ += text.size();
        return text;
    }

    const api::Call& call_;
    const api::Router& router_;
    const api::Caller& owner_;
    std::size_t bytes_ = 0;
    bool is_cut_ = false;
};

DoneBy done_by(const audit::Recorded& event, AccountId account) {
    if (event.account == account) return DoneBy::self;
    return event.actor_kind == audit::name(audit::Actor::Kind::system) ? DoneBy::system
                                                                       : DoneBy::operator_;
}

std::vector<ExportedEvent> events_about(db::Transaction& tx, AccountId account) {
    audit::Wanted wanted;
    wanted.target_kind = "account";
    wanted.target_id = to_string(account);
    std::vector<ExportedEvent> events;
    for (const audit::Recorded& event : audit::list_events(tx, wanted, export_events_max))
        events.push_back({event.at, event.action, done_by(event, account)});
    return events;
}

AccountExport gathered(api::Call& call, const api::Router& router,
                       const accounts::Record& account) {
    db::Transaction& tx = call.tx();
    const AccountId id = account.account_id;
    AccountExport made{
        .account_id = id,
        .made_at = call.now,
        .account = {account.kind, account.email, accounts::list_former_emails(tx, id), account.role,
                    account.host_capability, account.suspended, account.frozen,
                    account.totp_secret.has_value(), account.created_at, account.last_sign_in_at,
                    accounts::list_networks(tx, id)},
        .agent = {},
        .sections = {},
        .events = events_about(tx, id),
        .cut = {}};
    if (const auto said = agent_accounts::find_profile(tx, id))
        made.agent = ExportedProfile{said->name, said->vendor, said->model, said->operator_contact,
                                     said->homepage};
    // What it once earned is its own to read, whether it may host now or not.
    api::Caller owner;
    owner.credential = api::Credential::session;
    owner.account = id;
    owner.renter = true;
    owner.host = true;
    owner.agent = account.kind == accounts::Kind::agent;
    Gathering gathering(call, router, owner);
    for (const Section& section : sections) {
        made.sections[std::string(section.name)] = {gathering.section(section)};
        if (gathering.is_cut()) made.cut.emplace_back(section.name);
    }
    if (static_cast<std::int64_t>(made.events.size()) == export_events_max)
        made.cut.emplace_back("events");
    return made;
}

}  // namespace

bool is_exported(std::string_view path) {
    return std::any_of(sections.begin(), sections.end(), [path](const Section& section) {
        return section.path.substr(0, section.path.find('?')) == path;
    });
}

AccountExport Closing::export_own(api::Call& call, const api::Router& router) const {
    const auto account = accounts::find_record(call.tx(), call.caller.account);
    require(account.has_value(), "a caller has an account");
    call.require_step_up();
    const audit::Event event{.actor = audit::Actor::of(call.caller.account),
                             .action = "read_export",
                             .target = {"account", to_string(call.caller.account)},
                             .request = call.request_id};
    call.keep_before_answer([event](db::Context context) { audit::record(context, event); });
    return gathered(call, router, *account);
}

AccountExport Closing::export_user(api::Call& call, const api::Router& router,
                                   const UserPath& path) const {
    const auto id = parse_uuid(path.id);
    const auto account =
        id ? accounts::find_record(call.tx(), AccountId{*id}) : std::optional<accounts::Record>();
    if (!account) throw Problem(Code::not_found, "no such user");
    call.require_step_up();
    accounts::note_look(
        call, {account->account_id, "read_export", {"account", to_string(account->account_id)}});
    return gathered(call, router, *account);
}

}  // namespace berth::closing
