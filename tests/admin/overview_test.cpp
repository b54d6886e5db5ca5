// What waits for operators in one look, and what they read of the treasury.
#include "admin/office.hpp"
#include "liabilities/store.hpp"
#include "support/machines.hpp"
#include "transfers/paying_town.hpp"

namespace berth::test {
namespace {

struct AtAGlance : Office {
    std::string look(const std::string& which) { return member(get(root, "overview"), which); }
    void write(const std::function<void(db::Transaction&)>& work) {
        town.harness.app->database().write([&](db::Transaction& tx) { work(tx); });
    }
    void add_dead_tasks(int count, Time since) {
        write([&](db::Transaction& tx) {
            for (int i = 0; i < count; ++i)
                tx.run(
                    "INSERT INTO tasks (task_id, kind, unique_key, payload, state, run_at, "
                    "attempts, lease_id, lease_until, last_error, created_at) VALUES "
                    "($1, 'send_mail', NULL, '', 'dead', 0, 10, NULL, 0, '550', $2)",
                    make_uuid(town.harness.clock.now(), town.harness.random), since);
        });
    }
    void park_transfer(char digit, Time seen_at, const std::string& state) {
        write([&](db::Transaction& tx) {
            tx.run(
                "INSERT INTO deposits (tx_hash, ordinal, asset, sender, treasury, amount, block, "
                "seen_at, updated_at, state, intent_id, account_id, log_index) "
                "VALUES ($1, 0, 'USDC', $2, NULL, 5, 1, $3, $3, $4, NULL, NULL, 0)",
                "0x" + std::string(64, digit), crypto::parse_address(elsewhere).value(), seen_at,
                state);
        });
    }
    void prove(Micro owed, const std::optional<Micro>& held) {
        liabilities::RecordRow row;
        row.number = 1000;  // beyond those that the server makes by itself
        row.as_of = town.harness.clock.now();
        row.root = row.salt_key = row.previous_hash = row.hash = row.signature = Bytes(32, 'x');
        row.total = owed;
        row.treasury = held;
        if (held) row.block_number = 7;
        row.public_key = row.audit_head = Bytes(32, 'x');
        row.audit_events = 1;
        write([&](db::Transaction& tx) { liabilities::add_record(tx, row, {}); });
    }
};

TEST_F(AtAGlance, NothingWaits) {
    for (const char* what :
         {"dead_tasks", "suspense", "disputes", "tickets", "pending_actions",
          "quarantined_machines", "stuck_transfers", "stuck_rentals", "held_transfers", "debts"}) {
        EXPECT_EQ(look(std::string(what) + ".count"), "0") << what;
        EXPECT_EQ(look(std::string(what) + ".more"), "false") << what;
        EXPECT_EQ(look(std::string(what) + ".oldest_at"), "null") << what;
    }
    EXPECT_EQ(look("cover.0.owed_micro"), "0");
    EXPECT_EQ(look("cover.0.held_micro"), "null");
    EXPECT_EQ(look("chain"), "null") << "nobody has read it";
    EXPECT_EQ(look("admission_paused"), "false");
    town.harness.set("operations.admission_paused", "true");
    EXPECT_EQ(look("admission_paused"), "true");
}

TEST_F(AtAGlance, EachIsCountedWithItsAge) {
    const Time now = town.harness.clock.now();
    add_dead_tasks(2, now - std::chrono::hours(1));
    park_transfer('a', now - std::chrono::minutes(2), "SUSPENSE");
    park_transfer('b', now - std::chrono::minutes(9), "RETURNED");
    enrolled(town.harness, account(ada), {.state = machines::MachineState::QUARANTINED});
    const auto ticket =
        ada.send("POST", "/api/v1/tickets", R"({"category":"billing","text":"where is it?"})",
                 town.harness.new_id());
    ASSERT_EQ(ticket.status, 201) << ticket.body;
    Browser ben = town.person("ben@example.org");
    const JobId over = job(account(ada), account(ben), 1000);
    ASSERT_EQ(post(root, "disputes",
                   R"({"job_id":")" + to_string(over) +
                       R"(","amount_micro":"10","reason":"it did not run","evidence":[]})")
                  .status,
              201);
    EXPECT_EQ(look("dead_tasks.count"), "2");
    EXPECT_GE(std::stoll(look("dead_tasks.oldest_age_s")), 3600);
    EXPECT_EQ(look("suspense.count"), "1") << "what went back waits for nobody";
    EXPECT_EQ(look("suspense.oldest_at"), to_rfc3339(now - std::chrono::minutes(2)));
    EXPECT_EQ(look("quarantined_machines.count"), "1");
    EXPECT_EQ(look("tickets.count"), "1");
    EXPECT_EQ(look("disputes.count"), "1");
    const std::string id = member(ticket.body, "ticket_id");
    ASSERT_EQ(root.send("POST", "/api/v1/tickets/" + id + "/messages", R"({"text":"here"})",
                        town.harness.new_id())
                  .status,
              201);
    EXPECT_EQ(look("tickets.count"), "0") << "it waits for its owner now";
}

TEST_F(AtAGlance, NoMoreThanAThousandAreCounted) {
    add_dead_tasks(1000, Time{7});
    EXPECT_EQ(look("dead_tasks.count"), "1000");
    EXPECT_EQ(look("dead_tasks.more"), "false");
    add_dead_tasks(1, Time{7});
    EXPECT_EQ(look("dead_tasks.count"), "1000");
    EXPECT_EQ(look("dead_tasks.more"), "true");
}

TEST_F(AtAGlance, DebtsAndWhatCoversAllThatIsOwed) {
    Browser ben = town.person("ben@example.org");
    const JobId over = job(account(ada), account(ben), 1000);
    const auto id = ledger::TransferId::make(town.harness.clock.now(), town.harness.random);
    const AccountId host = account(ben);
    book([&](ledger::Context context) {
        ledger::lock(context, {id, host, ledger::Asset::usdc, Micro{900}, ledger::Source::payout});
        ledger::settle(context, id);
    });
    ASSERT_EQ(post(root, "refunds?bearer=host_debt",
                   R"({"job_id":")" + to_string(over) +
                       R"(","amount_micro":"1000","reason":"it did not run","evidence":[]})")
                  .status,
              202);
    EXPECT_EQ(look("debts.count"), "1");
    EXPECT_EQ(look("debts.oldest_at"), "null");
    prove(Micro{3}, Micro{2});
    town.harness.clock.advance(std::chrono::seconds(90));
    EXPECT_EQ(look("cover.0.asset"), "USDC");
    EXPECT_EQ(look("cover.0.owed_micro"), "3");
    EXPECT_EQ(look("cover.0.held_micro"), "2");
    EXPECT_EQ(look("cover.0.cover_bps"), "6666");
    EXPECT_GE(std::stoll(look("cover.0.age_s")), 90);
}

TEST_F(AtAGlance, ARatioThatCannotBeToldIsNull) {
    prove(Micro{0}, Micro{5});
    EXPECT_EQ(look("cover.0.cover_bps"), "null");
    EXPECT_EQ(look("cover.0.held_micro"), "5");
}

TEST_F(AtAGlance, ARatioBeyondAllMeasureIsCut) {
    prove(Micro{1}, Micro{std::numeric_limits<std::int64_t>::max()});
    EXPECT_EQ(look("cover.0.cover_bps"), "10000000");
}

TEST_F(AtAGlance, TheTreasuryAsBooksAndChainHaveIt) {
    Browser ben = town.person("ben@example.org");
    job(account(ada), account(ben), 1000);
    park_transfer('a', town.harness.clock.now(), "OWN");
    prove(Micro{900}, Micro{1000});
    const std::string shown = get(root, "treasury");
    EXPECT_EQ(member(shown, "address"), "null") << "no treasury is set here";
    EXPECT_EQ(member(shown, "pays"), "false");
    EXPECT_EQ(member(shown, "assets.0.asset"), "USDC");
    EXPECT_EQ(member(shown, "assets.0.books.accounts_micro"), "900");
    EXPECT_EQ(member(shown, "assets.0.books.fees_micro"), "100");
    EXPECT_EQ(member(shown, "assets.0.books.suspense_micro"), "0");
    EXPECT_EQ(member(shown, "assets.0.observed.held_micro"), "1000");
    EXPECT_EQ(member(shown, "assets.0.observed.block_number"), "7");
    EXPECT_EQ(member(shown, "assets.1.observed.held_micro"), "null");
    EXPECT_EQ(member(shown, "movements.0.kind"), "top_up");
    EXPECT_EQ(member(shown, "movements.0.counterparty"),
              crypto::checksummed(crypto::parse_address(elsewhere).value()));
    EXPECT_EQ(member(shown, "movements.1.kind"), "");
    EXPECT_EQ(member(shown, "limits.payouts_paused"), "false");
    town.harness.set("money.payouts_paused", "true");
    EXPECT_EQ(member(get(root, "treasury"), "limits.payouts_paused"), "true");
}

}  // namespace
}  // namespace berth::test
