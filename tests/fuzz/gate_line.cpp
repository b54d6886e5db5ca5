// A line of a link, as a gate may send it. No text harms the reader, and what is read is written as
// something that is read the same.
#include <cstdint>
#include <string_view>

#include "agent_protocol/gate.hpp"
#include "base/check.hpp"

using namespace berth::agent_protocol;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto line = read_line(text);
    if (!line || line->kind == LineKind::unknown) return 0;
    berth::check(line->kind != LineKind::call || (line->call_id && line->door_id),
                 "a call has what it needs");
    const std::string written = write_line(*line);
    berth::check(written.ends_with('\n') && written.find('\n') == written.size() - 1,
                 "a line is one line");
    const auto again = read_line(std::string_view(written).substr(0, written.size() - 1));
    berth::check(again && again->kind == line->kind && again->call_id == line->call_id &&
                     again->door_id == line->door_id && again->link_id == line->link_id,
                 "a line is read as it was written");
    return 0;
}
