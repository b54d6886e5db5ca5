#include "relay/usage_finder.hpp"

#include <boost/describe.hpp>

#include "base/problem.hpp"
#include "wire/open.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::relay {
namespace {

constexpr std::string_view name = "\"usage\"";

// More than any engine counts for one request; a host could say anything.
using Tokens = wire::Integer<0, 1'000'000'000>;

struct Said {
    std::optional<wire::Nullable<Tokens>> prompt_tokens;
    std::optional<wire::Nullable<Tokens>> completion_tokens;
};
BOOST_DESCRIBE_STRUCT(Said, (), (prompt_tokens, completion_tokens))

std::optional<std::int64_t> number(const std::optional<wire::Nullable<Tokens>>& member) {
    if (!member || !member->value) return std::nullopt;
    return member->value->value;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

void UsageFinder::feed(std::string_view bytes) {
    while (!bytes.empty()) {
        switch (state_) {
            case State::name: seek(bytes); break;
            case State::colon: expect(':', State::brace, bytes); break;
            case State::brace: expect('{', State::object, bytes); break;
            case State::object: gather(bytes); break;
        }
    }
}

void UsageFinder::seek(std::string_view& bytes) {
    while (matched_ > 0 && matched_ < name.size() && !bytes.empty()) {
        if (bytes.front() == name[matched_]) {
            ++matched_;
            bytes.remove_prefix(1);
        } else {
            matched_ = 0;
        }
    }
    if (matched_ == name.size()) {
        matched_ = 0;
        state_ = State::colon;
        return;
    }
    if (matched_ > 0 || bytes.empty()) return;
    const std::size_t found = bytes.find(name);
    if (found != std::string_view::npos) {
        bytes.remove_prefix(found + name.size());
        state_ = State::colon;
        return;
    }
    for (std::size_t size = std::min(name.size() - 1, bytes.size()); size > 0; --size)
        if (bytes.ends_with(name.substr(0, size))) {
            matched_ = static_cast<std::uint8_t>(size);
            break;
        }
    bytes = {};
}

void UsageFinder::expect(char wanted, State next, std::string_view& bytes) {
    while (!bytes.empty() && is_space(bytes.front())) bytes.remove_prefix(1);
    if (bytes.empty()) return;
    state_ = bytes.front() == wanted ? next : State::name;
    if (state_ != State::object) {
        if (state_ == next) bytes.remove_prefix(1);
        return;
    }
    object_.clear();
    depth_ = 0;
    in_string_ = escaped_ = false;
}

void UsageFinder::gather(std::string_view& bytes) {
    std::size_t at = 0;
    bool whole = false;
    for (; at < bytes.size() && !whole && object_.size() + at < object_bytes_max; ++at) {
        const char c = bytes[at];
        if (escaped_)
            escaped_ = false;
        else if (in_string_ && c == '\\')
            escaped_ = true;
        else if (c == '"')
            in_string_ = !in_string_;
        else if (!in_string_ && c == '{')
            ++depth_;
        else if (!in_string_ && c == '}')
            whole = --depth_ == 0;
    }
    object_ += bytes.substr(0, at);
    bytes.remove_prefix(at);
    if (!whole && object_.size() < object_bytes_max) return;
    if (whole) last_ = std::move(object_);
    object_ = {};
    state_ = State::name;
}

std::optional<TokenUsage> UsageFinder::found() const {
    if (last_.empty()) return std::nullopt;
    try {
        const Said said = wire::decode_known<Said>(last_, "usage");
        const TokenUsage usage{number(said.prompt_tokens), number(said.completion_tokens)};
        if (!usage.prompt && !usage.completion) return std::nullopt;
        return usage;
    } catch (const Problem&) {
        return std::nullopt;
    }
}

}  // namespace berth::relay
