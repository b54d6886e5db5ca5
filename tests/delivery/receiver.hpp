// Whoever webhooks are sent to: a server of its own that remembers what came, answers as it is told
// and checks signatures by hand, as the page of Standard Webhooks says it is done.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>

#include "crypto/hash.hpp"
#include "delivery/readers.hpp"
#include "http/server.hpp"

namespace berth::test {

struct Received {
    std::string id;
    std::string timestamp;
    std::string signature;
    std::string content_type;
    std::string body;

    std::string sequence() const { return member(body, "sequence"); }
};

class Receiver final : public http::Handler {
public:
    Receiver() : server_(options(), *this) { server_.start(); }

    std::string url(const std::string& host = "127.0.0.1") const {
        return fmt::format("http://{}:{}/hook", host, server_.port());
    }
    std::uint16_t port() const { return server_.port(); }

    // What is answered from now on; 204 at first.
    void answer(int status, http::Headers headers = {}, std::string body = "") {
        const std::lock_guard lock(mutex_);
        answer_ = {.status = status,
                   .content_type = "text/plain",
                   .headers = std::move(headers),
                   .body = std::move(body)};
    }
    // Called with what came, before it is answered.
    void on_received(std::function<void(const Received&)> act) {
        const std::lock_guard lock(mutex_);
        act_ = std::move(act);
    }
    // As many are taken from now on; what comes then is answered 503.
    void take_only(std::size_t count) {
        const std::lock_guard lock(mutex_);
        left_ = count;
    }
    // What was answered well.
    std::vector<Received> taken() const {
        const std::lock_guard lock(mutex_);
        return taken_;
    }
    std::vector<Received> received() const {
        const std::lock_guard lock(mutex_);
        return received_;
    }
    std::string sequences() const {
        std::string all;
        for (const Received& each : received()) all += each.sequence() + " ";
        return all;
    }
    std::size_t at_once_max() const {
        const std::lock_guard lock(mutex_);
        return at_once_max_;
    }

    std::size_t body_bytes_max(const http::Request&) override { return 64 * 1024; }
    void handle(http::Request request, http::Reply reply) override {
        const auto field = [&](const char* name) {
            return std::string(request.headers.find(name).value_or(""));
        };
        Received one{field("webhook-id"), field("webhook-timestamp"), field("webhook-signature"),
                     field("content-type"), request.body};
        http::Response response;
        std::function<void(const Received&)> act;
        {
            const std::lock_guard lock(mutex_);
            at_once_max_ = std::max(at_once_max_, ++at_once_);
            received_.push_back(one);
            response = answer_;
            if (left_ && *left_ == 0) response.status = 503;
            if (left_ && *left_ > 0) --*left_;
            if (response.status / 100 == 2) taken_.push_back(one);
            act = act_;
        }
        if (act) act(one);
        {
            const std::lock_guard lock(mutex_);
            --at_once_;
        }
        reply(std::move(response));
    }

private:
    static http::ServerOptions options() {
        http::ServerOptions options;
        options.address = "127.0.0.1";
        options.port = 0;
        return options;
    }

    mutable std::mutex mutex_;
    http::Response answer_{.status = 204};
    std::function<void(const Received&)> act_;
    std::vector<Received> received_;
    std::vector<Received> taken_;
    std::optional<std::size_t> left_;
    std::size_t at_once_ = 0;
    std::size_t at_once_max_ = 0;
    http::Server server_;
};

// "whsec_" and base64; the standard's libraries take exactly this.
inline Bytes bytes_of_secret(const std::string& shown) {
    static constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    EXPECT_TRUE(shown.starts_with("whsec_")) << shown;
    Bytes bytes;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char letter : shown.substr(6)) {
        if (letter == '=') break;
        bits = bits << 6 | static_cast<std::uint32_t>(alphabet.find(letter));
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes += static_cast<char>(bits >> count & 0xff);
    }
    return bytes;
}

inline bool is_signed_by(const Received& one, const std::string& shown_secret) {
    const std::string content = one.id + "." + one.timestamp + "." + one.body;
    const std::string wanted =
        "v1," + to_base64(crypto::hmac_sha256(bytes_of_secret(shown_secret), content));
    const std::string all = " " + one.signature + " ";
    return all.find(" " + wanted + " ") != std::string::npos;
}

// A server whose couriers run when they are told to.
class WebhooksTest : public ReadersTest {
protected:
    WebhooksTest()
        : ReadersTest(std::map<std::string, std::string>{{"allow-private-webhooks", "true"}}) {}
    explicit WebhooksTest(std::map<std::string, std::string> flags)
        : ReadersTest(std::move(flags)) {}

    struct Hook {
        std::string id;
        std::string secret;
    };
    http::Response ask_for_hook(const Person& who, const std::string& url,
                                const std::string& more = "") {
        return town.with_key(who.key, "POST", "/api/v1/webhooks",
                             R"({"url":")" + url + "\"" + more + "}");
    }
    Hook hook(const Person& who, const std::string& url, const std::string& more = "") {
        const auto made = ask_for_hook(who, url, more);
        EXPECT_EQ(made.status, 201) << made.body;
        return {member(made.body, "webhook_id"), member(made.body, "secret")};
    }
    http::Response change(const Person& who, const Hook& hook, const std::string& body) {
        return town.with_key(who.key, "PATCH", "/api/v1/webhooks/" + hook.id, body);
    }
    http::Response ask(const Person& who, const Hook& hook, const std::string& what,
                       const std::string& body = "") {
        return town.with_key(who.key, "POST", "/api/v1/webhooks/" + hook.id + "/" + what, body);
    }
    std::string shown(const Person& who, const Hook& hook, const std::string& name) {
        return member(town.with_key(who.key, "GET", "/api/v1/webhooks/" + hook.id).body, name);
    }
    std::string last_delivery(const Person& who, const Hook& hook, const std::string& name) {
        return member(
            town.with_key(who.key, "GET", "/api/v1/webhooks/" + hook.id + "/deliveries?limit=1")
                .body,
            "items.0." + name);
    }
    std::int64_t carry() { return town.harness.app->delivery().couriers().pass(); }
    void advance(Duration span) { town.harness.clock.advance(span); }
    std::vector<std::string> told_types(const Person& who) {
        std::vector<std::string> types;
        database().read([&](db::Transaction& tx) {
            types.clear();
            for (const events::Kept& kept : events::read_after(tx, who.id(), 0, 1000))
                types.push_back(kept.event.type);
        });
        return types;
    }
    bool was_told(const Person& who, const std::string& type) {
        const auto types = told_types(who);
        return std::find(types.begin(), types.end(), type) != types.end();
    }
};

}  // namespace berth::test
