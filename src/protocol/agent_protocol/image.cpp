#include "agent_protocol/image.hpp"

#include "base/letters.hpp"

#include <algorithm>

namespace berth::agent_protocol {

bool names_registry(std::string_view image) {
    const std::size_t slash = image.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == image.size()) return false;
    const std::string_view first = image.substr(0, slash);
    if (first == "localhost") return true;
    const std::size_t colon = first.find(':');
    const std::string_view host = first.substr(0, colon);
    const std::string_view port =
        colon == std::string_view::npos ? std::string_view() : first.substr(colon + 1);
    const auto is_host = [](char c) { return is_alphanumeric(c) || c == '.' || c == '-'; };
    const bool is_sound = !host.empty() && is_alphanumeric(host.front()) &&
                          is_alphanumeric(host.back()) &&
                          std::all_of(host.begin(), host.end(), is_host);
    if (!is_sound) return false;
    if (colon == std::string_view::npos) return host.find('.') != std::string_view::npos;
    return !port.empty() && port.size() <= 5 && std::all_of(port.begin(), port.end(), is_digit);
}

}  // namespace berth::agent_protocol
