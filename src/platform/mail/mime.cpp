#include "mail/mime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/letters.hpp"
#include "mail/address.hpp"

namespace berth::mail {
namespace {

constexpr std::size_t line_bytes_max = 998;         // of RFC 5322, without the CRLF
constexpr std::size_t encoded_line_bytes_max = 76;  // of RFC 2045
constexpr std::size_t plain_subject_bytes_max = 60;
// A word of RFC 2047 is at most 75 bytes; "Subject: " stands before the first.
constexpr std::size_t word_payload_bytes_max = 50;

bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
}
bool is_printable(char c) { return c >= 0x20 && c < 0x7F; }

// "Sun, 15 Nov 2026 03:06:41 +0000"
std::string date_text(Time time) {
    using namespace std::chrono;
    constexpr std::array<std::string_view, 7> day_names{"Sun", "Mon", "Tue", "Wed",
                                                        "Thu", "Fri", "Sat"};
    constexpr std::array<std::string_view, 12> month_names{
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const sys_time<microseconds> point{microseconds{time.micros}};
    const auto day = floor<days>(point);
    const year_month_day date{day};
    const hh_mm_ss clock{point - day};
    return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} +0000",
                       day_names[weekday{day}.c_encoding()], static_cast<unsigned>(date.day()),
                       month_names[static_cast<unsigned>(date.month()) - 1],
                       static_cast<int>(date.year()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count());
}

std::string escaped(char c) {
    return fmt::format("={:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
}

// One code point in RFC 2047's Q encoding.
std::string q_encoded(std::string_view code_point) {
    if (code_point == " ") return "_";
    std::string out;
    for (const char c : code_point) out += is_alphanumeric(c) ? std::string(1, c) : escaped(c);
    return out;
}

// Short ASCII stays as it is; everything else becomes encoded words, one on each line, none of
// which cuts a code point in two.
std::string subject_value(std::string_view subject) {
    const bool plain = subject.size() <= plain_subject_bytes_max &&
                       std::all_of(subject.begin(), subject.end(), is_printable) &&
                       subject.front() != ' ' && subject.back() != ' ' &&
                       subject.find("=?") == std::string_view::npos;
    if (plain) return std::string(subject);
    std::string out = "=?utf-8?q?";
    std::size_t payload = 0;
    while (!subject.empty()) {
        const std::size_t length = utf8_sequence_length(subject);
        const std::string next = q_encoded(subject.substr(0, length));
        if (payload + next.size() > word_payload_bytes_max) {
            out += "?=\r\n =?utf-8?q?";
            payload = 0;
        }
        out += next;
        payload += next.size();
        subject.remove_prefix(length);
    }
    return out + "?=";
}

// Takes the next line off `text`, without its LF or CRLF.
std::string_view take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (end != std::string_view::npos && line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

bool fits_unencoded(std::string_view text) {
    while (!text.empty()) {
        const std::string_view line = take_line(text);
        const auto is_safe = [](char c) { return is_printable(c) || c == '\t'; };
        if (line.size() > line_bytes_max || !std::all_of(line.begin(), line.end(), is_safe))
            return false;
    }
    return true;
}

std::string unencoded(std::string_view text) {
    std::string out;
    while (!text.empty()) out.append(take_line(text)).append("\r\n");
    return out;
}

// RFC 2045's quoted-printable. Blanks are escaped at the end of a line only, where servers may
// drop them.
std::string quoted_printable(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::string_view line = take_line(text);
        std::size_t column = 0;
        for (std::size_t i = 0; i < line.size(); ++i) {
            const char c = line[i];
            const bool blank = (c == ' ' || c == '\t') && i + 1 < line.size();
            const bool as_is = blank || (is_printable(c) && c != '=' && c != ' ');
            const std::string next = as_is ? std::string(1, c) : escaped(c);
            if (column + next.size() >= encoded_line_bytes_max) {
                out += "=\r\n";
                column = 0;
            }
            out += next;
            column += next.size();
        }
        out += "\r\n";
    }
    return out;
}

}  // namespace

bool is_subject(std::string_view text) {
    return !text.empty() && text.size() <= subject_bytes_max && utf8_length(text) &&
           std::none_of(text.begin(), text.end(), is_control);
}

bool is_text(std::string_view text) {
    return text.size() <= text_bytes_max && utf8_length(text) &&
           text.find('\0') == std::string_view::npos;
}

std::string write_message(const Letter& letter) {
    require(is_email(letter.from) && is_email(letter.to), "a letter goes from address to address");
    require(is_subject(letter.subject) && is_text(letter.text),
            "a letter has a subject and a text");
    require(std::all_of(letter.id.begin(), letter.id.end(),
                        [](char c) { return is_alphanumeric(c) || c == '-'; }),
            "the id of a letter fits into a header");
    const bool plain = fits_unencoded(letter.text);
    return fmt::format(
        "Date: {}\r\n"
        "From: {}\r\n"
        "To: {}\r\n"
        "Subject: {}\r\n"
        "Message-ID: <{}@{}>\r\n"
        "Auto-Submitted: auto-generated\r\n"
        "MIME-Version: 1.0\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        "Content-Transfer-Encoding: {}\r\n"
        "\r\n"
        "{}",
        date_text(letter.date), letter.from, letter.to, subject_value(letter.subject), letter.id,
        domain_of(letter.from), plain ? "7bit" : "quoted-printable",
        plain ? unencoded(letter.text) : quoted_printable(letter.text));
}

}  // namespace berth::mail
