// Forged books: what the ledger says alone, what deposits and transfers say alone, and what neither
// of them shows without the other. Each forgery is a row.
#include <gtest/gtest.h>

#include "chain/transaction.hpp"
#include "crypto/keccak.hpp"
#include "funding/funding.hpp"
#include "ledger/check.hpp"
#include "server/ledger_check.hpp"
#include "server/schema.hpp"
#include "support/database.hpp"
#include "support/fakes.hpp"
#include "transfers/returns.hpp"
#include "transfers/store.hpp"
#include "transfers/transfers.hpp"

namespace berth::test {
namespace {

using ledger::Asset;
using transfers::TransferKind;
using transfers::TransferState;

crypto::Address address(char fill) {
    crypto::Address made;
    made.bytes.fill(fill);
    return made;
}

// Money that came in by claims, waits in suspense, and went out or is on its way.
struct TrueBooks {
    TrueBooks() {
        db::migrate(*database, server::schema());
        claim(1000, true);
        claim(500, false);
        park(77);
        transfer(100, TransferState::SETTLED);
        transfer(90, TransferState::SUBMITTED);
        transfer(80, TransferState::INTENT);
        transfer(70, TransferState::FAILED);
        transfer(60, TransferState::AWAITING_EMAIL_CONFIRMATION);
    }

    template <class Function>
    void write(Function function) {
        clock.advance(std::chrono::microseconds(1));
        database->write([&](db::Transaction& tx) {
            function(ledger::Context{tx, random, clock.now()});
        });
    }

    chain::Transfer sent(std::int64_t amount) {
        chain::Transfer transfer;
        transfer.from = address('\x22');
        transfer.to = address('\x11');
        transfer.token = address('\x33');
        transfer.amount = Micro{amount};
        const std::string name = crypto::keccak256(std::to_string(amount));
        std::copy(name.begin(), name.end(), transfer.transaction.bytes.begin());
        transfer.block_time = clock.now();
        return transfer;
    }

    void claim(std::int64_t amount, bool parked) {
        const chain::Transfer transfer = sent(amount);
        if (parked) park(amount);
        write([&](ledger::Context context) {
            funding::IntentRow intent;
            intent.intent_id = {make_uuid(context.now, random)};
            intent.account_id = account;
            intent.wallet = transfer.from;
            intent.token = transfer.token;
            intent.treasury = transfer.to;
            intent.amount = Micro{amount};
            intent.created_at = context.now;
            intent.expires_at = context.now + std::chrono::hours(1);
            funding::add_intent(context.tx, intent);
            EXPECT_EQ(funding::book(context, transfers::PaymentsForFunding{}, intent, transfer),
                      funding::ClaimState::CONFIRMED);
        });
    }

    void park(std::int64_t amount) {
        write([&](ledger::Context context) {
            const chain::Transfer transfer = sent(amount);
            funding::add_suspense(context.tx,
                                  funding::deposit_row(transfer, Asset::usdc, context.now));
            ledger::park(context,
                         {{}, Asset::usdc, Micro{amount}, funding::deposit_reference(transfer)});
        });
    }

    void transfer(std::int64_t amount, TransferState state) {
        write([&](ledger::Context context) {
            transfers::TransferRow row;
            row.transfer_id = {make_uuid(context.now, random)};
            row.account_id = account;
            row.amount = Micro{amount};
            row.address = address('\x44');
            row.address_id = {row.transfer_id.uuid};
            row.state = state;
            row.created_at = context.now;
            transfers::add_transfer(context.tx, row);
            if (state == TransferState::AWAITING_EMAIL_CONFIRMATION) return;
            transfers::lock_transfer(context, row);
            if (state == TransferState::INTENT) return;
            sign(context.tx, row);
            if (state == TransferState::SETTLED) ledger::settle(context, row.transfer_id);
            if (state == TransferState::FAILED) ledger::give_back(context, row.transfer_id);
        });
    }

    void sign(db::Transaction& tx, const transfers::TransferRow& row) {
        const Bytes bytes = "\x02" + chain::erc20_transfer({row.address, row.amount}) + "signature";
        const std::string hash = "0x" + to_hex(crypto::keccak256(bytes));
        tx.run(
            "INSERT INTO transfer_attempts (transfer_id, attempt, signer, nonce, fee_max, "
            "priority_fee, tx_hash, signed_bytes, created_at) "
            "VALUES ($1, 1, $2, $3, 1, 1, $4, $5, $6)",
            row.transfer_id, crypto::to_string(address('\x11')), nonce, hash, db::Blob{bytes},
            row.created_at);
        tx.run("UPDATE transfers SET tx_hash = $2 WHERE transfer_id = $1", row.transfer_id, hash);
        ++nonce;
        tx.run(
            "INSERT INTO treasury_nonces (treasury, next_nonce) VALUES ($1, $2) "
            "ON CONFLICT (treasury) DO UPDATE SET next_nonce = $2",
            crypto::to_string(address('\x11')), nonce);
    }

    // What is found after `script` or `change`, of which nothing remains.
    template <class Change>
    ledger::Report report_after(Change change, const ledger::Verified* verified = nullptr) {
        struct Undo {};
        ledger::Report report;
        try {
            database->write([&](db::Transaction& tx) {
                change(tx);
                ledger::CheckOptions options;
                options.witnesses = server::witnesses();
                options.verified = verified;
                report = ledger::check_ledger(tx, options);
                throw Undo();
            });
        } catch (const Undo&) {
        }
        return report;
    }

    TestDatabase place;
    std::unique_ptr<db::Database> database = place.open();
    ManualClock clock;
    SeededRandom random;
    std::int64_t nonce = 7;
    AccountId account = AccountId::make(clock.now(), random);
};

struct Forgery {
    std::string sql;
    std::string fault;
};

const std::vector<Forgery> forgeries{
    {"UPDATE deposits SET amount = 501 WHERE amount = 500", "its deposit has another amount"},
    {"UPDATE deposits SET asset = 'USDT' WHERE amount = 500", "its deposit has another amount"},
    {"UPDATE deposits SET account_id = intent_id WHERE amount = 500",
     "another account's, or nobody's"},
    {"UPDATE deposits SET state = 'SUSPENSE', account_id = NULL, intent_id = NULL "
     "WHERE amount = 500",
     "another account's, or nobody's"},
    {"UPDATE deposits SET intent_id = NULL WHERE amount = 500", "is confirmed without a deposit"},
    {"UPDATE deposits SET tx_hash = '0xabc' WHERE amount = 500", "there is no such deposit"},
    {"DELETE FROM deposits WHERE amount = 500", "there is no such deposit"},
    {"DELETE FROM deposits WHERE state = 'SUSPENSE'", "there is no such deposit"},
    {"UPDATE deposits SET amount = 78 WHERE state = 'SUSPENSE'", "its deposit has another amount"},
    {"UPDATE deposits SET state = 'RETURNED' WHERE state = 'SUSPENSE'",
     "in suspense: deposits make 0, the ledger has 77"},
    {"INSERT INTO deposits (tx_hash, ordinal, asset, sender, amount, block, seen_at, updated_at, "
     "state) VALUES ('0xdef', 0, 'USDC', '0x0', 5, 1, 1, 1, 'SUSPENSE')",
     "is not in the ledger like that"},
    {"UPDATE funding_intents SET state = 'OPEN' WHERE amount = 500", "not as its intent"},
    {"UPDATE funding_intents SET amount = 501 WHERE amount = 500", "not as its intent"},
    {"UPDATE funding_intents SET account_id = intent_id WHERE amount = 500", "not as its intent"},
    {"UPDATE transfers SET amount = 101 WHERE amount = 100", "its transfer is another"},
    {"UPDATE transfers SET account_id = transfer_id WHERE amount = 100", "its transfer is another"},
    {"UPDATE transfers SET kind = 'payout' WHERE amount = 100", "its transfer is another"},
    {"UPDATE transfers SET address = '0x5555555555555555555555555555555555555555' "
     "WHERE amount = 100",
     "an attempt pays another amount or address"},
    {"DELETE FROM transfer_attempts WHERE transfer_id = (SELECT transfer_id FROM transfers "
     "WHERE amount = 100)",
     "is SETTLED by a transaction that nobody signed"},
    {"UPDATE transfers SET tx_hash = '0xabc' WHERE amount = 100",
     "is SETTLED by a transaction that nobody signed"},
    {"UPDATE transfer_attempts SET tx_hash = '0xabc' WHERE transfer_id = (SELECT transfer_id FROM "
     "transfers WHERE amount = 100)",
     "is not what its hash says"},
    {"UPDATE transfers SET state = 'SETTLED' WHERE amount = 80",
     "is SETTLED, the ledger has it locked"},
    {"UPDATE transfers SET state = 'INTENT' WHERE amount = 100", "its transfer is INTENT"},
    {"UPDATE transfers SET state = 'INTENT' WHERE amount = 60",
     "is INTENT, the ledger has it not at all"},
    {"UPDATE transfers SET state = 'INTENT' WHERE amount = 90", "was signed, and is not one"},
    {"UPDATE transfers SET state = 'CANCELLED' WHERE amount = 80",
     "is CANCELLED, the ledger has it locked"},
    {"DELETE FROM transfers WHERE amount = 100",
     "the ledger moves money for it, but there is none"},
    {"DELETE FROM transfers WHERE amount = 80", "the ledger moves money for it, but there is none"},
    {"UPDATE treasury_nonces SET next_nonce = next_nonce - 1", "its next nonce was used before"},
    {"DELETE FROM treasury_nonces", "its next nonce was used before"},
};

std::string text_of(const ledger::Report& report) { return to_text(report); }

TEST(Witnesses, FindTrueBooksSound) {
    TrueBooks books;
    const auto report = books.report_after([](db::Transaction&) {});
    EXPECT_TRUE(report.sound()) << text_of(report);
}

TEST(Witnesses, FindEveryForgeryOfDepositsAndTransfers) {
    TrueBooks books;
    for (const auto& [sql, fault] : forgeries) {
        const auto report =
            books.report_after([&sql = sql](db::Transaction& tx) { tx.script(sql); });
        EXPECT_NE(text_of(report).find(fault), std::string::npos) << sql << "\n" << text_of(report);
    }
}

// Also of what was verified long ago: totals and states of what is open are always looked at.
TEST(Witnesses, FindForgedSumsAndOpenRowsInWhatWasVerified) {
    TrueBooks books;
    auto verified = books.report_after([](db::Transaction&) {}).verified;
    verified.as_of = books.clock.now() + std::chrono::hours(24 * 30);
    for (const std::string sql :
         {"UPDATE deposits SET amount = 501 WHERE amount = 500",
          "DELETE FROM deposits WHERE amount = 500",
          "DELETE FROM deposits WHERE state = 'SUSPENSE'",
          "UPDATE transfers SET amount = 101 WHERE amount = 100",
          "UPDATE transfers SET state = 'FAILED' WHERE amount = 100",
          "UPDATE transfers SET state = 'CANCELLED' WHERE amount = 80",
          "DELETE FROM transfers WHERE amount = 90", "UPDATE treasury_nonces SET next_nonce = 0"}) {
        const auto report =
            books.report_after([&](db::Transaction& tx) { tx.script(sql); }, &verified);
        EXPECT_FALSE(report.sound()) << sql;
    }
}

// Written with the ledger's own functions, so that every chain, sum and balance agrees.
TEST(Witnesses, FindMoneyThatTheLedgerMadeUp) {
    TrueBooks books;
    const ledger::Deposit forged{books.account, Asset::usdc, Micro{9}, "8453:0xabc:0"};
    const auto after = [&](auto function) {
        return text_of(books.report_after([&](db::Transaction& tx) {
            function(ledger::Context{tx, books.random, books.clock.now()});
        }));
    };
    EXPECT_NE(after([&](auto context) {
                  ledger::deposit(context, forged);
              }).find("there is no such deposit"),
              std::string::npos);
    EXPECT_NE(after([&](auto context) {
                  ledger::park(context, forged);
              }).find("there is no such deposit"),
              std::string::npos);
    EXPECT_NE(after([&](auto context) {
                  ledger::match(context, forged);
              }).find("there is no such deposit"),
              std::string::npos);
    ledger::Deposit nameless = forged;
    nameless.reference = "gift";
    EXPECT_NE(
        after([&](auto context) { ledger::deposit(context, nameless); }).find("names no transfer"),
        std::string::npos);
    // What is in suspense, for somebody who did not claim it.
    ledger::Deposit parked = forged;
    parked.amount = Micro{77};
    parked.reference = funding::deposit_reference(books.sent(77));
    EXPECT_NE(after([&](auto context) {
                  ledger::match(context, parked);
              }).find("another account's, or nobody's"),
              std::string::npos);
    const ledger::TransferId id{make_uuid(books.clock.now(), books.random)};
    EXPECT_NE(after([&](auto context) {
                  ledger::lock(context, {id, books.account, Asset::usdc, Micro{5},
                                         ledger::Source::withdrawal});
                  ledger::settle(context, id);
              }).find("the ledger moves money for it, but there is none"),
              std::string::npos);
}

}  // namespace
}  // namespace berth::test
