// Every message of the protocol with its place in the story, and the page docs/agent-messages.md
// that is made of them: enough to write an agent by.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wire/type.hpp"

namespace berth::agent_protocol {

// Where the struct of a message stands: alone, as the payload of a command, in the detail of an
// acknowledgement, of one that refuses, or as the evidence of an event.
enum class Frame { alone, payload, detail, refusal, job_evidence, health_evidence };

struct Message {
    std::string_view name;   // of a payload and of evidence the kind
    std::string_view about;  // who sends it where, and when
    const wire::Type& (*type)();
    // The JSON read as the struct, by the rule for who reads it, and written again. Throws a
    // Problem INVALID_INPUT.
    std::string (*written_again)(std::string_view json);
    Frame frame = Frame::alone;
    std::string_view usual = {};  // the example; empty: one with every member
};

struct Chapter {
    std::string_view title;
    std::span<const Message> messages;
};
std::span<const Chapter> chapters();

// The struct's own JSON, and the whole of what is sent with it.
std::string example_of(const Message& message);
std::string framed_example(const Message& message);

std::string messages_page();

}  // namespace berth::agent_protocol
