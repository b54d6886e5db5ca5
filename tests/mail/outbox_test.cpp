// The outbox: written with the request, sealed at rest, sent by the worker, retried, given up.
#include <gtest/gtest.h>

#include <condition_variable>
#include <set>

#include "base/problem.hpp"
#include "mail/outbox.hpp"
#include "mail/repeated.hpp"
#include "support/database.hpp"
#include "support/fake_transport.hpp"
#include "support/fakes.hpp"

namespace berth::mail {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

class OutboxTest : public ::testing::Test {
protected:
    OutboxTest() : database(fresh.open()) {
        std::vector<db::Migration> all(migrations.begin(), migrations.end());
        all.insert(all.end(), worker::migrations.begin(), worker::migrations.end());
        db::migrate(*database, all);
    }

    void send(const Message& mail) {
        database->write([&](db::Transaction& tx) { outbox.send({tx, random, clock.now()}, mail); });
    }
    bool work() { return worker.run_one(); }
    // Runs everything that is due again and again, for `span` of the test's time.
    void work_for(Duration span, Duration step) {
        for (const Time end = clock.now() + span; clock.now() < end; clock.advance(step))
            while (work()) {
            }
    }
    int count(std::string_view sql) {
        return database->read([&](db::Transaction& tx) { return tx.run(sql)[0].get<int>(0); });
    }
    int tasks() { return count("SELECT COUNT(*) FROM tasks"); }
    int mails() { return count("SELECT COUNT(*) FROM outbox"); }
    int waiting() { return count("SELECT COUNT(*) FROM outbox WHERE state = 'waiting'"); }
    int sent() { return count("SELECT COUNT(*) FROM outbox WHERE state = 'sent'"); }
    int failed() { return count("SELECT COUNT(*) FROM outbox WHERE state = 'failed'"); }
    int texts() { return count("SELECT COUNT(*) FROM outbox WHERE sealed_text IS NOT NULL"); }

    const Message message{"Alice@example.com", "Your sign-in code",
                          "Your code is 271828.\nOr follow brl_0123456789abcdefghij\n"};

    test::TestDatabase fresh;
    test::ManualClock clock;
    test::SeededRandom random;
    std::unique_ptr<db::Database> database;
    crypto::Sealer sealer{crypto::Secret(Bytes(32, 'k'))};
    Outbox outbox{sealer, "berth@berth.example"};
    test::FakeTransport transport;
    worker::Worker worker{
        *database, clock, random, {send_mail_kind(outbox, transport, *database, clock)}};
};

TEST_F(OutboxTest, AMailIsSentOnceAndItsTextWiped) {
    send(message);
    EXPECT_EQ(transport.attempts(), 0) << "nothing leaves in the request";
    EXPECT_TRUE(work());
    EXPECT_FALSE(work());
    ASSERT_EQ(transport.sent().size(), 1U);
    const Envelope mail = transport.sent()[0];
    EXPECT_EQ(mail.from, "berth@berth.example");
    EXPECT_EQ(mail.to, "Alice@example.com");
    EXPECT_NE(mail.message.find("\r\n\r\nYour code is 271828.\r\n"), std::string::npos);
    EXPECT_EQ(sent(), 1);
    EXPECT_EQ(texts(), 0);
    EXPECT_EQ(tasks(), 0);
}

TEST_F(OutboxTest, AMailIsRolledBackWithTheRequestThatWroteIt) {
    EXPECT_THROW(database->write([&](db::Transaction& tx) {
        outbox.send({tx, random, clock.now()}, message);
        throw std::runtime_error("the request failed");
    }),
                 std::runtime_error);
    EXPECT_EQ(mails(), 0);
    EXPECT_EQ(tasks(), 0);
}

TEST_F(OutboxTest, ADumpOfTheDatabaseHoldsNoText) {
    send(message);
    for (int round = 0; round < 2; ++round) {
        std::string dump = test::dump(*database);
        for (char& c : dump) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        EXPECT_NE(dump.find("alice@example.com"), std::string::npos);
        for (const std::string& secret : {"271828"s, "brl_0123456789"s}) {
            EXPECT_EQ(dump.find(secret), std::string::npos);
            EXPECT_EQ(dump.find(to_hex(secret)), std::string::npos);
        }
        work();
    }
}

TEST_F(OutboxTest, TwoMailsWithTheSameTextLookDifferentAtRest) {
    send(message);
    send(message);
    EXPECT_EQ(count("SELECT COUNT(DISTINCT sealed_text) FROM outbox"), 2);
}

TEST_F(OutboxTest, WhatCannotBeAMailIsRefused) {
    const Message bad[] = {
        {"", "s", "t"},
        {"not an address", "s", "t"},
        {"a@b.c\r\nBcc: x@y.z", "s", "t"},
        {"a@b.c\n", "s", "t"},
        {"a@b.c\0"s, "s", "t"},
        {"a@b.c> RCPT TO:<x@y.z", "s", "t"},
        {"a@b.c", "", "t"},
        {"a@b.c", "s\r\nBcc: x@y.z", "t"},
        {"a@b.c", "s\nBcc: x@y.z", "t"},
        {"a@b.c", "s\r", "t"},
        {"a@b.c", "s\0"s, "t"},
        {"a@b.c", "\xFF", "t"},
        {"a@b.c", "s", "t\0"s},
        {"a@b.c", "s", "\xFF"},
        {"a@b.c", "s", repeated(64 * 1024 + 1, 't')},
    };
    for (const Message& one : bad) {
        try {
            send(one);
            ADD_FAILURE() << one.to << " / " << one.subject;
        } catch (const Problem& problem) {
            EXPECT_EQ(problem.code, Code::invalid_input);
        }
    }
    EXPECT_EQ(mails(), 0);
    EXPECT_EQ(tasks(), 0);
}

TEST_F(OutboxTest, TheSenderIsAnAddress) {
    EXPECT_THROW(Outbox(sealer, "Berth <berth@localhost>"), std::invalid_argument);
    EXPECT_THROW(Outbox(sealer, "berth@localhost\r\nBcc: a@b.c"), std::invalid_argument);
}

TEST_F(OutboxTest, AServerThatIsDownForADayLosesNothing) {
    transport.fail_with([] { throw NotDelivered("connection refused"); });
    send(message);
    send(message);
    work_for(24h, 10min);
    EXPECT_EQ(waiting(), 2);
    EXPECT_EQ(tasks(), 2);
    EXPECT_GT(transport.attempts(), 20);
    EXPECT_LT(transport.attempts(), 400);
    transport.fail_with({});
    work_for(2h, 10min);
    EXPECT_EQ(sent(), 2);
    EXPECT_EQ(transport.sent().size(), 2U);
}

TEST_F(OutboxTest, AServerThatIsDownForTwoDaysIsGivenUp) {
    transport.fail_with([] { throw NotDelivered("connection refused"); });
    send(message);
    work_for(mail_tried + 2h, 10min);
    EXPECT_EQ(failed(), 1);
    EXPECT_EQ(texts(), 0);
    EXPECT_EQ(tasks(), 0);
}

TEST_F(OutboxTest, ARefusedMailFailsAtOnceAndOthersGoOn) {
    transport.fail_with([] { throw Refused("550 no such user ark_0123456789abcdef"); });
    send(message);
    EXPECT_TRUE(work());
    EXPECT_EQ(failed(), 1);
    EXPECT_EQ(texts(), 0);
    EXPECT_EQ(tasks(), 0);
    EXPECT_NE(test::dump(*database).find("550 no such user ark_…"), std::string::npos);
    transport.fail_with({});
    send(message);
    EXPECT_TRUE(work());
    EXPECT_EQ(sent(), 1);
}

TEST_F(OutboxTest, AMailThatIsOfNoMoreUseIsDropped) {
    Message code = message;
    code.useful_until = clock.now() + 10min;
    transport.fail_with([] { throw NotDelivered("connection refused"); });
    send(code);
    work_for(9min, 10s);
    EXPECT_EQ(waiting(), 1);
    EXPECT_GT(transport.attempts(), 4) << "a code is worth several tries while it is good";
    transport.fail_with({});
    clock.advance(1min);
    work_for(1h, 1min);
    EXPECT_EQ(transport.sent().size(), 0U);
    EXPECT_EQ(failed(), 1);
    EXPECT_EQ(texts(), 0);
}

TEST_F(OutboxTest, NoMailIsUsefulForLongerThanItIsTried) {
    Message code = message;
    code.useful_until = clock.now() + 24h * 365;
    send(code);
    clock.advance(mail_tried);
    EXPECT_TRUE(work());
    EXPECT_EQ(failed(), 1);
}

TEST_F(OutboxTest, AMailSentTwiceIsTheSameMail) {
    transport.die_after_delivery();
    send(message);
    work();
    EXPECT_EQ(waiting(), 1);
    transport.fail_with({});
    work_for(1min, 1s);
    ASSERT_EQ(transport.sent().size(), 2U);
    EXPECT_EQ(transport.sent()[0].id, transport.sent()[1].id);
    EXPECT_EQ(transport.sent()[0].message, transport.sent()[1].message);
}

TEST_F(OutboxTest, AnotherKeyDelaysMailUntilTheRightOneIsBack) {
    send(message);
    const crypto::Sealer other{crypto::Secret(Bytes(32, 'o'))};
    const Outbox wrong{other, "berth@berth.example"};
    worker::Worker confused{
        *database, clock, random, {send_mail_kind(wrong, transport, *database, clock)}};
    EXPECT_TRUE(confused.run_one());
    EXPECT_EQ(transport.attempts(), 0);
    EXPECT_EQ(waiting(), 1);
    clock.advance(1min);
    EXPECT_TRUE(work());
    EXPECT_EQ(sent(), 1);
}

TEST_F(OutboxTest, ATextOpensForItsOwnRecipientOnly) {
    send(message);
    database->write(
        [](db::Transaction& tx) { tx.run("UPDATE outbox SET recipient = 'mallory@example.com'"); });
    EXPECT_TRUE(work());
    EXPECT_EQ(transport.attempts(), 0);
}

TEST_F(OutboxTest, ATextThereOnlyWhileTheMailWaitsIsHeldByTheDatabase) {
    send(message);
    for (const std::string_view sql :
         {"UPDATE outbox SET state = 'sent', sent_at = 1", "UPDATE outbox SET state = 'failed'",
          "UPDATE outbox SET sealed_text = NULL",
          "UPDATE outbox SET state = 'lost', sealed_text = NULL"})
        EXPECT_THROW(database->write([&](db::Transaction& tx) { tx.run(sql); }), db::StatementError)
            << sql;
}

TEST_F(OutboxTest, OldRowsAreDeletedAndWaitingOnesAreNot) {
    send(message);
    work();
    transport.fail_with([] { throw Refused("no"); });
    send(message);
    work();
    send(message);
    worker::Worker pruner{*database,
                          clock,
                          random,
                          {worker::prune_kind("prune_outbox", *database, [&](db::Transaction& tx) {
                              return prune_outbox(tx, clock.now(), worker::prune_rows_max);
                          })}};
    while (pruner.run_one()) {
    }  // takes the third mail's task too, and leaves it for others
    EXPECT_EQ(mails(), 3);
    clock.advance(mail_kept + 1h);
    while (pruner.run_one()) {
    }
    EXPECT_EQ(mails(), 1);
    EXPECT_EQ(waiting(), 1);
}

TEST_F(OutboxTest, MailIsBehindWhenOneWaitsForLong) {
    const auto behind = [&] {
        return database->read([&](db::Transaction& tx) { return is_behind(tx, clock.now()); });
    };
    EXPECT_FALSE(behind());
    send(message);
    clock.advance(10min);
    EXPECT_FALSE(behind());
    clock.advance(1s);
    EXPECT_TRUE(behind());
    work();
    EXPECT_FALSE(behind());
}

TEST_F(OutboxTest, ManyWorkersSendEveryMailOnce) {
    constexpr std::size_t mails_sent = 60;
    const SystemClock system;
    database->write([&](db::Transaction& tx) {
        for (std::size_t i = 0; i < mails_sent; ++i)
            outbox.send({tx, random, system.now()}, message);
    });
    std::vector<std::unique_ptr<worker::Worker>> workers;
    for (int i = 0; i < 3; ++i) {
        workers.push_back(std::make_unique<worker::Worker>(
            *database, system, random,
            std::vector{send_mail_kind(outbox, transport, *database, system)}));
        workers.back()->start();
    }
    const Time until = system.now() + 60s;
    while (sent() < static_cast<int>(mails_sent) && system.now() < until) {
    }
    for (auto& one : workers) one->stop();
    std::set<MailId> ids;
    for (const Envelope& mail : transport.sent()) ids.insert(mail.id);
    EXPECT_EQ(ids.size(), mails_sent);
    EXPECT_EQ(transport.sent().size(), mails_sent);
    EXPECT_EQ(sent(), static_cast<int>(mails_sent));
}

}  // namespace
}  // namespace berth::mail
