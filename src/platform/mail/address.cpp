#include "mail/address.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/letters.hpp"

namespace berth::mail {
namespace {

bool is_atext(char c) {
    constexpr std::string_view signs = "!#$%&'*+-/=?^_`{|}~";
    return is_alphanumeric(c) || signs.find(c) != std::string_view::npos;
}

bool is_atom(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_atext);
}

bool is_label(std::string_view text) {
    return !text.empty() && text.size() <= label_bytes_max && text.front() != '-' &&
           text.back() != '-' && std::all_of(text.begin(), text.end(), [](char c) {
               return is_alphanumeric(c) || c == '-';
           });
}

// Whether every part between dots is a `Part`; an empty part never is.
template <class Part>
bool all_parts(std::string_view text, Part is_part) {
    for (;;) {
        const std::size_t dot = text.find('.');
        if (!is_part(text.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

bool is_domain(std::string_view text) {
    if (!all_parts(text, is_label)) return false;
    // "a@127.0.0.1" is an IP address without its brackets, not a name.
    const std::string_view last = text.substr(text.rfind('.') + 1);
    return !std::all_of(last.begin(), last.end(), is_digit);
}

}  // namespace

bool is_email(std::string_view text) {
    if (text.size() > address_bytes_max) return false;
    const std::size_t sign = text.find('@');
    if (sign == std::string_view::npos || sign > local_part_bytes_max) return false;
    return all_parts(text.substr(0, sign), is_atom) && is_domain(text.substr(sign + 1));
}

std::optional<std::string> normalized_email(std::string_view text) {
    if (!is_email(text)) return std::nullopt;
    std::string lower(text);
    for (char& c : lower) c = to_lower(c);
    return lower;
}

std::string_view domain_of(std::string_view address) {
    const std::size_t sign = address.rfind('@');
    require(sign != std::string_view::npos, "an address has an @");
    return address.substr(sign + 1);
}

}  // namespace berth::mail
