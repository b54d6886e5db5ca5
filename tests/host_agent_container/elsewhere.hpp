// The rest of the internet, for a job in a test.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/letters.hpp"
#include "host_agent/core/tool.hpp"
#include "support/process.hpp"

namespace berth::test {

// A machine somewhere in the internet, behind a neighbour of the host: a network namespace of the
// kernel, with addresses for documentation, and a sink for bytes in it.
class Elsewhere {
public:
    explicit Elsewhere(const std::string& network) : Elsewhere(network, not_yet) {
        take_down_what_others_left();
        ip({"netns", "add", name_});
        ip({"link", "add", name_, "type", "veth", "peer", "name", "eth0", "netns", name_});
        ip({"address", "add", host_ + "/30", "dev", name_});
        ip({"link", "set", name_, "up"});
        ip({"-n", name_, "address", "add", neighbour_ + "/30", "dev", "eth0"});
        ip({"-n", name_, "address", "add", address_ + "/32", "dev", "eth0"});
        ip({"-n", name_, "link", "set", "eth0", "up"});
        ip({"route", "add", address_ + "/32", "via", neighbour_});
        ip({"-n", name_, "route", "add", "default", "via", host_});
        sink_ = std::make_unique<Process>(
            std::vector<std::string>{"/usr/sbin/ip", "netns", "exec", name_,
                                     program_path("berth-inside"), "sink", "8000"},
            "/dev/null");
    }
    ~Elsewhere() {
        sink_.reset();
        take_down(name_);
    }
    Elsewhere(const Elsewhere&) = delete;
    Elsewhere& operator=(const Elsewhere&) = delete;

    const std::string& address() const { return address_; }
    const std::string& neighbour() const { return neighbour_; }
    const std::string& host() const { return host_; }  // as it is reached from there
    // Runs a program of the host there.
    host_agent::ToolOutcome run(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {"ip", "netns", "exec", name_});
        return host_agent::run_tool({.arguments = std::move(arguments)});
    }

private:
    // Destroyed, and so taken down, even where what follows throws.
    enum NotYet { not_yet };
    Elsewhere(const std::string& network, NotYet)
        : name_(prefix + std::to_string(::getpid())),
          host_(network + ".1"),
          neighbour_(network + ".2") {}

    static void take_down(const std::string& name) {
        host_agent::run_tool({.arguments = {"ip", "link", "delete", name}});
        host_agent::run_tool({.arguments = {"ip", "netns", "delete", name}});
    }
    // A test that was killed leaves its network, which has the address that is needed.
    static void take_down_what_others_left() {
        std::istringstream lines(
            host_agent::run_tool({.arguments = {"ip", "netns", "list"}}).output);
        for (std::string name; lines >> name; lines.ignore(1'000, '\n')) {
            const std::string process = name.substr(std::min(name.size(), prefix.size()));
            const bool is_ours =
                name == prefix + process && std::all_of(process.begin(), process.end(), is_digit);
            if (is_ours && !std::filesystem::exists("/proc/" + process)) take_down(name);
        }
    }
    static void ip(std::vector<std::string> words) {
        words.insert(words.begin(), "ip");
        host_agent::run_tool_or_throw({.arguments = std::move(words)});
    }

    inline static const std::string prefix = "berth";
    std::string name_;
    std::string host_;
    std::string neighbour_;
    std::string address_ = "203.0.113.7";
    std::unique_ptr<Process> sink_;
};

}  // namespace berth::test
