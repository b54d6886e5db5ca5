// Turns a Response into the bytes of its head.
#pragma once

#include <string>
#include <string_view>

#include "base/time.hpp"
#include "http/message.hpp"

namespace berth::http {

std::string date_line(Time now);  // "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

// True when a response of this status may carry a body at all.
bool status_has_body(int status);

struct HeadOptions {
    std::string_view date_line;
    std::size_t body_bytes;
    bool close = false;
    bool version_1_0 = false;  // the client has to be told that the connection is kept
    bool streamed = false;     // the body comes in chunks, or until the end for an old client
    bool switched = false;     // what comes is no body but another protocol
};

// Appends the status line, the fields and the empty line. Content-Length, Transfer-Encoding,
// Connection and Date are the server's own: fields of these names in `response` are left out.
// False, and nothing appended, when a field would break the framing.
[[nodiscard]] bool append_head(std::string& out, const Response& response,
                               const HeadOptions& options);

// One piece of a streamed body; never of no bytes, which would end it.
void append_chunk(std::string& out, std::string_view bytes);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

// A refusal by the transport itself: no body, and the connection ends.
void append_bare(std::string& out, int status, std::string_view request_id);

}  // namespace berth::http
