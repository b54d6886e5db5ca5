#include <algorithm>

#include "base/log.hpp"
#include "gate/board.hpp"

namespace berth::gate {

using agent_protocol::ByeReason;
using agent_protocol::Ticket;
using agent_protocol::TicketDoor;

Board::Rank Board::rank_of(const Ticket& ticket) {
    return {ticket.fence.value, ticket.serial.value};
}

// Of two links of one machine (its disk was cloned, or it came again before we noticed that it had
// gone) the one with the higher ticket stays; with the same ticket, the newer.
Board::Admitted Board::admit(const Ticket& ticket) {
    Machine& machine = machines_[ticket.machine_id];
    if (rank_of(ticket) < machine.rank) return {nullptr, Refused::stale};
    // What the other link was told may never have come there.
    if (machine.link) forget_told(ticket.machine_id);
    end_link(machine, ByeReason::replaced);
    take_ticket(machine, ticket);
    if (machine.doors.empty()) return {nullptr, Refused::ticket};
    machine.link = std::make_shared<Link>(
        LinkId{*uuid_from_bytes(random_.bytes(sizeof(Uuid)))}, ticket.machine_id,
        [loop = loop_, weak = weak_from_this()](const std::shared_ptr<Link>& link) {
            loop->post([weak, link] {
                if (const auto self = weak.lock()) self->on_link_gone(link);
            });
        });
    if (draining_since_) machine.link->bye(ByeReason::draining);
    const std::shared_ptr<Link> link = machine.link;
    tell_all(ticket.machine_id, machine);
    return {link, std::nullopt};
}

Board::Renewal Board::renew(const LinkId& link, const Ticket& ticket) {
    const auto found = machines_.find(ticket.machine_id);
    if (found == machines_.end() || !found->second.link || found->second.link->id() != link)
        return Renewal::no_link;
    if (rank_of(ticket) < found->second.rank) return Renewal::stale;
    take_ticket(found->second, ticket);
    if (found->second.doors.empty()) end_link(found->second, ByeReason::refused);
    return Renewal::done;
}

void Board::on_link_gone(const std::shared_ptr<Link>& link) {
    const auto found = machines_.find(link->machine());
    if (found == machines_.end() || found->second.link != link) return;
    found->second.link.reset();
    // Those who wait are for whichever link comes next. Not here, when this gate drains: the
    // machine has gone to the newer process, and strangers are to follow it.
    if (draining_since_) return leave(link->machine());
    forget_told(link->machine());
}

void Board::forget_told(const MachineId& id) {
    for (auto& [call_id, call] : calls_)
        if (const auto door = doors_.find(call.door);
            door != doors_.end() && door->second.machine == id)
            call.told = false;
}

void Board::leave(const MachineId& id) {
    for (auto& [door_id, door] : doors_)
        if (door.machine == id) close_door(door);
}

void Board::end_link(Machine& machine, ByeReason why) {
    if (const std::shared_ptr<Link> link = std::exchange(machine.link, nullptr)) link->end(why);
}

void Board::take_ticket(Machine& machine, const Ticket& ticket) {
    machine.rank = rank_of(ticket);
    machine.expires_at = ticket.expires_at;
    std::vector<DoorId> named;
    for (const TicketDoor& door : ticket.doors.value) {
        if (is_cut(door.door_id, machine.rank)) continue;
        take_door(ticket, door);
        named.push_back(door.door_id);
    }
    for (const DoorId& id : machine.doors) {
        const auto door = doors_.find(id);
        const bool stays = std::find(named.begin(), named.end(), id) != named.end();
        if (stays || door == doors_.end()) continue;
        close_door(door->second);
        drop_waiting(id);
        end_streams(door->second);
    }
    machine.doors = std::move(named);
}

// The server gives a port to one door at a time. Should an older ticket still hold it, the one that
// was written later is right.
void Board::take_door(const Ticket& ticket, const TicketDoor& given) {
    const auto port = static_cast<std::uint16_t>(given.port.value);
    if (const auto holder = by_port_.find(port);
        holder != by_port_.end() && holder->second != given.door_id) {
        Door& other = doors_.at(holder->second);
        if (other.expires_at > ticket.expires_at) return;
        const DoorId other_id = holder->second;
        close_door(other);
        drop_waiting(other_id);
        end_streams(other);
    }
    Door& door = doors_[given.door_id];
    if (door.waiting > 0 && door.machine != ticket.machine_id) return;  // they came for another
    if (door.open && door.port != port) close_door(door);
    door.machine = ticket.machine_id;
    door.port = port;
    door.kind = given.kind;
    const std::size_t most = given.kind == DoorKind::ssh ? options_.limits.streams_of_ssh_max
                                                         : options_.limits.streams_of_http_max;
    door.streams_max = std::min(most, static_cast<std::size_t>(given.streams_max.value));
    door.rank = rank_of(ticket);
    door.expires_at = ticket.expires_at;
    door.rate_bps = given.rate_bps.value;
    if (door.flow) door.flow->pace.set_rate_bps(door.rate_bps);
    if (door.open || !ports_) return;
    try {
        ports_->open(port);
        door.open = true;
        by_port_[port] = given.door_id;
    } catch (const std::exception& error) {
        log(Level::error, "door_not_opened", {{"port", port}, {"reason", error.what()}});
    }
}

// What the server took back stays closed, until it gives the door again by a later ticket.
bool Board::is_cut(const DoorId& id, const Rank& rank) const {
    const auto found = cut_.find(id);
    return found != cut_.end() && rank <= found->second.first;
}

}  // namespace berth::gate
