// Server-sent events on their way through. They are passed on by whole lines, so that an error can
// be told in an event of its own whenever the engine breaks off: a line that never ended is not
// sent. A line beyond the bound is passed on in pieces.
#pragma once

#include <string>
#include <string_view>

#include "http/source.hpp"

namespace berth::relay {

class EventStream {
public:
    static constexpr std::size_t kept_bytes_max = 16 * 1024;

    // Like Outlet::write.
    [[nodiscard]] bool pass(std::string_view bytes, http::Outlet& outlet);
    // The engine ended properly: what it wrote last is sent as it is.
    void finish(http::Outlet& outlet);
    // One last event instead of what is missing.
    void break_off(std::string_view error_json, http::Outlet& outlet);
    // The mark with which OpenAI streams end has passed: nothing is missing any more.
    bool is_done() const { return done_; }

private:
    bool send(std::string_view bytes, http::Outlet& outlet);

    std::string kept_;  // a line without its end
    bool at_line_start_ = true;
    bool done_ = false;
};

}  // namespace berth::relay
