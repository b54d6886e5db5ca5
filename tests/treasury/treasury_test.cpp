// The operator's own money: every movement with its reason, once, and known to the proof.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "block_list/block_list.hpp"
#include "chain/transaction.hpp"
#include "funding/funding.hpp"
#include "ledger/books.hpp"
#include "server/ledger_check.hpp"
#include "support/eventually.hpp"
#include "treasury/treasury.hpp"
#include "wallets/types.hpp"

namespace berth::test {
namespace {

using ledger::Asset;
using ledger::Pocket;
using treasury::Own;
using treasury::Purpose;

constexpr char sender_fill = '\x22';
constexpr char treasury_fill = '\x11';

crypto::Address address(char fill) {
    crypto::Address made;
    made.bytes.fill(fill);
    return made;
}

struct Treasury : Books {
    chain::Transfer transfer(std::int64_t amount, char from, char to) {
        chain::Transfer made;
        made.from = address(from);
        made.to = address(to);
        made.amount = Micro{amount};
        const Bytes name = random.bytes(32);
        std::copy(name.begin(), name.end(), made.transaction.bytes.begin());
        made.ordinal = 3;
        made.block_time = clock.now();
        return made;
    }
    funding::DepositMark park(std::int64_t amount) {
        const chain::Transfer came = transfer(amount, sender_fill, treasury_fill);
        write([&](ledger::Context context) {
            funding::add_suspense(context.tx, funding::deposit_row(came, Asset::usdc, context.now));
            ledger::park(context,
                         {{}, Asset::usdc, Micro{amount}, funding::deposit_reference(came)});
        });
        return {chain::to_string(came.transaction), came.ordinal};
    }
    treasury::Payment payment(std::int64_t amount, char to = '\x44') {
        return {transfer(amount, treasury_fill, to), Asset::usdc};
    }
    // What a renter's claim brings in, and a job of it whose fee is a tenth.
    void earn_fees(std::int64_t charge) {
        const auto renter = make_id<AccountId>();
        const auto deposit = park(charge);
        write([&](auto context) { treasury::match(context, deposit, renter, authority); });
        const auto job = make_id<JobId>();
        write([&](ledger::Context context) {
            ledger::hold(context, {job, renter, make_id<AccountId>(), make_id<MachineId>(),
                                   Asset::usdc, Micro{charge}, Micro{3'600'000}, 1000});
            ledger::capture(context, job, {Micro{charge}, charge});
            ledger::release(context, job);
        });
    }
    // A payment that the books have lost, to an address that nobody has.
    transfers::Adoption lost(AccountId account, std::int64_t amount) {
        const auto key = *crypto::SigningKey::from_bytes(std::string(32, treasury_fill));
        const chain::Signed sent =
            chain::sign({.chain_id = wallets::base_chain_id,
                         .nonce = 0,
                         .priority_fee = 1,
                         .fee_max = 1,
                         .gas_max = 1,
                         .to = ours.token(Asset::usdc),
                         .data = chain::erc20_transfer({address('\x55'), Micro{amount}})},
                        key);
        return {.payment = chain::parse_signed(sent.bytes, wallets::base_chain_id).value(),
                .account = account,
                .paid_at = clock.now()};
    }
    void pay(Purpose purpose, const treasury::Payment& payment) {
        write([&](auto context) { treasury::pay(context, ours, {purpose, payment}, authority); });
    }

    ledger::Report prove(const std::string& script = "") {
        struct Undo {};
        ledger::Report report;
        try {
            database->write([&](db::Transaction& tx) {
                if (!script.empty()) tx.script(script);
                ledger::CheckOptions options;
                options.witnesses = server::witnesses();
                report = ledger::check_ledger(tx, options);
                throw Undo();
            });
        } catch (const Undo&) {
        }
        return report;
    }
    std::int64_t balance(Pocket pocket) {
        return prove().verified.totals.balance(Asset::usdc, pocket).value;
    }
    void expect_sound() {
        const auto report = prove();
        EXPECT_TRUE(report.sound()) << to_text(report);
    }
    std::int64_t audited() {
        const auto report = database->read(audit::check_events);
        EXPECT_TRUE(report.sound());
        return report.events;
    }

    treasury::Authority authority{
        audit::Actor::local_operator(), "as the ticket says", {"ticket 7"}};
    ledger::Treasury ours{.address = address(treasury_fill),
                          .tokens = {},
                          .cold = {address('\x44')},
                          .gas = {address('\x44')}};
};

TEST(TreasuryPayments, AreMovementsWithTheirReasonInTheAuditRecord) {
    Treasury books;
    books.earn_fees(10'000);
    const auto before = books.audited();
    books.pay(Purpose::fee_take_out, books.payment(600));
    books.pay(Purpose::gas, books.payment(100));
    books.pay(Purpose::to_cold, books.payment(2000));
    EXPECT_EQ(books.balance(Pocket::fee_income), 400);
    EXPECT_EQ(books.balance(Pocket::expenses), -100);
    EXPECT_EQ(books.balance(Pocket::cold), -2000);
    EXPECT_EQ(books.balance(Pocket::outbound), 2700);
    EXPECT_EQ(books.audited(), before + 3);
    books.expect_sound();
}

TEST(TreasuryPayments, AreBookedOnceAndForOnePurpose) {
    Treasury books;
    books.earn_fees(10'000);
    const auto payment = books.payment(600);
    books.pay(Purpose::gas, payment);
    EXPECT_EQ(refusal([&] { books.pay(Purpose::gas, payment); }), Code::conflict);
    EXPECT_EQ(refusal([&] { books.pay(Purpose::to_cold, payment); }), Code::conflict);
    EXPECT_EQ(books.balance(Pocket::outbound), 600);
    books.expect_sound();
}

TEST(TreasuryPayments, GoWhereThePinnedSettingsSay) {
    Treasury books;
    books.earn_fees(10'000);
    constexpr char elsewhere = '\x45';
    EXPECT_EQ(refusal([&] { books.pay(Purpose::to_cold, books.payment(5, elsewhere)); }),
              Code::conflict);
    books.pay(Purpose::fee_take_out, books.payment(5, elsewhere));
    books.ours.fee = address('\x46');
    EXPECT_EQ(refusal([&] { books.pay(Purpose::fee_take_out, books.payment(6, elsewhere)); }),
              Code::conflict);
    books.pay(Purpose::fee_take_out, books.payment(6, '\x46'));
    books.ours.cold.clear();
    EXPECT_EQ(refusal([&] { books.pay(Purpose::to_cold, books.payment(7)); }), Code::conflict);
    EXPECT_EQ(refusal([&] { books.pay(Purpose::gas, books.payment(8, elsewhere)); }),
              Code::conflict);
    books.ours.gas.clear();
    EXPECT_EQ(refusal([&] { books.pay(Purpose::gas, books.payment(9)); }), Code::conflict)
        << "without a place where it is bought there is no gas";
    EXPECT_EQ(books.balance(Pocket::cold), 0);
    EXPECT_EQ(books.balance(Pocket::outbound), 11);
    books.expect_sound();
}

TEST(TreasuryPayments, NoMoreFeeIncomeIsTakenOutThanThereIs) {
    Treasury books;
    books.earn_fees(10'000);
    EXPECT_EQ(refusal([&] { books.pay(Purpose::fee_take_out, books.payment(1001)); }),
              Code::conflict);
    EXPECT_EQ(refusal([&] { books.pay(Purpose::gas, books.payment(1001)); }), Code::conflict)
        << "gas is paid for out of fees as well";
    books.pay(Purpose::gas, books.payment(300));
    EXPECT_EQ(refusal([&] { books.pay(Purpose::fee_take_out, books.payment(701)); }),
              Code::conflict);
    books.pay(Purpose::fee_take_out, books.payment(700));
    EXPECT_EQ(refusal([&] { books.pay(Purpose::fee_take_out, books.payment(1)); }), Code::conflict);
    books.expect_sound();
}

TEST(TreasuryPayments, ACustomersTransferIsNotTheOperators) {
    Treasury books;
    const auto payment = books.payment(5);
    books.database->write([&](db::Transaction& tx) {
        tx.run(
            "INSERT INTO transfer_attempts (transfer_id, attempt, signer, nonce, fee_max, "
            "priority_fee, tx_hash, signed_bytes, created_at) "
            "VALUES ($1, 1, '0x', 1, 1, 1, $2, $3, 1)",
            books.make_id<ledger::TransferId>(), chain::to_string(payment.transfer.transaction),
            db::Blob{"x"});
    });
    EXPECT_EQ(refusal([&] { books.pay(Purpose::gas, payment); }), Code::conflict);
}

TEST(TreasurySuspense, EndsOnceAsAMatchAsTheOperatorsOwnOrBackAtItsSender) {
    Treasury books;
    const auto account = books.make_id<AccountId>();
    const auto matched = books.park(10);
    const auto own = books.park(20);
    const auto cold = books.park(30);
    const auto returned = books.park(40);
    books.park(50);
    const auto back = books.payment(40, sender_fill);
    const auto match = [&](auto context) {
        treasury::match(context, matched, account, books.authority);
    };
    const auto keep_own = [&](auto context) {
        treasury::keep(context, books.ours, {own, Own::top_up}, books.authority);
    };
    const auto keep_cold = [&](auto context) {
        treasury::keep(context, books.ours, {cold, Own::from_cold}, books.authority);
    };
    const auto give_back = [&](auto context) {
        treasury::give_back(context, returned, back, books.authority);
    };
    books.write(match);
    books.write(keep_own);
    EXPECT_EQ(refusal([&] { books.write(keep_cold); }), Code::conflict) << "its sender is not cold";
    books.ours.cold.push_back(address(sender_fill));
    books.write(keep_cold);
    books.write(give_back);
    for (const auto& again : std::initializer_list<std::function<void(ledger::Context)>>{
             match, keep_own, keep_cold, give_back})
        EXPECT_EQ(refusal([&] { books.write(again); }), Code::conflict);
    EXPECT_EQ(books.balances(account).available, Micro{10});
    EXPECT_EQ(books.balance(Pocket::capital), 20);
    EXPECT_EQ(books.balance(Pocket::cold), 30);
    EXPECT_EQ(books.balance(Pocket::outbound), 40);
    EXPECT_EQ(books.balance(Pocket::suspense), 50);
    EXPECT_EQ(books.audited(), 4);
    books.expect_sound();
}

TEST(TreasurySuspense, OfABlockedSenderIsNobodysCapital) {
    Treasury books;
    const auto came = books.park(10);
    books.ours.cold.push_back(address(sender_fill));
    books.write([&](ledger::Context context) {
        block_list::block(context.tx, {.address = address(sender_fill),
                                       .source = block_list::Source::operator_,
                                       .reason = "named by a court",
                                       .blocked_at = context.now});
    });
    for (const Own own : {Own::top_up, Own::from_cold})
        EXPECT_EQ(refusal([&] {
                      books.write([&](auto context) {
                          treasury::keep(context, books.ours, {came, own}, books.authority);
                      });
                  }),
                  Code::conflict);
    EXPECT_EQ(books.balance(Pocket::suspense), 10);
    EXPECT_EQ(books.balance(Pocket::capital), 0);
    books.expect_sound();
}

TEST(TreasurySuspense, GoesBackWholeAndToItsSenderUnlessEvidenceSaysWhy) {
    Treasury books;
    const auto deposit = books.park(40);
    const auto give_back = [&](const treasury::Payment& payment) {
        return refusal([&] {
            books.write([&](auto context) {
                treasury::give_back(context, deposit, payment, books.authority);
            });
        });
    };
    EXPECT_EQ(give_back(books.payment(39, sender_fill)), Code::conflict);
    const auto evidence = std::exchange(books.authority.evidence, {});
    EXPECT_EQ(give_back(books.payment(40, '\x55')), Code::conflict);
    EXPECT_EQ(books.balance(Pocket::suspense), 40);
    EXPECT_EQ(give_back(books.payment(40, sender_fill)), std::nullopt);
    const auto elsewhere = books.park(7);
    books.authority.evidence = evidence;
    books.write([&](auto context) {
        treasury::give_back(context, elsewhere, books.payment(7, '\x55'), books.authority);
    });
    books.expect_sound();
}

TEST(TreasurySuspense, NeedsAReasonAndSomebodyElsesAccount) {
    Treasury books;
    const auto account = books.make_id<AccountId>();
    const auto deposit = books.park(10);
    const auto match = [&](const funding::DepositMark& which,
                           const treasury::Authority& authority) {
        return refusal([&] {
            books.write([&](auto context) { treasury::match(context, which, account, authority); });
        });
    };
    EXPECT_EQ(match(deposit, {audit::Actor::local_operator(), "why"}), Code::invalid_input);
    EXPECT_EQ(match(deposit, {audit::Actor::local_operator(), std::string(2001, 'y')}),
              Code::invalid_input);
    EXPECT_EQ(match(deposit, {audit::Actor::of(account), "it is mine"}), Code::forbidden);
    EXPECT_EQ(match({deposit.transaction, 9}, books.authority), Code::not_found);
    EXPECT_EQ(books.audited(), 0);
    EXPECT_EQ(books.balance(Pocket::suspense), 10);
}

TEST(TreasuryAdoption, NeedsTheOwnerOfTheAddressOrEvidence) {
    Treasury books;
    const auto account = books.make_id<AccountId>();
    const auto adopt = [&](const treasury::Authority& authority) {
        return refusal([&] {
            books.write([&](auto context) {
                treasury::adopt(context, books.ours, books.lost(account, 40), authority);
            });
        });
    };
    treasury::Authority alone = books.authority;
    alone.evidence.clear();
    EXPECT_EQ(adopt(alone), Code::conflict);
    EXPECT_EQ(adopt({audit::Actor::of(account), "it is mine", {"x"}}), Code::forbidden);
    EXPECT_EQ(books.audited(), 0);
    EXPECT_EQ(adopt(books.authority), std::nullopt);
    EXPECT_EQ(books.balances(account).payable, Micro{-40});
    EXPECT_EQ(adopt(books.authority), Code::conflict) << "once";
    // The address is the account's now, and whoever has it neither asks nor confirms.
    const auto deposit = books.park(7);
    EXPECT_EQ(refusal([&] {
                  books.write([&](auto context) {
                      treasury::give_back(context, deposit, books.payment(7, '\x55'),
                                          {audit::Actor::of(account), "sent back", {"x"}});
                  });
              }),
              Code::forbidden);
}

// One operator adopts the payment, another books that it sent a deposit back.
TEST(TreasuryAdoption, APaymentThatTwoBookAtOnceIsOneThing) {
    Treasury books;
    const auto deposit = books.park(40);
    const transfers::Adoption lost = books.lost(books.make_id<AccountId>(), 40);
    treasury::Payment back = books.payment(40, sender_fill);
    back.transfer.transaction = lost.payment.hash;
    std::promise<void> adopted;
    std::promise<void> commit;
    auto first = std::async(std::launch::async, [&] {
        books.write([&](ledger::Context context) {
            treasury::adopt(context, books.ours, lost, books.authority);
            adopted.set_value();
            commit.get_future().wait();
        });
    });
    ASSERT_EQ(adopted.get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready);
    std::atomic<bool> over = false;
    auto second = std::async(std::launch::async, [&] {
        const auto code = refusal([&] {
            books.write([&](ledger::Context context) {
                treasury::give_back(context, deposit, back, books.authority);
            });
        });
        over = true;
        return code;
    });
    // It waits for the first one, or has not waited.
    if (books.database->engine() == db::Engine::postgres) {
        EXPECT_TRUE(support::eventually([&] {
            return over.load() || books.database->read([](db::Transaction& tx) {
                return tx.fetch_value<std::int64_t>(
                             "SELECT COUNT(*) FROM pg_locks WHERE NOT granted")
                           .value() > 0;
            });
        }));
    }
    commit.set_value();
    first.get();
    EXPECT_EQ(second.get(), Code::conflict);
    EXPECT_EQ(books.balance(Pocket::suspense), 40);
}

TEST(TreasuryWitness, FindsForgedPayments) {
    Treasury books;
    books.earn_fees(10'000);
    books.pay(Purpose::gas, books.payment(100));
    for (const std::string sql :
         {"UPDATE treasury_payments SET amount = 101",
          "UPDATE treasury_payments SET asset = 'USDT'",
          "UPDATE treasury_payments SET movement = 'to_cold'", "DELETE FROM treasury_payments",
          "UPDATE treasury_payments SET reference = 'gas:8453:0xabc:0'",
          "INSERT INTO treasury_payments (tx_hash, ordinal, movement, asset, amount, treasury, "
          "recipient, reference, booked_at) VALUES ('0xabc', 0, 'gas', 'USDC', 1, '0x', '0x', "
          "'gas:8453:0xabc:0', 1)"})
        EXPECT_FALSE(books.prove(sql).sound()) << sql;
    // The ledger's own functions, without a payment.
    books.write([&](ledger::Context context) {
        ledger::move_own(context, {ledger::Movement::gas, Asset::usdc, Micro{5}, "8453:0xabc:0"});
    });
    EXPECT_NE(to_text(books.prove()).find("there is no such payment"), std::string::npos);
}

}  // namespace
}  // namespace berth::test
