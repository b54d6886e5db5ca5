#include "admin/user_file.hpp"

#include <algorithm>
#include <functional>

#include "accounts/keys.hpp"
#include "accounts/mailbox.hpp"
#include "admin/adjustments.hpp"
#include "base/letters.hpp"
#include "transfers/operators.hpp"
#include "wallets/wallets.hpp"

namespace berth::admin {
namespace {

struct ProfileColumns {
    std::string name;
    std::string vendor;
    std::optional<std::string> model;
    std::optional<std::string> operator_contact;
    std::optional<std::string> homepage;
};
BOOST_DESCRIBE_STRUCT(ProfileColumns, (), (name, vendor, model, operator_contact, homepage))
const db::Query<ProfileColumns> profile_of_sql(
    "SELECT {} FROM agent_profiles WHERE account_id = $1");

struct AddressColumns {
    transfers::AddressId address_id;
    crypto::Address address;
    transfers::AddressState state{};
    std::optional<std::string> label;
    Time created_at;
    std::optional<Time> confirmed_at;
    std::optional<Time> last_used_at;
};
BOOST_DESCRIBE_STRUCT(AddressColumns, (),
                      (address_id, address, state, label, created_at, confirmed_at, last_used_at))
const db::Query<AddressColumns> addresses_of_sql(
    "SELECT {} FROM withdrawal_addresses WHERE account_id = $1 "
    "ORDER BY created_at DESC, address_id DESC LIMIT $2");

struct MachineColumns {
    MachineId machine_id;
    std::optional<std::string> label;
    machines::MachineState state{};
    std::optional<std::string> gpu_model;
    std::optional<machines::OfferState> offer_state;
    Time enrolled_at;
};
BOOST_DESCRIBE_STRUCT(MachineColumns, (),
                      (machine_id, label, state, gpu_model, offer_state, enrolled_at))
const db::Query<MachineColumns> machines_of_sql(
    "SELECT {} FROM machines WHERE owner = $1 AND retired_at IS NULL "
    "ORDER BY machine_id DESC LIMIT $2");

struct RentalColumns {
    JobId job_id;
    rentals::JobState state{};
    MachineId machine_id;
    Time created_at;
    std::optional<Time> ended_at;
};
BOOST_DESCRIBE_STRUCT(RentalColumns, (), (job_id, state, machine_id, created_at, ended_at))
const db::Query<RentalColumns> rented_by_sql(
    "SELECT {} FROM jobs WHERE renter_id = $1 ORDER BY job_id DESC LIMIT $2");
const db::Query<RentalColumns> rented_out_by_sql(
    "SELECT {} FROM jobs WHERE host_id = $1 ORDER BY job_id DESC LIMIT $2");

// One that waits and was not completed in time is over, whatever its row says.
const db::Query<UserRecovery> recoveries_of_sql(
    "SELECT {} FROM (SELECT recovery_id, kind, CASE WHEN state = 'waiting' AND expires_at <= $3 "
    "THEN 'expired' ELSE state END AS state, opened_at, ready_at FROM recoveries "
    "WHERE account_id = $1) AS known ORDER BY recovery_id DESC LIMIT $2");

struct NoteRow {
    NoteId note_id;
    AccountId account_id;
    std::string text;
    AccountId written_by;
    Time created_at;
};
BOOST_DESCRIBE_STRUCT(NoteRow, (), (note_id, account_id, text, written_by, created_at))
const db::Query<NoteRow> notes_of_sql(
    "SELECT {} FROM account_notes WHERE account_id = $1 ORDER BY note_id DESC LIMIT $2");
const db::Query<NoteRow> add_note_sql("INSERT INTO account_notes ({}) VALUES ({$})");
constexpr std::string_view count_notes_sql =
    "SELECT COUNT(*) FROM account_notes WHERE account_id = $1";

template <std::size_t Max>
std::optional<wire::Text<1, Max>> as_text(const std::optional<std::string>& text) {
    return text ? std::optional(wire::Text<1, Max>{*text}) : std::nullopt;
}

wire::Nullable<agent_accounts::AgentProfile> profile_of(db::Transaction& tx, AccountId account) {
    const auto row = tx.fetch_one(profile_of_sql, account);
    if (!row) return std::nullopt;
    agent_accounts::AgentProfile profile;
    profile.name = {row->name};
    profile.vendor = {row->vendor};
    profile.model = as_text<100>(row->model);
    profile.operator_contact = as_text<254>(row->operator_contact);
    profile.homepage = as_text<500>(row->homepage);
    return profile;
}

std::vector<UserWallet> wallets_of(db::Transaction& tx, AccountId account) {
    auto bindings = wallets::list_bindings(tx, account);
    std::reverse(bindings.begin(), bindings.end());  // newest first
    std::vector<UserWallet> list;
    for (const wallets::Binding& binding : bindings) {
        if (list.size() == static_cast<std::size_t>(file_rows_max)) break;
        list.push_back({{crypto::checksummed(binding.address)},
                        binding.linked_at,
                        binding.unlinked_at,
                        wallets::is_barred(tx, binding.address)});
    }
    return list;
}

std::vector<UserRental> rentals_of(db::Transaction& tx, AccountId account) {
    std::vector<UserRental> list;
    const auto add = [&](const db::Query<RentalColumns>& query, RentalSide side) {
        for (const RentalColumns& row : tx.fetch(query, account, file_rows_max))
            list.push_back(
                {row.job_id, side, row.state, row.machine_id, row.created_at, row.ended_at});
    };
    add(rented_by_sql, RentalSide::renter);
    add(rented_out_by_sql, RentalSide::host);
    std::ranges::sort(list, std::ranges::greater{}, &UserRental::job_id);
    if (list.size() > static_cast<std::size_t>(file_rows_max))
        list.resize(static_cast<std::size_t>(file_rows_max));
    return list;
}

UserNote shown_note(const NoteRow& row) {
    return {row.note_id, row.text, row.written_by, row.created_at};
}

}  // namespace

UserKey shown_key(const accounts::KeyRecord& row) {
    UserKey key;
    key.key_id = row.key_id;
    key.account_id = row.account_id;
    key.name = row.name;
    key.prefix = row.prefix;
    if (row.renter) key.scopes.value.push_back(accounts::Scope::renter);
    if (row.host) key.scopes.value.push_back(accounts::Scope::host);
    key.created_at = row.created_at;
    key.expires_at = row.expires_at;
    key.last_used_at = row.last_used_at;
    key.revoked_at = row.revoked_at;
    return key;
}

std::optional<std::string> key_beginning(const std::string& text) {
    const std::string beginning = text.substr(0, accounts::key_prefix_letters);
    const bool fits = beginning.size() == accounts::key_prefix_letters &&
                      std::all_of(beginning.begin(), beginning.end(),
                                  [](char c) { return is_alphanumeric(c) || c == '_'; });
    return fits ? std::optional(beginning) : std::nullopt;
}

UserFile file_of(api::Call& call, AccountId account) {
    db::Transaction& tx = call.tx();
    UserFile file;
    file.agent = profile_of(tx, account);
    file.wallets = wallets_of(tx, account);
    for (const accounts::KeyRecord& row :
         accounts::list_key_records(tx, {.account = account, .now = call.now}, file_rows_max))
        file.keys.push_back(shown_key(row));
    for (const AddressColumns& row : tx.fetch(addresses_of_sql, account, file_rows_max))
        file.addresses.push_back({row.address_id,
                                  {crypto::checksummed(row.address)},
                                  row.state,
                                  row.label,
                                  row.created_at,
                                  row.confirmed_at,
                                  row.last_used_at});
    for (const accounts::SessionRecord& row :
         accounts::list_session_records(tx, account, call.now, file_rows_max))
        file.sessions.push_back({row.session_id, row.pending, row.user_agent, row.opened_from,
                                 row.created_at, row.last_seen_at, row.expires_at});
    for (const MachineColumns& row : tx.fetch(machines_of_sql, account, file_rows_max))
        file.machines.push_back({row.machine_id, row.label, row.state, row.gpu_model,
                                 row.offer_state, row.enrolled_at});
    file.rentals = rentals_of(tx, account);
    file.transfers = transfers::list_newest(call, account, file_rows_max);
    for (const NoteRow& row : tx.fetch(notes_of_sql, account, file_rows_max))
        file.notes.push_back(shown_note(row));
    file.former_emails = accounts::list_former_emails(tx, account);
    file.recoveries = tx.fetch(recoveries_of_sql, account, file_rows_max, call.now);
    return file;
}

UserNote add_note(api::Call& call, AccountId about, const std::string& text) {
    if (call.tx().fetch_value<std::int64_t>(count_notes_sql, about).value() >= notes_max)
        throw Problem(Code::conflict, "this account has as many notes as it can");
    const NoteRow row{call.make_id<NoteId>(), about, cleaned(call.tx(), text), call.caller.account,
                      call.now};
    call.tx().insert(add_note_sql, row);
    // What it says is not in the record: that is kept for ever, and a note goes with its account.
    audit::record(call.context(), {.actor = audit::Actor::of(call.caller.account),
                                   .action = "add_note",
                                   .target = {"account", to_string(about)},
                                   .changes = {{"note", std::nullopt, to_string(row.note_id)}},
                                   .request = call.request_id});
    return shown_note(row);
}

}  // namespace berth::admin
