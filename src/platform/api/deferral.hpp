// The other good end of a route: what was asked for waits for somebody else's word, and nothing of
// it has happened. It is answered 202 with a body of its own, which is committed and stored like
// any answer. A route declares it and a handler throws by it, before it has changed anything:
//
//     inline constexpr api::Deferral<Asked> waits{};
//     router.add({…, .deferral = waits}, …);
//     throw waits.answer(asked);
#pragma once

#include <string>
#include <string_view>

#include "wire/wire.hpp"

namespace berth::api {

// Not an error: only the service catches it.
struct Deferred {
    static constexpr int status = 202;
    std::string body;
};

template <class T>
struct Deferral {
    Deferred answer(const T& value) const { return {wire::encode(value)}; }
};

// A deferral in the declaration of a route, its type erased; none by default.
struct DeclaredDeferral {
    DeclaredDeferral() = default;
    template <class T>
    DeclaredDeferral(const Deferral<T>&)
        : type(&wire::type_of<T>()), check([](std::string_view json, wire::Errors& errors) {
              T value{};
              wire::decode(wire::type_of<T>(), json, &value, "response", errors);
          }) {}

    const wire::Type* type = nullptr;
    // Reads such an answer back as its declared type: how tests hold every answer to it.
    void (*check)(std::string_view json, wire::Errors& errors) = nullptr;
};

}  // namespace berth::api
