#include "gate_world/networks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <stdexcept>

namespace berth::test {
namespace {

constexpr const char* here = "/proc/thread-self/ns/net";

// A router forgets a connection after half a minute without a packet: shorter than most do.
constexpr const char* router =
    "sysctl -qw net.ipv4.ip_forward=1\n"
    "sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_established=30\n"
    "nft add table ip nat\n"
    "nft add chain ip nat out '{ type nat hook postrouting priority 100; }'\n"
    "nft add rule ip nat out oifname out masquerade\n"
    // Strangers come in only as answers.
    "nft add table ip guard\n"
    "nft add chain ip guard through '{ type filter hook forward priority 0; policy drop; }'\n"
    "nft add chain ip guard hindered\n"
    "nft add rule ip guard through jump hindered\n"
    "nft add rule ip guard through ct state established,related accept\n"
    "nft add rule ip guard through iifname in accept\n";

std::string join(const Network& other, const char* own, const char* theirs) {
    return fmt::format("ip link add {} type veth peer name {} netns {}\n", own, theirs,
                       other.path());
}

std::string set_address(const char* interface, const char* text) {
    return fmt::format("ip address add {} dev {}\nip link set {} up\n", text, interface, interface);
}

}  // namespace

Network Network::current() {
    const int found = ::open(here, O_RDONLY | O_CLOEXEC);
    if (found < 0) throw std::runtime_error("no network namespace to be found");
    return Network(found);
}

Network Network::make() {
    const Network before = current();
    if (::unshare(CLONE_NEWNET) != 0) throw std::runtime_error("no new network namespace");
    Network made = current();
    if (::setns(before.descriptor_, CLONE_NEWNET) != 0) std::abort();
    return made;
}

Network::~Network() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

Network::Network(Network&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
}

std::string Network::path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor_); }

std::string Network::ask(const std::string& script) const {
    const Inside in(*this);
    const Outcome done = run_program({"/bin/sh", "-ec", "PATH=$PATH:/usr/sbin:/sbin\n" + script});
    if (done.status != 0) throw std::runtime_error(script + ": " + done.output);
    return done.output;
}

void Network::configure(const std::string& script) const { static_cast<void>(ask(script)); }

Inside::Inside(const Network& network) : before_(Network::current()) {
    if (::setns(network.descriptor(), CLONE_NEWNET) != 0)
        throw std::runtime_error("cannot enter a network namespace");
}

Inside::~Inside() {
    // In another network than it believes a test would prove nothing.
    if (::setns(before_.descriptor(), CLONE_NEWNET) != 0) std::abort();
}

Networks::Networks()
    : renter(Network::current()),
      internet(Network::make()),
      cgnat(Network::make()),
      home(Network::make()),
      host(Network::make()),
      line(internet, cgnat) {
    for (const Network* each : {&renter, &internet, &cgnat, &home, &host})
        each->configure("ip link set lo up");
    internet.configure(join(renter, "renters", "out") + set_address("renters", "11.1.0.1/24"));
    renter.configure(set_address("out", "11.1.0.2/24") + "ip route add default via 11.1.0.1");
    internet.configure(
        fmt::format("for each in {} {} {}; do ip address add $each/32 dev lo; done\n",
                    server_address, first_gate_address, second_gate_address) +
        "sysctl -qw net.ipv4.ip_forward=1\n" + set_address("line", "11.9.0.1 peer 11.9.0.2"));
    cgnat.configure("ip link set line name out\n" + set_address("out", "11.9.0.2 peer 11.9.0.1") +
                    "ip route add default via 11.9.0.1\n" + join(home, "in", "out") +
                    set_address("in", "100.64.0.1/24") + router);
    home.configure(set_address("out", "100.64.0.2/24") + "ip route add default via 100.64.0.1\n" +
                   join(host, "in", "out") + set_address("in", "192.168.1.1/24") + router);
    host.configure(set_address("out", "192.168.1.2/24") + "ip route add default via 192.168.1.1");
}

void Networks::hinder(const std::string& rule) const {
    home.configure(fmt::format("nft add rule ip guard hindered '{}'", rule));
}

void Networks::mend() {
    home.configure("nft flush chain ip guard hindered");
    line.set_delay(std::chrono::milliseconds(0));
}

std::string why_no_networks() {
    try {
        const Network one = Network::make();
        const Network other = Network::make();
        const Line tried(one, other);
        one.configure(
            "nft add table ip tried\n"
            "nft add chain ip tried way '{ type nat hook postrouting priority 100; }'\n"
            "nft add rule ip tried way masquerade\n"
            "nft add chain ip tried some\n"
            "nft add rule ip tried some 'numgen random mod 100 < 1 drop'\n"
            "ss -K dport = :1\n" +
            join(other, "own", "theirs"));
        return "";
    } catch (const std::exception& error) {
        return error.what();
    }
}

}  // namespace berth::test
