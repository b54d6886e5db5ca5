// Brings answers from whatever thread gives them to the I/O thread. A Reply holds on to this and
// not to the connection or the server, so that it is harmless when either is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "http/message.hpp"

namespace berth::http {

// Names one request: where its connection is kept, which connection that was, which of its
// requests.
struct Token {
    std::uint32_t slot = 0;
    std::uint32_t request = 0;
    std::uint64_t connection = 0;

    friend bool operator==(const Token&, const Token&) = default;
};

class AnswerQueue : public std::enable_shared_from_this<AnswerQueue> {
public:
    struct Answer {
        Token token;
        Response response;
    };

    // `wake` is called, on any thread, when answers come to an empty box.
    explicit AnswerQueue(std::function<void()> wake) : wake_(std::move(wake)) {}

    // Calls the handler. Gives back its answer if that came before handle() returned; otherwise
    // take() will give it. Only on the I/O thread.
    std::optional<Response> ask(Handler& handler, Request request, Token token);

    std::vector<Answer> take();  // all answers there are
    void close();                // from now on answers are dropped

private:
    class Awaited;

    void put(Token token, Response response);

    std::optional<Token> awaited_;  // what ask() would take at once; I/O thread only
    std::optional<Response> at_once_;

    std::mutex mutex_;
    std::function<void()> wake_;
    std::vector<Answer> answers_;
    bool closed_ = false;
};

}  // namespace berth::http
