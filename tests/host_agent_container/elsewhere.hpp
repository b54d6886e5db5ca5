// The rest of the internet, for a job in a test.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "host_agent/core/tool.hpp"
#include "support/process.hpp"

namespace berth::test {

// A machine somewhere in the internet, behind a neighbour of the host: a network namespace of the
// kernel, with addresses for documentation, and a sink for bytes in it.
class Elsewhere {
public:
    explicit Elsewhere(const std::string& network)
        : name_(fmt::format("berth{}", ::getpid())),
          host_(network + ".1"),
          neighbour_(network + ".2") {
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
        host_agent::run_tool({.arguments = {"ip", "link", "delete", name_}});
        host_agent::run_tool({.arguments = {"ip", "netns", "delete", name_}});
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
    static void ip(std::vector<std::string> words) {
        words.insert(words.begin(), "ip");
        host_agent::run_tool_or_throw({.arguments = std::move(words)});
    }

    std::string name_;
    std::string host_;
    std::string neighbour_;
    std::string address_ = "203.0.113.7";
    std::unique_ptr<Process> sink_;
};

}  // namespace berth::test
