// The owner's line to a running agent: a socket in its state folder. One request, one answer, both
// text; who may open the folder may ask.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace berth::host_agent {

class Control {
public:
    using Handler = std::function<std::string(const std::string&)>;
    // Throws std::runtime_error when the socket cannot be made.
    Control(const std::string& path, Handler handler);

private:
    [[noreturn]] void serve();

    const Handler handler_;
    int listener_ = -1;
    std::thread thread_;
};

// Empty when no agent listens there.
std::optional<std::string> ask_agent(const std::string& path, const std::string& request);

}  // namespace berth::host_agent
