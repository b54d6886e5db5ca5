// JSON Schemas (2020-12) and examples of described types, as JSON values.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <string>
#include <string_view>

#include "wire/type.hpp"

namespace berth::wire {

namespace json = boost::json;

// What a type is used for. What is read from a request is closed; an answer may grow.
enum class Use { request, response };

// Collects the schemas of every struct that is used.
class Schemas {
public:
    // The schema of one use of `type`. A struct becomes a reference to #/components/schemas/<name>.
    json::value of(const Type& type, Use use);

    // Every struct that was used, with those it holds, by name.
    json::object components() const;

private:
    struct Component {
        const Type* type;
        bool is_read;
    };
    void collect(const Type& type, Use use);

    std::map<std::string, Component> components_;
};

// What people are told of a member; null when its name says it all.
const Doc* doc_of(const Type& structure, std::string_view member);

// What a name means wherever it stands; empty when that depends on where it is.
std::string_view usual_meaning(std::string_view name);

// An example value that satisfies the schema, and one that `doc` has a say in.
json::value example(const Type& type);
json::value example(const Type& type, const Doc* doc);
// A value spelled as in a query, such as Doc::fallback.
json::value spelled_value(const Type& type, std::string_view text);

// The text with each member and item on a line of its own, so that a change shows as a small
// difference.
std::string indented(const json::value& value);

}  // namespace berth::wire
