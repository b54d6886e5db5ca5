// Requests and responses as plain values. Nothing here knows sockets, JSON or routes.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/budget.hpp"

namespace berth::http {

// Header fields in the order they came; names compare without case.
class Headers {
public:
    struct Field {
        std::string name;
        std::string value;
    };

    void add(std::string name, std::string value);
    void reserve(std::size_t fields) { fields_.reserve(fields); }
    // The value of the field; empty when it is missing. With several of one name, the first.
    std::optional<std::string_view> find(std::string_view name) const;
    std::size_t count(std::string_view name) const;
    auto begin() const { return fields_.begin(); }
    auto end() const { return fields_.end(); }

private:
    std::vector<Field> fields_;
};

// Why a request comes to its handler without its body.
enum class Unread {
    nothing,     // it does not: the body is there
    too_large,   // over the limit that the handler set: answer 413
    no_room,     // the server holds too many bytes of requests already: answer 503
    over_share,  // the client's address has as many bytes of requests as it may: answer 429
    not_yet,     // the head is to be judged first: answer go_on_status and the body is read
};
inline constexpr int go_on_status = 100;
inline constexpr int not_modified_status = 304;  // the client has what it asks for; no body
// What follows such an answer is another protocol's, both ways: see Source::on_input().
inline constexpr int switching_status = 101;

// What a handler learned from a head that it judged before the body was read.
class Verdict {
public:
    virtual ~Verdict() = default;
};

// Takes a body as it comes, so that none of it is kept. It is called on the I/O thread and must not
// block. The handler gets such a request twice with the same sink: its head alone, and when the
// body has come.
class BodySink {
public:
    virtual ~BodySink() = default;
    virtual void take(std::string_view bytes) = 0;
};

struct Request {
    std::string method;  // as sent: "GET"
    std::string target;  // origin form, as sent: "/path?query"
    Headers headers;
    std::string body;
    std::string client_address;        // the peer, or what a trusted proxy says of it
    std::shared_ptr<BodySink> sink{};  // took the body, which is empty then
    Unread unread = Unread::nothing;
    std::shared_ptr<Verdict> verdict{};  // of the head, when it was judged before
    ByteShare held;  // what the body takes of the server's budget, for as long as it is kept
    // The protocol that the client asks the connection to be switched to ("websocket"), by a GET
    // without a body; empty: none.
    std::string switch_to{};

    std::weak_ptr<const void> client;  // expires when the client has gone or finished sending

    std::string_view path() const;   // up to the '?', still percent-encoded
    std::string_view query() const;  // after the '?', still percent-encoded; may be empty
};

class Source;
struct HandedOver;

struct Response {
    int status = 200;
    std::string content_type = "application/json";
    Headers headers{};
    std::string body{};
    std::shared_ptr<const std::string> shared_body{};  // sent instead of `body` when set
    // Set: the answer is what this writes. It gives status and type itself; `headers` are added.
    std::shared_ptr<Source> source{};
    // Set, with switching_status and an Upgrade field: once the head is sent, the connection itself
    // goes to this, on its I/O thread (hand_over.hpp). Dropped uncalled when the client goes
    // before.
    std::function<void(HandedOver&)> hand_over{};
    std::shared_ptr<Verdict> verdict{};  // with go_on_status: the request has it when it comes back
    bool close = false;                  // the connection ends with this answer
};

// How the body of a request is read.
struct BodyCare {
    // A longer one, and one whose length is not told, is read when the head was judged: handle()
    // gets the head alone (Unread::not_yet), and the whole request later. A sink has none before.
    std::size_t unjudged_bytes_max = std::numeric_limits<std::size_t>::max();
    // Of a caller who has some room when others find none, once the head was judged.
    bool goes_first = false;
};

// Gives the answer to one request; called exactly once, from any thread.
using Reply = std::function<void(Response)>;

// What the server calls for each request, on its I/O thread: it must not block. Work that may
// block goes to a Pool and calls `reply` from there.
class Handler {
public:
    static constexpr std::size_t usual_body_bytes_max = 64 * 1024;

    virtual ~Handler() = default;
    // Asked with the head alone, before any of a body is kept: how large the body may be. A larger
    // one is not read, and handle() says what is answered. 0 when the answer is a refusal whatever
    // the body says.
    virtual std::size_t body_bytes_max(const Request& head) {
        static_cast<void>(head);
        return usual_body_bytes_max;
    }
    // Asked next, with the same head: what takes the body in the place of Request::body, which then
    // stays empty. Null: the body is kept.
    virtual std::shared_ptr<BodySink> body_sink(const Request& head) {
        static_cast<void>(head);
        return nullptr;
    }
    virtual BodyCare body_care(const Request& head) {
        static_cast<void>(head);
        return {};
    }
    virtual void handle(Request request, Reply reply) = 0;
};

}  // namespace berth::http
