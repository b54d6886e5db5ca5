// Bytes of a link as lines. What a gate sends is bounded: a line that is too long ends it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "agent_protocol/gate.hpp"

namespace berth::host_agent {

class LineReader {
public:
    using Take = std::function<void(std::string_view line)>;

    // False when a line is longer than any of a gate's; then nothing more is to be read.
    bool feed(std::string_view bytes, const Take& take) {
        while (!bytes.empty()) {
            const std::size_t end = bytes.find('\n');
            const std::string_view piece = bytes.substr(0, end);
            if (begun_.size() + piece.size() >= agent_protocol::line_bytes_max) return false;
            begun_ += piece;
            if (end == std::string_view::npos) return true;
            bytes.remove_prefix(end + 1);
            const std::string line = std::exchange(begun_, {});
            if (!line.empty()) take(line);
        }
        return true;
    }

private:
    std::string begun_;
};

}  // namespace berth::host_agent
