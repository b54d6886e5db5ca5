#include "base/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/issued.hpp"
#include "base/json_text.hpp"
#include "base/letters.hpp"
#include "base/log_mark.hpp"
#include "base/log_queue.hpp"
#include "base/time.hpp"

namespace berth {
namespace {

std::atomic<Level> least_level{Level::info};
std::atomic<int> log_file{2};
thread_local std::string current_request;
std::string process_mark;  // a member as it is written, or nothing

constexpr std::size_t text_bytes_max = 4096;  // of one field

constexpr std::array<std::string_view, 4> level_names{"debug", "info", "warn", "error"};

constexpr std::string_view hub_prefix = "hf_";  // of the model hub's own secrets

bool is_secret_letter(char c) { return is_alphanumeric(c) || c == '_' || c == '-'; }

bool starts_word(std::string_view text, std::size_t at) {
    return at == 0 || !is_secret_letter(text[at - 1]);
}

struct Secret {
    std::size_t shown = 0;  // the prefix, which says what it is
    std::size_t end = 0;    // both 0 when there is none
};

// The secret that starts at `at`.
Secret secret_at(std::string_view text, std::size_t at) {
    constexpr std::size_t letters_min = 8;
    const std::string_view rest = text.substr(at);
    const auto begins_it = [&](std::string_view prefix) { return rest.starts_with(prefix); };
    const auto found = std::find_if(issued::prefixes.begin(), issued::prefixes.end(), begins_it);
    if (found == issued::prefixes.end() && !begins_it(hub_prefix)) return {};
    const std::string_view prefix = found == issued::prefixes.end() ? hub_prefix : *found;
    std::size_t end = at + prefix.size();
    const bool base64 = prefix == issued::webhook_secret;
    const auto belongs = [&](char c) {
        return is_secret_letter(c) || (base64 && (c == '+' || c == '/' || c == '='));
    };
    while (end < text.size() && belongs(text[end])) ++end;
    if (end - at < prefix.size() + letters_min) return {};
    return {at + prefix.size(), end};
}

// Finds the password of "scheme://user:password@". People write passwords with "/" and "?" in them,
// so only what no secret of any shape can hold ends the search; that also keeps what is hidden
// elsewhere from changing what is found here. Every "://" between two such ends shares the last
// "@", which is looked for once: a text of nothing but "://" takes time in proportion to its
// length.
class Passwords {
public:
    explicit Passwords(std::string_view text) : text_(text) {}

    // Where the password that follows the "://" at `at` begins and ends; both 0 if there is none.
    // `at` only grows from call to call.
    std::pair<std::size_t, std::size_t> after(std::size_t at) {
        if (!text_.substr(at).starts_with("://")) return {};
        const std::size_t name = at + 3;
        if (name >= end_) look_at(name);
        const std::size_t colon = text_.find(':', name);
        if (sign_ == std::string_view::npos || sign_ < name || colon >= sign_) return {};
        return {colon + 1, sign_};
    }

private:
    void look_at(std::size_t begin) {
        end_ = std::min(text_.find_first_of(" \"\r\n", begin), text_.size());
        const std::size_t sign = text_.substr(begin, end_ - begin).rfind('@');
        sign_ = sign == std::string_view::npos ? sign : begin + sign;
    }

    std::string_view text_;
    std::size_t end_ = 0;
    std::size_t sign_ = std::string_view::npos;
};

constexpr std::string_view bearer = "bearer ";

// The name of an authentication scheme is the same in either case.
bool starts_bearer(std::string_view text) {
    const auto same = [](char lower, char given) { return (given | 0x20) == lower; };
    return text.size() >= bearer.size() &&
           std::equal(bearer.begin(), bearer.end(), text.begin(), same);
}

// Where the value of "password=" begins, as in the address of a database; `at` itself if it is
// none.
std::size_t password_value(std::string_view text, std::size_t at) {
    for (const std::string_view name : {"password=", "sslpassword="})
        if (text.substr(at).starts_with(name)) return at + name.size();
    return at;
}

}  // namespace

void mark_log(const std::string& name, const std::string& value) {
    std::string mark(1, ',');
    append_json_string(mark, name);
    mark += ':';
    append_json_string(mark, value);
    process_mark = std::move(mark);
}

void set_log(Level level, int file_descriptor) {
    least_level = level;
    log_file = file_descriptor;
}

LogScope::LogScope(std::string request_id) : before_(std::move(current_request)) {
    current_request = std::move(request_id);
}
LogScope::~LogScope() { current_request = std::move(before_); }
const std::string& LogScope::current() { return current_request; }

bool is_logged(Level level) { return level >= least_level.load(std::memory_order_relaxed); }

void log(Level level, std::string_view event, std::initializer_list<Field> fields) {
    if (!is_logged(level)) return;
    std::string line = "{\"at\":\"";
    line += to_rfc3339(SystemClock{}.now());
    line += "\",\"level\":\"";
    line += level_names[static_cast<std::size_t>(level)];
    line += "\",\"event\":";
    append_json_string(line, event);
    line += process_mark;
    if (!current_request.empty()) {
        line += ",\"request_id\":";
        append_json_string(line, current_request);
    }
    for (const Field& field : fields) {
        line += ',';
        append_json_string(line, field.name);
        line += ':';
        if (const auto* text = std::get_if<std::string_view>(&field.value))
            append_json_string(line, std::string_view(redact(*text)).substr(0, text_bytes_max));
        else if (const auto* number = std::get_if<std::int64_t>(&field.value))
            line += std::to_string(*number);
        else
            line += std::get<bool>(field.value) ? "true" : "false";
    }
    line += "}\n";
    if (LogQueue::take(line)) return;
    // A log that cannot be written has nowhere to say so.
    [[maybe_unused]] const ssize_t written = ::write(log_file, line.data(), line.size());
}

int log_descriptor() { return log_file; }

std::string redact(std::string_view text) {
    constexpr std::string_view ellipsis = "…";
    std::string out;
    out.reserve(text.size());
    Passwords passwords(text);
    for (std::size_t i = 0; i < text.size();) {
        if (starts_word(text, i)) {
            if (const Secret secret = secret_at(text, i); secret.end != 0) {
                out.append(text.substr(i, secret.shown - i)).append(ellipsis);
                i = secret.end;
                continue;
            }
            if (const std::size_t value = password_value(text, i); value != i) {
                out.append(text.substr(i, value - i)).append(ellipsis);
                i = std::min(text.find_first_of("& \",\r\n", value), text.size());
                continue;
            }
            if (starts_bearer(text.substr(i))) {
                out.append(text.substr(i, bearer.size())).append(ellipsis);
                i = std::min(text.find_first_of(" \",\r\n", i + bearer.size()), text.size());
                continue;
            }
        }
        if (const auto [begin, end] = passwords.after(i); end != 0) {
            // The name before a password can be a secret too: "https://ark_…:x@host".
            const std::string_view name = text.substr(i + 3, begin - 1 - (i + 3));
            out.append("://").append(redact(name)).append(":").append(ellipsis);
            i = end;
            continue;
        }
        out += text[i++];
    }
    return out;
}

}  // namespace berth
