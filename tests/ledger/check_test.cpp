// The proof finds every alteration of the ledger's rows and says where it is.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "ledger/busy.hpp"

namespace berth::test {
namespace {

using ledger::Asset;
using ledger::Pocket;
using ledger::Source;

bool says(const ledger::Report& report, const std::string& place, const std::string& fault) {
    return std::any_of(report.faults.begin(), report.faults.end(), [&](const std::string& text) {
        return text.find(place) != text.npos && text.find(fault) != text.npos;
    });
}

// What is altered, and what is said about which thing. In the SQL, @movement is the transaction of
// that movement, the first if there are several. The place is one too, or a table and a condition.
struct Alteration {
    std::string sql;
    std::string place;
    std::string fault;
};

std::string transaction_of(const std::string& movement) {
    return "(SELECT transaction_id FROM ledger_transactions WHERE movement = '" + movement +
           "' ORDER BY transaction_id LIMIT 1)";
}

std::string spelled_out(std::string sql) {
    for (std::size_t at = sql.find('@'); at != sql.npos; at = sql.find('@')) {
        const std::size_t end =
            std::min(sql.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 1), sql.size());
        sql.replace(at, end - at, transaction_of(sql.substr(at + 1, end - at - 1)));
    }
    return sql;
}

std::string name_of_place(Books& books, const std::string& place) {
    if (place.empty()) return "";
    const std::string sql =
        place[0] == '@' ? "SELECT transaction_id FROM ledger_transactions WHERE transaction_id = " +
                              transaction_of(place.substr(1))
                        : "SELECT " + place;
    return books.database->read(
        [&](db::Transaction& tx) { return to_string(tx.run(sql)[0].get<Uuid>(0)); });
}

void expect_found(const std::vector<Alteration>& alterations) {
    Busy busy;
    for (const Alteration& alteration : alterations) {
        const std::string place = name_of_place(busy.books, alteration.place);
        const ledger::Report report = report_after(busy.books, spelled_out(alteration.sql));
        EXPECT_FALSE(report.sound()) << alteration.sql;
        EXPECT_TRUE(says(report, place, alteration.fault))
            << alteration.sql << "\nexpected: " << place << alteration.fault << "\n"
            << to_text(report);
    }
    EXPECT_TRUE(busy.books.check().sound()) << "every alteration was undone";
}

const std::string renter_row = "account_id FROM ledger_accounts WHERE available > 5000";
const std::string quiet_row = "account_id FROM ledger_accounts WHERE payable = 180";
const std::string job_row = "job_id FROM ledger_jobs WHERE charged = 600";
constexpr auto not_written = ": its rows are not what was written";
constexpr auto not_allowed = ": has an entry that its movement does not allow";
constexpr auto not_its_entries = ": is not what its entries say";
constexpr auto end_missing = ": the end of its chain is missing";

TEST(LedgerCheck, FindsALedgerSoundThatNobodyTouched) {
    Busy busy;
    const ledger::Report report = busy.books.check();
    EXPECT_TRUE(report.sound()) << to_text(report);
    EXPECT_EQ(report.accounts, 5);  // the fifth is the chain of what nobody claimed
    EXPECT_TRUE(to_text(report).ends_with("0 faults: sound\n")) << to_text(report);
}

TEST(LedgerCheck, PrintsTheTrialBalance) {
    Busy busy;
    struct Expected {
        Asset asset;
        Pocket pocket;
        std::int64_t debit;
        std::int64_t credit;
    };
    // Withdrawals are of 400, 401 and 402, payouts of 70, 71 and 72.
    const std::vector<Expected> expected{
        {Asset::usdc, Pocket::available, 1000 + 200 + 300 + 1203, 10'077 + 400 + 100 + 402},
        {Asset::usdc, Pocket::held, 600 + 400 + 200, 1000 + 200 + 300},
        {Asset::usdc, Pocket::payable, 90 + 110 + 213, 540 + 180 + 60 + 72},
        {Asset::usdc, Pocket::escrow, 60, 110},
        {Asset::usdc, Pocket::reserved, 401 + 402 + 71 + 72, 1203 + 213},
        {Asset::usdc, Pocket::treasury, 10'110, 0},
        {Asset::usdc, Pocket::outbound, 0, 401 + 71},
        {Asset::usdc, Pocket::suspense, 77, 110},
        {Asset::usdc, Pocket::fee_income, 10, 60 + 20},
        {Asset::usdt, Pocket::available, 0, 5000},
        {Asset::usdt, Pocket::treasury, 5000, 0},
    };
    const ledger::Report report = busy.books.check();
    ASSERT_EQ(report.trial_balance().size(), expected.size()) << to_text(report);
    const std::string text = to_text(report);
    const auto rows = report.trial_balance();
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto& [asset, pocket, debit, credit] = expected[i];
        EXPECT_EQ(rows[i].asset, asset);
        EXPECT_EQ(rows[i].pocket, pocket);
        EXPECT_EQ(rows[i].debit, Micro{debit}) << name(pocket);
        EXPECT_EQ(rows[i].credit, Micro{credit}) << name(pocket);
        EXPECT_NE(text.find(fmt::format("{:<6}{:<12}{:>22}{:>22}{:>22}\n", name(asset),
                                        name(pocket), debit, credit, credit - debit)),
                  text.npos)
            << text;
    }
}

TEST(LedgerCheck, FindsAlteredEntries) {
    const std::string charge = " WHERE transaction_id = @charge";
    expect_found({
        {"UPDATE ledger_entries SET amount = amount + 1" + charge + " AND ordinal = 2", "@charge",
         ": does not sum to zero"},
        {"UPDATE ledger_entries SET amount = amount * 2" + charge, "@charge", not_written},
        {"UPDATE ledger_entries SET pocket = 'escrow'" + charge + " AND ordinal = 2", "@charge",
         not_allowed},
        {"UPDATE ledger_entries SET pocket = 'mattress'" + charge + " AND ordinal = 2", "@charge",
         "unknown pocket"},
        {"UPDATE ledger_entries SET kind = 'refund'" + charge + " AND ordinal = 2", "@charge",
         not_allowed},
        {"UPDATE ledger_entries SET kind = 'gift'" + charge + " AND ordinal = 2", "@charge",
         "unknown pocket, kind"},
        {"UPDATE ledger_entries SET asset = 'USDT'" + charge + " AND ordinal = 2", "@charge",
         "asset"},
        {"UPDATE ledger_entries SET asset = 'gold'" + charge, "@charge", "asset"},
        {"UPDATE ledger_entries SET place = 999, owner_id = (SELECT " + quiet_row + ")" + charge +
             " AND ordinal = 2",
         "@charge", not_written},
        {"UPDATE ledger_entries SET owner_id = party_id" + charge + " AND ordinal = 3", "@charge",
         ": a pocket has the wrong owner"},
        {"UPDATE ledger_entries SET party_id = NULL, day = NULL" + charge + " AND ordinal = 2",
         "@charge", not_written},
        {"UPDATE ledger_entries SET day = day + 1" + charge + " AND ordinal = 2", "@charge",
         ": counts on another day"},
        {"UPDATE ledger_entries SET job_id = NULL" + charge, "@charge", not_written},
        {"UPDATE ledger_entries SET machine_id = NULL" + charge, "@charge", not_written},
        {"UPDATE ledger_entries SET ordinal = 7" + charge + " AND ordinal = 3", "@charge",
         not_written},
        {"UPDATE ledger_entries SET place = 1000" + charge + " AND ordinal = 1", renter_row,
         ": a statement does not show every entry"},
        {"UPDATE ledger_entries SET place = NULL" + charge + " AND ordinal = 1", "@charge",
         ": has an entry that statements leave out"},
        {"DELETE FROM ledger_entries" + charge + " AND ordinal = 3", "@charge",
         ": does not sum to zero"},
        {"DELETE FROM ledger_entries" + charge, "@charge", ": has no entries"},
        {"INSERT INTO ledger_entries (transaction_id, ordinal, owner_id, asset, pocket, kind, "
         "amount) SELECT transaction_id, 9, owner_id, asset, pocket, kind, amount "
         "FROM ledger_entries WHERE transaction_id = @deposit AND ordinal = 2",
         "@deposit", not_allowed},
        // An entry of no transaction.
        {"INSERT INTO ledger_entries (transaction_id, ordinal, owner_id, asset, pocket, kind, "
         "amount) SELECT owner_id, 1, owner_id, asset, pocket, kind, amount FROM ledger_entries "
         "WHERE transaction_id = @deposit AND ordinal = 2",
         renter_row, ": is missing, and an entry"},
    });
}

TEST(LedgerCheck, FindsAlteredDays) {
    const std::string fault = "is not what the entries add up to";
    expect_found({
        {"UPDATE ledger_days SET amount = amount + 1 WHERE kind = 'job_charge'", "", fault},
        {"UPDATE ledger_days SET day = day + 1 WHERE kind = 'host_earning'", "", fault},
        {"DELETE FROM ledger_days WHERE kind = 'platform_fee'", "", fault},
    });
}

TEST(LedgerCheck, FindsAlteredTransactions) {
    const std::string charge = " WHERE transaction_id = @charge";
    expect_found({
        {"UPDATE ledger_transactions SET reference = 'charge:mine'" + charge, "@charge",
         not_written},
        {"UPDATE ledger_transactions SET at = at + 1" + charge, "@charge", not_written},
        {"UPDATE ledger_transactions SET at = at + 86400000000" + charge, "@charge",
         ": counts on another day"},
        {"UPDATE ledger_transactions SET movement = 'refund'" + charge, "@charge", not_allowed},
        {"UPDATE ledger_transactions SET movement = 'gift'" + charge, "@charge",
         ": is no movement that is allowed"},
        {"UPDATE ledger_transactions SET sequence = 1000" + charge, "@release",
         ": the one before it is missing"},
        {"UPDATE ledger_transactions SET asset = 'USDT'" + charge, "@charge",
         ": is in no account's chain"},
        {"UPDATE ledger_transactions SET account_id = (SELECT " + quiet_row + ")" + charge,
         "@charge", ": is in no account's chain"},
        {"UPDATE ledger_transactions SET hash = previous_hash" + charge, "@charge", not_written},
        {"UPDATE ledger_transactions SET previous_hash = hash" + charge, "@charge",
         ": does not follow the one before it"},
        {"CREATE TEMPORARY TABLE swapped AS SELECT transaction_id, hash FROM ledger_transactions "
         "WHERE transaction_id IN (@charge, @release);"
         "UPDATE ledger_transactions SET hash = (SELECT hash FROM swapped WHERE "
         "swapped.transaction_id <> ledger_transactions.transaction_id) "
         "WHERE transaction_id IN (SELECT transaction_id FROM swapped);"
         "DROP TABLE swapped",
         "@charge", not_written},
    });
}

TEST(LedgerCheck, FindsWhatIsMissing) {
    const std::string last =
        "(SELECT transaction_id FROM ledger_transactions WHERE account_id = (SELECT " + renter_row +
        ") ORDER BY sequence DESC LIMIT 1)";
    // The entries go first, because the others are found by their transaction.
    const auto remove = [](const std::string& which) {
        return "DELETE FROM ledger_entries WHERE transaction_id = " + which +
               ";DELETE FROM ledger_transactions WHERE transaction_id = " + which;
    };
    expect_found({
        {remove(last), renter_row, end_missing},
        // With the end moved back it is the balance that tells.
        {"UPDATE ledger_accounts SET sequence = sequence - 1, head = (SELECT previous_hash FROM "
         "ledger_transactions WHERE transaction_id = " +
             last + ") WHERE available > 5000;" + remove(last),
         renter_row, "available is "},
        {remove("@charge"), "@release", ": the one before it is missing"},
        {"DELETE FROM ledger_transactions WHERE transaction_id = @charge", "@charge",
         ": is missing, and an entry of it is not"},
        {"DELETE FROM ledger_accounts WHERE available > 5000", "@charge",
         ": is in no account's chain"},
        {"DELETE FROM ledger_accounts WHERE payable = 180", quiet_row, ": its row is missing"},
        {"DELETE FROM ledger_jobs WHERE charged = 600", "", "not as many jobs"},
        {"DELETE FROM ledger_transfers WHERE amount = 401", "", "not as many transfers"},
        {"DELETE FROM ledger_transfers WHERE amount = 72", "", "not as many transfers"},
        {"DELETE FROM ledger_disputes WHERE closed = 1", "", "not as many disputes"},
        {"DELETE FROM ledger_entries", "", "has no entries"},
        {"DELETE FROM ledger_transactions", renter_row, end_missing},
    });
}

TEST(LedgerCheck, FindsAlteredAccounts) {
    std::vector<Alteration> alterations;
    for (const std::string column :
         {"available", "held", "payable", "escrow", "reserved", "earned", "fees", "paid"})
        alterations.push_back({fmt::format("UPDATE ledger_accounts SET {0} = {0} + 1 "
                                           "WHERE available > 5000",
                                           column),
                               renter_row, ": " + column + " is "});
    alterations.push_back({"UPDATE ledger_accounts SET entries = entries + 1 WHERE payable = 180",
                           quiet_row, ": a statement does not show every entry"});
    alterations.push_back({"UPDATE ledger_accounts SET sequence = sequence + 1 WHERE payable = 180",
                           quiet_row, end_missing});
    alterations.push_back(
        {"UPDATE ledger_accounts SET head = (SELECT hash FROM "
         "ledger_transactions WHERE transaction_id = @charge) "
         "WHERE available > 5000",
         renter_row, end_missing});
    // The platform's row has a chain and nothing else.
    for (const std::string column : {"available", "payable", "earned", "paid"})
        alterations.push_back({fmt::format("UPDATE ledger_accounts SET {} = 5 WHERE account_id = "
                                           "(SELECT account_id FROM ledger_transactions WHERE "
                                           "transaction_id = @park)",
                                           column),
                               "account_id FROM ledger_transactions WHERE movement = 'park'",
                               ": " + column + " is 5, its rows say 0"});
    // Money out of nothing, with balances and entries that agree.
    alterations.push_back(
        {"UPDATE ledger_entries SET amount = amount + amount WHERE transaction_id = @deposit;"
         "UPDATE ledger_accounts SET available = available + 10000 WHERE available > 5000",
         "@deposit", not_written});
    expect_found(alterations);
}

TEST(LedgerCheck, FindsAlteredJobs) {
    std::vector<Alteration> alterations;
    for (const std::string change :
         {"closed = 0", "charged = 601", "budget = 1001", "refunded = 101", "disputed = 0",
          "fee_bps = 1100", "renter_id = host_id", "host_id = renter_id", "machine_id = job_id",
          "asset = 'USDT'"})
        alterations.push_back({"UPDATE ledger_jobs SET " + change + " WHERE charged = 600", job_row,
                               not_its_entries});
    // What it was charged must follow from its rate and runtime.
    for (const std::string change : {"runtime_ms = 599", "runtime_ms = 601", "runtime_ms = -1",
                                     "rate_per_hour = 3599999", "rate_per_hour = 0"})
        alterations.push_back({"UPDATE ledger_jobs SET " + change + " WHERE charged = 600", job_row,
                               ": was charged 600, its rate and runtime make "});
    alterations.push_back(
        {"UPDATE ledger_jobs SET runtime_ms = 9223372036854775807, "
         "rate_per_hour = 9223372036854775807 WHERE charged = 600",
         job_row, ": has amounts that nobody can have"});
    // Reopened, its rest would be held.
    alterations.push_back({"UPDATE ledger_jobs SET closed = 0 WHERE charged = 600", renter_row,
                           "held by open jobs is "});
    alterations.push_back({"UPDATE ledger_jobs SET closed = 1 WHERE closed = 0", renter_row,
                           "held by open jobs is "});
    expect_found(alterations);
}

TEST(LedgerCheck, FindsAlteredTransfersAndDisputes) {
    const auto transfer = [](const std::string& change, int amount) {
        const std::string row = fmt::format("WHERE amount = {}", amount);
        return Alteration{"UPDATE ledger_transfers SET " + change + " " + row,
                          "transfer_id FROM ledger_transfers " + row, not_its_entries};
    };
    const auto dispute = [](const std::string& change, int amount) {
        const std::string row = fmt::format("WHERE amount = {}", amount);
        return Alteration{"UPDATE ledger_disputes SET " + change + " " + row,
                          "dispute_id FROM ledger_disputes " + row, not_its_entries};
    };
    expect_found({
        transfer("state = 'settled'", 400),
        transfer("state = 'returned'", 400),
        transfer("state = 'locked'", 401),
        transfer("state = 'returned'", 401),
        transfer("state = 'settled'", 72),
        transfer("amount = 500", 401),
        transfer("asset = 'USDT'", 72),
        transfer("source = 'payout'", 401),
        transfer("account_id = transfer_id", 71),
        {"UPDATE ledger_transfers SET state = 'settled' WHERE amount = 400", renter_row,
         "reserved by open transfers is "},
        dispute("closed = 1", 50),
        dispute("closed = 0", 60),
        dispute("amount = 59", 60),
        dispute("host_id = dispute_id", 60),
        dispute("job_id = dispute_id", 60),
        dispute("asset = 'USDT'", 60),
        {"UPDATE ledger_disputes SET closed = 1 WHERE amount = 50", "",
         "escrow of open disputes is "},
    });
}

TEST(LedgerCheck, CountsFaultsBeyondThoseItDescribes) {
    Books books;
    Rental rental(books);
    for (int i = 0; i < 60; ++i) books.deposit(rental.renter, 5);
    const ledger::Report report =
        report_after(books, "UPDATE ledger_transactions SET at = at + 1, previous_hash = hash");
    EXPECT_EQ(report.faults.size(), ledger::faults_max);
    EXPECT_GT(report.fault_count, 120);
    EXPECT_NE(to_text(report).find("and more\n"), std::string::npos);
    EXPECT_TRUE(to_text(report).ends_with("faults: NOT SOUND\n"));
}

}  // namespace
}  // namespace berth::test
