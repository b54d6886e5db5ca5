// What an owner calls a machine. Others may read it, so that it is what it looks like.
#pragma once

#include <string>
#include <string_view>

namespace berth::machines {

// INVALID_INPUT, naming the member, unless all of it can be seen: no control characters, nothing
// that turns the direction of writing or takes no room, and not blanks alone.
void check_label(std::string_view label, const std::string& member);

// One line for a POSIX shell, on the machine; the token is asked for on standard input.
std::string install_line(std::string_view server);

}  // namespace berth::machines
