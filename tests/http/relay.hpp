// The smallest relay there can be: what an upstream says goes to the client as it comes, and each
// side waits for the other. It notes what happened, for tests.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "http/source.hpp"
#include "http/upstream.hpp"

namespace berth::http {

// Written on the I/O thread, read by the test.
struct RelayNotes {
    std::atomic<bool> started{false};
    std::atomic<bool> gone{false};
    std::atomic<bool> destroyed{false};
    std::atomic<bool> paused{false};  // the client is slower than the upstream
    std::atomic<std::size_t> idle_connections{0};
    std::atomic<int> strayed{0};  // calls that came on another thread than the relay's own

    void put(const UpstreamFailure& failure) {
        const std::lock_guard lock(mutex_);
        failure_ = failure;
    }
    std::optional<UpstreamFailure> failure() const {
        const std::lock_guard lock(mutex_);
        return failure_;
    }
    void count_start() {
        const std::lock_guard lock(mutex_);
        ++started_by_thread_[std::this_thread::get_id()];
    }
    std::map<std::thread::id, int> started_by_thread() const {
        const std::lock_guard lock(mutex_);
        return started_by_thread_;
    }

private:
    mutable std::mutex mutex_;
    std::optional<UpstreamFailure> failure_;
    std::map<std::thread::id, int> started_by_thread_;
};

class Relay final : public Source, public UpstreamReader {
public:
    explicit Relay(UpstreamRequest request, std::shared_ptr<RelayNotes> notes = {})
        : request_(std::move(request)),
          notes_(notes ? std::move(notes) : std::make_shared<RelayNotes>()) {}
    ~Relay() override { notes_->destroyed = true; }

    void start(Outlet& outlet) override {
        outlet_ = &outlet;
        thread_ = std::this_thread::get_id();
        notes_->count_start();
        call_ = outlet.upstream().start(std::move(request_), *this);
        notes_->started = true;
    }
    void on_room() override {
        notes_->paused = false;
        if (call_) call_->resume();
    }
    void on_gone() override {
        call_.reset();
        notes_->gone = true;
    }

    void on_head(UpstreamHead head) override {
        begun_ = true;
        note_thread();
        outlet_->begin({.status = head.status, .content_type = "text/plain"});
    }
    bool on_bytes(std::string_view bytes) override {
        note_thread();
        const bool room = outlet_->write(bytes);
        if (!room) notes_->paused = true;
        return room;
    }
    void on_end() override {
        note_thread();
        notes_->idle_connections = outlet_->upstream().idle_connections();
        outlet_->end();
    }
    void on_failure(const UpstreamFailure& failure) override {
        notes_->put(failure);
        if (begun_) return outlet_->abort();
        outlet_->begin({.status = 502, .content_type = "text/plain", .body = failure.reason});
        outlet_->end();
    }

private:
    void note_thread() {
        if (std::this_thread::get_id() != thread_) ++notes_->strayed;
    }

    UpstreamRequest request_;
    std::shared_ptr<RelayNotes> notes_;
    Outlet* outlet_ = nullptr;
    std::unique_ptr<UpstreamCall> call_;
    bool begun_ = false;
    std::thread::id thread_;  // the connection's
};

inline Response relayed(UpstreamRequest request, std::shared_ptr<RelayNotes> notes = {}) {
    Response response;
    response.source = std::make_shared<Relay>(std::move(request), std::move(notes));
    return response;
}

}  // namespace berth::http
