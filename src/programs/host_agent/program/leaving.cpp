#include "host_agent/program/leaving.hpp"

#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "agent_protocol/hashes.hpp"
#include "host_agent/core/slot_group.hpp"
#include "host_agent/core/tool.hpp"
#include "host_agent/job/job_record.hpp"
#include "host_agent/program/commands.hpp"
#include "host_agent/program/control.hpp"
#include "host_agent/program/enrolled.hpp"
#include "host_agent/program/equipment.hpp"
#include "host_agent/program/slot_disk.hpp"
#include "host_agent/program/slots.hpp"

namespace berth::host_agent {
namespace {

namespace files = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* packaged_state = "/var/lib/berth-agent";
constexpr const char* packaged_settings = "/etc/berth-agent";
constexpr const char* service = "berth-agent.service";
constexpr auto end_of_agent_max = 45s;
constexpr auto end_of_group_max = 10s;

bool is_packaged(const StateFolder& state) { return state.folder() == packaged_state; }

bool has_systemd() { return files::exists("/run/systemd/system") && has_tool("systemctl"); }

// Below one of these folders, the innermost first.
std::vector<std::string> mounts_below(const std::vector<std::string>& folders) {
    std::vector<std::string> found;
    std::istringstream lines(read_host_file("/proc/self/mounts"));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string device;
        std::string place;
        words >> device >> place;
        for (const std::string& folder : folders)
            if (place.starts_with(folder + "/")) found.push_back(place);
    }
    std::sort(found.rbegin(), found.rend());
    return found;
}

void remove_folder(const std::string& folder) {
    for (const std::string& place : mounts_below({folder}))
        if (::umount2(place.c_str(), MNT_DETACH) != 0)
            throw std::runtime_error(fmt::format("{} cannot be unmounted", place));
    files::remove_all(folder);
}

// Rules, devices' descriptions, users and settings that are the packaged agent's alone.
void remove_from_host() {
    if (has_tool("nft")) {
        const ToolOutcome tables = run_tool({.arguments = {"nft", "list", "tables"}});
        std::istringstream lines(tables.output);
        std::string table;
        std::string family;
        for (std::string name; lines >> table >> family >> name;)
            if (family == "inet" && name.starts_with("berth_"))
                run_tool_or_throw({.arguments = {"nft", "delete", "table", family, name}});
    }
    if (files::exists("/var/run/cdi"))
        for (const auto& entry : files::directory_iterator("/var/run/cdi"))
            if (entry.path().filename().string().starts_with("berth-")) files::remove(entry.path());
    if (run_tool({.arguments = {"getent", "passwd", "berth-front"}}).good())
        run_tool_or_throw({.arguments = {"userdel", "berth-front"}});
    files::remove("/run/berth-agent-user.lock");
    files::remove_all(packaged_settings);
}

// The agent that holds the folder, if the service manager has it, ends now: its machine is gone.
void take_lock(StateFolder& state) {
    const auto until = std::chrono::steady_clock::now() + end_of_agent_max;
    for (;;) {
        try {
            return state.lock();
        } catch (const StateLost&) {
            if (std::chrono::steady_clock::now() > until) throw;
            // That of a slot would be started again: not before its folder is ours.
            ask_agent(state.control_path(), "end");
        }
        std::this_thread::sleep_for(200ms);
    }
}

void refuse_while_rented(const StateFolder& state) {
    const auto jobs = JobRecords(state).all();
    if (jobs.empty()) return;
    throw std::runtime_error(fmt::format(
        "this machine is rented (job {}): take it off the market with `berth-agent drain`, and "
        "leave when the rental is over and cleaned",
        to_string(jobs.front().job_id)));
}

// True when the server knew the machine.
bool end_enrollment(Identity& identity) {
    const SystemBootClock clock;
    http::CurlClient client;
    Link link(client, clock, identity);
    const http::Response response =
        send_by_either_key(link, identity, {.target = "/api/v1/host-agent/leave"});
    if (response.status != 204 && response.status != 401)
        throw std::runtime_error(
            fmt::format("the server refused ({}): {}", response.status, response.body));
    return response.status == 204;
}

}  // namespace

namespace {

// Who watched a container, or stood before an endpoint, ends a moment after it.
void remove_group(const SlotGroup& group) {
    const auto until = std::chrono::steady_clock::now() + end_of_group_max;
    while (!group.remove() && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(20ms);
}

}  // namespace

void remove_traces(StateFolder& state, const Settings& settings) {
    try {
        Equipment equipment(state, settings);
        for (const JobId job : equipment.runtime().present()) {
            Workload workload;
            workload.job = job;
            workload.folder = JobRecords(state).folder(job);
            equipment.runtime().clean(workload);
        }
    } catch (const std::invalid_argument&) {
        // Settings that make no sense any more keep nobody from leaving.
    }
    remove_folder(run_folder(state.folder()));
    if (is_packaged(state)) remove_from_host();
    for (const std::string& place : mounts_below({state.folder()}))
        if (::umount2(place.c_str(), MNT_DETACH) != 0)
            throw std::runtime_error(fmt::format("{} cannot be unmounted", place));
    for (const auto& entry : files::directory_iterator(state.folder()))
        if (entry.path().filename() != "identity.json" && entry.path().filename() != "lock")
            files::remove_all(entry.path());
    // The lock last: nobody starts an agent of what is being removed.
    files::remove(state.folder() + "/identity.json");
    files::remove(state.folder() + "/lock");
    if (settings.share) {
        remove_group(SlotGroup(state.folder()));
        SlotDisk(state.folder()).remove();
    }
    files::remove(state.folder());
    agent_protocol::sync_folder(files::path(state.folder()).parent_path().string());
}

namespace {

void stop_service() { run_tool({.arguments = {"systemctl", "disable", "--now", service}}); }

// Of a slot that no machine was made of the server knows nothing.
int give_back(StateFolder& state, const Options& options) {
    state.lock();
    Settings without_jobs;
    without_jobs.runtime = "process";
    without_jobs.share = options.share;
    remove_traces(state, without_jobs);
    fmt::print("no machine was made of this slot: its disk is given back\n");
    return 0;
}

int leave_machine(const Options& options) {
    StateFolder state(options.state);
    const bool is_slot = !options.computer.empty();
    if (is_slot && !holds_machine(state)) return give_back(state, options);
    Identity identity = enrolled_identity(state);
    const bool by_service = is_packaged(state) && has_systemd();
    if (!by_service && !is_slot) state.lock();
    refuse_while_rented(state);
    const bool was_known = end_enrollment(identity);
    if (by_service) stop_service();
    if (by_service || is_slot) take_lock(state);
    remove_traces(state, identity.settings);
    fmt::print("{}\n", was_known ? "left: the machine's key is dead"
                                 : "the server did not know this machine any more; it is forgotten "
                                   "here");
    return 0;
}

// What the slots had in common goes with the last of them.
int leave_all(const Options& options, const Slots& slots) {
    StateFolder state(options.state);
    const bool by_service = is_packaged(state) && has_systemd();
    if (!by_service) state.lock();
    refuse_unnamed(options.state, slots);
    std::vector<Options> there;
    for (const Slot& slot : slots.slots.value) {
        Options own = options;
        own.slot = slot.name.value;
        own = in_slot(own, Use::looked_at);
        if (!files::exists(own.state)) continue;
        refuse_while_rented(StateFolder(own.state));
        there.push_back(std::move(own));
    }
    for (const Options& own : there) leave_machine(own);
    if (by_service) stop_service();
    if (by_service) take_lock(state);
    Settings without_jobs;  // none was the computer's own
    without_jobs.runtime = "process";
    remove_traces(state, without_jobs);
    return 0;
}

}  // namespace

int leave(const Options& options) {
    const auto slots = find_slots(options.state);
    if (slots && options.slot.empty()) return leave_all(options, *slots);
    return leave_machine(in_slot(options, Use::looked_at));
}

}  // namespace berth::host_agent
