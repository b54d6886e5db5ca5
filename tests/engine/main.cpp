// An inference engine for tests: it speaks as the OpenAI API does, and says words that can be
// counted. It runs in a process of its own, as an agent would start one.
//
//     engine PORT KEY [CERTIFICATE_FILE KEY_FILE]
//
// It prints "listening PORT" when it does. Everything under /v1 wants the key as a bearer token. A
// request may set how many words it gets (`max_tokens`, 8 otherwise) and how long the engine waits
// before each of them (`delay_ms`). It misbehaves (see Misbehaviour) when the request's `model` is
// "bad-" and the name of how, when the field X-Misbehave has the name, or for everything after
// POST /misbehave/NAME. GET /seen tells what it was asked last, and how its streams fared.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/json.hpp>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

#include "http/server.hpp"
#include "http/source.hpp"

namespace {

using namespace berth;
using namespace std::chrono_literals;
namespace json = boost::json;

enum class Misbehaviour {
    none,
    refuse,       // 400 with an error of its own
    busy,         // 429
    fail,         // 500
    unavailable,  // 503
    redirect,     // 307 to elsewhere
    never,        // no answer at all
    late,         // the first byte after two seconds
    silent,       // a head, and nothing after it
    cut,          // half of the answer, then the connection breaks
    endless,      // events until the client goes away
    uncounted,    // no usage
    garbled,      // what is not JSON
    unbroken,     // ten megabytes without a line's end
};
constexpr std::array<std::string_view, 14> misbehaviours = {
    "none", "refuse", "busy", "fail",    "unavailable", "redirect", "never",
    "late", "silent", "cut",  "endless", "uncounted",   "garbled",  "unbroken"};

Misbehaviour named(std::string_view name) {
    const auto* const found = std::find(misbehaviours.begin(), misbehaviours.end(), name);
    return found == misbehaviours.end() ? Misbehaviour::none
                                        : static_cast<Misbehaviour>(found - misbehaviours.begin());
}

// Runs work on I/O threads later.
class Later {
public:
    Later() : thread_([this] { work(); }) {}
    ~Later() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    Later(const Later&) = delete;
    Later& operator=(const Later&) = delete;

    void run(std::chrono::milliseconds after, std::function<void()> work) {
        const std::lock_guard lock(mutex_);
        waiting_.emplace(std::chrono::steady_clock::now() + after, std::move(work));
        changed_.notify_one();
    }

private:
    void work() {
        std::unique_lock lock(mutex_);
        while (!ends_) {
            if (waiting_.empty()) {
                changed_.wait(lock);
                continue;
            }
            const auto first = waiting_.begin();
            if (first->first > std::chrono::steady_clock::now()) {
                changed_.wait_until(lock, first->first);
                continue;
            }
            const auto next = std::move(first->second);
            waiting_.erase(first);
            lock.unlock();
            next();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::multimap<std::chrono::steady_clock::time_point, std::function<void()>> waiting_;
    bool ends_ = false;
    std::thread thread_;
};

// What tests ask about afterwards.
struct Seen {
    std::atomic<std::int64_t> requests{0};
    std::atomic<std::int64_t> open{0};  // streams
    std::atomic<std::int64_t> whole{0};
    std::atomic<std::int64_t> gone{0};  // the client went away
    std::mutex mutex;
    // The last request that was neither of /seen nor of /misbehave.
    std::string method;
    std::string target;
    std::string body;
    json::object headers;

    void note(const http::Request& request) {
        ++requests;
        const std::lock_guard lock(mutex);
        method = request.method;
        target = request.target;
        body = request.body;
        headers.clear();
        for (const auto& field : request.headers) headers[field.name] = field.value;
    }
    json::object told() {
        const std::lock_guard lock(mutex);
        return {{"requests", requests.load()}, {"open", open.load()}, {"whole", whole.load()},
                {"gone", gone.load()},         {"method", method},    {"target", target},
                {"headers", headers},          {"body", body}};
    }
};

// What a request wants.
struct Wish {
    bool is_chat = false;
    bool streams = false;
    bool wants_usage = false;
    std::int64_t words = 8;
    std::chrono::milliseconds delay{0};
    std::string tool;  // to be called; empty: none
    std::string model;
    std::int64_t prompt_tokens = 1;
    Misbehaviour how = Misbehaviour::none;
};

std::string word(std::int64_t number) { return fmt::format("word{} ", number); }

json::object usage_of(const Wish& wish) {
    return {{"prompt_tokens", wish.prompt_tokens},
            {"completion_tokens", wish.words},
            {"total_tokens", wish.prompt_tokens + wish.words}};
}

json::object head_of(const Wish& wish, std::string_view object) {
    return {
        {"id", "cmpl-1"}, {"object", object}, {"created", 1'700'000'000}, {"model", wish.model}};
}

json::object tool_call(const Wish& wish) {
    return {{"index", 0},
            {"id", "call_1"},
            {"type", "function"},
            {"function", {{"name", wish.tool}, {"arguments", R"({"place":"Lisbon"})"}}}};
}

std::string whole_answer(const Wish& wish) {
    std::string text;
    for (std::int64_t i = 1; i <= wish.words; ++i) text += word(i);
    json::object choice{{"index", 0}, {"logprobs", nullptr}, {"finish_reason", "stop"}};
    if (!wish.is_chat) {
        choice["text"] = text;
    } else if (wish.tool.empty()) {
        choice["message"] = {{"role", "assistant"}, {"content", text}};
    } else {
        choice["message"] = json::object{{"role", "assistant"},
                                         {"content", nullptr},
                                         {"tool_calls", json::array{tool_call(wish)}}};
        choice["finish_reason"] = "tool_calls";
    }
    json::object out = head_of(wish, wish.is_chat ? "chat.completion" : "text_completion");
    out["choices"] = json::array{std::move(choice)};
    if (wish.how != Misbehaviour::uncounted) out["usage"] = usage_of(wish);
    return json::serialize(out);
}

std::string event_of(const json::object& object) {
    return "data: " + json::serialize(object) + "\n\n";
}

// One piece of a stream: `delta` in a chat, text otherwise.
std::string piece(const Wish& wish, std::int64_t number, bool is_last) {
    json::object choice{{"index", 0}, {"finish_reason", nullptr}};
    if (is_last) {
        choice["finish_reason"] = wish.tool.empty() ? "stop" : "tool_calls";
        if (wish.is_chat)
            choice["delta"] = json::object{};
        else
            choice["text"] = "";
    } else if (!wish.is_chat) {
        choice["text"] = word(number);
    } else if (wish.tool.empty()) {
        choice["delta"] = {{"role", "assistant"}, {"content", word(number)}};
    } else {
        choice["delta"] = {{"role", "assistant"}, {"tool_calls", json::array{tool_call(wish)}}};
    }
    json::object out = head_of(wish, wish.is_chat ? "chat.completion.chunk" : "text_completion");
    out["choices"] = json::array{std::move(choice)};
    return event_of(out);
}

// The answer as events, one after the other, as quickly as the client takes them or with pauses; or
// all at once, late or never. Whoever waits for it may go away, and that is counted.
class Words final : public http::Source, public std::enable_shared_from_this<Words> {
public:
    Words(Wish wish, Later& later, Seen& seen)
        : wish_(std::move(wish)), later_(later), seen_(seen) {
        if (!wish_.tool.empty()) wish_.words = 1;
        // What was said before the cut is on its way then.
        if (wish_.how == Misbehaviour::cut) wish_.delay = std::max(wish_.delay, 10ms);
    }

    void start(http::Outlet& outlet) override {
        outlet_ = &outlet;
        ++seen_.open;
        if (wish_.how == Misbehaviour::never) return;
        if (wish_.how == Misbehaviour::late) return pause(2s);
        if (!wish_.streams && wish_.delay > 0ms) return pause(wish_.delay);
        begin();
    }
    void on_room() override { go_on(); }
    void on_gone() override {
        outlet_ = nullptr;
        --seen_.open;
        ++seen_.gone;
    }

private:
    void begin() {
        begun_ = true;
        if (!wish_.streams && is_whole()) {
            outlet_->begin({});
            static_cast<void>(outlet_->write(
                wish_.how == Misbehaviour::garbled ? "{\"not json" : whole_answer(wish_)));
            return end();
        }
        outlet_->begin({.content_type = "text/event-stream"});
        if (wish_.how == Misbehaviour::silent) return;
        if (wish_.how == Misbehaviour::unbroken) unbroken_left_ = 10;
        go_on();
    }
    bool is_whole() const {
        return wish_.how != Misbehaviour::silent && wish_.how != Misbehaviour::cut &&
               wish_.how != Misbehaviour::endless && wish_.how != Misbehaviour::unbroken;
    }
    void pause(std::chrono::milliseconds span) {
        later_.run(span, [loop = outlet_->loop(), self = weak_from_this()] {
            loop->post([self] {
                const auto stream = self.lock();
                if (!stream || !stream->outlet_) return;
                if (!stream->begun_) return stream->begin();
                if (stream->say_next()) stream->go_on();
            });
        });
    }
    // Until the client has enough or a pause is due.
    void go_on() {
        while (outlet_ && wish_.delay == 0ms)
            if (!say_next()) return;
        if (outlet_) pause(wish_.delay);
    }
    // False when there is to be no more, or not before there is room.
    bool say_next() {
        if (unbroken_left_ > 0) {
            --unbroken_left_;
            return outlet_->write(std::string(std::size_t{1024} * 1024, 'x'));
        }
        if (wish_.how == Misbehaviour::cut && said_ >= wish_.words / 2) {
            outlet_->abort();
            return over();
        }
        if (said_ >= wish_.words && wish_.how != Misbehaviour::endless) return finish();
        ++said_;
        if (wish_.how == Misbehaviour::garbled) return outlet_->write("data: {\"not json\n\n");
        return outlet_->write(piece(wish_, said_, false));
    }
    bool finish() {
        std::string rest = piece(wish_, said_, true);
        if (wish_.wants_usage && wish_.how != Misbehaviour::uncounted) {
            json::object out =
                head_of(wish_, wish_.is_chat ? "chat.completion.chunk" : "text_completion");
            out["choices"] = json::array{};
            out["usage"] = usage_of(wish_);
            rest += event_of(out);
        }
        rest += "data: [DONE]\n\n";
        static_cast<void>(outlet_->write(rest));
        end();
        return false;
    }
    void end() {
        outlet_->end();
        ++seen_.whole;
        over();
    }
    bool over() {
        outlet_ = nullptr;
        --seen_.open;
        return false;
    }

    Wish wish_;
    Later& later_;
    Seen& seen_;
    http::Outlet* outlet_ = nullptr;
    std::int64_t said_ = 0;
    int unbroken_left_ = 0;  // megabytes
    bool begun_ = false;
};

http::Response error(int status, std::string_view message) {
    http::Response response;
    response.status = status;
    response.body = json::serialize(json::object{
        {"error", {{"message", message}, {"type", "engine_error"}, {"code", nullptr}}}});
    return response;
}

class Engine final : public http::Handler {
public:
    explicit Engine(const std::string& key) : key_("Bearer " + key) {}

    std::size_t body_bytes_max(const http::Request&) override {
        return std::size_t{4} * 1024 * 1024;
    }
    void handle(http::Request request, http::Reply reply) override {
        const std::string path(request.path());
        if (path == "/seen") return reply({.body = json::serialize(seen_.told())});
        if (path.starts_with("/misbehave/")) {
            always_ = named(path.substr(11));
            return reply({.body = "{}"});
        }
        seen_.note(request);
        if (request.headers.find("Authorization").value_or("") != key_)
            return reply(error(401, "the key is not this engine's"));
        answer(path, request, reply);
    }

private:
    void answer(const std::string& path, const http::Request& request, const http::Reply& reply) {
        boost::system::error_code fault;
        const json::value body =
            request.body.empty() ? json::object{} : json::parse(request.body, fault);
        if (fault || !body.is_object()) return reply(error(400, "the body is no JSON object"));
        const Wish wish = read(path, body.as_object(), request);
        switch (wish.how) {
            case Misbehaviour::refuse: return reply(error(400, "this engine refuses"));
            case Misbehaviour::busy: return reply(error(429, "this engine is busy"));
            case Misbehaviour::fail: return reply(error(500, "this engine failed"));
            case Misbehaviour::unavailable: return reply(error(503, "this engine is not there"));
            case Misbehaviour::redirect: {
                http::Response response = error(307, "this engine moved");
                response.headers.add("Location", "http://127.0.0.1:1/elsewhere");
                return reply(std::move(response));
            }
            default: break;
        }
        if (path == "/v1/models" && wish.how != Misbehaviour::never)
            return reply({.body = std::string(models)});
        if (request.method != "POST" && wish.how != Misbehaviour::never)
            return reply(error(404, "no such path"));
        if (path == "/v1/embeddings") return reply({.body = embeddings(body.as_object())});
        if (path != "/v1/chat/completions" && path != "/v1/completions" &&
            wish.how != Misbehaviour::never)
            return reply(error(404, "no such path"));
        if (!wish.streams && wish.how == Misbehaviour::none && wish.delay == 0ms)
            return reply({.body = whole_answer(wish)});
        http::Response response;
        response.source = std::make_shared<Words>(wish, later_, seen_);
        reply(std::move(response));
    }

    Wish read(const std::string& path, const json::object& body,
              const http::Request& request) const {
        Wish wish;
        wish.is_chat = path == "/v1/chat/completions";
        const auto number = [&](std::string_view name, std::int64_t otherwise) {
            const json::value* value = body.if_contains(name);
            return value && value->is_int64() ? value->as_int64() : otherwise;
        };
        const auto is_true = [](const json::object& object, std::string_view name) {
            const json::value* value = object.if_contains(name);
            return value && value->is_bool() && value->as_bool();
        };
        wish.streams = is_true(body, "stream");
        if (const auto* options = body.if_contains("stream_options");
            options && options->is_object())
            wish.wants_usage = is_true(options->as_object(), "include_usage");
        wish.words = std::clamp<std::int64_t>(number("max_tokens", 8), 1, 1'000'000);
        wish.delay =
            std::chrono::milliseconds(std::clamp<std::int64_t>(number("delay_ms", 0), 0, 600'000));
        if (const auto* model = body.if_contains("model"); model && model->is_string())
            wish.model = std::string(model->as_string());
        if (const auto* messages = body.if_contains("messages"); messages && messages->is_array())
            wish.prompt_tokens = static_cast<std::int64_t>(messages->as_array().size());
        if (const auto* tools = body.if_contains("tools"); tools && tools->is_array()) {
            boost::system::error_code fault;
            const json::value* name = body.at("tools").find_pointer("/0/function/name", fault);
            if (name && name->is_string()) wish.tool = std::string(name->as_string());
        }
        wish.how = always_;
        if (const auto field = request.headers.find("X-Misbehave")) wish.how = named(*field);
        if (wish.model.starts_with("bad-")) wish.how = named(wish.model.substr(4));
        return wish;
    }

    static std::string embeddings(const json::object& body) {
        const json::value* input = body.if_contains("input");
        const std::size_t count = input && input->is_array() ? input->as_array().size() : 1;
        json::array data;
        for (std::size_t i = 0; i < count; ++i)
            data.push_back(json::object{
                {"object", "embedding"}, {"index", i}, {"embedding", {0.25, -0.5, 0.125, 1.0}}});
        return json::serialize(
            json::object{{"object", "list"},
                         {"data", std::move(data)},
                         {"model", "berth-test"},
                         {"usage", {{"prompt_tokens", count}, {"total_tokens", count}}}});
    }

    static constexpr std::string_view models =
        R"({"object":"list","data":[{"id":"berth-test","object":"model",)"
        R"("created":1700000000,"owned_by":"berth"}]})";
    const std::string key_;
    std::atomic<Misbehaviour> always_{Misbehaviour::none};
    Seen seen_;
    Later later_;
};

}  // namespace

int main(int count, char** words) {
    if (count != 3 && count != 5) {
        std::fputs("usage: engine PORT KEY [CERTIFICATE_FILE KEY_FILE]\n", stderr);
        return 2;
    }
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    http::ServerOptions options;
    options.port = static_cast<std::uint16_t>(std::stoi(words[1]));
    options.drain_max = 100ms;
    if (count == 5) {
        options.tls_certificate_file = words[3];
        options.tls_key_file = words[4];
    }
    Engine engine(words[2]);
    http::Server server(options, engine);
    server.start();
    fmt::print("listening {}\n", server.port());
    std::fflush(stdout);
    int number = 0;
    sigwait(&set, &number);
    server.stop();
    return 0;
}
