// Writes a plain-text mail as an RFC 5322 message with MIME. The same letter always gives the same
// bytes. All lines end in CRLF, are ASCII and at most 998 bytes long, so the message passes every
// mail server unchanged.
#pragma once

#include <string>
#include <string_view>

#include "base/time.hpp"

namespace berth::mail {

inline constexpr std::size_t subject_bytes_max = 400;
inline constexpr std::size_t text_bytes_max = 64 * 1024;

// UTF-8 without control characters, 1 to subject_bytes_max bytes.
bool is_subject(std::string_view text);
// UTF-8 without NUL, up to text_bytes_max bytes.
bool is_text(std::string_view text);

struct Letter {
    std::string id;  // becomes the part of Message-ID before the @; letters, digits, dashes
    Time date;
    std::string from;  // these two are addresses: is_email
    std::string to;
    std::string subject;  // is_subject
    std::string text;     // is_text; lines end in LF or CRLF
};

std::string write_message(const Letter& letter);

}  // namespace berth::mail
