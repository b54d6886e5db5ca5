// What requests wait for, by name: a topic such as "commands" and, within it, a name such as a
// machine's id. Whoever commits news wakes its key; see api/notifier.hpp for who listens.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace berth {

struct WakeKey {
    std::string_view topic;  // a constant of the feature
    std::string name;
};

using Wake = std::function<void(const WakeKey&)>;

}  // namespace berth
