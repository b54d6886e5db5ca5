// `berthd chain …`, `berthd backup` and `berthd restore`: what an operator does when the books
// and the chain have come apart. Each is recorded in the audit record.
#pragma once

#include "base/ids.hpp"
#include "server/settings.hpp"

namespace berth::server {

struct ReconcileOptions {
    bool apply = false;  // else it only tells
    std::optional<std::int64_t> from_block = {};
    std::optional<std::string> foreign_why = {};
    std::vector<std::string> also = {};  // treasuries that the books may not know
    // A payment that the books lost becomes this account's withdrawal.
    std::optional<std::int64_t> adopt = {};  // its nonce
    std::string of = {};                     // its treasury, where several have that nonce
    std::string account = {};
    std::string why = {};
    std::vector<std::string> evidence = {};
};
// Lists what every treasury sent and the books do not know, adopts it or marks it; 1 while
// something is left, or waits for a second admin.
int reconcile_chain(const settings::Given& given, const ReconcileOptions& options);

struct RetireOptions {
    std::string treasury;
    std::string why;
    bool apply = false;
    std::optional<std::int64_t> from_block = {};
    std::optional<std::string> foreign_why = {};  // it paid what is no transfer of the books
    bool while_moving = false;                    // though something of it is not final
};
// An earlier treasury whose further payments are nobody's.
int retire_treasury(const settings::Given& given, const RetireOptions& options);

struct ResolveOptions {
    std::string transfer;
    std::string why;
    bool apply = false;
};
// Ends a transfer whose nonce somebody else used.
int resolve_transfer(const settings::Given& given, const ResolveOptions& options);

// Stops signing until the next reconciliation.
int hold_settlement(const settings::Given& given, const std::string& why);

int back_up(const settings::Given& given, const std::string& file);
struct RestoreOptions {
    std::string file;
    bool replace = false;          // even if there is a database; it is kept
    std::string log_file = {};     // of the server, for what was done since
    std::string record_file = {};  // a record of liabilities, for how much that was
};
int restore(const settings::Given& given, const RestoreOptions& options);

}  // namespace berth::server
