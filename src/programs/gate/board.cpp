#include "gate/board.hpp"

#include <chrono>
#include <future>

#include "base/log.hpp"

namespace berth::gate {

using agent_protocol::ByeReason;
using agent_protocol::DoorReport;

Board::Board(std::shared_ptr<http::Loop> loop,
             std::vector<std::shared_ptr<http::Loop>> stream_loops, const Clock& clock,
             Random& random, Tally& tally, BoardOptions options)
    : loop_(std::move(loop)),
      stream_loops_(std::move(stream_loops)),
      clock_(clock),
      random_(random),
      tally_(tally),
      options_(std::move(options)),
      sources_(options_.limits.calls_of_source),
      seldom_(options_.limits.seldom_of_network) {}

Board::~Board() = default;

Duration Board::steady() {
    return std::chrono::duration_cast<Duration>(
        std::chrono::steady_clock::now().time_since_epoch());
}

void Board::start() {
    run([this] {
        ports_ = std::make_unique<http::Ports>(loop_, options_.address,
                                               [weak = weak_from_this()](http::Visitor visitor) {
                                                   if (const auto self = weak.lock())
                                                       self->on_visitor(std::move(visitor));
                                               });
        pinged_at_ = steady();
        tick();
    });
}

void Board::close() {
    run([this] {
        closed_ = true;
        ports_.reset();
        calls_.clear();
        for (auto& [id, door] : doors_) end_streams(door);
    });
}

void Board::run(const std::function<void()>& work) {
    auto done = std::make_shared<std::promise<void>>();
    const std::future<void> ready = done->get_future();
    loop_->post([work, done] {
        work();
        done->set_value();
    });
    ready.wait();
}

void Board::tick() {
    if (closed_) return;
    expire_calls();
    expire_doors();
    if (steady() - pinged_at_ >= options_.timings.ping) ping();
    loop_->after(options_.timings.tick, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->tick();
    });
}

void Board::ping() {
    pinged_at_ = steady();
    agent_protocol::LinkLine line;
    line.kind = agent_protocol::LineKind::ping;
    for (const auto& [id, machine] : machines_)
        if (machine.link) machine.link->say(line);
}

void Board::expire_calls() {
    const Duration now = steady();
    for (auto at = calls_.begin(); at != calls_.end();) {
        const auto next = std::next(at);
        if (now - at->second.since >= options_.timings.wait_max) {
            tally_.count(at->second.told ? CallOutcome::unanswered : CallOutcome::no_link);
            if (at->second.told) {
                Door& door = doors_.at(at->second.door);
                ++door.unanswered;
                door.unanswered_at = now;
            }
            count_waiting(at->second.door, -1);
            calls_.erase(at);
        }
        at = next;
    }
}

// Of a gate that drains the tickets are renewed elsewhere: its streams go on for as long as the
// server, which it still reports to, does not cut their doors.
void Board::expire_doors() {
    const Time now = clock_.now();
    for (auto& [id, machine] : machines_) {
        if (machine.expires_at > now) continue;
        if (machine.link && !draining_since_) end_link(machine, ByeReason::expired);
    }
    for (auto& [id, door] : doors_) {
        if (door.expires_at > now) continue;
        if (door.open) {
            close_door(door);
            drop_waiting(id);
        }
        const Time from = draining_since_ ? std::max(door.expires_at, heard_at_) : door.expires_at;
        if (from + options_.timings.streams_after_expiry <= now) end_streams(door);
    }
    std::erase_if(machines_, [&](const auto& each) {
        return each.second.expires_at <= now && !each.second.link && each.second.waiting == 0;
    });
    std::erase_if(cut_, [&](const auto& each) { return each.second.second <= now; });
}

void Board::close_door(Door& door) {
    if (!door.open) return;
    door.open = false;
    by_port_.erase(door.port);
    if (ports_) ports_->close(door.port);
}

void Board::end_streams(Door& door) {
    for (const auto& [number, each] : door.streams) each.pump.end();
}

std::vector<DoorReport> Board::report() {
    std::vector<DoorReport> rows;
    rows.reserve(doors_.size());
    for (auto& [id, door] : doors_) {
        if (rows.size() == agent_protocol::reported_doors_max) break;
        door.told = door.rank;
        const auto machine = machines_.find(door.machine);
        DoorReport row;
        row.door_id = id;
        row.linked = door.open && machine != machines_.end() && machine->second.link != nullptr;
        row.bytes_in.value = static_cast<std::int64_t>(door.bytes_in());
        row.bytes_out.value = static_cast<std::int64_t>(door.bytes_out());
        row.streams.value = static_cast<std::int64_t>(door.streams.size() + door.joining);
        if (door.unanswered > 0 && steady() - door.unanswered_at < options_.timings.unanswered_told)
            row.unanswered = wire::Count{door.unanswered};
        rows.push_back(row);
    }
    return rows;
}

void Board::follow(const agent_protocol::GateOrders& orders, const std::vector<DoorReport>& heard) {
    heard_at_ = clock_.now();
    http::AddressBlocks relays;
    for (const std::string& text : orders.relays)
        if (const auto block = http::AddressBlock::parse(text)) relays.push_back(*block);
    relays_ = std::move(relays);

    for (const DoorId& id : orders.cut) {
        const auto found = doors_.find(id);
        if (found == doors_.end()) continue;
        Door& door = found->second;
        // A ticket came meanwhile, and the server may have given the door again by it. If not, it
        // says so after the next report.
        if (door.rank != door.told) continue;
        const auto machine = machines_.find(door.machine);
        cut_[id] = {door.rank, clock_.now() + agent_protocol::ticket_life};
        close_door(door);
        drop_waiting(id);
        end_streams(door);
        if (machine == machines_.end()) continue;
        std::erase(machine->second.doors, id);
        if (machine->second.doors.empty()) end_link(machine->second, ByeReason::cut);
    }
    // What is over, and was told to its last byte, is nobody's any more.
    for (const DoorReport& row : heard) {
        const auto found = doors_.find(row.door_id);
        if (found == doors_.end()) continue;
        const Door& door = found->second;
        const std::uint64_t in = door.bytes_in();
        const std::uint64_t out = door.bytes_out();
        const bool over =
            !door.open && door.streams.empty() && door.joining == 0 && door.waiting == 0;
        if (!over || static_cast<std::uint64_t>(row.bytes_in.value) != in ||
            static_cast<std::uint64_t>(row.bytes_out.value) != out)
            continue;
        gone_bytes_in_ += in;
        gone_bytes_out_ += out;
        doors_.erase(found);
    }
    if (orders.drain) drain();
}

void Board::drain() {
    if (draining_since_) return;
    draining_since_ = steady();
    log(Level::info, "gate_draining", {{"links", present().links}});
    for (const auto& [id, machine] : machines_)
        if (machine.link) machine.link->bye(ByeReason::draining);
}

bool Board::is_drained() const {
    if (!draining_since_) return false;
    const Duration since = steady() - *draining_since_;
    if (since >= options_.timings.drain_max) return true;
    const Present now = present();
    if (now.streams > 0 || now.waiting > 0) return false;
    return now.links == 0 || since >= options_.timings.links_leave;
}

Present Board::present() const {
    Present now;
    now.draining = draining_since_.has_value();
    now.waiting = waiting_;
    now.bytes_in = gone_bytes_in_;
    now.bytes_out = gone_bytes_out_;
    for (const auto& [id, machine] : machines_)
        if (machine.link) ++now.links;
    for (const auto& [id, door] : doors_) {
        if (door.open) ++now.doors;
        now.streams += door.streams.size() + door.joining;
        now.bytes_in += door.bytes_in();
        now.bytes_out += door.bytes_out();
    }
    return now;
}

}  // namespace berth::gate
