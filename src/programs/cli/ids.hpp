// Ids as people type them: the first letters are enough where only one thing's id begins with them,
// and a template may be named by its slug. Each kind of thing has a list, which is asked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/context.hpp"

namespace berth::cli {

// The command that lists what an operand or a flag names by its id; null where there is none.
const Command* list_of_operand(const Command& command);
const Command* list_of_flag(const Command& command, std::string_view flag);

// Puts whole ids into the place of what was typed. What can be no id stays for the server to judge.
void complete_ids(Context& context, CommandLine& line);

// The ids of a list's first page that begin so, for completion; none where the server cannot tell.
std::vector<std::string> ids_on_offer(Context& context, const Command& list,
                                      std::string_view begin);

}  // namespace berth::cli
