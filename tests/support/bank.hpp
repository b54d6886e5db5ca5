// A small feature that exists only in tests: accounts, deposits and transfers. It exercises the
// frame the way real features do: typed routes, idempotent writes, pages, secrets and tasks.
//
// A caller is who the bearer value says: "renter <uuid>", "host <uuid>", "session <uuid>",
// "admin <uuid>" or "machine <uuid>"; anything else is nobody.
#pragma once

#include <boost/describe.hpp>

#include "api/router.hpp"
#include "db/migrate.hpp"

namespace berth::test {

class BankCallers final : public api::Authenticator {
public:
    api::Caller identify(const http::Request& request, db::Transaction& tx, Time now) override;
    void note_use(const api::Caller&, db::Transaction&, Time) override {}
};

struct AccountPath {
    AccountId id;
};
BOOST_DESCRIBE_STRUCT(AccountPath, (), (id))

struct NewTransfer {
    AccountId to;
    Micro amount_micro;
    std::optional<wire::Text<1, 40>> memo;
};
BOOST_DESCRIBE_STRUCT(NewTransfer, (), (to, amount_micro, memo))

struct NewDeposit {
    Micro amount_micro;
};
BOOST_DESCRIBE_STRUCT(NewDeposit, (), (amount_micro))

struct Entry {
    Uuid entry_id;
    AccountId account_id;
    wire::SignedMicro amount_micro;
    Time at;
};
BOOST_DESCRIBE_STRUCT(Entry, (), (entry_id, account_id, amount_micro, at))

struct BankTransfer {
    Uuid transfer_id;
    AccountId to;
    Micro amount_micro;
    Micro balance_micro;
};
BOOST_DESCRIBE_STRUCT(BankTransfer, (), (transfer_id, to, amount_micro, balance_micro))

struct Balance {
    AccountId account_id;
    Micro balance_micro;
};
BOOST_DESCRIBE_STRUCT(Balance, (), (account_id, balance_micro))

struct EntryQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<bool> credits_only;
};
BOOST_DESCRIBE_STRUCT(EntryQuery, (), (cursor, limit, credits_only))

enum class ClaimState { PENDING, CONFIRMED };
BOOST_DESCRIBE_ENUM(ClaimState, PENDING, CONFIRMED)

struct Claim {
    ClaimState state = ClaimState::PENDING;
};
BOOST_DESCRIBE_STRUCT(Claim, (), (state))

struct BankKeyOrder {
    wire::Text<1, 60> name;
};
BOOST_DESCRIBE_STRUCT(BankKeyOrder, (), (name))

struct BankKey {
    wire::Text<1, 60> name;
    wire::Secret secret;
};
BOOST_DESCRIBE_STRUCT(BankKey, (), (name, secret))

// An admin's command, told apart by `action`.
struct RenameAccount {
    wire::Literal<"rename"> action;
    wire::Text<1, 20> name;
};
BOOST_DESCRIBE_STRUCT(RenameAccount, (), (action, name))
struct LimitAccount {
    wire::Literal<"limit"> action;
    wire::PositiveMicro amount_micro;
};
BOOST_DESCRIBE_STRUCT(LimitAccount, (), (action, amount_micro))
using AccountAction = wire::OneOf<RenameAccount, LimitAccount>;

struct ActionDone {
    AccountAction done;
};
BOOST_DESCRIBE_STRUCT(ActionDone, (), (done))

struct EditPlan {
    wire::Decimal expected_version;
};
BOOST_DESCRIBE_STRUCT(EditPlan, (), (expected_version))

struct Plan {
    wire::Decimal version;
};
BOOST_DESCRIBE_STRUCT(Plan, (), (version))
constexpr auto wire_docs(const Plan*) {
    return std::to_array<wire::Doc>({{"version", "Grows by one with every change.", "7"}});
}
inline constexpr api::Sibling<Plan> current_plan{Code::version_conflict, "current"};

// What a test can do to the bank's routes from outside.
struct BankControls {
    std::atomic<bool> claims_confirm{false};
    std::function<void()> before_deposit;  // runs inside the transaction
    std::string plans = R"({"items":[{"version":"7"}],"next_cursor":null})";  // rendered beforehand
};

db::Migration bank_migration();
extern const api::RateRule bank_rate;  // 5 a minute and account, on POST /test/limited

void add_bank_routes(api::Router& router, const std::shared_ptr<BankControls>& controls);

}  // namespace berth::test
