// Networks of the test's own: a renter, an internet, and a host behind two routers that masquerade,
// its own and that of its provider. Nothing of it is seen by the rest of the machine, and all of it
// ends with the test.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "gate_world/line.hpp"
#include "support/process.hpp"

namespace berth::test {

// A network namespace.
class Network {
public:
    static Network current();
    static Network make();
    ~Network();
    Network(Network&& other) noexcept;
    Network& operator=(Network&&) = delete;

    int descriptor() const { return descriptor_; }
    // Where `ip` finds it.
    std::string path() const;
    // Runs lines of a shell in it; throws with what they said when they fail.
    void configure(const std::string& script) const;
    std::string ask(const std::string& script) const;  // the same, and tells what they said

private:
    explicit Network(int descriptor) : descriptor_(descriptor) {}
    int descriptor_;
};

// While it is there this thread opens its sockets and starts its programs in that network. Sockets
// and programs stay where they began.
class Inside {
public:
    explicit Inside(const Network& network);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

private:
    Network before_;
};

// renter — internet = line = cgnat — home — host
struct Networks {
    static constexpr const char* server_address = "11.0.0.1";
    static constexpr const char* first_gate_address = "11.0.0.2";
    static constexpr const char* second_gate_address = "11.0.0.3";
    // What the world sees of the host.
    static constexpr const char* provider_address = "11.9.0.2";

    Networks();

    // What the home's router does to packets on their way out, as conditions and verdict of nft:
    // "tcp dport 80 drop". mend() takes all of it away.
    void hinder(const std::string& rule) const;
    void mend();

    Network renter;  // that of the test itself
    Network internet;
    Network cgnat;
    Network home;
    Network host;
    Line line;  // between the internet and the provider
};

// What this machine lacks for such networks; empty: nothing.
std::string why_no_networks();

}  // namespace berth::test
