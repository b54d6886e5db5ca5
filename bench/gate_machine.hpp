// The program berth-gate in a process of its own, without a server, and machines that keep links to
// it and take its calls: what an agent does, and no more.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "agent_protocol/gate_ticket.hpp"
#include "base/descriptor.hpp"
#include "bench/measure.hpp"
#include "gate/folder.hpp"
#include "http/loop_thread.hpp"
#include "http/tls.hpp"

namespace berth::bench {

inline constexpr std::uint16_t gate_doors_from = 20'000;
inline constexpr std::uint16_t gate_doors_to = 32'767;

// For this process and those that it starts; gives how many they are.
rlim_t allow_many_files();

// From an address of loopback to a port of it.
int connect_from(const std::string& source, std::uint16_t port);

std::uint16_t free_tcp_port();

class GateProcess {
public:
    GateProcess();
    ~GateProcess();
    GateProcess(const GateProcess&) = delete;
    GateProcess& operator=(const GateProcess&) = delete;

    std::uint16_t link_port() const {
        return static_cast<std::uint16_t>(identity_.link_port.value);
    }
    std::uint16_t call_port() const {
        return static_cast<std::uint16_t>(identity_.call_port.value);
    }
    const Bytes& tls_key() const { return tls_key_; }

    double resident_kib() const;

    // The request for a link of a machine with one door.
    struct Wish {
        std::uint16_t port = gate_doors_from;
        agent_protocol::DoorKind kind = agent_protocol::DoorKind::ssh;
    };
    std::string link_request(const Wish& wish);

private:
    void await() const;

    Folder kept_;
    gate::Folder folder_;
    SystemRandom random_;
    crypto::Ed25519Key server_key_;
    gate::Identity identity_;
    Bytes tls_key_;
    pid_t process_ = -1;
};

// A link, read with blocking calls.
class BenchLink {
public:
    BenchLink(int socket, const Bytes& tls_key, const http::TlsContext& context,
              const std::string& request);

    // The id of the next call; empty at the end.
    std::string next_call();
    int socket() const { return socket_.number(); }

private:
    bool fill();
    std::string read_until(const std::string& mark);

    Descriptor socket_;
    http::TlsSession session_;
    std::string text_;
};

// A machine that joins each call with a port of this one.
class BenchMachine {
public:
    struct Places {
        std::uint16_t link_port;  // of the gate, or of what stands in between
        std::uint16_t call_port;
        std::uint16_t local_port;
    };
    BenchMachine(GateProcess& gate, const Places& places, const GateProcess::Wish& wish);
    ~BenchMachine();
    BenchMachine(const BenchMachine&) = delete;
    BenchMachine& operator=(const BenchMachine&) = delete;

private:
    void answer(const std::string& call);

    const Places places_;
    const http::TlsContext context_ = http::TlsContext::for_clients();
    http::LoopThread loops_;
    BenchLink link_;
    std::thread thread_;
};

}  // namespace berth::bench
