// What a browser on this machine speaks to when an endpoint of a rental is opened: it adds the key
// that the endpoint wants, and lets nobody else use it. Every page that a browser shows can send
// requests to this machine, so a request must name the one address that was made up for this
// opening (by which a name that was bound to 127.0.0.1 meanwhile is refused, too), come from no
// other page, and have the session that the token of that address was given for, once. The token
// stands in the fragment, which browsers keep to themselves.
//
// The page behind it is a stranger's: it gets the browser's own cookies for this address without
// the session, and no Origin or Referer, which would only name an address that it cannot know.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "http/message.hpp"
#include "http/upstream.hpp"

namespace berth::cli {

class BrowserDoor final : public http::Handler {
public:
    struct Secrets {
        std::string label;    // of the address, a word of small letters and digits
        std::string token;    // for the fragment
        std::string session;  // for the cookie
    };
    struct Behind {
        http::Endpoint endpoint;
        std::string key;
    };
    // `entered` is called, on the I/O thread, when the token was used.
    BrowserDoor(Behind behind, Secrets secrets, std::function<void()> entered);

    // Before the first request comes: where it comes to.
    void set_port(std::uint16_t port);
    std::string address() const;  // with the token

    std::size_t body_bytes_max(const http::Request& head) override;
    void handle(http::Request request, http::Reply reply) override;

private:
    std::string origin() const { return "http://" + authority_; }
    int refusal(const http::Request& request) const;  // a status, or 0
    bool is_in(const http::Request& request) const;
    http::Response let_in(const http::Request& request);
    http::Response entry() const;
    void pass_on(http::Request request, const http::Reply& reply) const;

    const Behind behind_;
    const Secrets secrets_;
    const std::function<void()> entered_;
    std::string authority_;
    bool is_token_used_ = false;
};

}  // namespace berth::cli
