// A server on a free port with a handler made of a function, for the tests of this folder.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "http/server.hpp"
#include "support/eventually.hpp"
#include "support/raw_socket.hpp"

namespace berth::http {

using namespace std::chrono_literals;
using support::RawSocket;

class FunctionHandler final : public Handler {
public:
    using Function = std::function<void(Request, Reply)>;

    explicit FunctionHandler(Function function, std::size_t body_bytes_max = 1024 * 1024)
        : function_(std::move(function)), body_bytes_max_(body_bytes_max) {}

    // "/unwanted" stands for a request that is refused whatever its body says.
    std::size_t body_bytes_max(const Request& head) override {
        return head.target == "/unwanted" ? 0 : body_bytes_max_;
    }
    void handle(Request request, Reply reply) override {
        function_(std::move(request), std::move(reply));
    }

private:
    Function function_;
    std::size_t body_bytes_max_;
};

inline Response text_response(std::string body, int status = 200) {
    Response response;
    response.status = status;
    response.content_type = "text/plain";
    response.body = std::move(body);
    return response;
}

// "GET /a [body]", or a refusal when there is a body and it was not read.
inline void echo(Request request, const Reply& reply) {
    if (request.target == "/unwanted") return reply(text_response("unwanted", 404));
    if (request.unread == Unread::too_large) return reply(text_response("too large", 413));
    if (request.unread == Unread::no_room) return reply(text_response("no room", 503));
    reply(text_response(request.method + " " + request.target + " [" + request.body + "]"));
}

class TestServer {
public:
    explicit TestServer(ServerOptions options = {}, FunctionHandler::Function function = echo)
        : TestServer(std::move(options), FunctionHandler(std::move(function))) {}
    TestServer(ServerOptions options, FunctionHandler handler)
        : handler_(std::move(handler)), server_(std::move(options), handler_) {
        server_.start();
    }

    std::uint16_t port() const { return server_.port(); }
    Server& server() { return server_; }
    RawSocket connect() const { return RawSocket(port()); }
    std::string url(const std::string& path, const std::string& scheme = "http") const {
        return scheme + "://127.0.0.1:" + std::to_string(port()) + path;
    }

    // A fresh connection, one good request, the body of its answer.
    std::string get(const std::string& path) const {
        RawSocket socket = connect();
        socket.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
        return socket.receive().body;
    }

private:
    FunctionHandler handler_;
    Server server_;
};

using support::eventually;

inline std::string get_request(const std::string& path, const std::string& fields = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

}  // namespace berth::http
