#include "http/message.hpp"

#include <algorithm>

#include "http/text.hpp"

namespace berth::http {

void Headers::add(std::string name, std::string value) {
    fields_.push_back({std::move(name), std::move(value)});
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
    for (const Field& field : fields_)
        if (equal_without_case(field.name, name)) return field.value;
    return std::nullopt;
}

std::size_t Headers::count(std::string_view name) const {
    const auto matches = std::count_if(fields_.begin(), fields_.end(), [&](const Field& field) {
        return equal_without_case(field.name, name);
    });
    return static_cast<std::size_t>(matches);
}

std::string_view Request::path() const {
    return std::string_view(target).substr(0, target.find('?'));
}

std::string_view Request::query() const {
    const std::size_t mark = target.find('?');
    return mark == std::string::npos ? std::string_view{}
                                     : std::string_view(target).substr(mark + 1);
}

}  // namespace berth::http
