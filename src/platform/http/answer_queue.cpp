#include "http/answer_queue.hpp"

#include <atomic>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"

namespace berth::http {
namespace {

// The queue whose ask() runs on this thread right now.
thread_local const AnswerQueue* asking_here = nullptr;

Response no_answer() {
    Response response;
    response.status = 500;
    response.content_type.clear();
    return response;
}

}  // namespace

// The one answer to one request. A handler that drops it without an answer has failed.
class AnswerQueue::Awaited {
public:
    Awaited(std::shared_ptr<AnswerQueue> answers, Token token)
        : answers_(std::move(answers)), token_(token) {}
    Awaited(const Awaited&) = delete;
    Awaited& operator=(const Awaited&) = delete;
    ~Awaited() {
        if (!sent_.load(std::memory_order_relaxed)) answers_->put(token_, no_answer());
    }

    void send(Response response) {
        check(!sent_.exchange(true), "a request is answered once");
        answers_->put(token_, std::move(response));
    }

private:
    const std::shared_ptr<AnswerQueue> answers_;
    const Token token_;
    std::atomic<bool> sent_{false};
};

std::optional<Response> AnswerQueue::ask(Handler& handler, Request request, Token token) {
    asking_here = this;
    awaited_ = token;
    at_once_.reset();
    try {
        auto awaited = std::make_shared<Awaited>(shared_from_this(), token);
        handler.handle(std::move(request), [awaited = std::move(awaited)](Response response) {
            awaited->send(std::move(response));
        });
    } catch (const std::exception& error) {
        log(Level::error, "handler_threw", {{"what", error.what()}});
        if (!at_once_) at_once_ = no_answer();
    }
    awaited_.reset();
    asking_here = nullptr;
    return std::move(at_once_);
}

std::vector<AnswerQueue::Answer> AnswerQueue::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(answers_, {});
}

void AnswerQueue::close() {
    std::vector<Answer> dropped;
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(answers_);
}

void AnswerQueue::put(Token token, Response response) {
    if (asking_here == this && awaited_ == token) {
        at_once_ = std::move(response);
        return;
    }
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    answers_.push_back({token, std::move(response)});
    if (answers_.size() == 1) wake_();
}

}  // namespace berth::http
