#include "relay/usage_finder.hpp"

#include <algorithm>
#include <charconv>

#include "wire/document.hpp"

namespace berth::relay {
namespace {

constexpr std::string_view name = "\"usage\"";

// More than any engine counts for one request; a host could say anything.
constexpr std::int64_t tokens_max = 1'000'000'000;

// False when it is neither a number of tokens nor null.
bool read_tokens(const wire::Node& node, std::optional<std::int64_t>& out) {
    if (node.shape == wire::Shape::null) return true;
    std::int64_t tokens = -1;
    const char* const end = node.text.data() + node.text.size();
    const auto read = std::from_chars(node.text.data(), end, tokens);
    const bool whole = read.ec == std::errc() && read.ptr == end;
    if (node.shape != wire::Shape::number || !whole) return false;
    out = tokens;
    return tokens >= 0 && tokens <= tokens_max;
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
    thread_local wire::Document nodes;  // kept for its memory
    TokenUsage usage;
    bool good = !nodes.parse(last_);
    if (good) {
        const std::uint32_t end = nodes[0].end;
        for (std::uint32_t key = 1; key < end && good; key = nodes[key + 1].end) {
            const std::string_view member = nodes[key].text;
            if (member == "prompt_tokens") good = read_tokens(nodes[key + 1], usage.prompt);
            if (member == "completion_tokens") good = read_tokens(nodes[key + 1], usage.completion);
        }
    }
    nodes.clear();
    if (!good || (!usage.prompt && !usage.completion)) return std::nullopt;
    return usage;
}

}  // namespace berth::relay
