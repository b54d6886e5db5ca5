// Looks for what the engine says about tokens in an answer that passes by in pieces, without
// keeping the answer: the last object called "usage", wherever it stands. Inside a JSON string the
// quotes of that name are escaped, so that what a model writes is never taken for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::relay {

struct TokenUsage {
    std::optional<std::int64_t> prompt;
    std::optional<std::int64_t> completion;
};

class UsageFinder {
public:
    static constexpr std::size_t object_bytes_max = 2048;  // a larger one is not looked at

    void feed(std::string_view bytes);
    // What the last one says; nothing when there was none that can be read.
    std::optional<TokenUsage> found() const;

private:
    enum class State : std::uint8_t { name, colon, brace, object };

    void seek(std::string_view& bytes);
    void expect(char wanted, State next, std::string_view& bytes);
    void gather(std::string_view& bytes);

    State state_ = State::name;
    bool in_string_ = false;
    bool escaped_ = false;
    std::uint16_t depth_ = 0;
    std::uint8_t matched_ = 0;  // of the name, at the end of the last piece
    std::string object_;        // the one that is being read
    std::string last_;
};

}  // namespace berth::relay
