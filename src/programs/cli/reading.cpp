#include "cli/reading.hpp"

namespace berth::cli {

using wire::Shape;

Reading::Reading(std::string json) : json_(std::move(json)) {
    if (const auto fault = document_.parse(json_))
        throw Failure(Exit::unexpected, "the answer is no JSON: it " + *fault);
}

std::optional<Reading::Place> Reading::find(std::string_view dotted, Place from) const {
    while (true) {
        const std::size_t dot = dotted.find('.');
        const std::string_view name = dotted.substr(0, dot);
        if (!is_object(from)) return std::nullopt;
        std::optional<Place> found;
        for (const auto& [key, value] : members(from))
            if (key == name) found = value;
        if (!found || document_[*found].shape == Shape::null) return std::nullopt;
        if (dot == std::string_view::npos) return found;
        from = *found;
        dotted.remove_prefix(dot + 1);
    }
}

std::string Reading::text(Place place) const {
    const wire::Node node = document_[place];
    if (node.shape == Shape::null) return {};
    if (node.shape != Shape::array && node.shape != Shape::object) return std::string(node.text);
    std::string out;
    document_.append_compact(place, out);
    return out;
}

std::string Reading::text(std::string_view dotted, Place from) const {
    const auto place = find(dotted, from);
    return place ? text(*place) : std::string();
}

std::vector<Reading::Place> Reading::items(Place array) const {
    std::vector<Place> all;
    const wire::Node node = document_[array];
    if (node.shape != Shape::array) return all;
    for (Place at = array + 1; at < node.end; at = document_[at].end) all.push_back(at);
    return all;
}

std::vector<std::pair<std::string_view, Reading::Place>> Reading::members(Place object) const {
    std::vector<std::pair<std::string_view, Place>> all;
    const wire::Node node = document_[object];
    if (node.shape != Shape::object) return all;
    for (Place at = object + 1; at < node.end; at = document_[at + 1].end)
        all.emplace_back(document_[at].text, at + 1);
    return all;
}

std::vector<Reading::Place> Reading::rows() const {
    const auto list = find("items");
    return list && is_array(*list) ? items(*list) : std::vector<Place>{root};
}

}  // namespace berth::cli
