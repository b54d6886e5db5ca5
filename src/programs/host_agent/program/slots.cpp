#include "host_agent/program/slots.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "agent_protocol/durable.hpp"
#include "base/ids.hpp"
#include "base/letters.hpp"
#include "gpu/gpu.hpp"
#include "host_agent/core/host.hpp"
#include "host_agent/job/job_record.hpp"
#include "host_agent/program/slot_disk.hpp"

namespace berth::host_agent {
namespace {

namespace files = std::filesystem;

constexpr std::int64_t gib_bytes = std::int64_t{1} << 30;
constexpr std::string_view uuid_prefix = "gpu-";

bool is_slot_name(const std::string& text) {
    return !text.starts_with('-') && std::ranges::all_of(text, [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-';
    });
}

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), to_lower);
    return text;
}

// Looks at one slot after the other, with what those before it took.
class Sharing {
public:
    Sharing(std::string path, const Computer& computer)
        : path_(std::move(path)), computer_(computer) {}

    void take(const Slot& slot) {
        at_ = fmt::format("file.slots[{}]", number_++);
        if (!is_slot_name(slot.name.value)) refuse("name", "must be of a-z, 0-9 and -");
        if (!names_.insert(slot.name.value).second) refuse("name", "is another slot's");
        take_cards(slot);
        take_ports(slot);
        cpus_ += slot.cpus.value;
        if (cpus_ > computer_.cpus)
            refuse("cpus", fmt::format("with the slots before it are {}, and the computer has {}",
                                       cpus_, computer_.cpus));
        // As much as jobs of a whole computer have: the rest is its own.
        memory_gib_ += slot.memory_gib.value;
        if (memory_gib_ > computer_.memory_bytes / 10 * 9 / gib_bytes)
            refuse("memory_gib",
                   fmt::format("with the slots before it are {}, and the computer has {} for slots",
                               memory_gib_, computer_.memory_bytes / 10 * 9 / gib_bytes));
        disk_gib_ += slot.disk_gib.value;
        if (disk_gib_ > computer_.disk_bytes / gib_bytes)
            refuse("disk_gib",
                   fmt::format("with the slots before it are {}, and the disk has {} for slots",
                               disk_gib_, computer_.disk_bytes / gib_bytes));
    }

private:
    [[noreturn]] void refuse(const std::string& member, const std::string& why) const {
        throw std::invalid_argument(fmt::format("{}: {}.{}: {}", path_, at_, member, why));
    }

    // Where a card is on the bus changes with the cards beside it; its uuid is its own for ever.
    void take_cards(const Slot& slot) {
        for (const auto& card : slot.gpus.value) {
            const std::string name = lower(card.value);
            if (!name.starts_with(uuid_prefix) && !gpu::simulated_card(name))
                refuse("gpus", fmt::format("{} is no uuid of a card, as nvidia-smi -L tells it",
                                           card.value));
            const auto [taken, is_free] = cards_.emplace(name, slot.name.value);
            if (!is_free)
                refuse("gpus", fmt::format("{} is the slot {}'s", card.value, taken->second));
        }
    }

    void take_ports(const Slot& slot) {
        const auto ports = parse_ports(slot.ports.value);
        if (!ports) refuse("ports", "must be FIRST-LAST, within 1024-65535");
        for (const auto& [name, taken] : ports_)
            if (ports->first <= taken.last && taken.first <= ports->last)
                refuse("ports",
                       fmt::format("{}-{} are the slot {}'s", taken.first, taken.last, name));
        ports_.emplace(slot.name.value, *ports);
    }

    const std::string path_;
    const Computer computer_;
    int number_ = 0;
    std::string at_;
    std::set<std::string> names_;
    std::map<std::string, std::string> cards_;
    std::map<std::string, Ports> ports_;
    std::int64_t cpus_ = 0;
    std::int64_t memory_gib_ = 0;
    std::int64_t disk_gib_ = 0;
};

std::string slot_names(const Slots& slots) {
    std::vector<std::string> names;
    for (const Slot& slot : slots.slots.value) names.push_back(slot.name.value);
    return fmt::format("{}", fmt::join(names, ", "));
}

Share share_of(const Slots& slots, const Slot& slot) {
    Share share;
    share.slot = slot.name.value;
    share.number.value = &slot - slots.slots.value.data();
    share.cpus = slot.cpus;
    share.memory_gib = slot.memory_gib;
    share.disk_gib = slot.disk_gib;
    share.network_mbit = slot.network_mbit;
    if (slot.pids) share.pids = *slot.pids;
    return share;
}

// What was shared out counts; whether there is as much is not asked.
constexpr Computer boundless{.cpus = std::numeric_limits<std::int64_t>::max(),
                             .memory_bytes = std::numeric_limits<std::int64_t>::max(),
                             .disk_bytes = std::numeric_limits<std::int64_t>::max()};

// A rental keeps the cards, ports and bounds that it began with, whatever the file says by now.
std::optional<Settings> settings_while_rented(const std::string& folder) {
    if (!files::exists(folder + "/identity.json")) return std::nullopt;
    const StateFolder state(folder);
    auto identity = state.identity();
    if (!identity || !identity->settings.share || JobRecords(state).all().empty())
        return std::nullopt;
    return std::move(identity->settings);
}

// Only what runs in containers can be held to a share; what is simulated without them needs none.
bool has_own_disk(const Options& options) {
    if (options.runtime) return *options.runtime == "podman";
    return SlotDisk(options.state).exists() || !files::exists(options.state + "/identity.json");
}

}  // namespace

Computer this_computer(const std::string& folder) {
    // As for a whole computer: one whose disk is full does nothing well.
    const auto disk = disk_space(folder);
    const std::int64_t total = disk ? disk->total_bytes : 0;
    return {.cpus = cpu_cores(),
            .memory_bytes = ram_bytes().value_or(0),
            .disk_bytes = total - std::clamp<std::int64_t>(total / 20, gib_bytes, 10 * gib_bytes)};
}

Slots read_slots(const std::string& text, const std::string& path, const Computer& computer) {
    try {
        auto slots = wire::decode<Slots>(text, "file");
        Sharing sharing(path, computer);
        for (const Slot& slot : slots.slots.value) sharing.take(slot);
        return slots;
    } catch (const Problem& problem) {
        throw std::invalid_argument(fmt::format("{}: {}", path, problem.message));
    }
}

std::optional<Slots> find_slots(const std::string& folder, Totals totals) {
    const std::string path = folder + "/slots.json";
    std::error_code unreadable;  // who may not look has none
    if (!files::exists(path, unreadable)) return std::nullopt;
    const StateFolder state(folder);
    const auto whole = state.identity();
    if (whole && whole->machine_id)
        throw std::invalid_argument(fmt::format(
            "{}: the computer is enrolled whole, as {}: put the file away, leave (berth-agent "
            "leave), and put it back",
            path, to_string(*whole->machine_id)));
    return read_slots(agent_protocol::read_durable(path).value_or(""), path,
                      totals == Totals::asked ? this_computer(folder) : boundless);
}

std::vector<std::string> unnamed_slots(const std::string& folder, const Slots& slots) {
    std::set<std::string> found;
    std::error_code none;
    for (const auto& entry : files::directory_iterator(folder + "/slots", none)) {
        const files::path& path = entry.path();
        if (path.extension() == ".disk") found.insert(path.stem());
        if (files::exists(path / "identity.json", none)) found.insert(path.filename());
    }
    for (const Slot& slot : slots.slots.value) found.erase(slot.name.value);
    return {found.begin(), found.end()};
}

void refuse_unnamed(const std::string& folder, const Slots& slots) {
    const auto unnamed = unnamed_slots(folder, slots);
    if (!unnamed.empty())
        throw std::invalid_argument(fmt::format(
            "{0}/slots.json: file.slots: {1} is a slot still: put it back, and leave it first "
            "(berth-agent leave --slot {1})",
            folder, unnamed.front()));
}

std::string slot_folder(const std::string& folder, const std::string& slot) {
    return files::absolute(folder).string() + "/slots/" + slot;
}

Options in_slot(Options options, Disk disk) {
    const auto slots =
        find_slots(options.state, disk == Disk::made ? Totals::asked : Totals::let_be);
    if (!slots && options.slot.empty()) return options;
    const std::string path = options.state + "/slots.json";
    if (!slots) throw std::invalid_argument("--slot: there is no " + path);
    const auto& all = slots->slots.value;
    const auto slot =
        std::ranges::find(all, options.slot, [](const Slot& each) { return each.name.value; });
    if (slot == all.end())
        throw std::invalid_argument(
            fmt::format("--slot: must be one of those of {}: {}", path, slot_names(*slots)));
    if (options.gpus || options.ports)
        throw std::invalid_argument("--gpus and --ports of a slot are in " + path);
    if (disk == Disk::made) refuse_unnamed(options.state, *slots);
    options.computer = options.state;
    options.state = slot_folder(options.computer, options.slot);
    make_state_folder(files::path(options.state).parent_path().string());
    const SlotDisk own(options.state);
    own.mount();
    if (const auto kept = settings_while_rented(options.state)) {
        options.gpus = kept->gpus;
        options.ports = Ports{static_cast<std::uint16_t>(kept->port_first.value),
                              static_cast<std::uint16_t>(kept->port_last.value)};
        options.share = kept->share;
        return options;
    }
    if (disk == Disk::made && has_own_disk(options)) {
        try {
            own.open(slot->disk_gib.value);
        } catch (const std::invalid_argument& error) {
            throw std::invalid_argument(
                fmt::format("{}: file.slots[{}].{}", path, slot - all.begin(), error.what()));
        }
    }
    std::vector<std::string> cards;
    for (const auto& card : slot->gpus.value) cards.push_back(lower(card.value));
    options.gpus = fmt::format("{}", fmt::join(cards, ","));
    options.ports = parse_ports(slot->ports.value);
    options.share = share_of(*slots, *slot);
    return options;
}

}  // namespace berth::host_agent
