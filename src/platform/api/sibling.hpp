// A member beside `error` in the body of one error, such as `current` on VERSION_CONFLICT. It is a
// constant beside its struct; the route declares it and the handler throws by it:
//
//     inline constexpr api::Sibling<CurrentOffer> current_offer{Code::version_conflict, "current"};
//     router.add({…, .siblings = {current_offer}}, …);
//     throw current_offer.problem("the offer has changed since", offer);
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "wire/wire.hpp"

namespace berth::api {

template <class T>
struct Sibling {
    Code code;
    std::string_view name;

    Problem problem(std::string message, const T& value) const {
        return Problem(code, std::move(message)).with_sibling(name, wire::encode(value));
    }
};

// A sibling in the declaration of a route, its type erased.
struct DeclaredSibling {
    template <class T>
    DeclaredSibling(const Sibling<T>& sibling)
        : code(sibling.code),
          name(sibling.name),
          type(&wire::type_of<T>()),
          check([](std::string_view json, wire::Errors& errors) {
              T value{};
              wire::decode(wire::type_of<T>(), json, &value, "response", errors);
          }) {}

    Code code;
    std::string_view name;
    const wire::Type* type;
    // Reads a sibling back as its declared type: how tests hold every answer to the declaration.
    void (*check)(std::string_view json, wire::Errors& errors);
};

}  // namespace berth::api
