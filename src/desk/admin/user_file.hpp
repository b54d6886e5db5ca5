// What belongs to one account, put together for whoever answers its owner: wallets, keys,
// addresses, sessions, machines, rentals, transfers, recoveries, and the notes of operators. Of
// each the newest; the rest is in the lists.
#pragma once

#include <boost/describe.hpp>

#include "accounts/operators.hpp"
#include "agent_accounts/types.hpp"
#include "api/call.hpp"
#include "machines/types.hpp"
#include "recovery/types.hpp"
#include "rentals/states.hpp"
#include "transfers/operator_types.hpp"

namespace berth::admin {

inline constexpr std::int64_t file_rows_max = 20;
inline constexpr std::int64_t notes_max = 500;  // of one account

using NoteId = Id<struct NoteTag>;

struct UserWallet {
    wire::EvmAddress address;
    Time linked_at;
    wire::Nullable<Time> unlinked_at;
    bool barred = false;
};
BOOST_DESCRIBE_STRUCT(UserWallet, (), (address, linked_at, unlinked_at, barred))
constexpr auto wire_docs(const UserWallet*) {
    return std::to_array<wire::Doc>({
        {"unlinked_at", "Null while the wallet is linked.", "null"},
        {"barred", "Whether a recovery put another wallet in its place.", "false"},
    });
}

struct UserKey {
    accounts::KeyId key_id;
    AccountId account_id;
    std::string name;
    std::string prefix;
    accounts::Scopes scopes;
    Time created_at;
    wire::Nullable<Time> expires_at;
    wire::Nullable<Time> last_used_at;
    wire::Nullable<Time> revoked_at;
};
BOOST_DESCRIBE_STRUCT(UserKey, (),
                      (key_id, account_id, name, prefix, scopes, created_at, expires_at,
                       last_used_at, revoked_at))
constexpr auto wire_docs(const UserKey*) {
    return std::to_array<wire::Doc>({
        {"name", "", "training runs"},
        {"prefix", "The first letters of the secret, to recognise it by.", "ark_7Hq2mZ0c"},
        {"scopes", "What the key may do."},
        {"expires_at", "Null when it does not expire.", "null"},
        {"last_used_at", "Null when it was never used."},
        {"revoked_at", "Null while nobody has revoked it.", "null"},
    });
}

struct UserAddress {
    transfers::AddressId address_id;
    wire::EvmAddress address;
    transfers::AddressState state = transfers::AddressState::SAVED;
    wire::Nullable<std::string> label;
    Time created_at;
    wire::Nullable<Time> confirmed_at;
    wire::Nullable<Time> last_used_at;
};
BOOST_DESCRIBE_STRUCT(UserAddress, (),
                      (address_id, address, state, label, created_at, confirmed_at, last_used_at))
constexpr auto wire_docs(const UserAddress*) {
    return std::to_array<wire::Doc>({
        {"label", "", "cold wallet"},
        {"last_used_at", "Null when nothing went there.", "null"},
    });
}

struct UserSession {
    accounts::SessionId session_id;
    bool pending = false;
    std::string user_agent;
    std::string opened_from;
    Time created_at;
    Time last_seen_at;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(UserSession, (),
                      (session_id, pending, user_agent, opened_from, created_at, last_seen_at,
                       expires_at))
constexpr auto wire_docs(const UserSession*) {
    return std::to_array<wire::Doc>({
        {"session_id", "A name for it; nobody signs in with this."},
        {"pending", "Whether the second factor is still missing.", "false"},
        {"user_agent", "What the browser calls itself.", "Mozilla/5.0 (X11; Linux x86_64)"},
        {"opened_from", "The network address that it was opened from.", "192.0.2.7"},
        {"last_seen_at", "When it was last used."},
    });
}

struct UserMachine {
    MachineId machine_id;
    wire::Nullable<std::string> label;
    machines::MachineState state = machines::MachineState::UNQUALIFIED;
    wire::Nullable<std::string> gpu_model;
    wire::Nullable<machines::OfferState> offer;
    Time enrolled_at;
};
BOOST_DESCRIBE_STRUCT(UserMachine, (), (machine_id, label, state, gpu_model, offer, enrolled_at))
constexpr auto wire_docs(const UserMachine*) {
    return std::to_array<wire::Doc>({
        {"label", "", "rack 3, left"},
        {"gpu_model", "Of the first card; null while none is known.", "NVIDIA GeForce RTX 4090"},
        {"offer", "Null when no offer was ever published.", "listed"},
        {"enrolled_at", "When it came."},
    });
}

// On which side of a rental the account was.
enum class RentalSide { renter, host };
BOOST_DESCRIBE_ENUM(RentalSide, renter, host)

struct UserRental {
    JobId job_id;
    RentalSide side = RentalSide::renter;
    rentals::JobState state = rentals::JobState::RESERVED;
    MachineId machine_id;
    Time created_at;
    wire::Nullable<Time> ended_at;
};
BOOST_DESCRIBE_STRUCT(UserRental, (), (job_id, side, state, machine_id, created_at, ended_at))
constexpr auto wire_docs(const UserRental*) {
    return std::to_array<wire::Doc>({
        {"side", "Whether the account rented the machine or rented it out.", "renter"},
        {"ended_at", "Null while it is not over.", "null"},
    });
}

struct UserRecovery {
    recovery::RecoveryId recovery_id;
    recovery::RecoveryKind kind = recovery::RecoveryKind::email;
    recovery::RecoveryState state = recovery::RecoveryState::waiting;
    Time opened_at;
    Time ready_at;
};
BOOST_DESCRIBE_STRUCT(UserRecovery, (), (recovery_id, kind, state, opened_at, ready_at))
constexpr auto wire_docs(const UserRecovery*) {
    return std::to_array<wire::Doc>({
        {"kind", "What was lost.", "email"},
        {"opened_at", "When it was asked for."},
        {"ready_at", "Until when its addresses may object."},
    });
}

struct UserNote {
    NoteId note_id;
    std::string text;
    AccountId written_by;
    Time created_at;
};
BOOST_DESCRIBE_STRUCT(UserNote, (), (note_id, text, written_by, created_at))
constexpr auto wire_docs(const UserNote*) {
    return std::to_array<wire::Doc>({
        {"note_id", "A name for it; it stays as long as its owner is known."},
        {"text", "What the operator wrote, without secrets.", "Called back on Friday."},
        {"written_by", "The operator."},
    });
}

struct NewNote {
    wire::Text<1, 2000> text;
};
BOOST_DESCRIBE_STRUCT(NewNote, (), (text))
constexpr auto wire_docs(const NewNote*) {
    return std::to_array<wire::Doc>({
        {"text", "What other operators should know. The account's owner does not see it.",
         "Called back on Friday."},
    });
}

struct UserFile {
    wire::Nullable<agent_accounts::AgentProfile> agent;
    std::vector<UserWallet> wallets;
    std::vector<UserKey> keys;
    std::vector<UserAddress> addresses;
    std::vector<UserSession> sessions;
    std::vector<UserMachine> machines;
    std::vector<UserRental> rentals;
    std::vector<transfers::AdminTransfer> transfers;
    std::vector<UserNote> notes;
    std::vector<std::string> former_emails;
    std::vector<UserRecovery> recoveries;
};
UserFile file_of(api::Call& call, AccountId account);

UserKey shown_key(const accounts::KeyRecord& row);
// What a key is found by, of one that may have been pasted whole: its first letters, and nothing of
// what follows. None for a text that no key begins with.
std::optional<std::string> key_beginning(const std::string& text);

// Adds it, and tells the record. Throws a Problem CONFLICT when the account has too many.
UserNote add_note(api::Call& call, AccountId about, const std::string& text);

}  // namespace berth::admin
