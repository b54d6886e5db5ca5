// Requests and responses of the relay. What passes through it is any JSON object.
#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::relay {

struct JobPath {
    JobId id;
};
BOOST_DESCRIBE_STRUCT(JobPath, (), (id))

// What clients send to an engine, as far as every engine knows it; they may send more, and all of
// it is passed on as it came.
inline constexpr std::string_view may_have_more = R"({"additionalProperties":true})";

struct ChatMessage {
    std::string role;
    wire::Json content;
};
BOOST_DESCRIBE_STRUCT(ChatMessage, (), (role, content))
constexpr std::string_view wire_rules(const ChatMessage*) { return may_have_more; }
constexpr auto wire_docs(const ChatMessage*) {
    return std::to_array<wire::Doc>({
        {"role", "Who says it: system, user or assistant.", "user"},
        {"content", "A text, or what else the engine takes.", "\"What is a berth?\""},
    });
}

struct ChatAsked {
    std::optional<std::string> model;
    std::vector<ChatMessage> messages;
    std::optional<bool> stream;
    std::optional<wire::Count> max_tokens;
};
BOOST_DESCRIBE_STRUCT(ChatAsked, (), (model, messages, stream, max_tokens))
constexpr std::string_view wire_rules(const ChatAsked*) { return may_have_more; }
constexpr auto wire_docs(const ChatAsked*) {
    return std::to_array<wire::Doc>({
        {"model", "As the engine lists it.", "qwen2.5-7b-instruct"},
        {"messages", "What was said so far."},
        {"stream", "Whether the answer comes piece by piece, as events.", "false"},
        {"max_tokens", "The answer ends after so many at the latest.", "200"},
    });
}

struct TextAsked {
    std::optional<std::string> model;
    wire::Json prompt;
    std::optional<bool> stream;
    std::optional<wire::Count> max_tokens;
};
BOOST_DESCRIBE_STRUCT(TextAsked, (), (model, prompt, stream, max_tokens))
constexpr std::string_view wire_rules(const TextAsked*) { return may_have_more; }
constexpr auto wire_docs(const TextAsked*) {
    return std::to_array<wire::Doc>({
        {"model", "As the engine lists it.", "qwen2.5-7b-instruct"},
        {"prompt", "What the engine goes on with: a text, or what else it takes.",
         "\"A berth is\""},
        {"stream", "Whether the answer comes piece by piece, as events.", "false"},
        {"max_tokens", "The answer ends after so many at the latest.", "200"},
    });
}

struct EmbeddingsAsked {
    std::optional<std::string> model;
    wire::Json input;
};
BOOST_DESCRIBE_STRUCT(EmbeddingsAsked, (), (model, input))
constexpr std::string_view wire_rules(const EmbeddingsAsked*) { return may_have_more; }
constexpr auto wire_docs(const EmbeddingsAsked*) {
    return std::to_array<wire::Doc>({
        {"model", "As the engine lists it.", "e5"},
        {"input", "A text, or a list of texts.", "[\"a berth\",\"a quay\"]"},
    });
}

struct FirstToken {
    wire::Decimal p50;
    wire::Decimal p95;
};
BOOST_DESCRIBE_STRUCT(FirstToken, (), (p50, p95))
constexpr auto wire_docs(const FirstToken*) {
    return std::to_array<wire::Doc>({
        {"p50", "Half of the streams began within this many milliseconds.", "180"},
        {"p95", "Nineteen of twenty streams began within this many milliseconds.", "420"},
    });
}

struct JobUsage {
    JobId job_id;
    Time since;
    wire::Count requests;
    wire::Count errors;
    wire::Nullable<wire::Count> prompt_tokens;
    wire::Nullable<wire::Count> completion_tokens;
    wire::Decimal bytes_in;
    wire::Decimal bytes_out;
    wire::Nullable<FirstToken> first_token_ms;
    wire::Nullable<double> tokens_per_s;
    std::optional<wire::Decimal> carried_bytes;
};
BOOST_DESCRIBE_STRUCT(JobUsage, (),
                      (job_id, since, requests, errors, prompt_tokens, completion_tokens, bytes_in,
                       bytes_out, first_token_ms, tokens_per_s, carried_bytes))
constexpr auto wire_docs(const JobUsage*) {
    return std::to_array<wire::Doc>({
        {"since", "READY, or the reservation before that."},
        {"requests", "Those that were passed to the engine and are over.", "12"},
        {"errors", "Those that the engine refused, failed or never finished.", "1"},
        {"prompt_tokens", "As the engine counts them; null while it reports none.", "3400"},
        {"completion_tokens", "As the engine counts them; null while it reports none.", "9100"},
        {"bytes_in", "Of the bodies that were sent to the engine.", "20480"},
        {"bytes_out", "Of the bodies that came back.", "409600"},
        {"first_token_ms", "From the request to the first byte of a stream; null before the first.",
         "null"},
        {"tokens_per_s",
         "Completion tokens by the time it took to make them; null while none are reported.",
         "41.5"},
        {"carried_bytes",
         "Of everything that went through the rental's gate, both ways; left out where the host is "
         "reached directly.",
         "1048576"},
    });
}

}  // namespace berth::relay
