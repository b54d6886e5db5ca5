#include "relay/event_stream.hpp"

#include <utility>

namespace berth::relay {
namespace {

constexpr std::string_view line_ends = "\r\n";

// What stands before the last ends of lines.
std::string_view without_line_ends(std::string_view bytes) {
    return bytes.substr(0, bytes.find_last_not_of(line_ends) + 1);
}

}  // namespace

bool EventStream::pass(std::string_view bytes, http::Outlet& outlet) {
    const std::size_t end = bytes.find_last_of(line_ends) + 1;  // 0: no line ends here
    const std::string_view lines = bytes.substr(0, end);
    const std::string_view rest = bytes.substr(end);
    if (kept_.empty() && rest.empty()) return send(bytes, outlet);
    if (lines.empty() && kept_.size() + rest.size() <= kept_bytes_max) {
        kept_ += rest;
        return true;
    }
    std::string whole = std::exchange(kept_, {});
    whole += lines;
    if (!lines.empty() && rest.size() <= kept_bytes_max)
        kept_ = rest;
    else
        whole += rest;
    return send(whole, outlet);
}

bool EventStream::send(std::string_view bytes, http::Outlet& outlet) {
    at_line_start_ = line_ends.find(bytes.back()) != std::string_view::npos;
    const std::string_view text = without_line_ends(bytes);
    if (!text.empty()) done_ = text.ends_with("data: [DONE]");
    return outlet.write(bytes);
}

void EventStream::finish(http::Outlet& outlet) {
    const std::string rest = std::exchange(kept_, {});
    if (!rest.empty()) static_cast<void>(send(rest, outlet));
}

void EventStream::break_off(std::string_view error_json, http::Outlet& outlet) {
    std::string event = at_line_start_ ? "\n" : "\n\n";
    event += "data: ";
    event += error_json;
    event += "\n\n";
    static_cast<void>(outlet.write(event));
}

}  // namespace berth::relay
