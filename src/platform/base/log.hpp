// The program's log: one JSON object per line, written with one write(2) or by one thread (see
// log_queue.hpp), so that lines of several threads never mix. Every string passes through redact()
// first.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace berth {

enum class Level { debug, info, warn, error };

struct Field {
    template <class Value>
    Field(std::string_view name_, const Value& value_) : name(name_), value(convert(value_)) {}

    std::string_view name;
    std::variant<std::string_view, std::int64_t, bool> value;

private:
    template <class Value>
    static std::variant<std::string_view, std::int64_t, bool> convert(const Value& from) {
        if constexpr (std::same_as<Value, bool>)
            return from;
        else if constexpr (std::integral<Value>)
            return static_cast<std::int64_t>(from);
        else
            return std::string_view(from);
    }
};

void log(Level level, std::string_view event, std::initializer_list<Field> fields = {});
bool is_logged(Level level);  // for who would spare making the fields

// Lines under `level` are dropped. `file_descriptor` is where lines go; standard error at first.
void set_log(Level level, int file_descriptor = 2);

// While one lives, lines of this thread carry its request id.
class LogScope {
public:
    explicit LogScope(std::string request_id);
    ~LogScope();
    LogScope(const LogScope&) = delete;
    LogScope& operator=(const LogScope&) = delete;

    // The request id of this thread's lines, for a thread that goes on with the work; or empty.
    static const std::string& current();

private:
    std::string before_;
};

// Replaces every secret of a shape we issue or handle (API keys, session and confirmation tokens,
// bearer values, passwords in addresses) by its first letters and "…".
std::string redact(std::string_view text);

}  // namespace berth
