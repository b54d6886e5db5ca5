#include <algorithm>

#include "base/check.hpp"
#include "gate/board.hpp"

namespace berth::gate {

// A call that the machine has answered. Let go without join() when its side vanished meanwhile.
class Board::Taken final : public Answered {
public:
    Taken(std::shared_ptr<Board> board, const DoorId& door, http::Carrier stranger, Duration since)
        : board_(std::move(board)), door_(door), stranger_(std::move(stranger)), since_(since) {}
    ~Taken() override {
        if (!joined_) join(http::Carrier());
    }

    void join(http::Carrier machine) override {
        joined_ = true;
        auto both = std::make_shared<std::pair<http::Carrier, http::Carrier>>(std::move(stranger_),
                                                                              std::move(machine));
        board_->loop()->post([board = board_, door = door_, since = since_, both] {
            board->join(door, std::move(both->first), std::move(both->second), since);
        });
    }

private:
    const std::shared_ptr<Board> board_;
    const DoorId door_;
    http::Carrier stranger_;
    const Duration since_;
    bool joined_ = false;
};

// Nothing of what a stranger sends is read before a machine is there to take it, but for the first
// eight bytes.
void Board::on_visitor(http::Visitor visitor) {
    const auto at = by_port_.find(visitor.port);
    const auto found = at == by_port_.end() ? doors_.end() : doors_.find(at->second);
    const auto machine =
        found == doors_.end() ? machines_.end() : machines_.find(found->second.machine);
    if (machine == machines_.end()) return tally_.count(Refused::no_door);
    const DoorId id = found->first;
    Door& door = found->second;
    if (const auto refused = judge(door, machine->second, visitor.peer)) {
        visitor.carrier.reset_on_close();
        return tally_.count(*refused);
    }
    visitor.carrier.set_up_as_stream();
    count_waiting(id, 1);
    const Duration since = steady();
    if (door.kind == DoorKind::test) return wait_for_machine(id, std::move(visitor.carrier), since);
    http::await_first_bytes(loop_, std::move(visitor.carrier), options_.timings.silence_max,
                            [weak = weak_from_this(), id, since](http::FirstSeen seen) {
                                if (const auto self = weak.lock())
                                    self->on_first_bytes(id, std::move(seen), since);
                            });
}

std::optional<Refused> Board::judge(Door& door, const Machine& machine,
                                    const http::Address& source) {
    const LimitNumbers& limits = options_.limits;
    const Time now{steady().count()};
    const bool relay = http::contains(relays_, source);
    const auto most = [relay](std::size_t all) { return relay ? all : all - all / 8; };
    if (waiting_ >= most(limits.waiting_max)) return Refused::waiting;
    if (machine.waiting >= most(limits.waiting_of_machine_max)) return Refused::machine_waiting;
    const std::string network = network_of(source);
    const bool quiet = seldom_.is_half_full(network, now);
    if (!relay) seldom_.take(network, now);
    if (!relay && !sources_.take(source, now)) return Refused::source_pace;
    const double spared = limits.spared_for_relays + (quiet ? 0 : limits.spared_for_the_quiet);
    if (!door.calls.take(limits.calls_of_door, now, relay ? 0 : spared)) return Refused::door_pace;
    if (!make_room(door, source, relay)) return Refused::streams;
    return std::nullopt;
}

// An eighth is kept free: for relays, and at a door for SSH for streams that were ended here and
// whose end the machine has yet to see.
bool Board::make_room(Door& door, const http::Address& source, bool relay) {
    const std::size_t taken = door.streams.size() + door.joining + door.waiting;
    const std::size_t kept_free = relay ? 0 : door.streams_max / 8;
    if (taken < door.streams_max - kept_free) return true;
    return door.kind == DoorKind::ssh && end_one_for(door, network_of(source));
}

// A host cannot tell strangers of a door apart, for all of them come from its own loopback. Those
// who have not shown a key keep nobody out: where there is no room, whoever has the most of them
// loses the oldest to who has fewer.
bool Board::end_one_for(Door& door, const std::string& source) {
    const Duration now = steady();
    const auto is_young = [&](const Joined& each) {
        return now - each.since < options_.timings.stranger_max;
    };
    std::map<std::string, std::size_t> counts;
    for (const auto& [number, each] : door.streams)
        if (is_young(each)) ++counts[each.source];
    std::size_t most = 0;
    for (const auto& [from, count] : counts) most = std::max(most, count);
    if (most <= std::max(counts[source], options_.limits.sessions_left_alone)) return false;
    const auto oldest = std::find_if(door.streams.begin(), door.streams.end(), [&](const auto& at) {
        return is_young(at.second) && counts[at.second.source] == most;
    });
    oldest->second.pump.end();
    door.streams.erase(oldest);
    tally_.count(Refused::streams);
    return true;
}

// A door for SSH or TLS is no door for anything else. Whoever waits for the other side to speak
// first may do so at a door for SSH.
void Board::on_first_bytes(const DoorId& id, http::FirstSeen seen, Duration since) {
    const auto found = doors_.find(id);
    check(found != doors_.end(), "a door stays while somebody waits at it");
    const Door& door = found->second;
    const bool silent = seen.first == http::FirstBytes::unclear && seen.carrier.ahead().empty();
    const bool good = door.kind == DoorKind::ssh ? seen.first == http::FirstBytes::ssh || silent
                                                 : seen.first == http::FirstBytes::tls;
    if (door.open && seen.carrier && good)
        return wait_for_machine(id, std::move(seen.carrier), since);
    count_waiting(id, -1);
    if (!seen.carrier) return tally_.count(CallOutcome::gone);
    seen.carrier.reset_on_close();
    if (good) return tally_.count(CallOutcome::closed);
    tally_.count(Refused::first_bytes);
}

void Board::wait_for_machine(const DoorId& id, http::Carrier stranger, Duration since) {
    const CallId call_id{*uuid_from_bytes(random_.bytes(sizeof(Uuid)))};
    Call& call = calls_[call_id];
    call = {.door = id, .stranger = std::move(stranger), .since = since, .told = false};
    const auto machine = machines_.find(doors_.at(id).machine);
    if (machine != machines_.end() && machine->second.link) tell(call_id, call, machine->second);
}

void Board::tell(const CallId& id, Call& call, Machine& machine) {
    agent_protocol::LinkLine line;
    line.kind = agent_protocol::LineKind::call;
    line.call_id = id;
    line.door_id = call.door;
    machine.link->say(line);
    call.told = true;
}

void Board::tell_all(const MachineId& id, Machine& machine) {
    if (machine.waiting == 0) return;
    for (auto& [call_id, call] : calls_)
        if (!call.told && doors_.at(call.door).machine == id) tell(call_id, call, machine);
}

// Both counts are of strangers who came in and are neither joined nor gone.
void Board::count_waiting(const DoorId& id, int change) {
    const auto add = [change](std::size_t& count) { count = change > 0 ? count + 1 : count - 1; };
    Door& door = doors_.at(id);
    add(door.waiting);
    add(waiting_);
    if (const auto machine = machines_.find(door.machine); machine != machines_.end())
        add(machine->second.waiting);
}

void Board::drop_waiting(const DoorId& id) {
    for (auto at = calls_.begin(); at != calls_.end();) {
        const auto next = std::next(at);
        if (at->second.door == id) {
            tally_.count(CallOutcome::closed);
            at->second.stranger.reset_on_close();
            count_waiting(id, -1);
            calls_.erase(at);
        }
        at = next;
    }
}

std::shared_ptr<Answered> Board::answer(const CallId& id) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return nullptr;
    Call call = std::move(found->second);
    calls_.erase(found);
    count_waiting(call.door, -1);
    Door& door = doors_.at(call.door);
    ++door.joining;
    door.unanswered = 0;
    return std::make_shared<Taken>(shared_from_this(), call.door, std::move(call.stranger),
                                   call.since);
}

void Board::join(const DoorId& id, http::Carrier stranger, http::Carrier machine, Duration since) {
    Door& door = doors_.at(id);
    --door.joining;
    if (closed_ || !machine || is_cut(id, door.rank)) {
        stranger.reset_on_close();
        return tally_.count(CallOutcome::gone);
    }
    machine.set_up_as_stream();
    tally_.count(CallOutcome::joined);
    const Duration now = steady();
    tally_.count_call_time(now - since);
    std::string source = network_of(stranger.peer());
    const std::uint64_t number = ++streams_begun_;
    http::PumpOptions options;
    if (!door.flow) {
        door.flow = std::make_shared<Flow>();
        door.flow->pace.set_rate_bps(door.rate_bps);
    }
    options.pace = {door.flow, &door.flow->pace};
    options.counters = {door.flow, &door.flow->counters};
    options.on_end = [loop = loop_, weak = weak_from_this(), id, number](http::PumpEnd) {
        loop->post([weak, id, number] {
            const auto self = weak.lock();
            if (self == nullptr) return;
            if (const auto at = self->doors_.find(id); at != self->doors_.end())
                at->second.streams.erase(number);
        });
    };
    const auto& to = stream_loops_[number % stream_loops_.size()];
    door.streams[number] = {
        http::join(to, std::move(stranger), std::move(machine), std::move(options)),
        std::move(source), now};
}

}  // namespace berth::gate
