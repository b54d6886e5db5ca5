// JSON text at the lowest level: one escaping routine for the log, the error envelope and wire/.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, so that
// what we print is always valid JSON.
void append_json_string(std::string& out, std::string_view text);
// The same as a text of its own, for JSON that is put together from pieces.
std::string json_quoted(std::string_view text);

}  // namespace berth
