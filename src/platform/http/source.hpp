// Answers that are written piece by piece: a Source writes into the Outlet of its connection for as
// long as it has something to say. Everything here happens on the connection's I/O thread, so
// nothing is locked and nothing may block; other threads reach it through Loop::post().
#pragma once

#include <memory>
#include <string_view>

#include "http/loop.hpp"
#include "http/message.hpp"

namespace berth::http {

class Upstream;

// The client's side of one answer. Its functions never call the Source back. It is gone after
// end(), abort() or Source::on_gone().
class Outlet {
public:
    virtual ~Outlet() = default;
    // The status and the fields, once and before the first write. Content-Length is never sent: the
    // pieces are chunks, or run to the end of the connection for an HTTP/1.0 client. An answer that
    // may have no body (to a HEAD, or 204) is whole with this, and on_gone() follows.
    virtual void begin(Response head) = 0;
    // Takes all of `bytes`. False when enough is waiting to be sent: no more before on_room().
    [[nodiscard]] virtual bool write(std::string_view bytes) = 0;
    // What is written between these may be sent together; end() and abort() release too.
    virtual void hold() {}
    virtual void release() {}
    // After begin() with switching_status what is written is sent as it is, and what the client
    // sends goes to Source::on_input(). This lets it go on after on_input() said false.
    virtual void resume_input() {}
    virtual void end() = 0;    // the answer is whole
    virtual void abort() = 0;  // it will never be whole, and the client must see that

    virtual Upstream& upstream() = 0;  // the client on this very loop
    virtual const std::shared_ptr<Loop>& loop() = 0;
};

class Source {
public:
    virtual ~Source() = default;
    virtual void start(Outlet& outlet) = 0;  // once
    virtual void on_room() = 0;              // after a write that said false
    // What the client of a switched connection sent, all of which is taken. False when enough
    // waits to be passed on: no more before Outlet::resume_input().
    [[nodiscard]] virtual bool on_input(std::string_view bytes) {
        static_cast<void>(bytes);
        return true;
    }
    // The client went away, was too slow, or the server ends. Not after end() or abort().
    virtual void on_gone() = 0;
};

}  // namespace berth::http
