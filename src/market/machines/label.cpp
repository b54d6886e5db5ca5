#include "machines/label.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/problem.hpp"

namespace berth::machines {
namespace {

struct CodePoints {
    std::uint32_t first;
    std::uint32_t last;
};
// Controls, what formats, what joins or fills without being seen, and what is no character.
constexpr std::array unseen{
    CodePoints{0x00, 0x1f},       CodePoints{0x7f, 0x9f},       CodePoints{0xad, 0xad},
    CodePoints{0x034f, 0x034f},   CodePoints{0x061c, 0x061c},   CodePoints{0x115f, 0x1160},
    CodePoints{0x17b4, 0x17b5},   CodePoints{0x180b, 0x180f},   CodePoints{0x200b, 0x200f},
    CodePoints{0x2028, 0x202e},   CodePoints{0x2060, 0x206f},   CodePoints{0x2800, 0x2800},
    CodePoints{0x3164, 0x3164},   CodePoints{0xe000, 0xf8ff},   CodePoints{0xfdd0, 0xfdef},
    CodePoints{0xfeff, 0xfeff},   CodePoints{0xffa0, 0xffa0},   CodePoints{0xfff0, 0xfffb},
    CodePoints{0xfffe, 0xffff},   CodePoints{0x1bca0, 0x1bca3}, CodePoints{0x1d173, 0x1d17a},
    CodePoints{0xe0000, 0x10ffff}};
constexpr std::array blanks{CodePoints{0x20, 0x20},     CodePoints{0xa0, 0xa0},
                            CodePoints{0x1680, 0x1680}, CodePoints{0x2000, 0x200a},
                            CodePoints{0x202f, 0x202f}, CodePoints{0x205f, 0x205f},
                            CodePoints{0x3000, 0x3000}, CodePoints{0xfe00, 0xfe0f}};

bool is_among(std::span<const CodePoints> ranges, std::uint32_t point) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const CodePoints& range) {
        return range.first <= point && point <= range.last;
    });
}

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
        if (is_among(unseen, point))
            throw Problem(Code::invalid_input, member + ": must have printable characters alone");
        has_something = has_something || !is_among(blanks, point);
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
