// The only way out for whoever fetches images: a network namespace with nothing in it but its own
// loopback, and there a proxy of ours. A registry chooses where its clients ask for a token or a
// layer; here they find no service of the host, none of its neighbours and no address that is not
// public, whatever a registry, a redirect or a name server says.
//
// The proxy understands CONNECT and nothing else: what is fetched travels in TLS.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/descriptor.hpp"
#include "host_agent/core/tool.hpp"

namespace berth::host_agent {

// "name:port" of a registry in the owner's own house, and the "address:port" at which it is
// dialled, though that is not public.
using PinnedRegistries = std::map<std::string, std::string>;

// "registry.test:5000=127.0.0.1:5000", several with commas between them. Throws
// std::invalid_argument with a sentence.
PinnedRegistries parse_registries(const std::string& text);

class PullNetwork {
public:
    // `mbit` is how much of the line it may take; 0: all. Throws std::runtime_error where no
    // namespace can be made.
    explicit PullNetwork(PinnedRegistries registries, std::int64_t mbit = 0);
    ~PullNetwork();
    PullNetwork(const PullNetwork&) = delete;
    PullNetwork& operator=(const PullNetwork&) = delete;

    // As run_tool(), inside. Whoever holds the tool's deadline waits for it here.
    ToolOutcome run(Tool tool) const;

private:
    struct Passage;
    void make_house();
    void accept_all();
    void collect();
    void serve(Passage& passage);
    void keep_pace(std::size_t bytes);
    Descriptor dial(const std::string& host, const std::string& port) const;

    const PinnedRegistries registries_;
    const std::int64_t mbit_;
    std::mutex pace_mutex_;
    std::chrono::steady_clock::time_point paced_until_;  // all that was passed on was in time
    Descriptor house_;                                   // the namespace
    Descriptor listener_;                                // on its loopback
    Descriptor ending_;                                  // readable once this ends
    std::list<Passage> passages_;                        // of the accepting thread alone
    std::thread accepting_;
};

// Whether images may be fetched from this address: public, of IPv4, and in no network of the host.
bool may_be_dialled(const std::string& address);

}  // namespace berth::host_agent
