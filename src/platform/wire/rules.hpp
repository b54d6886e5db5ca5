// The vocabulary of the wire: types that can only hold what the contract allows. A described struct
// made of these is the parser, the validator and the JSON Schema of a request or response at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "base/money.hpp"
#include "base/time.hpp"

namespace berth::wire {

// A string of Min to Max code points of valid UTF-8, without NUL.
template <std::size_t Min, std::size_t Max>
struct Text {
    std::string value;
    friend auto operator<=>(const Text&, const Text&) = default;
};

// A JSON integer from Low to High.
template <std::int64_t Low, std::int64_t High>
struct Integer {
    std::int64_t value = Low;
    friend auto operator<=>(const Integer&, const Integer&) = default;
};
using Count = Integer<0, 9'007'199'254'740'991>;  // what every JSON reader takes exactly

// A JSON integer that has one allowed value, such as the chain id.
template <std::int64_t Value>
struct Constant {
    static constexpr std::int64_t value = Value;
};

// A string that is a part of a type, as in Literal<"set_role">.
template <std::size_t Size>
struct FixedText {
    char text[Size]{};
    constexpr FixedText(const char (&from)[Size]) { std::copy_n(from, Size, text); }
};

// A JSON string that has one allowed value: the member that tells the variants of a OneOf apart.
template <FixedText Value>
struct Literal {
    static constexpr std::string_view value{Value.text, sizeof(Value.text) - 1};
};

// DecimalString: an unsigned integer as a base-10 string ("0", or no leading zero), up to 2^63 - 1.
struct Decimal {
    std::int64_t value = 0;
    friend auto operator<=>(const Decimal&, const Decimal&) = default;
};

// An amount from Low to High micro-units.
template <std::int64_t Low, std::int64_t High>
struct Amount {
    Micro value{Low};
    operator Micro() const { return value; }
};
using PositiveMicro = Amount<1, std::numeric_limits<std::int64_t>::max()>;

// An amount that may be negative; Micro itself is the MicroAmount of the wire and never is.
struct SignedMicro {
    Micro value;
};

struct EvmAddress {  // 0x and 40 hex digits, in the case it was given
    std::string value;
};
struct Sha256Hash {  // sha256: and 64 lower-case hex digits
    std::string value;
};
struct ImageDigest {  // repository@sha256:…; the repository has no white space and no @
    std::string value;
};
struct TransactionHash {  // 0x and 64 hex digits
    std::string value;
};
struct SixDigits {  // an emailed or authenticator code
    std::string value;
};

// A secret that is shown in the first answer only; a stored answer carries null in its place.
struct Secret {
    std::string value;
};

// Any JSON value, kept as its text; Object only takes a JSON object.
struct Json {
    std::string text = "null";
};
struct Object {
    std::string text = "{}";
};
// An object of so few levels that it can be kept within others.
template <std::size_t Levels>
struct ShallowObject {
    std::string text = "{}";
};
// Any JSON object of which nothing is kept: for who passes on the text that it came in.
struct PassedObject {};
// The same, and what is known of it: its members are described as those of T, and none is checked.
template <class T>
struct PassedLike {};

// A member that is always there and may be null. std::optional is a member that may be left out;
// null is refused for it.
template <class T>
struct Nullable {
    std::optional<T> value;
    Nullable() = default;
    Nullable(std::nullopt_t) {}
    Nullable(T from) : value(std::move(from)) {}
    Nullable(std::optional<T> from) : value(std::move(from)) {}
};

// An array with bounds; std::vector is an array without, and only for answers.
template <class T, std::size_t Min, std::size_t Max>
struct List {
    std::vector<T> value;
};

// The same, of enumerators none of which is there twice.
template <class T, std::size_t Min, std::size_t Max>
struct Set {
    std::vector<T> value;
};

// One of several described structs, each closed. Where every variant begins with a Literal of the
// same name, that member chooses:
//
//     struct SetRole { wire::Literal<"set_role"> action; Role role; };
//     struct ResetMfa { wire::Literal<"reset_mfa"> action; };
//     using UserAction = wire::OneOf<SetRole, ResetMfa>;
//
// Otherwise the members that are there choose, as in {email, code} or {token}.
template <class... Variants>
struct OneOf {
    std::variant<Variants...> value;
};

// A T whose JSON was made beforehand: it is sent as it is, and described as a T.
struct RenderedText {
    std::shared_ptr<const std::string> json;
};
template <class T>
struct Rendered : RenderedText {};

}  // namespace berth::wire
