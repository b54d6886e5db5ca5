// Described structs to and from JSON. Each type has one table (Type) of function pointers; one
// walker that is not a template reads, writes and describes all of them. Every error of an input is
// reported at once, with its place ("body.amount_micro: must be …").
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/problem.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::wire {

// What was wrong with an input, in the order it was found. Bounded; what lies beyond is counted.
class Errors {
public:
    void add(std::string_view place, std::string_view message);
    bool empty() const { return rows_.empty(); }
    bool full() const { return rows_.size() == rows_max; }
    // Throws a Problem INVALID_INPUT with every row, if there is any.
    void raise() const;

private:
    static constexpr std::size_t rows_max = 20;
    std::vector<std::string> rows_;
    std::size_t more_ = 0;
};

enum class Secrets { show, hide };

// What becomes of members that a struct does not have, at every level. An answer or a message of a
// later version of the other side may have such; what is asked of us may not.
enum class Unknown { refuse, pass_over };

// JSON text into the value at `out`, which has the type `type` describes. `place` names the root
// ("body"). Duplicate members are errors.
void decode(const Type& type, std::string_view json, void* out, std::string_view place,
            Errors& errors, Unknown unknown = Unknown::refuse);

// Path or query parameters (already percent-decoded) into a flat struct. Unknown names are ignored;
// a name given twice is an error.
using TextFields = std::vector<std::pair<std::string, std::string>>;
void decode_fields(const Type& type, const TextFields& fields, void* out, std::string_view place,
                   Errors& errors);

void encode(const Type& type, const void* value, std::string& out, Secrets secrets = Secrets::show);

template <class T>
T decode(std::string_view json, std::string_view place = "body") {
    T value{};
    Errors errors;
    decode(type_of<T>(), json, &value, place, errors);
    errors.raise();
    return value;
}

template <class T>
std::string encode(const T& value, Secrets secrets = Secrets::show) {
    std::string out;
    encode(type_of<T>(), &value, out, secrets);
    return out;
}

// RFC 8785 text of a JSON document; empty when `json` is not one. Two documents that mean the same
// have the same canonical text.
std::optional<std::string> canonical(std::string_view json);

}  // namespace berth::wire
