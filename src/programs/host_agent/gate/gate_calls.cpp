#include "host_agent/gate/gate_calls.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/log_limiter.hpp"

namespace berth::host_agent {
namespace {

using agent_protocol::DoorKind;
using agent_protocol::LinkLine;
using std::chrono::steady_clock;

// A gate lets 10 a second come to a door, 50 at once, and 64 or 512 be there. Lines of a link bunch
// up on their way, and the end of a stream may come behind news of the next: with the same numbers
// here, what it let through would be refused now and then, and who lets calls pass is not paid.
constexpr double dials_per_second_max = 12;
constexpr double dials_at_once_max = 60;
constexpr Duration local_max = std::chrono::seconds(5);

std::size_t streams_max(DoorKind kind) {
    switch (kind) {
        case DoorKind::ssh: return 80;
        case DoorKind::http: return 640;
        case DoorKind::test: return 20;
    }
    return 0;
}

// Whether TLS may get through where this did not. That the gate does not know the call (any more)
// is its last word; any other answer may be of something that stands in between.
bool may_be_in_the_way(const http::Called& called) {
    return called.failure != http::Called::Failure::none && called.status != 404 &&
           called.status != 410;
}

}  // namespace

bool GateCalls::Held::may_dial(steady_clock::time_point now) {
    if (streams >= streams_max(door.kind)) return false;
    const std::chrono::duration<double> passed = now - filled_at;
    tokens = std::min(dials_at_once_max, tokens + passed.count() * dials_per_second_max);
    filled_at = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
}

void GateCalls::set_doors(Doors doors) {
    thread_.loop()->post([this, doors = std::move(doors)] {
        for (auto each = held_.begin(); each != held_.end();) {
            const auto still = doors.find(each->first);
            if (still != doors.end() && still->second == each->second->door) {
                ++each;
                continue;
            }
            each->second->is_closed = true;
            for (const http::Pump& pump : each->second->pumps) pump.end();
            each = held_.erase(each);
        }
        for (const auto& [id, door] : doors) {
            auto& held = held_[id];
            if (held) continue;
            held = std::make_shared<Held>();
            held->door = door;
            held->tokens = dials_at_once_max;
            held->filled_at = steady_clock::now();
        }
    });
}

void GateCalls::answer(const GateAddress& gate, const LinkLine& call) {
    thread_.loop()->post([this, gate, call] { begin(gate, call); });
}

GateCalls::Counts GateCalls::counts() const {
    return {unknown_, too_many_, failed_, joined_, open_};
}

void GateCalls::begin(const GateAddress& gate, const LinkLine& line) {
    const auto found = held_.find(*line.door_id);
    if (found == held_.end()) {
        ++unknown_;
        return;
    }
    if (!found->second->may_dial(steady_clock::now())) {
        ++too_many_;
        return;
    }
    const auto call = std::make_shared<Call>();
    call->held = found->second;
    call->gate = gate;
    call->line = line;
    ++call->held->streams;
    const bool is_tls = options_.by_tls || by_tls_.contains(gate.id);
    dial_gate(call, is_tls ? Way::tls : Way::plain);
    dial_local(call);
}

// A gate can let every call fail, and ask for a dozen a second.
void GateCalls::note_failure(const Call& call, Way way, const http::Called& called) {
    static LogLimiter limiter{std::chrono::seconds(10)};
    if (const std::int64_t count = limiter.note(); count > 0)
        log(Level::warn, "gate_call_failed",
            {{"gate", call.gate.host},
             {"by", way == Way::tls ? "TLS" : "TCP"},
             {"status", called.status},
             {"why", called.reason},
             {"count", count}});
}

// A process of the gate that ends has a port of its own for what is still to be answered there.
void GateCalls::dial_gate(const CallOf& call, Way way) {
    const GateAddress& gate = call->gate;
    const auto own_port = call->line.call_port;
    http::CallOut out;
    out.endpoint.address = gate.address;
    out.endpoint.host = gate.host;
    if (own_port) way = Way::plain;
    if (way == Way::tls) {
        out.endpoint.port = gate.link_port;
        out.endpoint.tls = true;
        out.endpoint.key_sha256 = gate.key_sha256;
    } else {
        out.endpoint.port = own_port ? static_cast<std::uint16_t>(own_port->value) : gate.call_port;
    }
    out.target = "/v1/calls/" + to_string(*call->line.call_id);
    out.switch_to = "berth-stream";
    out.total_max = options_.plain_max;
    http::call_out(thread_.loop(), std::move(out), [this, call, way](http::Called called) {
        gate_answered(call, way, std::move(called));
    });
}

void GateCalls::gate_answered(const CallOf& call, Way way, http::Called called) {
    if (called.failure != http::Called::Failure::none) note_failure(*call, way, called);
    if (way == Way::plain && !call->line.call_port && may_be_in_the_way(called))
        return dial_gate(call, Way::tls);
    // It stays so: each call would wait for the plain one to fail first.
    if (way == Way::tls && called.carrier) by_tls_.insert(call->gate.id);
    call->to_gate = std::move(called.carrier);
    call->is_gate_done = true;
    settle(call);
}

void GateCalls::dial_local(const CallOf& call) {
    http::CallOut out;
    out.endpoint.address = *http::parse_address("127.0.0.1");
    out.endpoint.port = static_cast<std::uint16_t>(call->held->door.local_port);
    out.endpoint.host = "localhost";
    out.total_max = local_max;
    http::call_out(thread_.loop(), std::move(out), [this, call](http::Called called) {
        call->to_local = std::move(called.carrier);
        call->is_local_done = true;
        settle(call);
    });
}

// Who knocked is told by the end of the call that nothing answers here: so the gate is waited for
// also when the workload was not reached.
void GateCalls::settle(const CallOf& call) {
    if (!call->is_gate_done || !call->is_local_done) return;
    const std::shared_ptr<Held> held = call->held;
    if (!call->to_gate || !call->to_local || held->is_closed) {
        ++failed_;
        --held->streams;
        return;
    }
    ++joined_;
    ++open_;
    http::PumpOptions options;
    options.on_end = [this, held](http::PumpEnd) {
        --open_;
        --held->streams;
        std::erase_if(held->pumps, [](const http::Pump& pump) { return pump.is_over(); });
    };
    held->pumps.push_back(http::join(thread_.loop(), std::move(call->to_gate),
                                     std::move(call->to_local), std::move(options)));
}

}  // namespace berth::host_agent
