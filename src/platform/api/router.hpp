// The router: takes declared routes with their typed handlers, and turns each request into a call.
// A handler is a plain function of Call& and any of Path<T>, Query<T>, Body<T>, and returns a
// described struct (or nothing, for 204). See "How to add a route" in CONTRIBUTING.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "api/call.hpp"
#include "api/route.hpp"
#include "wire/wire.hpp"

namespace berth::api {

template <class T>
struct Path {
    T value;
    const T* operator->() const { return &value; }
    const T& operator*() const { return value; }
};
template <class T>
struct Query {
    T value;
    const T* operator->() const { return &value; }
    const T& operator*() const { return value; }
};
template <class T>
struct Body {
    T value;
    const T* operator->() const { return &value; }
    const T& operator*() const { return value; }
};

// The result of a route that is a page for a browser and not JSON. A page that many are shown is
// shared, and so is compressed once for all of them.
struct Html {
    Html(std::string text_) : text(std::make_shared<const std::string>(std::move(text_))) {}
    Html(std::shared_ptr<const std::string> text_) : text(std::move(text_)) {}

    std::shared_ptr<const std::string> text;
};

// The result of a route that is neither JSON nor a page: a style sheet, a picture.
struct File {
    std::string type;  // "text/css; charset=utf-8"
    std::shared_ptr<const std::string> bytes;
};

// The result of a route that is written piece by piece, after its transaction (see
// http/source.hpp).
struct Streamed {
    std::shared_ptr<http::Source> source;
};

// A request cut into what handlers decode from.
struct Input {
    wire::TextFields path;
    wire::TextFields query;
    std::string_view body;
};

// A handler's result as text: what is sent, and what is stored for a replay (secrets hidden).
struct Answer {
    std::string body;
    std::string stored;
    std::string type{};                              // of a File
    std::shared_ptr<const std::string> shared_body;  // instead of body, of what was rendered before
    std::shared_ptr<http::Source> source;            // instead of body, of a Streamed
};

// What a route has to ask of the outside before its transaction; gives what was learned.
using Inquiry = std::function<std::shared_ptr<const void>()>;

// A route with its handler, the types erased.
struct Entry {
    Route route;
    std::vector<std::string> parameters;  // the names in the path, in order
    const wire::Type* path = nullptr;
    const wire::Type* query = nullptr;
    const wire::Type* body = nullptr;
    const wire::Type* result = nullptr;
    bool html = false;      // the result is a page
    bool file = false;      // the result is a File
    bool streamed = false;  // the result is Streamed, of any media type
    std::function<std::shared_ptr<const void>(const Input&, wire::Errors&)> decode;
    // What an Idempotency-Key stands for: the same arguments in any spelling have the same text.
    std::function<std::string(const void* arguments)> fingerprint;
    // Only of a route that asks the outside: runs in a read transaction and says what to ask.
    std::function<Inquiry(Call&, const void* arguments)> prepare;
    std::function<Answer(Call&, const void* arguments, const void* facts)> invoke;
    // Reads an answer back as its declared type: how tests hold every answer to the declaration.
    std::function<void(std::string_view body, wire::Errors&)> check_answer;
};

// A message that the service sends by itself to whom an account has named: an envelope whose one
// member is of another type in each.
struct Pushed {
    std::string_view name;   // "rental.running", which the envelope has as `type`
    std::string_view about;  // when it is sent, as a sentence
    const wire::Type* envelope = nullptr;
    std::string_view member;  // of the envelope
    const wire::Type* content = nullptr;
    std::function<boost::json::value()> example;  // of its content
};

class Router {
public:
    Router();
    ~Router();
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;

    template <class Function>
    void add(Route route, Function function) {
        insert(make_entry(std::move(route), std::function(std::move(function))));
    }

    // A route that must ask the outside before it can answer. `prepare` runs in the read
    // transaction that identified the caller, refuses what it can, and returns a function that does
    // the asking with no transaction open; what that returns is the second argument of `function`.
    template <class Prepare, class Function>
    void add_asking(Route route, Prepare prepare, Function function) {
        insert(make_asking_entry(std::move(route), std::function(std::move(prepare)),
                                 std::function(std::move(function))));
    }

    // The route for a request, with its path parameters still percent-encoded; null when there is
    // none, whatever the reason.
    struct Match {
        const Entry* entry = nullptr;
        std::vector<std::string_view> parameters;
    };
    Match find(std::string_view method, std::string_view path) const;

    // In the order they were added.
    const std::vector<std::unique_ptr<Entry>>& entries() const { return entries_; }

    // For the specification alone.
    void add_pushed(const Pushed& pushed) { pushed_.push_back(pushed); }
    const std::vector<Pushed>& pushed() const { return pushed_; }

private:
    struct Node;

    template <class Result, class... Arguments>
    static Entry make_entry(Route route, std::function<Result(Call&, Arguments...)> function);
    template <class Result, class Facts, class... Arguments>
    static Entry make_asking_entry(
        Route route, std::function<std::function<Facts()>(Call&, Arguments...)> prepare,
        std::function<Result(Call&, const Facts&, Arguments...)> function);
    template <class Result, class... Arguments>
    static Entry declare_entry(Route route);
    template <class Result, class Run>
    static Answer encode_answer(const Run& run, bool store);
    void insert(Entry entry);
    Match find_declared(std::string_view method, std::string_view path) const;

    std::vector<std::unique_ptr<Entry>> entries_;
    std::vector<Pushed> pushed_;
    std::unique_ptr<Node> root_;
    // By the first segment of a path that no route is declared for: see Route::also_below.
    std::map<std::string, const Entry*, std::less<>> below_;
};

// The parameters of a path, decoded; what is wrong is added to `errors`.
wire::TextFields path_fields(const Entry& entry, const std::vector<std::string_view>& parameters,
                             wire::Errors& errors);

// A request that was taken once and is to be carried out now: its route, and what its handler gets.
// Throws a Problem when there is no such route any more, or it takes something else by now.
struct Recalled {
    const Entry* entry = nullptr;
    std::shared_ptr<const void> arguments;
};
Recalled recall(const Router& router, const http::Request& request);

// The body of a request that declares none must be empty, or an empty object.
void expect_no_body(const Input& input, wire::Errors& errors);

namespace detail {

template <class T>
void declare(Entry& entry, const Path<T>*) {
    entry.path = &wire::type_of<T>();
}
template <class T>
void declare(Entry& entry, const Query<T>*) {
    entry.query = &wire::type_of<T>();
}
template <class T>
void declare(Entry& entry, const Body<T>*) {
    entry.body = &wire::type_of<T>();
}

template <class T>
void read(const Input& input, Path<T>& out, wire::Errors& errors) {
    wire::decode_fields(wire::type_of<T>(), input.path, &out.value, "path", errors);
}
template <class T>
void read(const Input& input, Query<T>& out, wire::Errors& errors) {
    wire::decode_fields(wire::type_of<T>(), input.query, &out.value, "query", errors);
}
template <class T>
void read(const Input& input, Body<T>& out, wire::Errors& errors) {
    wire::decode(wire::type_of<T>(), input.body, &out.value, "body", errors);
}

}  // namespace detail

template <class Result, class... Arguments>
Entry Router::make_entry(Route route, std::function<Result(Call&, Arguments...)> function) {
    using Values = std::tuple<std::remove_cvref_t<Arguments>...>;
    Entry entry = declare_entry<Result, Arguments...>(std::move(route));
    entry.invoke = [function = std::move(function), store = entry.route.idempotent](
                       Call& call, const void* arguments, const void*) {
        const auto run = [&](const auto&... value) { return function(call, value...); };
        return encode_answer<Result>(
            [&] { return std::apply(run, *static_cast<const Values*>(arguments)); }, store);
    };
    return entry;
}

template <class Result, class Facts, class... Arguments>
Entry Router::make_asking_entry(Route route,
                                std::function<std::function<Facts()>(Call&, Arguments...)> prepare,
                                std::function<Result(Call&, const Facts&, Arguments...)> function) {
    using Values = std::tuple<std::remove_cvref_t<Arguments>...>;
    Entry entry = declare_entry<Result, Arguments...>(std::move(route));
    entry.prepare = [prepare = std::move(prepare)](Call& call, const void* arguments) -> Inquiry {
        const auto run = [&](const auto&... value) { return prepare(call, value...); };
        auto ask = std::apply(run, *static_cast<const Values*>(arguments));
        return [ask = std::move(ask)] { return std::make_shared<const Facts>(ask()); };
    };
    entry.invoke = [function = std::move(function), store = entry.route.idempotent](
                       Call& call, const void* arguments, const void* facts) {
        const auto run = [&](const auto&... value) {
            return function(call, *static_cast<const Facts*>(facts), value...);
        };
        return encode_answer<Result>(
            [&] { return std::apply(run, *static_cast<const Values*>(arguments)); }, store);
    };
    return entry;
}

// Everything about a route that follows from its types.
template <class Result, class... Arguments>
Entry Router::declare_entry(Route route) {
    using Values = std::tuple<std::remove_cvref_t<Arguments>...>;
    Entry entry;
    entry.route = std::move(route);
    (detail::declare(entry, static_cast<const std::remove_cvref_t<Arguments>*>(nullptr)), ...);
    if constexpr (std::is_same_v<Result, Html>) {
        entry.html = true;
    } else if constexpr (std::is_same_v<Result, File>) {
        entry.file = true;
    } else if constexpr (std::is_same_v<Result, Streamed>) {
        entry.streamed = true;
    } else if constexpr (!std::is_void_v<Result>) {
        entry.result = &wire::type_of<Result>();
        entry.check_answer = [](std::string_view body, wire::Errors& errors) {
            Result result{};
            wire::decode(wire::type_of<Result>(), body, &result, "response", errors);
        };
    }

    const bool takes_body = entry.body != nullptr;
    entry.decode = [takes_body](const Input& input, wire::Errors& errors) {
        auto values = std::make_shared<Values>();
        std::apply([&](auto&... value) { (detail::read(input, value, errors), ...); }, *values);
        if (!takes_body) expect_no_body(input, errors);
        return std::shared_ptr<const void>(std::move(values));
    };
    entry.fingerprint = [](const void* arguments) {
        std::string text;
        const auto add = [&](const auto& value) {
            text += wire::canonical(wire::encode(*value)).value();
            text += '\n';
        };
        std::apply([&](const auto&... value) { (add(value), ...); },
                   *static_cast<const Values*>(arguments));
        return text;
    };
    return entry;
}

template <class Result, class Run>
Answer Router::encode_answer(const Run& run, [[maybe_unused]] bool store) {
    Answer answer;
    if constexpr (std::is_void_v<Result>) {
        run();
    } else if constexpr (std::is_same_v<Result, Html>) {
        answer.shared_body = run().text;
    } else if constexpr (std::is_same_v<Result, File>) {
        File result = run();
        answer.type = std::move(result.type);
        answer.shared_body = std::move(result.bytes);
    } else if constexpr (std::is_same_v<Result, Streamed>) {
        answer.source = run().source;
    } else if constexpr (std::is_base_of_v<wire::RenderedText, Result>) {
        answer.shared_body = run().json;
        if (store) answer.stored = *answer.shared_body;
    } else {
        const Result result = run();
        answer.body = wire::encode(result);
        if (store) answer.stored = wire::encode(result, wire::Secrets::hide);
    }
    return answer;
}

}  // namespace berth::api
