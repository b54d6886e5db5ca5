// A QR code as text for a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace berth::cli {

struct QrPaper {
    std::size_t columns;  // there is room for
    bool colours;         // black on white, whatever the terminal's own are; else light on dark
};

// Lines with two modules in each character; nothing where there is no room.
std::optional<std::string> qr_lines(const std::string& text, const QrPaper& paper);

}  // namespace berth::cli
