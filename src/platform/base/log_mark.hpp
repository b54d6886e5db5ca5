// What every line of this process's log carries beside what it says.
#pragma once

#include <string>

namespace berth {

// Before there is a second thread.
void mark_log(const std::string& name, const std::string& value);

}  // namespace berth
