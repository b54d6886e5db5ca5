// A toy: an engine that speaks as the OpenAI API does and says what a tiny deterministic model
// makes of the prompt. It is there so that everything around an engine can be tried on a machine
// without a GPU. It is no language model, and says so in its name and in everything it answers.
#pragma once

#include <string>

namespace berth::host_agent {

struct ToyEngineOptions {
    std::int64_t port = 0;  // of loopback; 0 takes a free one
    std::string key;        // the bearer token it wants; empty: none
};

// Prints "listening PORT", serves until SIGTERM or SIGINT.
int run_toy_engine(const ToyEngineOptions& options);

// The model itself: the text after `prompt`, of at most `words` words; the same for the same.
std::string toy_completion(const std::string& prompt, std::int64_t words);

}  // namespace berth::host_agent
