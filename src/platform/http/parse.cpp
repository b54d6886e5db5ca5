#include "http/parse.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "http/text.hpp"

namespace berth::http {
namespace {

constexpr int bad_request = 400;
constexpr int expectation_failed = 417;
constexpr int too_many_fields = 431;
constexpr std::size_t usual_fields = 8;

// The next line of `text` without its CRLF; the scanner has made sure that there is one.
std::string_view take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos || end == 0) return std::exchange(text, {});
    const std::string_view line = text.substr(0, end - 1);
    text.remove_prefix(end + 1);
    return line;
}

// Decimal digits only, and few enough of them that the number cannot overflow.
bool parse_length(std::string_view text, std::uint64_t& length) {
    constexpr std::size_t digits_max = 18;
    if (text.empty() || text.size() > digits_max) return false;
    std::uint64_t value = 0;
    for (const char c : text) {
        if (!is_digit(c)) return false;
        value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    length = value;
    return true;
}

bool parse_request_line(std::string_view line, ParsedHead& parsed) {
    const std::size_t first = line.find(' ');
    const std::size_t last = line.rfind(' ');
    if (first == std::string_view::npos || first == last) return false;
    const std::string_view method = line.substr(0, first);
    const std::string_view target = line.substr(first + 1, last - first - 1);
    const std::string_view version = line.substr(last + 1);
    if (!is_token(method) || method.size() > method_bytes_max || !is_target(target)) return false;
    if (version != "HTTP/1.1" && version != "HTTP/1.0") return false;
    parsed.request.method = method;
    parsed.request.target = target;
    parsed.framing.version_1_0 = version == "HTTP/1.0";
    return true;
}

bool parse_status_line(std::string_view line, AnswerHead& answer, Framing& framing) {
    constexpr std::size_t version_size = 9;  // "HTTP/1.1 "
    constexpr std::size_t shortest = version_size + 3;
    if (line.size() < shortest) return false;
    const std::string_view version = line.substr(0, version_size);
    if (version != "HTTP/1.1 " && version != "HTTP/1.0 ") return false;
    framing.version_1_0 = version == "HTTP/1.0 ";
    for (const char c : line.substr(version_size, 3)) {
        if (!is_digit(c)) return false;
        answer.status = answer.status * 10 + (c - '0');
    }
    const std::string_view reason = line.substr(shortest);
    if (!reason.empty() && (reason.front() != ' ' || !is_field_value(reason))) return false;
    return answer.status >= 100 && answer.status <= 599;
}

// What the fields say about framing, gathered while they pass by.
struct Seen {
    int hosts = 0;
    int lengths = 0;
    int encodings = 0;
    bool close = false;
    bool keep_alive = false;
    bool upgrade = false;
    bool continue_expected = false;
    bool other_expectation = false;
};

bool note_connection(std::string_view value, Seen& seen) {
    while (!value.empty()) {
        const std::size_t comma = std::min(value.find(','), value.size());
        const std::string_view option = trim(value.substr(0, comma));
        if (!option.empty() && !is_token(option)) return false;
        seen.close = seen.close || equal_without_case(option, "close");
        seen.keep_alive = seen.keep_alive || equal_without_case(option, "keep-alive");
        seen.upgrade = seen.upgrade || equal_without_case(option, "upgrade");
        value.remove_prefix(std::min(comma + 1, value.size()));
    }
    return true;
}

// False when the field alone makes the request unacceptable.
bool note_field(std::string_view name, std::string_view value, Seen& seen, Framing& framing) {
    switch (name.size()) {  // the length tells nearly every other field apart without a comparison
        case 4:
            if (!equal_without_case(name, "host")) return true;
            return ++seen.hosts == 1 && is_host(value);
        case 6:
            if (!equal_without_case(name, "expect")) return true;
            if (equal_without_case(value, "100-continue"))
                seen.continue_expected = true;
            else
                seen.other_expectation = true;
            return true;
        case 10: return !equal_without_case(name, "connection") || note_connection(value, seen);
        case 14:
            if (!equal_without_case(name, "content-length")) return true;
            return ++seen.lengths == 1 && parse_length(value, framing.content_length);
        case 17:
            if (!equal_without_case(name, "transfer-encoding")) return true;
            framing.chunked = true;
            return ++seen.encodings == 1 && equal_without_case(value, "chunked");
        default: return true;
    }
}

bool split_field(std::string_view line, std::string_view& name, std::string_view& value) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    name = line.substr(0, colon);
    value = trim(line.substr(colon + 1));
    return is_token(name) && is_field_value(value);
}

// What all fields together say; the status to refuse with, or 0.
int conclude(const Seen& seen, Framing& framing) {
    if (seen.hosts != 1 && !framing.version_1_0) return bad_request;
    if (framing.chunked && (seen.lengths != 0 || framing.version_1_0)) return bad_request;
    framing.keep_alive = !seen.close && (!framing.version_1_0 || seen.keep_alive);
    if (framing.version_1_0) return 0;  // an expectation in HTTP/1.0 is to be ignored
    if (seen.other_expectation) return expectation_failed;
    framing.expects_continue =
        seen.continue_expected && (framing.chunked || framing.content_length > 0);
    return 0;
}

// Several protocols to choose from are nobody's habit, and HTTP/1.0 knows no switching.
std::string protocol_to_switch_to(const Request& request, const Framing& framing) {
    const bool bare = !framing.chunked && framing.content_length == 0;
    if (framing.version_1_0 || !bare || request.method != "GET") return {};
    const auto named = request.headers.find("Upgrade");
    const bool one = named && request.headers.count("Upgrade") == 1 && is_token(*named);
    return one ? std::string(*named) : std::string();
}

}  // namespace

HeadScanner::Status HeadScanner::scan(std::string_view bytes) {
    if (scanned_ == 0 && !bytes.empty() && !is_token_letter(bytes.front())) return Status::bad;
    while (scanned_ < bytes.size()) {
        const void* found = std::memchr(bytes.data() + scanned_, '\n', bytes.size() - scanned_);
        if (found == nullptr) {
            scanned_ = bytes.size();
            break;
        }
        const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
        if (at == 0 || bytes[at - 1] != '\r') return Status::bad;
        const bool empty_line = at == line_start_ + 1;
        scanned_ = line_start_ = at + 1;
        if (empty_line) return Status::complete;
    }
    return Status::incomplete;
}

ParsedHead parse_head(std::string_view head) {
    ParsedHead parsed;
    Seen seen;
    if (!parse_request_line(take_line(head), parsed)) {
        parsed.refusal = bad_request;
        return parsed;
    }
    parsed.request.headers.reserve(usual_fields);
    std::size_t fields = 0;
    for (std::string_view line = take_line(head); !line.empty(); line = take_line(head)) {
        std::string_view name;
        std::string_view value;
        if (!split_field(line, name, value) || !note_field(name, value, seen, parsed.framing)) {
            parsed.refusal = bad_request;
            return parsed;
        }
        if (++fields > fields_max) {
            parsed.refusal = too_many_fields;
            return parsed;
        }
        parsed.request.headers.add(std::string(name), std::string(value));
    }
    parsed.refusal = conclude(seen, parsed.framing);
    if (seen.upgrade)
        parsed.request.switch_to = protocol_to_switch_to(parsed.request, parsed.framing);
    return parsed;
}

AnswerHead parse_answer_head(std::string_view head, AnswerTo request) {
    AnswerHead answer;
    Framing framing;
    Seen seen;
    if (!parse_status_line(take_line(head), answer, framing)) return answer;
    answer.headers.reserve(usual_fields);
    std::size_t fields = 0;
    for (std::string_view line = take_line(head); !line.empty(); line = take_line(head)) {
        std::string_view name;
        std::string_view value;
        if (!split_field(line, name, value) || !note_field(name, value, seen, framing))
            return answer;
        if (++fields > fields_max) return answer;
        answer.headers.add(std::string(name), std::string(value));
    }
    if (framing.chunked && (seen.lengths != 0 || framing.version_1_0)) return answer;
    const bool switches = answer.status == switching_status;
    const bool may_switch = request == AnswerTo::upgrade && seen.upgrade && !framing.version_1_0 &&
                            seen.lengths == 0 && !framing.chunked;
    if (switches && !may_switch) return answer;
    answer.good = true;
    answer.keep_alive = !seen.close && (!framing.version_1_0 || seen.keep_alive);
    answer.content_length = framing.content_length;
    const bool bodiless = answer.status < 200 || answer.status == 204 || answer.status == 304;
    if (switches)
        answer.body = AnswerHead::Body::until_close;
    else if (request == AnswerTo::head_request || bodiless)
        answer.body = AnswerHead::Body::none;
    else if (framing.chunked)
        answer.body = AnswerHead::Body::chunked;
    else
        answer.body = seen.lengths != 0 ? AnswerHead::Body::length : AnswerHead::Body::until_close;
    return answer;
}

ChunkDecoder::Status ChunkDecoder::feed(std::string_view& input, std::string& body) {
    bool bad = false;
    while (part_ != Part::done) {
        if (part_ == Part::data) {
            const std::size_t count = std::min<std::uint64_t>(chunk_left_, input.size());
            body.append(input.substr(0, count));
            input.remove_prefix(count);
            chunk_left_ -= count;
            if (chunk_left_ > 0) return Status::more;
            part_ = Part::data_end;
        }
        const bool trailer = part_ == Part::trailer_line;
        const std::size_t bytes_max = part_ == Part::data_end ? 0
                                      : trailer ? limits_.trailer_bytes_max - trailer_bytes_
                                                : chunk_line_bytes_max;
        if (!take_line(input, bytes_max, bad)) return bad ? Status::bad : Status::more;
        if (part_ == Part::data_end) {
            part_ = Part::size_line;
        } else if (part_ == Part::size_line) {
            const Status status = end_of_size_line(body);
            if (status != Status::more) return status;
        } else if (line_.empty()) {
            part_ = Part::done;
        } else {
            std::string_view name;
            std::string_view value;
            if (!split_field(line_, name, value)) return Status::bad;
            trailer_bytes_ += line_.size();
        }
        line_.clear();
    }
    return Status::done;
}

// True when line_ holds a whole line, without its CRLF.
bool ChunkDecoder::take_line(std::string_view& input, std::size_t bytes_max, bool& bad) {
    const std::size_t end = input.find('\n');
    const std::size_t count = end == std::string_view::npos ? input.size() : end + 1;
    constexpr std::size_t line_end_bytes = 2;
    if (line_.size() + count > bytes_max + line_end_bytes) {
        bad = true;
        return false;
    }
    line_.append(input.substr(0, count));
    input.remove_prefix(count);
    if (end == std::string_view::npos) return false;
    bad = line_.size() < line_end_bytes || line_[line_.size() - 2] != '\r';
    if (bad) return false;
    line_.resize(line_.size() - line_end_bytes);
    return true;
}

ChunkDecoder::Status ChunkDecoder::end_of_size_line(const std::string& body) {
    constexpr std::size_t digits_max = 15;
    std::size_t digits = 0;
    std::uint64_t size = 0;
    while (digits < line_.size() && hex_value(line_[digits]) >= 0) {
        if (digits == digits_max) return Status::bad;
        size = size * 16 + static_cast<std::uint64_t>(hex_value(line_[digits]));
        ++digits;
    }
    if (digits == 0) return Status::bad;
    const std::string_view extension = std::string_view(line_).substr(digits);
    if (!extension.empty() && (extension.front() != ';' || !is_field_value(extension)))
        return Status::bad;
    if (size > limits_.body_bytes_max || body.size() > limits_.body_bytes_max - size)
        return Status::too_large;
    chunk_left_ = size;
    part_ = size == 0 ? Part::trailer_line : Part::data;
    return Status::more;
}

}  // namespace berth::http
