// Delivery over SMTP to a real server, and to servers that are broken, rude or silent.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "http/certificate.hpp"
#include "mail/mime.hpp"
#include "mail/outbox.hpp"
#include "mail/repeated.hpp"
#include "mail/smtp_server.hpp"
#include "mail/smtp_transport.hpp"
#include "support/database.hpp"
#include "support/fakes.hpp"

namespace berth::mail {
namespace {

using namespace std::chrono_literals;

// Takes connections and says what it was told to say, to the first of them.
class RudeServer {
public:
    explicit RudeServer(std::string words) {
        socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const raw = reinterpret_cast<sockaddr*>(&address);
        if (::bind(socket_, raw, size) != 0 || ::listen(socket_, 8) != 0 ||
            ::getsockname(socket_, raw, &size) != 0)
            throw std::runtime_error("no socket");
        port_ = ntohs(address.sin_port);
        if (words.empty()) return;  // the system takes the connection, nobody ever answers
        thread_ = std::thread([this, words = std::move(words)] {
            const int peer = ::accept(socket_, nullptr, nullptr);
            (void)!::write(peer, words.data(), words.size());
            ::shutdown(peer, SHUT_WR);
            char ignored[256];
            while (::read(peer, ignored, sizeof ignored) > 0) {
            }
            ::close(peer);
        });
    }
    ~RudeServer() {
        if (thread_.joinable()) thread_.join();
        ::close(socket_);
    }
    RudeServer(const RudeServer&) = delete;
    RudeServer& operator=(const RudeServer&) = delete;

    std::string target() const { return "smtp://127.0.0.1:" + std::to_string(port_); }

private:
    int socket_;
    std::uint16_t port_;
    std::thread thread_;
};

class Smtp : public ::testing::Test {
protected:
    Smtp() { certificate.write(); }

    Envelope envelope(std::string subject = "Hello", std::string text = "Hello\n") {
        const MailId id = MailId::make(clock.now(), random);
        return {id, "berth@berth.example", "alice@example.com",
                write_message({to_string(id), clock.now(), "berth@berth.example",
                               "alice@example.com", std::move(subject), std::move(text)})};
    }
    std::vector<std::string> tls(const std::string& how, std::vector<std::string> more = {}) {
        std::vector<std::string> all{
            "--tls", how, "--certificate", certificate.certificate(), "--key", certificate.key()};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    TransportOptions trusting() {
        TransportOptions options;
        options.ca_file = certificate.certificate();
        return options;
    }
    static std::string failure(Transport& transport, const Envelope& mail) {
        try {
            transport.deliver(mail);
        } catch (const NotDelivered& error) {
            return std::string("not delivered: ") + error.what();
        } catch (const Refused& error) {
            return std::string("refused: ") + error.what();
        }
        return "delivered";
    }

    test::ManualClock clock;
    test::SeededRandom random;
    http::CertificateFolder certificate;
};

TEST_F(Smtp, ARealServerReceivesWhatWasSent) {
    const SmtpServerProcess server;
    const auto transport = make_transport("smtp://" + server.address());
    const std::string subject = "Gr\xC3\xBC\xC3\x9F dich, \xF0\x9F\x92\x9C";
    const std::string texts[] = {
        "Hello\n",
        ".\n..\n.hidden\nQUIT\n.\n",
        "caf\xC3\xA9 " + repeated(3000, 'x') + "\n.\n",
        repeated(60'000, 'y') + "\n",
        "no line end\n",
    };
    for (const std::string& text : texts) transport->deliver(envelope(subject, text));
    const auto mails = server.mails();
    ASSERT_EQ(mails.size(), std::size(texts));
    for (std::size_t i = 0; i < mails.size(); ++i) {
        EXPECT_EQ(mails[i].at("from"), "berth@berth.example");
        EXPECT_EQ(mails[i].at("to"), boost::json::array{"alice@example.com"});
        EXPECT_EQ(mails[i].at("greeting"), "berth.example");
        EXPECT_EQ(mails[i].at("tls"), false);
        EXPECT_EQ(mails[i].at("subject").as_string(), subject);
        EXPECT_EQ(mails[i].at("text").as_string(), texts[i]);
    }
}

TEST_F(Smtp, SignsInAfterStarttls) {
    const SmtpServerProcess server(tls("starttls", {"--user", "me@x", "--password", "p:/@ %"}));
    const auto transport = make_transport(
        "smtp://me%40x:p%3A%2F%40%20%25@" + server.address() + "?tls=required", trusting());
    transport->deliver(envelope());
    ASSERT_EQ(server.mails().size(), 1U);
    EXPECT_EQ(server.mails()[0].at("tls"), true);
    EXPECT_EQ(server.mails()[0].at("user"), "me@x");
}

TEST_F(Smtp, SpeaksTlsFromTheStartWithSmtps) {
    const SmtpServerProcess server(tls("implicit"));
    make_transport("smtps://" + server.address(), trusting())->deliver(envelope());
    ASSERT_EQ(server.mails().size(), 1U);
    EXPECT_EQ(server.mails()[0].at("tls"), true);
}

TEST_F(Smtp, ACertificateNobodyVouchesForIsNotTrusted) {
    const SmtpServerProcess starttls(tls("starttls"));
    const SmtpServerProcess implicit(tls("implicit"));
    for (const std::string& target :
         {"smtp://" + starttls.address() + "?tls=required", "smtps://" + implicit.address()}) {
        const std::string why = failure(*make_transport(target), envelope());
        EXPECT_TRUE(why.starts_with("not delivered: SSL certificate problem")) << why;
    }
    EXPECT_TRUE(starttls.mails().empty());
    EXPECT_TRUE(implicit.mails().empty());
}

TEST_F(Smtp, AServerWithoutStarttlsGetsNothingWhereItIsRequired) {
    const SmtpServerProcess server;
    const auto transport = make_transport("smtp://" + server.address() + "?tls=required");
    EXPECT_TRUE(failure(*transport, envelope()).starts_with("not delivered: STARTTLS"));
    EXPECT_TRUE(server.mails().empty());
}

TEST_F(Smtp, AWrongPasswordIsTheOperatorsToMendAndNotTheMailsFault) {
    const SmtpServerProcess server(tls("starttls", {"--user", "me", "--password", "right"}));
    for (const std::string user : {"me:wrong@", ""}) {
        const auto transport =
            make_transport("smtp://" + user + server.address() + "?tls=required", trusting());
        const std::string why = failure(*transport, envelope());
        EXPECT_TRUE(why.starts_with("not delivered: ")) << why;
        EXPECT_EQ(why.find("wrong"), std::string::npos);
    }
}

TEST_F(Smtp, AFinalRefusalIsToldFromABusyServer) {
    const struct {
        const char* reply;
        const char* expected;
    } table[] = {
        {"MAIL 451 try again later",
         "not delivered: MAIL failed: 451; the server said last: '451 try again later'"},
        {"MAIL 553 not from you",
         "refused: MAIL failed: 553; the server said last: '553 not from you'"},
        {"MAIL 530 sign in first",
         "not delivered: MAIL failed: 530; the server said last: '530 sign in first'"},
        {"RCPT 450 mailbox busy",
         "not delivered: RCPT failed: 450; the server said last: '450 mailbox busy'"},
        {"RCPT 550 no such user",
         "refused: RCPT failed: 550; the server said last: '550 no such user'"},
        {"DATA 452 disk full",
         "not delivered: Weird server reply; the server said last: '452 disk full'"},
        {"DATA 554 looks like spam",
         "refused: Weird server reply; the server said last: '554 looks like spam'"},
    };
    for (const auto& row : table) {
        const SmtpServerProcess server({"--refuse", row.reply});
        EXPECT_EQ(failure(*make_transport("smtp://" + server.address()), envelope()), row.expected);
    }
}

TEST_F(Smtp, AServerThatIsDownSilentOrBrokenIsTriedAgain) {
    TransportOptions impatient;
    impatient.total_max = 200ms;
    const std::string nobody = "smtp://127.0.0.1:" + std::to_string(test::free_port());
    EXPECT_TRUE(failure(*make_transport(nobody), envelope()).starts_with("not delivered: "));
    const RudeServer silent("");
    EXPECT_TRUE(failure(*make_transport(silent.target(), impatient), envelope())
                    .starts_with("not delivered: "));
    for (const std::string words :
         {"554 no service here\r\n", "421 too many\r\n", "\r\n", "HTTP/1.1 400 Bad\r\n\r\n",
          "220 hello\r\n500 what?\r\n502 no\r\n", "220 hello\r\n250 hi\r\n", "\xFF\xFF\r\n"}) {
        const RudeServer server(words);
        const std::string why = failure(*make_transport(server.target()), envelope());
        EXPECT_TRUE(why.starts_with("not delivered: ")) << words << why;
        EXPECT_EQ(why.find_first_of("\r\n\xFF"), std::string::npos);
    }
}

TEST_F(Smtp, MailWaitsInTheOutboxUntilTheServerIsBack) {
    const std::uint16_t port = test::free_port();
    const test::TestDatabase fresh;
    const auto database = fresh.open();
    std::vector<db::Migration> all(migrations.begin(), migrations.end());
    all.insert(all.end(), worker::migrations.begin(), worker::migrations.end());
    db::migrate(*database, all);
    const crypto::Sealer sealer{crypto::Secret(Bytes(32, 'k'))};
    const Outbox outbox{sealer, "berth@berth.example"};
    const auto transport = make_transport("smtp://127.0.0.1:" + std::to_string(port));
    worker::Worker worker{
        *database, clock, random, {send_mail_kind(outbox, *transport, *database, clock)}};
    database->write([&](db::Transaction& tx) {
        outbox.send({tx, random, clock.now()}, {"alice@example.com", "Hello", "Your code: 1\n"});
    });
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(worker.run_one());
        clock.advance(1h);
    }
    const SmtpServerProcess server({}, port);
    EXPECT_TRUE(worker.run_one());
    EXPECT_FALSE(worker.run_one());
    ASSERT_EQ(server.mails().size(), 1U);
    EXPECT_EQ(server.mails()[0].at("text"), "Your code: 1\n");
    const auto texts = database->read([](db::Transaction& tx) {
        return tx.run("SELECT COUNT(sealed_text) FROM outbox WHERE state = 'sent'")[0].get<int>(0);
    });
    EXPECT_EQ(texts, 0);
}

TEST(SmtpAddress, IsReadWithItsDefaults) {
    const struct {
        const char* target;
        const char* url;
        const char* user;
        const char* password;
        bool starttls;
    } table[] = {
        {"smtp://mx.example.com", "smtp://mx.example.com:25", "", "", true},
        {"smtp://mx.example.com:587/", "smtp://mx.example.com:587", "", "", true},
        {"smtp://mx.example.com?tls=off", "smtp://mx.example.com:25", "", "", false},
        {"smtp://u:p@mx.example.com", "smtp://mx.example.com:25", "u", "p", true},
        {"smtp://u%40x:%3Ap%25@mx.example.com", "smtp://mx.example.com:25", "u@x", ":p%", true},
        {"smtp://localhost:2525", "smtp://localhost:2525", "", "", false},
        {"smtp://127.0.0.9", "smtp://127.0.0.9:25", "", "", false},
        {"smtp://[::1]:26", "smtp://[::1]:26", "", "", false},
        {"smtp://u:p@localhost?tls=required", "smtp://localhost:25", "u", "p", true},
        {"smtp://u:p@localhost", "smtp://localhost:25", "u", "p", false},
        {"smtp://127.evil.example", "smtp://127.evil.example:25", "", "", true},
        {"smtps://mx.example.com", "smtps://mx.example.com:465", "", "", false},
        {"smtps://u:p@mx.example.com:466", "smtps://mx.example.com:466", "u", "p", false},
    };
    for (const auto& row : table) {
        const SmtpServer server = parse_smtp_server(row.target);
        EXPECT_EQ(server.url, row.url);
        EXPECT_EQ(server.user, row.user) << row.target;
        EXPECT_EQ(server.password, row.password) << row.target;
        EXPECT_EQ(server.starttls, row.starttls) << row.target;
    }
}

TEST(SmtpAddress, IsRefusedWithoutRepeatingThePassword) {
    const char* table[] = {
        "",
        "mx.example.com",
        "http://mx.example.com",
        "smtp://",
        "smtp://:25",
        "smtp://mx.example.com:99999",
        "smtp://mx.example.com/path",
        "smtp://mx.example.com#fragment",
        "smtp://mx.example.com?tls=maybe",
        "smtp://mx.example.com?tls=off&tls=required",
        "smtps://mx.example.com?tls=off",
        "smtp://u:hunter2@mx.example.com?tls=off",
        "smtp://u:hunter2@127.evil.example?tls=off",
        "smtp://u@mx.example.com",
        "smtp://:hunter2@mx.example.com",
        "smtp://u:hunter2%0A@mx.example.com",
        "smtp://u:hunter2@mx.exam ple.com",
        "smtp://u:hunter2@mx.example.com\r\nQUIT",
    };
    for (const char* target : table) {
        try {
            (void)parse_smtp_server(target);
            ADD_FAILURE() << target;
        } catch (const std::invalid_argument& error) {
            EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos);
        }
    }
}

}  // namespace
}  // namespace berth::mail
