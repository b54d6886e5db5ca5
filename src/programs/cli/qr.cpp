#include "cli/qr.hpp"

#include <qrencode.h>

#include <memory>

namespace berth::cli {
namespace {

constexpr int margin = 2;
// Of the 256 that themes leave alone.
constexpr const char* black_on_white = "\033[38;5;16;48;5;231m";
constexpr const char* as_before = "\033[0m";

struct Freed {
    void operator()(QRcode* code) const { ::QRcode_free(code); }
};
using Code = std::unique_ptr<QRcode, Freed>;

bool is_dark(const QRcode& code, int x, int y) {
    const bool is_inside = x >= 0 && y >= 0 && x < code.width && y < code.width;
    return is_inside && (code.data[y * code.width + x] & 1) != 0;
}

// What is drawn in the colour of letters.
const char* half_blocks(bool above, bool below) {
    if (above) return below ? "█" : "▀";
    return below ? "▄" : " ";
}

}  // namespace

std::optional<std::string> qr_lines(const std::string& text, const QrPaper& paper) {
    const Code code(::QRcode_encodeString8bit(text.c_str(), 0, QR_ECLEVEL_L));
    if (!code || static_cast<std::size_t>(code->width + 2 * margin) > paper.columns)
        return std::nullopt;
    const int end = code->width + margin;
    std::string out;
    for (int y = -margin; y < end; y += 2) {
        if (paper.colours) out += black_on_white;
        for (int x = -margin; x < end; ++x) {
            // Letters are black with colours, and light without.
            const bool above = is_dark(*code, x, y) == paper.colours;
            const bool below = y + 1 < end && is_dark(*code, x, y + 1) == paper.colours;
            out += half_blocks(above, below);
        }
        if (paper.colours) out += as_before;
        out += '\n';
    }
    return out;
}

}  // namespace berth::cli
