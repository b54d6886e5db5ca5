// An answer of the API, read by the names of its members. Members it does not know are no trouble.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/problem.hpp"
#include "cli/exit.hpp"
#include "wire/document.hpp"
#include "wire/open.hpp"

namespace berth::cli {

class Reading {
public:
    using Place = std::uint32_t;
    static constexpr Place root = 0;

    explicit Reading(std::string json);  // throws a Failure when it is no JSON
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    // The value at "a.b"; empty where it is missing or null.
    std::optional<Place> find(std::string_view dotted, Place from = root) const;
    bool is_object(Place place) const { return document_[place].shape == wire::Shape::object; }
    bool is_array(Place place) const { return document_[place].shape == wire::Shape::array; }

    std::string text(Place place) const;  // a scalar's text; else its JSON
    std::string text(std::string_view dotted, Place from = root) const;  // "" where there is none

    std::vector<Place> items(Place array) const;
    std::vector<std::pair<std::string_view, Place>> members(Place object) const;
    // What is listed: the items of `items`, or the answer itself.
    std::vector<Place> rows() const;

private:
    std::string json_;
    wire::Document document_;
};

// An answer of which a command needs all that the type has. What cannot be read is the server's
// fault, and not the input of whoever asked.
template <class T>
T read_answer(const std::string& body, std::string_view what) {
    try {
        return wire::decode_known<T>(body, what);
    } catch (const Problem& problem) {
        throw Failure(Exit::unexpected, "the answer cannot be read: " + problem.message);
    }
}

}  // namespace berth::cli
