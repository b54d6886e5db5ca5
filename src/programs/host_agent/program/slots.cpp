#include "host_agent/program/slots.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "base/ids.hpp"
#include "base/letters.hpp"
#include "gpu/gpu.hpp"
#include "gpu/offered.hpp"
#include "host_agent/core/host.hpp"
#include "host_agent/core/tool.hpp"
#include "host_agent/job/job_record.hpp"
#include "host_agent/program/slot_disk.hpp"

namespace berth::host_agent {
namespace {

namespace files = std::filesystem;

constexpr std::int64_t gib_bytes = std::int64_t{1} << 30;
constexpr std::string_view uuid_prefix = "gpu-";
constexpr std::int64_t pids_usual = 16384;
constexpr std::int64_t pids_least = 256;

bool is_slot_name(const std::string& text) {
    return !text.empty() && !text.starts_with('-') && std::ranges::all_of(text, [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-';
    });
}

// One, of small letters: whatever could be read as two cards, or as the same one in other words, is
// none.
bool is_uuid(std::string_view name) {
    if (!name.starts_with(uuid_prefix) || name.size() == uuid_prefix.size()) return false;
    return std::ranges::all_of(name.substr(uuid_prefix.size()), [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'f') || c == '-';
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
        pids_ += slot.pids ? slot.pids->value : pids_least;
        if (pids_ > computer_.processes)
            refuse("pids", fmt::format("with the slots before it are {}, and the computer has {} "
                                       "for slots",
                                       pids_, computer_.processes));
    }

private:
    [[noreturn]] void refuse(const std::string& member, const std::string& why) const {
        throw std::invalid_argument(fmt::format("{}: {}.{}: {}", path_, at_, member, why));
    }

    // Where a card is on the bus changes with the cards beside it; its uuid is its own for ever.
    void take_cards(const Slot& slot) {
        for (const auto& card : slot.gpus.value) {
            const std::string name = lower(card.value);
            if (!is_uuid(name) && !gpu::simulated_card(name))
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
    std::int64_t pids_ = 0;
};

std::string slot_names(const Slots& slots) {
    std::vector<std::string> names;
    for (const Slot& slot : slots.slots.value) names.push_back(slot.name.value);
    return fmt::format("{}", fmt::join(names, ", "));
}

Share share_of(const Slots& slots, const Slot& slot, const Computer& computer) {
    Share share;
    share.slot = slot.name.value;
    share.number.value = &slot - slots.slots.value.data();
    share.cpus = slot.cpus;
    share.memory_gib = slot.memory_gib;
    share.disk_gib = slot.disk_gib;
    share.network_mbit = slot.network_mbit;
    share.pids.value = slot.pids ? slot.pids->value : usual_pids(slots, computer);
    return share;
}

// What was shared out counts; whether there is as much is not asked.
constexpr Computer boundless{.cpus = std::numeric_limits<std::int64_t>::max(),
                             .memory_bytes = std::numeric_limits<std::int64_t>::max(),
                             .disk_bytes = std::numeric_limits<std::int64_t>::max(),
                             .processes = std::numeric_limits<std::int64_t>::max()};

struct Kept {
    Settings settings;
    bool is_rented = false;
    bool has_agent = false;
};

// What a slot has had since before the file was changed: a rental keeps the cards, ports and bounds
// that it began with, and an agent what it was started with. Its disk is mounted where it has one.
std::optional<Kept> kept_by(const std::string& folder) {
    SlotDisk(folder).mount();
    std::error_code unreadable;
    if (!files::exists(folder + "/identity.json", unreadable)) return std::nullopt;
    const StateFolder state(folder);
    auto identity = state.identity();
    if (!identity || !identity->settings.share) return std::nullopt;
    Kept kept{.settings = std::move(identity->settings),
              .is_rented = !JobRecords(state).all().empty(),
              .has_agent = is_locked(folder)};
    return kept.is_rented || kept.has_agent ? std::optional(std::move(kept)) : std::nullopt;
}

// One that is damaged has nothing that could be known; its own agent says so.
std::optional<Kept> kept_if_readable(const std::string& folder) {
    try {
        return kept_by(folder);
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

std::set<std::string> folders_of_slots(const std::string& folder) {
    std::set<std::string> names;
    std::error_code none;
    for (const auto& entry : files::directory_iterator(folder + "/slots", none)) {
        const bool is_disk = entry.path().extension() == ".disk";
        const std::string name = is_disk ? entry.path().stem() : entry.path().filename();
        if ((is_disk || entry.is_directory(none)) && is_slot_name(name)) names.insert(name);
    }
    return names;
}

Options with_kept(Options options, const Settings& kept) {
    options.gpus = kept.gpus;
    options.ports = Ports{kept.port_first.value, kept.port_last.value};
    options.share = kept.share;
    return options;
}

std::int64_t number_at(const char* path) {
    std::int64_t number = 0;
    const std::string text = read_host_file(path);
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
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
    const std::int64_t processes =
        std::min(number_at("/proc/sys/kernel/pid_max"), number_at("/proc/sys/kernel/threads-max"));
    return {.cpus = cpu_cores(),
            .memory_bytes = ram_bytes().value_or(0),
            .disk_bytes = total - disk_floor(total),
            .processes = processes / 10 * 9};
}

std::int64_t usual_pids(const Slots& slots, const Computer& computer) {
    std::int64_t left = computer.processes;
    std::int64_t sharing = 0;
    for (const Slot& slot : slots.slots.value) {
        left -= slot.pids ? slot.pids->value : 0;
        sharing += slot.pids ? 0 : 1;
    }
    return sharing == 0 ? pids_usual : std::clamp(left / sharing, pids_least, pids_usual);
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
    return read_slots(read_host_file(path), path,
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
    return plain_path(folder) + "/slots/" + slot;
}

std::vector<std::string> rented_slots(const std::string& folder) {
    std::vector<std::string> rented;
    for (const std::string& name : folders_of_slots(folder))
        if (const auto kept = kept_if_readable(slot_folder(folder, name)); kept && kept->is_rented)
            rented.push_back(name);
    return rented;
}

void refuse_held(const Options& slot) {
    const std::vector<std::string> wanted = gpu::parse_names(slot.gpus.value_or(""));
    for (const std::string& name : folders_of_slots(slot.computer)) {
        const std::string folder = slot_folder(slot.computer, name);
        const auto kept = folder == slot.state ? std::nullopt : kept_if_readable(folder);
        if (!kept) continue;
        const auto refuse = [&](const std::string& what) {
            throw std::invalid_argument(fmt::format(
                "{}/slots.json: file.slots: {}.{} the slot {}'s still, which {} since before the "
                "file was changed",
                slot.computer, slot.slot, what, name,
                kept->is_rented ? "is rented" : "has an agent that runs"));
        };
        for (const std::string& card : gpu::parse_names(kept->settings.gpus.value_or("")))
            if (std::ranges::find(wanted, lower(card)) != wanted.end())
                refuse(fmt::format("gpus: {} is", card));
        if (slot.ports && slot.ports->first <= kept->settings.port_last.value &&
            kept->settings.port_first.value <= slot.ports->last)
            refuse(fmt::format("ports: some of {}-{} are", slot.ports->first, slot.ports->last));
    }
}

namespace {

Options as_the_file_says(Options options, const Slots& slots, const Slot& slot, Use use) {
    std::vector<std::string> cards;
    for (const auto& card : slot.gpus.value) cards.push_back(lower(card.value));
    options.gpus = fmt::format("{}", fmt::join(cards, ","));
    options.ports = parse_ports(slot.ports.value);
    options.share = share_of(slots, slot, this_computer(options.computer));
    if (use != Use::looked_at) refuse_held(options);
    if (use != Use::prepared || !has_own_disk(options)) return options;
    try {
        SlotDisk(options.state).open(slot.disk_gib.value);
    } catch (const std::invalid_argument& error) {
        throw std::invalid_argument(fmt::format("{}/slots.json: file.slots[{}].{}",
                                                options.computer, &slot - slots.slots.value.data(),
                                                error.what()));
    }
    return options;
}

Options in_whole(Options options, Use use) {
    if (const auto slots = find_slots(options.state))
        throw std::invalid_argument(fmt::format("--slot: must be one of those of {}/slots.json: {}",
                                                options.state, slot_names(*slots)));
    // Where slots are left the computer is none that could be sold whole.
    std::error_code unreadable;
    if (use == Use::prepared || !files::exists(options.state + "/identity.json", unreadable))
        refuse_unnamed(options.state, {});
    return options;
}

}  // namespace

Options in_slot(Options options, Use use) {
    if (options.slot.empty()) return in_whole(std::move(options), use);
    const std::string path = options.state + "/slots.json";
    if (options.gpus || options.ports)
        throw std::invalid_argument("--gpus and --ports of a slot are in " + path);
    if (!is_slot_name(options.slot))
        throw std::invalid_argument("--slot: must be of a-z, 0-9 and -");
    options.computer = options.state;
    options.state = slot_folder(options.computer, options.slot);
    const auto kept = kept_by(options.state);
    if (kept && (use == Use::looked_at || (use == Use::run && kept->is_rented)))
        return with_kept(std::move(options), kept->settings);
    const auto slots =
        find_slots(options.computer, use == Use::prepared ? Totals::asked : Totals::let_be);
    if (!slots) throw std::invalid_argument("--slot: there is no " + path);
    const auto& all = slots->slots.value;
    const auto slot =
        std::ranges::find(all, options.slot, [](const Slot& each) { return each.name.value; });
    if (slot == all.end())
        throw std::invalid_argument(
            fmt::format("--slot: must be one of those of {}: {}", path, slot_names(*slots)));
    if (use == Use::prepared) refuse_unnamed(options.computer, *slots);
    if (use == Use::prepared && kept) return with_kept(std::move(options), kept->settings);
    make_state_folder(files::path(options.state).parent_path().string());
    return as_the_file_says(std::move(options), *slots, *slot, use);
}

}  // namespace berth::host_agent
