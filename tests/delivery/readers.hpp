// A server on a port with people who are told things, and clients that read raw bytes: what they
// send and understand is written from the HTML standard's page of server-sent events.
#pragma once

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "delivery/delivery.hpp"
#include "events/events.hpp"
#include "support/eventually.hpp"
#include "support/raw_socket.hpp"
#include "support/town.hpp"
#include "tickets/told.hpp"

namespace berth::test {

using namespace std::chrono_literals;
using support::eventually;
using support::RawSocket;

// One dispatched event, as the standard has it.
struct Dispatched {
    std::string id;
    std::string type;
    std::string data;
};

// A client of server-sent events over a chunked answer.
class EventReader {
public:
    EventReader(std::uint16_t port, const std::string& fields, const std::string& query = "",
                const std::string& path = "/api/v1/events/stream", RawSocket::Options options = {})
        : socket_(port, options) {
        socket_.send(fmt::format("GET {}{} HTTP/1.1\r\nHost: a\r\n{}\r\n", path,
                                 query.empty() ? "" : "?" + query, fields));
    }

    // The answer's status and fields.
    http::Response head() { return socket_.receive(true); }
    // The same of one that is no stream, with its body.
    http::Response refusal() { return socket_.receive(); }

    // The next event that is dispatched. A bare id only moves `last_id`.
    Dispatched next() {
        while (true)
            if (Dispatched event = frame(); !event.data.empty()) return event;
    }
    // One that moves the place and nothing else.
    void next_bare() { EXPECT_EQ(frame().data, ""); }
    bool is_quiet() const { return text_.empty() && socket_.is_quiet(); }
    bool readable_within(std::chrono::milliseconds span) const {
        return !text_.empty() || socket_.readable_within(span);
    }
    void await_end() { socket_.await_end(); }

    std::string last_id;

private:
    Dispatched frame() {
        Dispatched event;
        for (std::string line = next_line(); !line.empty(); line = next_line()) {
            const std::size_t colon = line.find(':');
            const std::string name = line.substr(0, colon);
            std::string value = colon == line.npos ? "" : line.substr(colon + 1);
            if (value.starts_with(' ')) value.erase(0, 1);
            if (name == "id") last_id = value;
            if (name == "event") event.type = value;
            if (name == "data") event.data += value;
        }
        event.id = last_id;
        return event;
    }
    // The chunks hold whole events, so that a line never spans two.
    std::string next_line() {
        while (text_.find('\n') == text_.npos) {
            const std::string size = socket_.receive_until("\r\n");
            const auto bytes = std::stoul(size, nullptr, 16);
            if (bytes == 0) throw std::runtime_error("the stream has ended");
            std::string chunk = socket_.receive_until("\r\n");
            while (chunk.size() < bytes + 2) chunk += socket_.receive_until("\r\n");
            text_ += chunk.substr(0, bytes);
        }
        const std::size_t end = text_.find('\n');
        std::string line = text_.substr(0, end);
        text_.erase(0, end + 1);
        return line;
    }

    RawSocket socket_;
    std::string text_;
};

class ReadersTest : public ::testing::Test {
protected:
    ReadersTest() : ReadersTest(std::map<std::string, std::string>{}) {}
    explicit ReadersTest(std::map<std::string, std::string> flags)
        : town(Harness::Options{.flags = with(std::move(flags))}) {
        town.harness.app->serve();
    }
    ~ReadersTest() override { town.harness.app.reset(); }

    static std::map<std::string, std::string> with(std::map<std::string, std::string> flags) {
        flags.insert(
            {{"io-threads", "1"}, {"worker-threads", "0"}, {"rate-account-per-minute", "1000000"}});
        return flags;
    }

    struct Person {
        std::string key;
        std::string account;
        AccountId id() const { return {parse_uuid(account).value()}; }
    };
    Person join(const std::string& scopes = R"(["renter"])") {
        const std::string body =
            town.enlist(crypto::SigningKey::make(town.harness.random), scopes).body;
        const Person who{member(body, "api_key.secret"), member(body, "account_id")};
        // That a key was made is its first event; tests count from one.
        database().write([&](db::Transaction& tx) {
            tx.run("DELETE FROM events WHERE account_id = $1", who.id());
            tx.run("DELETE FROM event_heads WHERE account_id = $1", who.id());
        });
        return who;
    }
    // Any event will do: one that both scopes hear, of a ticket that need not be there.
    void tell(const Person& who, int count = 1, const std::string& ticket = "t1") {
        for (int i = 0; i < count; ++i)
            database().write([&](db::Transaction& tx) { tell_in(tx, who, ticket); });
    }
    // Many at a commit.
    void tell_together(const Person& who, int count) {
        constexpr int at_once = 50;
        for (int told = 0; told < count; told += at_once)
            database().write([&](db::Transaction& tx) {
                for (int i = told; i < std::min(told + at_once, count); ++i) tell_in(tx, who, "t1");
            });
    }
    void tell_in(db::Transaction& tx, const Person& who, const std::string& ticket) {
        events::tell({tx, town.harness.random, town.harness.clock.now()}, tickets::ticket_answered,
                     who.id(), ticket, tickets::TicketFacts{tickets::TicketState::answered});
    }
    db::Database& database() { return town.harness.app->database(); }
    std::uint16_t port() { return town.harness.app->port(); }
    static std::string as(const Person& who) { return "Authorization: Bearer " + who.key + "\r\n"; }
    EventReader open(const Person& who, const std::string& query = "") {
        EventReader reader(port(), as(who), query);
        const auto head = reader.head();
        EXPECT_EQ(head.status, 200);
        EXPECT_EQ(head.headers.find("Content-Type").value_or(""), "text/event-stream");
        EXPECT_EQ(head.headers.find("X-Accel-Buffering").value_or(""), "no");
        reader.next_bare();
        return reader;
    }
    http::Response page(const Person& who, const std::string& query = "") {
        return town.with_key(who.key, "GET", "/api/v1/events" + (query.empty() ? "" : "?" + query));
    }
    std::size_t streams() { return town.harness.app->delivery().hub().open(); }

    Town town;
};

}  // namespace berth::test
