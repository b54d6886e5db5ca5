#include "http/respond.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "http/text.hpp"

namespace berth::http {
namespace {

std::string_view reason(int status) {
    switch (status) {
        case switching_status: return "Switching Protocols";
        case 200: return "OK";
        case 201: return "Created";
        case 202: return "Accepted";
        case 204: return "No Content";
        case 206: return "Partial Content";
        case 301: return "Moved Permanently";
        case 302: return "Found";
        case 303: return "See Other";
        case not_modified_status: return "Not Modified";
        case 307: return "Temporary Redirect";
        case 308: return "Permanent Redirect";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 402: return "Payment Required";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 406: return "Not Acceptable";
        case 408: return "Request Timeout";
        case 409: return "Conflict";
        case 410: return "Gone";
        case 411: return "Length Required";
        case 412: return "Precondition Failed";
        case 413: return "Content Too Large";
        case 415: return "Unsupported Media Type";
        case 416: return "Range Not Satisfiable";
        case 417: return "Expectation Failed";
        case 421: return "Misdirected Request";
        case 422: return "Unprocessable Content";
        case 426: return "Upgrade Required";
        case 428: return "Precondition Required";
        case 429: return "Too Many Requests";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 501: return "Not Implemented";
        case 502: return "Bad Gateway";
        case 503: return "Service Unavailable";
        case 504: return "Gateway Timeout";
        default: return "Status";
    }
}

void append_number(std::string& out, std::size_t number) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

void append_status_line(std::string& out, int status) {
    if (status == 200) {
        out += "HTTP/1.1 200 OK\r\n";
        return;
    }
    out += "HTTP/1.1 ";
    append_number(out, static_cast<std::size_t>(status));
    out += ' ';
    out += reason(status);
    out += "\r\n";
}

bool is_own_field(std::string_view name) {
    return equal_without_case(name, "content-length") || equal_without_case(name, "connection") ||
           equal_without_case(name, "transfer-encoding") || equal_without_case(name, "date");
}

bool is_sound(const Response& response, bool switched) {
    if (switched != (response.status == switching_status)) return false;
    if (!switched && (response.status < 200 || response.status > 599)) return false;
    if (!is_field_value(response.content_type)) return false;
    for (const Headers::Field& field : response.headers)
        if (!is_token(field.name) || !is_field_value(field.value)) return false;
    return true;
}

}  // namespace

std::string date_line(Time now) {
    using namespace std::chrono;
    constexpr std::array<std::string_view, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const sys_time<microseconds> point{microseconds(now.micros)};
    const sys_days day = floor<std::chrono::days>(point);
    const year_month_day date{day};
    const hh_mm_ss clock{floor<seconds>(point - day)};
    return fmt::format("Date: {}, {:02} {} {:04} {:02}:{:02}:{:02} GMT\r\n",
                       days[weekday(day).c_encoding()], static_cast<unsigned>(date.day()),
                       months[static_cast<unsigned>(date.month()) - 1],
                       static_cast<int>(date.year()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count());
}

bool status_has_body(int status) { return status != 204 && status != not_modified_status; }

bool append_head(std::string& out, const Response& response, const HeadOptions& options) {
    if (!is_sound(response, options.switched)) return false;
    append_status_line(out, response.status);
    out += options.date_line;
    if (!options.switched && status_has_body(response.status)) {
        if (!response.content_type.empty()) {
            out += "Content-Type: ";
            out += response.content_type;
            out += "\r\n";
        }
        if (!options.streamed) {
            out += "Content-Length: ";
            append_number(out, options.body_bytes);
            out += "\r\n";
        } else if (!options.version_1_0) {
            out += "Transfer-Encoding: chunked\r\n";
        }
    }
    for (const Headers::Field& field : response.headers) {
        if (is_own_field(field.name)) continue;
        out += field.name;
        out += ": ";
        out += field.value;
        out += "\r\n";
    }
    if (options.switched)
        out += "Connection: Upgrade\r\n";
    else if (options.close)
        out += "Connection: close\r\n";
    else if (options.version_1_0)
        out += "Connection: keep-alive\r\n";
    out += "\r\n";
    return true;
}

void append_chunk(std::string& out, std::string_view bytes) {
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes.size(), 16);
    out.append(digits.data(), static_cast<std::size_t>(end.ptr - digits.data()));
    out += "\r\n";
    out += bytes;
    out += "\r\n";
}

void append_bare(std::string& out, int status, std::string_view request_id) {
    append_status_line(out, status);
    out += "X-Request-Id: ";
    out += request_id;
    out += "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

}  // namespace berth::http
