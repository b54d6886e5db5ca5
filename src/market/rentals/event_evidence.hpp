// What agents say about a job in their events: the members of the evidence that are read. Whatever
// else stands there is kept with them.
#pragma once

#include "rentals/types.hpp"

namespace berth::rentals::event_evidence {

using Name = wire::Text<1, 128>;
using LogTail = wire::Text<0, 8192>;
template <class T>
using Maybe = std::optional<Nullable<T>>;  // left out, null, or there

template <class T>
std::optional<T> given(const Maybe<T>& member) {
    return member ? member->value : std::nullopt;
}

std::optional<std::string> text_of(const Maybe<Name>& member);

enum class Engine { up, down };
BOOST_DESCRIBE_ENUM(Engine, up, down)

struct Usage {
    Decimal runtime_ms;
    Name container_id;
    Name boot_id;
    Maybe<Engine> engine;
    Maybe<LogTail> log_tail;
};
BOOST_DESCRIBE_STRUCT(Usage, (), (runtime_ms, container_id, boot_id, engine, log_tail))

struct StartProgress {
    ProgressStep step = ProgressStep::pull;
    Maybe<Decimal> done_bytes;
    Maybe<Decimal> total_bytes;
};
BOOST_DESCRIBE_STRUCT(StartProgress, (), (step, done_bytes, total_bytes))

// EXITED and STOPPED.
struct End {
    Maybe<Name> container_id;
    Maybe<Name> boot_id;
    Maybe<Decimal> runtime_ms;
    Maybe<wire::Integer<-2'147'483'648, 2'147'483'647>> exit_code;
    Maybe<bool> oom;
    Maybe<Name> code;
    Maybe<wire::Text<0, 4096>> reason;
    Maybe<LogTail> log_tail;
};
BOOST_DESCRIBE_STRUCT(End, (),
                      (container_id, boot_id, runtime_ms, exit_code, oom, code, reason, log_tail))
// The agent stopped the workload itself, where its lease said that the funding ends.
bool is_own_stop(const End& end);

struct Ready {
    Name container_id;
    Name boot_id;
    wire::List<wire::Object, 0, 16> endpoints;
    Maybe<wire::Text<1, 200>> ssh_host_key_fingerprint;
    Maybe<wire::Object> time_to_ready;
};
BOOST_DESCRIBE_STRUCT(Ready, (),
                      (container_id, boot_id, endpoints, ssh_host_key_fingerprint, time_to_ready))

struct Endpoint {
    EndpointKind kind = EndpointKind::http;
    wire::Text<1, 64> name;
    wire::Text<1, 253> host;
    wire::Integer<1, 65'535> port;
    Maybe<wire::Text<64, 71>> tls_key_sha256;
};
BOOST_DESCRIBE_STRUCT(Endpoint, (), (kind, name, host, port, tls_key_sha256))

// A name or an address: renters paste it into a shell.
bool is_host(std::string_view text);

struct Cleaned {
    bool volume_recreated = false;
    wire::List<wire::Object, 0, 64> gpus;
};
BOOST_DESCRIBE_STRUCT(Cleaned, (), (volume_recreated, gpus))

struct WipedGpu {
    Decimal total_bytes;
    Decimal wiped_bytes;
    Decimal verified_bytes;
    Maybe<wire::Json> error;
};
BOOST_DESCRIBE_STRUCT(WipedGpu, (), (total_bytes, wiped_bytes, verified_bytes, error))
bool is_wiped(const Cleaned& cleaned, std::int64_t gpus);

// The code that the agent gave, where it is one of ours.
FailureCode failure_code(const std::optional<std::string>& code, FailureCode otherwise);
// Why a workload that ended did not come up.
Failure failure_of(const End& end);
// What went wrong with one that had come up; none when it simply ended.
std::optional<Failure> fault_of(const End& end);

}  // namespace berth::rentals::event_evidence
