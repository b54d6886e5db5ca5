#include "server/chain_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "accounts/accounts.hpp"
#include "audit/audit.hpp"
#include "db/backup.hpp"
#include "server/chain_setup.hpp"
#include "server/features.hpp"
#include "server/operations.hpp"
#include "server/restored.hpp"
#include "server/schema.hpp"
#include "server/simulation.hpp"
#include "transfers/reconcile.hpp"
#include "treasury/treasury.hpp"

namespace berth::server {
namespace {

// What these commands need of the server.
struct Desk {
    explicit Desk(const settings::Given& given)
        : start(registry().snapshot(given)),
          clock(make_clock(start->get<Settings>())),
          secrets(load_all_secrets(start->get<Settings>(), random)),
          database(db::open(*start->get<Settings>().db)),
          chain(open_chain(client, *start, *clock)),
          features(*start, secrets, chain.get()) {
        if (!chain) throw BadSettings("--chain-rpc: must be given");
        db::migrate(*database, schema());
        require_stamp_fits(*database, *start);
    }
    transfers::Reconciler reconciler() {
        return transfers::Reconciler({features.treasury, *chain, *database});
    }
    void record(db::Transaction& tx, audit::Event event) {
        event.actor = audit::Actor::local_operator();
        audit::record({tx, random, clock->now()}, event);
    }

    SystemRandom random;
    std::shared_ptr<const settings::Snapshot> start;
    std::unique_ptr<Clock> clock;
    Secrets secrets;
    http::CurlClient client;
    std::unique_ptr<db::Database> database;
    std::unique_ptr<chain::Chain> chain;
    Features features;
};

std::string describe(const transfers::Finding& finding) {
    const bool adopted = finding.kind == transfers::Finding::Kind::adopt;
    return fmt::format("nonce {}: {}{}\n", finding.nonce, finding.text,
                       adopted ? "" : "  (foreign: wants --foreign-why)");
}

void print(const transfers::Reconciliation& found) {
    fmt::print("treasury {}: the books are at nonce {}, the chain is at {}\n",
               crypto::checksummed(found.treasury), found.books_nonce, found.chain_nonce);
    if (found.hold) fmt::print("held: {}\n", *found.hold);
    for (const transfers::Finding& finding : found.findings) fmt::print("{}", describe(finding));
}

audit::Event event_of(std::string_view action, const transfers::Reconciliation& found,
                      const std::optional<std::string>& why) {
    audit::Event event;
    event.action = action;
    event.target = {"treasury", crypto::to_string(found.treasury)};
    event.reason = why;
    event.changes = {{"next_nonce", std::to_string(found.books_nonce),
                      std::to_string(std::max(found.books_nonce, found.chain_nonce))}};
    for (const transfers::Finding& finding : found.findings)
        event.changes.push_back(
            {fmt::format("nonce_{}", finding.nonce), std::nullopt, finding.text});
    return event;
}

// The present treasury, and those that an operator names: the books may be from before their time.
std::vector<crypto::Address> treasuries_to_look_at(const Desk& desk,
                                                   const std::vector<std::string>& also) {
    const auto& present = desk.features.treasury.address;
    if (!present) throw BadSettings("--treasury: must be given, or treasury.key in --secrets");
    std::vector<crypto::Address> treasuries{*present};
    for (const std::string& text : also) {
        const auto address = crypto::parse_address(text);
        if (!address) throw BadSettings("--also: must be an address, 0x…");
        if (std::ranges::find(treasuries, *address) == treasuries.end())
            treasuries.push_back(*address);
    }
    return treasuries;
}

void freeze_owners(Desk& desk, std::span<const transfers::Reconciliation> found) {
    const auto frozen = desk.database->write([&](db::Transaction& tx) {
        return transfers::freeze_owners(tx, desk.clock->now(), found);
    });
    for (const transfers::Frozen& one : frozen)
        fmt::print("nonce {}: account {} owns that address, and is frozen until this is decided\n",
                   one.payment.nonce, to_string(one.account));
}

// Which of them the operator means.
std::optional<crypto::Address> treasury_meant(const std::string& text,
                                              const std::vector<transfers::Reconciliation>& found) {
    if (text.empty()) return std::nullopt;
    const auto address = crypto::parse_address(text);
    for (const transfers::Reconciliation& one : found)
        if (one.treasury == address) return address;
    throw BadSettings("--of: must be the address of one of these treasuries");
}

AccountId account_meant(Desk& desk, const std::string& text) {
    const auto uuid = parse_uuid(text);
    const bool known = uuid && desk.database->read([&](db::Transaction& tx) {
        return accounts::find_account(tx, AccountId{*uuid}).has_value();
    });
    if (!known) throw BadSettings("--account: there is no such account");
    return AccountId{*uuid};
}

transfers::Adoption adoption_of(Desk& desk, const ReconcileOptions& options,
                                const std::vector<transfers::Reconciliation>& found) {
    const AccountId account = account_meant(desk, options.account);
    const auto lost =
        desk.reconciler().find_payment(found, *options.adopt, treasury_meant(options.of, found));
    transfers::Adoption adoption{.payment = lost.payment,
                                 .account = account,
                                 .paid_at = lost.paid_at,
                                 .after_block = lost.after_block};
    for (const transfers::Reconciliation& one : found)
        for (const transfers::Finding& finding : one.findings) {
            if (finding.kind == transfers::Finding::Kind::adopt)
                adoption.paid_too.push_back(finding.transfer->transfer_id);
            if (finding.original && one.treasury == lost.payment.from)
                adoption.found_too.push_back(finding.nonce);
        }
    return adoption;
}

void print(const treasury::AdoptedPayment& adopted) {
    fmt::print("adopted as transfer {}: {} {}, of which {} is an advance on earnings\n",
               to_string(adopted.what.transfer), to_string(adopted.what.amount),
               ledger::name(adopted.what.asset), to_string(adopted.what.advance));
    for (const transfers::TransferId ended : adopted.what.called_off)
        fmt::print("called off: transfer {}, which asked for the same money\n", to_string(ended));
    fmt::print("audit event {}; go on with berthd chain reconcile\n", to_string(adopted.event));
}

int adopt_payment(Desk& desk, const ReconcileOptions& options,
                  const std::vector<transfers::Reconciliation>& found) {
    const transfers::Adoption adoption = adoption_of(desk, options, found);
    const treasury::Authority authority{audit::Actor::local_operator(), options.why,
                                        options.evidence};
    desk.database->read(
        [&](db::Transaction& tx) { treasury::check_adoption(tx, adoption, authority); });
    fmt::print("{} becomes a withdrawal of account {}\n", chain::to_string(adoption.payment.hash),
               options.account);
    if (!options.apply) {
        fmt::print("nothing was changed: --apply does it\n");
        return 1;
    }
    std::optional<treasury::AdoptedPayment> adopted;
    std::optional<four_eyes::PendingActionId> waiting;
    desk.database->write([&](db::Transaction& tx) {
        const ledger::Context context{tx, desk.random, desk.clock->now()};
        if (four_eyes::is_on(tx, desk.start->get<four_eyes::Settings>(), context.now))
            waiting = ask_to_adopt(context, desk.features.treasury, adoption, authority);
        else
            adopted = treasury::adopt(context, desk.features.treasury, adoption, authority);
    });
    if (waiting) {
        fmt::print("waits for a second admin; pending action {}\n", to_string(*waiting));
        return 1;
    }
    print(*adopted);
    return 0;
}

std::string database_of(const settings::Given& given) {
    return *registry().snapshot(given)->get<Settings>().db;
}

std::string database_file(const settings::Given& given) {
    const std::string url = database_of(given);
    constexpr std::string_view scheme = "sqlite:";
    if (!url.starts_with(scheme))
        throw BadSettings("--db: is PostgreSQL's to back up and restore; see docs/operating.md");
    return url.substr(scheme.size());
}

// What the database that is about to be replaced knows more; one that cannot be read tells nothing.
std::vector<Lost> lost_with(db::Database& restored, const std::string& replaced) {
    if (!std::filesystem::exists(replaced)) return {};
    try {
        db::Options options;
        options.read_only = true;
        return lost_since(restored, *db::open("sqlite:" + replaced, options));
    } catch (const std::exception& error) {
        fmt::print("{} does not tell what was done since: {}; give --log FILE\n", replaced,
                   error.what());
        return {};
    }
}

}  // namespace

int reconcile_chain(const settings::Given& given, const ReconcileOptions& options) {
    Desk desk(given);
    const auto found =
        desk.reconciler().examine(treasuries_to_look_at(desk, options.also), options.from_block);
    if (options.adopt) {
        freeze_owners(desk, found);
        return adopt_payment(desk, options, found);
    }
    bool agree = true;
    bool is_moving = false;
    for (const transfers::Reconciliation& one : found) {
        print(one);
        agree = agree && one.findings.empty() && !one.hold;
        is_moving = is_moving || one.is_moving;
    }
    freeze_owners(desk, found);
    if (is_moving) {
        fmt::print("a treasury has transactions that are not final yet: try again later\n");
        return 1;
    }
    if (agree) {
        fmt::print("books and chain agree\n");
        return 0;
    }
    if (!options.apply) {
        fmt::print("nothing was changed: --apply does it\n");
        return 1;
    }
    desk.database->write([&](db::Transaction& tx) {
        transfers::reconcile(tx, desk.clock->now(), found, options.foreign_why);
        for (const transfers::Reconciliation& one : found)
            desk.record(tx, event_of("reconcile_chain", one, options.foreign_why));
    });
    fmt::print("reconciled\n");
    return 0;
}

int retire_treasury(const settings::Given& given, const RetireOptions& options) {
    const auto address = crypto::parse_address(options.treasury);
    if (!address) throw BadSettings("--address: must be an address, 0x…");
    Desk desk(given);
    if (address == desk.features.treasury.address)
        throw BadSettings(
            "--address: is the present treasury; set up another before it is retired");
    for (const transfers::Reconciliation& one :
         desk.reconciler().examine({*address}, options.from_block)) {
        if (one.treasury != *address) continue;
        print(one);
        freeze_owners(desk, {&one, 1});
        if (one.is_moving)
            fmt::print("it has transactions that are not final yet: wants --while-moving\n");
        if (!options.apply) break;
        desk.database->write([&](db::Transaction& tx) {
            transfers::retire(tx, desk.clock->now(), one,
                              {options.why, options.foreign_why, options.while_moving});
            desk.record(tx, event_of("retire_treasury", one, options.why));
        });
        fmt::print("retired: nothing that it sends from now on is ours\n");
        return 0;
    }
    fmt::print("nothing was changed: --apply does it\n");
    return 1;
}

int resolve_transfer(const settings::Given& given, const ResolveOptions& options) {
    const auto uuid = parse_uuid(options.transfer);
    if (!uuid) throw BadSettings("--transfer: must be the id of a transfer");
    Desk desk(given);
    const transfers::TransferId id{*uuid};
    const transfers::Finding found = desk.reconciler().examine(id);
    const bool adopts =
        found.kind == transfers::Finding::Kind::adopt && found.transfer->transfer_id == id;
    fmt::print("nonce {}: {}\n", found.nonce, found.text);
    fmt::print("{}\n", adopts ? "it has paid this transfer, which will settle"
                              : "the transfer was not paid: it fails, and its money goes back");
    if (!options.apply) {
        fmt::print("nothing was changed: --apply does it\n");
        return 1;
    }
    desk.database->write([&](db::Transaction& tx) {
        const Time now = desk.clock->now();
        transfers::resolve({tx, desk.random, now}, id, found, options.why);
        desk.record(tx, {.actor = {},
                         .action = "resolve_transfer",
                         .target = {"transfer", to_string(id)},
                         .reason = options.why,
                         .changes = {{"nonce", std::nullopt, found.text}}});
    });
    fmt::print("resolved\n");
    return 0;
}

int hold_settlement(const settings::Given& given, const std::string& why) {
    const auto database = db::open(database_of(given));
    db::migrate(*database, schema());
    SystemRandom random;
    const Time now = SystemClock().now();
    database->write([&](db::Transaction& tx) {
        transfers::take_signing_turn(tx);  // whoever signs now has done so, or finds the hold
        transfers::add_hold({tx, random, now}, why);
        audit::record({tx, random, now}, {.actor = audit::Actor::local_operator(),
                                          .action = "hold_settlement",
                                          .target = {"settlement", "all"},
                                          .reason = why});
    });
    fmt::print("held until berthd chain reconcile --apply\n");
    return 0;
}

int back_up(const settings::Given& given, const std::string& file) {
    db::copy_sqlite(database_file(given), file);
    fmt::print("{} is a copy of the database; the keys of --secrets are not in it\n", file);
    return 0;
}

int restore(const settings::Given& given, const RestoreOptions& options) {
    SystemRandom random;
    const Time now = SystemClock().now();
    const std::string path = database_file(given);
    std::vector<Lost> lost;
    std::optional<std::int64_t> missing;
    db::restore_sqlite({options.file, path, options.replace}, [&](db::Database& database) {
        db::migrate(database, schema());
        if (!options.log_file.empty())
            lost = lost_by_log(database, options.log_file);
        else if (options.replace)
            lost = lost_with(database, path);
        if (!options.record_file.empty()) missing = count_missing(database, options.record_file);
        quieten(database, fmt::format("restored from {}", options.file), random, now);
    });
    fmt::print(
        "restored; nothing is signed until berthd chain reconcile --apply, payouts are paused "
        "(money.payouts_paused), and everybody has to sign in again\n");
    if (missing) print_missing(*missing);
    print_lost(lost);
    return 0;
}

}  // namespace berth::server
