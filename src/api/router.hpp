// The router: takes declared routes with their typed handlers, and turns each request into a call.
// A handler is a plain function of Call& and any of Path<T>, Query<T>, Body<T>, and returns a
// described struct (or nothing, for 204). See "How to add a route" in CONTRIBUTING.md.
#pragma once

#include <functional>
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

// The result of a route that is a page for a browser and not JSON.
struct Html {
    std::string text;
};

// The result of a route whose JSON is made beforehand and never changes: it is not copied.
struct Document {
    std::shared_ptr<const std::string> json;
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
    std::shared_ptr<const std::string> shared_body;  // instead of body, of a Document
};

// A route with its handler, the types erased.
struct Entry {
    Route route;
    std::vector<std::string> parameters;  // the names in the path, in order
    const wire::Type* path = nullptr;
    const wire::Type* query = nullptr;
    const wire::Type* body = nullptr;
    const wire::Type* result = nullptr;
    bool html = false;  // the result is a page
    std::function<std::shared_ptr<const void>(const Input&, wire::Errors&)> decode;
    std::function<Answer(Call&, const void* arguments)> invoke;
    // Reads an answer back as its declared type: how tests hold every answer to the declaration.
    std::function<void(std::string_view body, wire::Errors&)> check_answer;
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

    // The route for a request, with its path parameters still percent-encoded; null when there is
    // none, whatever the reason.
    struct Match {
        const Entry* entry = nullptr;
        std::vector<std::string_view> parameters;
    };
    Match find(std::string_view method, std::string_view path) const;

    // In the order they were added.
    const std::vector<std::unique_ptr<Entry>>& entries() const { return entries_; }

private:
    struct Node;

    template <class Result, class... Arguments>
    static Entry make_entry(Route route, std::function<Result(Call&, Arguments...)> function);
    void insert(Entry entry);

    std::vector<std::unique_ptr<Entry>> entries_;
    std::unique_ptr<Node> root_;
};

// The body of a request that declares none must be empty, or an empty object.
void expect_no_body(const Input& input, wire::Errors& errors);

namespace detail {

template <class T>
void declare(Entry& entry, const Path<T>*) { entry.path = &wire::type_of<T>(); }
template <class T>
void declare(Entry& entry, const Query<T>*) { entry.query = &wire::type_of<T>(); }
template <class T>
void declare(Entry& entry, const Body<T>*) { entry.body = &wire::type_of<T>(); }

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
    Entry entry;
    entry.route = std::move(route);
    (detail::declare(entry, static_cast<const std::remove_cvref_t<Arguments>*>(nullptr)), ...);
    if constexpr (std::is_same_v<Result, Html>) {
        entry.html = true;
    } else if constexpr (std::is_same_v<Result, Document>) {
        entry.result = &wire::type_of<wire::Object>();
        entry.check_answer = [](std::string_view body, wire::Errors& errors) {
            wire::Object object;
            wire::decode(wire::type_of<wire::Object>(), body, &object, "response", errors);
        };
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
    entry.invoke = [function = std::move(function), keeps = entry.route.idempotent](
                       Call& call, const void* arguments) {
        const auto& values = *static_cast<const Values*>(arguments);
        const auto run = [&](const auto&... value) { return function(call, value...); };
        [[maybe_unused]] const bool store = keeps;
        Answer answer;
        if constexpr (std::is_void_v<Result>) {
            std::apply(run, values);
        } else if constexpr (std::is_same_v<Result, Html>) {
            answer.body = std::apply(run, values).text;
        } else if constexpr (std::is_same_v<Result, Document>) {
            answer.shared_body = std::apply(run, values).json;
        } else {
            const Result result = std::apply(run, values);
            answer.body = wire::encode(result);
            if (store) answer.stored = wire::encode(result, wire::Secrets::hide);
        }
        return answer;
    };
    return entry;
}

}  // namespace berth::api
