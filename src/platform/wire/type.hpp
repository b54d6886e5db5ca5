// One table per type: what it is in JSON and how to reach its parts. The tables are constants made
// at compile time; the walkers that read, write and describe values are not templates and know
// nothing but these tables, which keeps a new struct cheap to compile.
//
// To put a struct on the wire, describe it:
//
//     struct Renew { JobId job_id; std::optional<Text<1, 60>> note; };
//     BOOST_DESCRIBE_STRUCT(Renew, (), (job_id, note))
//
// and an enumeration with BOOST_DESCRIBE_ENUM (a template: BOOST_DESCRIBE_CLASS inside it). JSON
// names are the C++ names, less one trailing underscore for words C++ has taken (`operator_`). An
// enumerator with a name that C++ cannot spell gets it from `constexpr std::string_view
// wire_name(E)`, found beside the enumeration; an empty answer means the C++ name.
//
// What a member's name does not say stands in a table beside the struct, and goes into
// openapi.json:
//
//     constexpr auto wire_docs(const Renew*) {
//         return std::to_array<wire::Doc>({{"note", "Shown to the host.", "until Friday"}});
//     }
//
// What a struct wants beyond its members stands beside it, too, as keywords of JSON Schema; a
// handler refuses what breaks it:
//
//     constexpr std::string_view wire_rules(const Renew*) {
//         return R"({"oneOf":[{"required":["hours"]},{"required":["days"]}]})";
//     }
//
// Answers may grow, so their schemas are open; `constexpr bool wire_closed(const T*)` beside a
// struct closes it. What is read from requests is always closed.
#pragma once

#include <array>
#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/json/fwd.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/described.hpp"
#include "base/enum_names.hpp"
#include "base/ids.hpp"
#include "base/money.hpp"
#include "base/time.hpp"
#include "wire/rules.hpp"

namespace berth::wire {

struct Type;

// What a piece of input is. `text` is a path or query parameter, which has no JSON type.
enum class Shape : std::uint8_t { null, boolean, number, string, array, object, key, text };

// An input that is not a container: a number as it was spelled, a string with escapes resolved.
struct Scalar {
    Shape shape;
    std::string_view text;

    bool is_text() const { return shape == Shape::string || shape == Shape::text; }
};

// How one kind of leaf is read, written and described. Where the text depends on the bounds of the
// Type or on what was sent, a function takes the place of the fixed text.
struct Leaf {
    bool (*read)(const Type& type, const Scalar& input, void* out);  // false: breaks the rule
    void (*write)(const Type& type, const void* value, std::string& out);
    std::string_view json_type;  // "string", "integer", …
    std::string_view format{};   // of its schema
    std::string_view pattern{};  // of its schema
    std::string_view example{};  // a value that keeps the rule, as it would stand in a query
    std::string_view rule{};     // "must be …"
    void (*constrain)(const Type& type, boost::json::object& schema) = nullptr;
    std::string (*example_for)(const Type& type) = nullptr;
    std::string (*rule_for)(const Type& type, const Scalar& input) = nullptr;
};

struct Member {
    std::string_view name;
    void* (*at)(void* object);
    const Type& (*type)();
};

// What people are told of a member. An example is spelled as it would stand in a query; "null" is
// null where the member may be that. Of an array it is an example of one item, of a map of one
// entry as NAME=VALUE.
struct Doc {
    std::string_view member;
    std::string_view text;
    std::string_view example{};
    std::string_view fallback{};  // the value that stands for a member that is left out
    std::string_view pattern{};   // of a string that its type says too little of; its schema has it
};

// The example of an optional member that does not go together with another one of the example.
inline constexpr std::string_view left_out = "(left out)";

struct Enumerator {
    std::string_view name;
    std::int64_t value;
};

struct Variant {
    const Type& (*type)();
    void* (*make)(void* holder);
    const void* (*get)(const void* holder);  // null when another variant is held
};

enum class Kind : std::uint8_t {
    leaf,
    secret,       // a leaf that encode() can hide
    json,         // any JSON, kept as text
    object_json,  // any JSON object, kept as text
    enumeration,
    structure,
    map,
    array,
    optional,
    nullable,
    one_of,
    rendered,
    passed_object,  // any JSON object, not kept
};

using VisitEntry = void (*)(void* context, std::string_view key, const void* value);
using UseBlank = void (*)(void* context, void* value);

struct Type {
    Kind kind = Kind::leaf;
    // Of a structure, as the compiler spells it; the value of a literal; the member that tells the
    // variants of a one_of apart, if there is one.
    std::string_view name{};
    // What is counted depends on the kind: the value itself, characters, items, or levels.
    std::int64_t low = 0;
    std::int64_t high = std::numeric_limits<std::int64_t>::max();

    bool unique = false;  // an array that takes no item twice
    bool closed = false;  // a structure that never grows

    const Leaf* leaf = nullptr;
    std::span<const Member> members{};
    std::span<const Doc> docs{};
    std::string_view rules{};  // of a structure: keywords of JSON Schema, as JSON
    std::span<const Variant> variants{};
    std::span<const Enumerator> enumerators{};
    std::int64_t (*load)(const void* enumeration) = nullptr;
    void (*store)(void* enumeration, std::int64_t value) = nullptr;

    const Type& (*inner)() = nullptr;                    // of what an optional, array, … holds
    const void* (*get)(const void* optional) = nullptr;  // null when there is no value
    void* (*add)(void* container) = nullptr;             // makes the value or the next item
    void (*reserve)(void* array, std::size_t count) = nullptr;
    std::size_t (*size)(const void* array) = nullptr;
    const void* (*at)(const void* array, std::size_t index) = nullptr;
    void* (*add_entry)(void* map, std::string_view key) = nullptr;
    void (*each_entry)(const void* map, void* context, VisitEntry visit) = nullptr;
    void (*with_blank)(void* context,
                       UseBlank use) = nullptr;  // of what a rendered text stands for
};

template <class T>
const Type& type_of();

// Leafs whose C++ types hold the same thing share one: a Text<1, 60> is read as a std::string.
namespace leafs {
extern const Leaf boolean, number, string, bounded_text, integer, constant, literal, decimal,
    amount, signed_decimal, time, uuid, evm_address, sha256_hash, image_digest, transaction_hash,
    six_digits;
}

inline constexpr std::size_t members_max = 64;  // of one struct; a walker keeps a bit for each

// Everything below builds the tables.

template <class T>
struct Tag {};

constexpr Type describe(Tag<bool>) { return {.leaf = &leafs::boolean}; }
constexpr Type describe(Tag<double>) { return {.leaf = &leafs::number}; }
constexpr Type describe(Tag<std::string>) { return {.leaf = &leafs::string}; }
constexpr Type describe(Tag<Decimal>) { return {.leaf = &leafs::decimal}; }
constexpr Type describe(Tag<Micro>) { return {.leaf = &leafs::decimal}; }
constexpr Type describe(Tag<SignedMicro>) { return {.leaf = &leafs::signed_decimal}; }
constexpr Type describe(Tag<Time>) { return {.leaf = &leafs::time}; }
constexpr Type describe(Tag<Uuid>) { return {.leaf = &leafs::uuid}; }
constexpr Type describe(Tag<EvmAddress>) { return {.leaf = &leafs::evm_address}; }
constexpr Type describe(Tag<Sha256Hash>) { return {.leaf = &leafs::sha256_hash}; }
constexpr Type describe(Tag<ImageDigest>) { return {.leaf = &leafs::image_digest}; }
constexpr Type describe(Tag<TransactionHash>) { return {.leaf = &leafs::transaction_hash}; }
constexpr Type describe(Tag<SixDigits>) { return {.leaf = &leafs::six_digits}; }
constexpr Type describe(Tag<Secret>) { return {.kind = Kind::secret, .leaf = &leafs::string}; }
constexpr Type describe(Tag<Json>) { return {.kind = Kind::json}; }
constexpr Type describe(Tag<Object>) { return {.kind = Kind::object_json}; }
template <std::size_t Levels>
constexpr Type describe(Tag<ShallowObject<Levels>>) {
    return {.kind = Kind::object_json, .high = static_cast<std::int64_t>(Levels)};
}
constexpr Type describe(Tag<PassedObject>) { return {.kind = Kind::passed_object}; }
template <class T>
constexpr Type describe(Tag<PassedLike<T>>) {
    return {.kind = Kind::passed_object, .inner = &type_of<T>};
}

template <class T>
constexpr Type describe(Tag<Id<T>>) {
    return {.leaf = &leafs::uuid};
}

template <std::size_t Min, std::size_t Max>
constexpr Type describe(Tag<Text<Min, Max>>) {
    static_assert(Min <= Max && Max <= std::numeric_limits<std::uint32_t>::max());
    return {.low = static_cast<std::int64_t>(Min),
            .high = static_cast<std::int64_t>(Max),
            .leaf = &leafs::bounded_text};
}

template <std::int64_t Low, std::int64_t High>
constexpr Type describe(Tag<Integer<Low, High>>) {
    static_assert(Low <= High);
    return {.low = Low, .high = High, .leaf = &leafs::integer};
}

template <std::int64_t Value>
constexpr Type describe(Tag<Constant<Value>>) {
    return {.low = Value, .high = Value, .leaf = &leafs::constant};
}

template <FixedText Value>
constexpr Type describe(Tag<Literal<Value>>) {
    return {.name = Literal<Value>::value, .leaf = &leafs::literal};
}

template <std::int64_t Low, std::int64_t High>
constexpr Type describe(Tag<Amount<Low, High>>) {
    static_assert(0 <= Low && Low <= High);
    return {.low = Low, .high = High, .leaf = &leafs::amount};
}

template <class T>
inline constexpr bool may_be_left_out = false;
template <class T>
inline constexpr bool may_be_left_out<std::optional<T>> = true;

template <class T>
constexpr Type describe(Tag<std::optional<T>>) {
    static_assert(!may_be_left_out<T>, "a member is left out once");
    using Holder = std::optional<T>;
    return {.kind = Kind::optional,
            .inner = &type_of<T>,
            .get = [](const void* holder) -> const void* {
                const auto& value = *static_cast<const Holder*>(holder);
                return value ? &*value : nullptr;
            },
            .add = [](void* holder) -> void* { return &static_cast<Holder*>(holder)->emplace(); }};
}

template <class T>
constexpr Type describe(Tag<Nullable<T>>) {
    static_assert(!may_be_left_out<T>, "write std::optional<Nullable<T>>");
    using Holder = Nullable<T>;
    return {.kind = Kind::nullable,
            .inner = &type_of<T>,
            .get = [](const void* holder) -> const void* {
                const auto& value = static_cast<const Holder*>(holder)->value;
                return value ? &*value : nullptr;
            },
            .add = [](void* holder) -> void* {
                return &static_cast<Holder*>(holder)->value.emplace();
            }};
}

template <class T>
constexpr Type describe(Tag<std::vector<T>>) {
    static_assert(!may_be_left_out<T>, "an item of an array cannot be left out");
    static_assert(!std::same_as<T, bool>, "std::vector<bool> has no items to point at");
    using Array = std::vector<T>;
    return {.kind = Kind::array,
            .inner = &type_of<T>,
            .add = [](void* array) -> void* { return &static_cast<Array*>(array)->emplace_back(); },
            .reserve = [](void* array,
                          std::size_t count) { static_cast<Array*>(array)->reserve(count); },
            .size = [](const void* array) { return static_cast<const Array*>(array)->size(); },
            .at = [](const void* array, std::size_t index) -> const void* {
                return &(*static_cast<const Array*>(array))[index];
            }};
}

// A List is laid out as the vector it holds, and only adds bounds.
template <class T, std::size_t Min, std::size_t Max>
constexpr Type describe(Tag<List<T, Min, Max>>) {
    static_assert(Min <= Max && Max <= std::numeric_limits<std::uint32_t>::max());
    static_assert(sizeof(List<T, Min, Max>) == sizeof(std::vector<T>));
    Type type = describe(Tag<std::vector<T>>{});
    type.low = static_cast<std::int64_t>(Min);
    type.high = static_cast<std::int64_t>(Max);
    return type;
}

template <class T, std::size_t Min, std::size_t Max>
constexpr Type describe(Tag<Set<T, Min, Max>>) {
    static_assert(boost::describe::has_describe_enumerators<T>::value);
    static_assert(sizeof(Set<T, Min, Max>) == sizeof(std::vector<T>));
    Type type = describe(Tag<List<T, Min, Max>>{});
    type.unique = true;
    return type;
}

template <class T>
constexpr Type describe(Tag<Rendered<T>>) {
    return {.kind = Kind::rendered,
            .inner = &type_of<T>,
            .with_blank = [](void* context, UseBlank use) {
                T blank{};
                use(context, &blank);
            }};
}

template <class T>
constexpr Type describe(Tag<std::map<std::string, T>>) {
    static_assert(!may_be_left_out<T>, "an entry of a map cannot be left out");
    using Map = std::map<std::string, T>;
    return {.kind = Kind::map,
            .inner = &type_of<T>,
            .add_entry = [](void* map, std::string_view key) -> void* {
                return &(*static_cast<Map*>(map))[std::string(key)];
            },
            .each_entry =
                [](const void* map, void* context, VisitEntry visit) {
                    for (const auto& [key, value] : *static_cast<const Map*>(map))
                        visit(context, key, &value);
                }};
}

// The type as the compiler spells it, taken from the signature of this very function.
template <class T>
constexpr std::string_view compiler_name() {
    constexpr std::string_view signature = __PRETTY_FUNCTION__;
    constexpr std::size_t begin = signature.find("T = ") + 4;
    constexpr std::size_t gcc_end = signature.find("; std::string_view = ");
    return signature.substr(begin, std::min(gcc_end, signature.size() - 1) - begin);
}

template <class T, auto Pointer>
void* member_at(void* object) {
    return &(static_cast<T*>(object)->*Pointer);
}

template <class T, class List>
struct StructureTable;

template <class T, template <class...> class List, class... Each>
struct StructureTable<T, List<Each...>> {
    static_assert(every_member_described<T>);
    static_assert(sizeof...(Each) <= members_max);

    static constexpr std::array<Member, sizeof...(Each)> members{
        Member{json_name(Each::name), &member_at<T, Each::pointer>,
               &type_of<std::remove_cvref_t<decltype(std::declval<T&>().*Each::pointer)>>}...};
};

template <class E, class List>
struct EnumerationTable;

template <class E, template <class...> class List, class... Each>
struct EnumerationTable<E, List<Each...>> {
    static_assert(sizeof...(Each) > 0);

    static constexpr std::array<Enumerator, sizeof...(Each)> enumerators{Enumerator{
        enumerator_name(Each::value, Each::name), static_cast<std::int64_t>(Each::value)}...};
};

template <class T>
concept DescribedEnumeration = boost::describe::has_describe_enumerators<T>::value;
template <class T>
concept DescribedStructure = boost::describe::has_describe_members<T>::value;

template <class T>
inline constexpr auto docs_table = wire_docs(static_cast<const T*>(nullptr));

template <class T>
constexpr Type describe(Tag<T>) {
    if constexpr (DescribedEnumeration<T>) {
        using Table = EnumerationTable<T, boost::describe::describe_enumerators<T>>;
        return {.kind = Kind::enumeration,
                .enumerators = Table::enumerators,
                .load =
                    [](const void* value) {
                        return static_cast<std::int64_t>(*static_cast<const T*>(value));
                    },
                .store = [](void* out,
                            std::int64_t value) { *static_cast<T*>(out) = static_cast<T>(value); }};
    } else {
        static_assert(DescribedStructure<T>,
                      "not a type of the wire: describe the struct, or use wire/rules.hpp");
        Type type{.kind = Kind::structure,
                  .name = compiler_name<T>(),
                  .members = StructureTable<T, Descriptions<T>>::members};
        if constexpr (requires { wire_docs(static_cast<const T*>(nullptr)); })
            type.docs = docs_table<T>;
        if constexpr (requires { wire_rules(static_cast<const T*>(nullptr)); })
            type.rules = wire_rules(static_cast<const T*>(nullptr));
        if constexpr (requires { wire_closed(static_cast<const T*>(nullptr)); })
            type.closed = wire_closed(static_cast<const T*>(nullptr));
        return type;
    }
}

template <class T>
inline constexpr bool is_literal = false;
template <FixedText Value>
inline constexpr bool is_literal<Literal<Value>> = true;

// The name of the Literal that a struct begins with; empty when it does not.
template <class T>
constexpr std::string_view leading_literal() {
    using First = boost::mp11::mp_front<Descriptions<T>>;
    using Value = std::remove_cvref_t<decltype(std::declval<T&>().*First::pointer)>;
    return is_literal<Value> ? json_name(First::name) : "";
}

template <class Holder, class T>
inline constexpr Variant variant_of{
    &type_of<T>,
    [](void* holder) -> void* {
        return &static_cast<Holder*>(holder)->value.template emplace<T>();
    },
    [](const void* holder) -> const void* {
        return std::get_if<T>(&static_cast<const Holder*>(holder)->value);
    }};

template <class Holder, class... Variants>
inline constexpr std::array<Variant, sizeof...(Variants)> variant_table{
    variant_of<Holder, Variants>...};

template <class First, class... Others>
constexpr Type describe(Tag<OneOf<First, Others...>>) {
    static_assert(DescribedStructure<First> && (DescribedStructure<Others> && ...));
    constexpr std::string_view literal = leading_literal<First>();
    static_assert(((leading_literal<Others>() == literal) && ...),
                  "all variants begin with a Literal of one name, or none does");
    return {.kind = Kind::one_of,
            .name = literal,
            .variants = variant_table<OneOf<First, Others...>, First, Others...>};
}

template <class T>
inline constexpr Type type_table = describe(Tag<T>{});

template <class T>
const Type& type_of() {
    return type_table<T>;
}

}  // namespace berth::wire
