#include "host_agent/runtimes/toy_engine.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <vector>

#include "base/bytes.hpp"
#include "base/json_text.hpp"
#include "http/server.hpp"
#include "http/source.hpp"
#include "wire/document.hpp"
#include "wire/open.hpp"

namespace berth::host_agent {
namespace {

constexpr std::string_view model_name = "berth-toy";
constexpr std::string_view opening = "This is a toy, not a language model.";
constexpr std::size_t dimensions = 64;
constexpr std::int64_t words_max = 4096;

// All that the model has read. What follows a word in it may follow that word in an answer.
constexpr std::string_view reading =
    "the ship comes in with the tide and the crew makes the lines fast at the berth . the harbour "
    "master looks at the papers and writes the time in the book . a berth is a place where a ship "
    "is made fast for hire . the crane takes the cargo from the hold and the quay is full of "
    "crates . at night the lamps are lit and the water is quiet . the pilot knows the channel and "
    "the current and the wind . when the work is done the lines are let go and the ship goes out "
    "with the tide . the berth is swept and the next ship comes in . a good harbour keeps its "
    "books in order and its water deep . the crew is paid and the book is closed .";

std::vector<std::string> split(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

// FNV-1a: the same on every machine.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char letter : text)
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    return hash;
}

class Model {
public:
    Model() {
        const auto words = split(std::string(reading));
        for (std::size_t i = 0; i + 1 < words.size(); ++i) next_[words[i]].push_back(words[i + 1]);
    }
    std::vector<std::string> answer(const std::string& prompt, std::int64_t count) const {
        std::vector<std::string> words = split(std::string(opening));
        std::uint64_t state = hash_of(prompt) | 1;
        std::string word = ".";
        while (std::ssize(words) < count) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            const auto found = next_.find(word);
            word = found == next_.end() ? "the" : found->second[state % found->second.size()];
            words.push_back(word);
        }
        words.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, count)));
        return words;
    }

private:
    std::map<std::string, std::vector<std::string>> next_;
};

const Model& model() {
    static const Model only;
    return only;
}

struct StreamOptions {
    std::optional<bool> include_usage;
};
BOOST_DESCRIBE_STRUCT(StreamOptions, (), (include_usage))

// What is read of a request; the rest of what clients send changes nothing.
struct Ask {
    std::optional<wire::Json> messages;
    std::optional<wire::Json> prompt;
    std::optional<wire::Json> input;
    std::optional<wire::Integer<1, words_max>> max_tokens;
    std::optional<wire::Integer<1, words_max>> max_completion_tokens;
    std::optional<bool> stream;
    std::optional<StreamOptions> stream_options;
    std::optional<std::string> encoding_format;
};
BOOST_DESCRIBE_STRUCT(Ask, (),
                      (messages, prompt, input, max_tokens, max_completion_tokens, stream,
                       stream_options, encoding_format))

// Every text in a JSON value, one line each.
std::string texts_in(const std::string& json) {
    wire::Document document;
    if (document.parse(json)) return {};
    std::string all;
    for (std::uint32_t node = 0; node < document[0].end; ++node)
        if (document[node].shape == wire::Shape::string)
            all += std::string(document[node].text) + "\n";
    return all;
}

struct Answer {
    bool is_chat = false;
    std::vector<std::string> words;
    std::int64_t prompt_words = 0;
    bool wants_usage = false;
    std::string finish = "length";
};

std::string usage_of(const Answer& answer) {
    return fmt::format(R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}})",
                       answer.prompt_words, answer.words.size(),
                       static_cast<std::size_t>(answer.prompt_words) + answer.words.size());
}

std::string head_of(std::string_view object) {
    return fmt::format(R"({{"id":"toy","object":"{}","created":1700000000,"model":"{}")", object,
                       model_name);
}

std::string whole(const Answer& answer) {
    std::string text;
    for (const std::string& word : answer.words) text += (text.empty() ? "" : " ") + word;
    const std::string said =
        answer.is_chat
            ? fmt::format(R"("message":{{"role":"assistant","content":{}}})", json_quoted(text))
            : fmt::format(R"("text":{})", json_quoted(text));
    return head_of(answer.is_chat ? "chat.completion" : "text_completion") +
           fmt::format(R"(,"choices":[{{"index":0,{},"logprobs":null,"finish_reason":"{}"}}],)",
                       said, answer.finish) +
           fmt::format(R"("usage":{}}})", usage_of(answer));
}

class Words final : public http::Source {
public:
    explicit Words(Answer answer) : answer_(std::move(answer)) {}

    void start(http::Outlet& outlet) override {
        outlet_ = &outlet;
        outlet.begin({.content_type = "text/event-stream"});
        on_room();
    }
    void on_room() override {
        while (outlet_ != nullptr && said_ < answer_.words.size())
            if (!outlet_->write(piece(answer_.words[said_++]))) return;
        if (outlet_ == nullptr) return;
        std::string rest =
            event(fmt::format(R"("choices":[{{"index":0,{},"finish_reason":"{}"}}])",
                              answer_.is_chat ? R"("delta":{})" : R"("text":"")", answer_.finish));
        if (answer_.wants_usage)
            rest += event(fmt::format(R"("choices":[],"usage":{})", usage_of(answer_)));
        static_cast<void>(outlet_->write(rest + "data: [DONE]\n\n"));
        http::Outlet* const outlet = outlet_;
        outlet_ = nullptr;
        outlet->end();
    }
    void on_gone() override { outlet_ = nullptr; }

private:
    std::string event(const std::string& members) const {
        return "data: " + head_of(answer_.is_chat ? "chat.completion.chunk" : "text_completion") +
               "," + members + "}\n\n";
    }
    std::string piece(const std::string& word) const {
        const std::string text = json_quoted(said_ == 1 ? word : " " + word);
        return event(fmt::format(
            R"("choices":[{{"index":0,{},"finish_reason":null}}])",
            answer_.is_chat ? fmt::format(R"("delta":{{"role":"assistant","content":{}}})", text)
                            : fmt::format(R"("text":{})", text)));
    }

    const Answer answer_;
    http::Outlet* outlet_ = nullptr;
    std::size_t said_ = 0;
};

// Words hashed into a vector of unit length: texts that share words lie near each other.
std::array<float, dimensions> embed(const std::string& text) {
    std::array<float, dimensions> vector{};
    for (const std::string& word : split(text)) {
        const std::uint64_t hash = hash_of(word);
        vector.at(hash % dimensions) += (hash >> 32 & 1) != 0 ? 1.0F : -1.0F;
    }
    float length = 0;
    for (const float value : vector) length += value * value;
    if (length > 0)
        for (float& value : vector) value /= std::sqrt(length);
    return vector;
}

std::string embedding_text(const std::array<float, dimensions>& vector, bool as_base64) {
    if (as_base64) {
        Bytes bytes;
        for (const float value : vector) {
            const auto bits = std::bit_cast<std::uint32_t>(value);
            for (int byte = 0; byte < 4; ++byte)
                bytes += static_cast<char>(bits >> (8 * byte) & 0xff);
        }
        return "\"" + to_base64(bytes) + "\"";
    }
    std::string out;
    for (const float value : vector) out += fmt::format("{}{}", out.empty() ? "[" : ",", value);
    return out + "]";
}

std::vector<std::string> inputs_of(const std::string& json) {
    wire::Document document;
    std::vector<std::string> all;
    if (document.parse(json)) return all;
    for (std::uint32_t node = 0; node < document[0].end; ++node)
        if (document[node].shape == wire::Shape::string) all.emplace_back(document[node].text);
    return all;
}

http::Response failure(int status, std::string_view message) {
    http::Response response;
    response.status = status;
    response.body = fmt::format(R"({{"error":{{"message":{},"type":"{}","code":null}}}})",
                                json_quoted(std::string(message)), "invalid_request_error");
    return response;
}

class ToyEngine final : public http::Handler {
public:
    explicit ToyEngine(const std::string& key) : expected_(key.empty() ? "" : "Bearer " + key) {}

    std::size_t body_bytes_max(const http::Request&) override {
        return std::size_t{1} * 1024 * 1024;
    }
    void handle(http::Request request, http::Reply reply) override {
        try {
            reply(answer(request));
        } catch (const Problem& problem) {
            reply(failure(400, problem.message));
        }
    }

private:
    http::Response answer(const http::Request& request) const {
        const std::string path(request.path());
        if (path == "/health" && request.method == "GET") return {.body = "{}"};
        if (!expected_.empty() && request.headers.find("Authorization").value_or("") != expected_)
            return failure(401, "the key is not this engine's");
        if (path == "/v1/models" && request.method == "GET")
            return {.body = fmt::format(R"({{"object":"list","data":[{{"id":"{}","object":"model",)"
                                        R"("created":1700000000,"owned_by":"berth"}}]}})",
                                        model_name)};
        if (request.method != "POST") return failure(404, "there is no such route");
        const auto ask = wire::decode_known<Ask>(request.body, "body");
        if (path == "/v1/chat/completions") return complete(ask, ask.messages, true);
        if (path == "/v1/completions") return complete(ask, ask.prompt, false);
        if (path == "/v1/embeddings") return embeddings(ask);
        return failure(404, "there is no such route");
    }
    static http::Response complete(const Ask& ask, const std::optional<wire::Json>& given,
                                   bool is_chat) {
        if (!given)
            return failure(400, is_chat ? "messages: must be there" : "prompt: must be there");
        const std::string prompt = texts_in(given->text);
        const auto& most = ask.max_tokens ? ask.max_tokens : ask.max_completion_tokens;
        Answer made;
        made.is_chat = is_chat;
        made.words = model().answer(prompt, most ? most->value : 32);
        made.prompt_words = std::ssize(split(prompt));
        if (ask.stream_options)
            made.wants_usage = ask.stream_options->include_usage.value_or(false);
        if (!ask.stream.value_or(false)) return {.body = whole(made)};
        http::Response response;
        response.source = std::make_shared<Words>(std::move(made));
        return response;
    }
    static http::Response embeddings(const Ask& ask) {
        if (!ask.input) return failure(400, "input: must be there");
        const bool as_base64 = ask.encoding_format.value_or("") == "base64";
        std::string data;
        std::size_t words = 0;
        std::size_t index = 0;
        for (const std::string& text : inputs_of(ask.input->text)) {
            words += split(text).size();
            data +=
                fmt::format(R"({}{{"object":"embedding","index":{},"embedding":{}}})",
                            index == 0 ? "" : ",", index, embedding_text(embed(text), as_base64));
            ++index;
        }
        return {.body = fmt::format(R"({{"object":"list","data":[{}],"model":"{}","usage":)"
                                    R"({{"prompt_tokens":{},"total_tokens":{}}}}})",
                                    data, model_name, words, words)};
    }

    const std::string expected_;
};

}  // namespace

std::string toy_completion(const std::string& prompt, std::int64_t words) {
    std::string text;
    for (const std::string& word : model().answer(prompt, words))
        text += (text.empty() ? "" : " ") + word;
    return text;
}

int run_toy_engine(const ToyEngineOptions& options) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    http::ServerOptions server_options;
    server_options.port = static_cast<std::uint16_t>(options.port);
    server_options.drain_max = std::chrono::milliseconds(200);
    ToyEngine engine(options.key);
    http::Server server(server_options, engine);
    server.start();
    fmt::print("listening {}\nThis engine is a toy: it answers from a text of a hundred words.\n",
               server.port());
    std::fflush(stdout);
    int number = 0;
    sigwait(&set, &number);
    server.stop();
    return 0;
}

}  // namespace berth::host_agent
