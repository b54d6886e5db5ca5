#include "machines/label.hpp"

#include <algorithm>
#include <array>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/problem.hpp"

namespace berth::machines {
namespace {

struct CodePoints {
    std::uint32_t first;
    std::uint32_t last;
};
constexpr std::array unseen{CodePoints{0x00, 0x1f},     CodePoints{0x7f, 0x9f},
                            CodePoints{0xad, 0xad},     CodePoints{0x061c, 0x061c},
                            CodePoints{0x200b, 0x200f}, CodePoints{0x2028, 0x202e},
                            CodePoints{0x2060, 0x206f}, CodePoints{0xfeff, 0xfeff},
                            CodePoints{0xfff9, 0xfffb}, CodePoints{0xe0000, 0xe0fff}};

// Of valid UTF-8.
std::uint32_t code_point(std::string_view sequence) {
    constexpr std::array<unsigned, 5> lead_bits{0, 0x7f, 0x1f, 0x0f, 0x07};
    std::uint32_t point = static_cast<unsigned char>(sequence[0]) & lead_bits[sequence.size()];
    for (const char next : sequence.substr(1))
        point = (point << 6U) | (static_cast<unsigned char>(next) & 0x3fU);
    return point;
}

}  // namespace

void check_label(std::string_view label, const std::string& member) {
    bool has_something = false;
    for (std::string_view rest = label; !rest.empty();) {
        const std::size_t length = utf8_sequence_length(rest);
        require(length > 0, "a text of the wire is valid UTF-8");
        const std::uint32_t point = code_point(rest.substr(0, length));
        rest.remove_prefix(length);
        if (std::any_of(unseen.begin(), unseen.end(), [&](const CodePoints& range) {
                return range.first <= point && point <= range.last;
            }))
            throw Problem(Code::invalid_input, member + ": must have printable characters alone");
        has_something = has_something || point != ' ';
    }
    if (!has_something) throw Problem(Code::invalid_input, member + ": must not be blank");
}

std::string install_line(std::string_view server) {
    std::string quoted = "'";
    for (const char c : server) {
        if (c == '\'')
            quoted += "'\\''";
        else
            quoted += c;
    }
    return "berth-agent enroll --server " + quoted + "' --token-file -";
}

}  // namespace berth::machines
