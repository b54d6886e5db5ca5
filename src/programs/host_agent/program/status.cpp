#include "host_agent/program/status.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/enum_names.hpp"
#include "host_agent/core/reach_words.hpp"
#include "host_agent/job/job_record.hpp"
#include "host_agent/program/commands.hpp"
#include "host_agent/program/control.hpp"
#include "host_agent/program/enrolled.hpp"
#include "host_agent/program/equipment.hpp"
#include "host_agent/program/settings_of.hpp"
#include "host_agent/program/slots.hpp"

namespace berth::host_agent {
namespace {

using agent_protocol::MachineStanding;

constexpr std::size_t name_width = 10;

// A text of the server's, without what would steer a terminal.
std::string shown(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    return text;
}

std::string row(std::string_view name, const std::string& text) {
    return fmt::format("{:<{}}{}\n", name, name_width, shown(text));
}

std::string moment(Time time) {
    const std::string text = to_rfc3339(time);
    return text.substr(0, 10) + " " + text.substr(11, 5) + " UTC";
}

std::string rental_in_words(const MachineStanding& standing) {
    if (!standing.rental.value) return "not rented";
    const auto& rental = *standing.rental.value;
    const std::string since =
        fmt::format("{} ({})", moment(rental.since), span_in_words(standing.as_of - rental.since));
    if (!rental.ready)
        return fmt::format("reserved since {}; it is not up yet, and not paid", since);
    return fmt::format("rented since {}, at {} an hour, {} earned with it so far", since,
                       money_in_words(rental.rate_micro_per_hour),
                       money_in_words(rental.earned_micro));
}

std::string offer_in_words(const MachineStanding& standing) {
    if (!standing.offer.value) return "none was published";
    const auto& offer = *standing.offer.value;
    return fmt::format("{}, {} an hour, until {}", offer.state,
                       money_in_words(offer.rate_micro_per_hour), moment(offer.available_until));
}

template <class T>
std::string or_dash(const std::optional<T>& value, std::string_view unit) {
    return value ? fmt::format("{:.0f} {}", *value, unit) : std::string("-");
}

std::string memory_in_words(const agent_protocol::GpuTelemetry& sample) {
    constexpr double gibibyte = 1 << 30;
    if (!sample.memory_used_bytes || !sample.memory_total_bytes) return "-";
    return fmt::format("{:.1f} of {:.1f} GiB",
                       static_cast<double>(sample.memory_used_bytes->value) / gibibyte,
                       static_cast<double>(sample.memory_total_bytes->value) / gibibyte);
}

std::string power_in_words(const agent_protocol::GpuTelemetry& sample) {
    if (!sample.power_w) return "-";
    if (!sample.power_limit_w) return fmt::format("{:.0f} W", *sample.power_w);
    return fmt::format("{:.0f} of {:.0f} W", *sample.power_w, *sample.power_limit_w);
}

}  // namespace

std::string money_in_words(Micro amount) {
    const std::int64_t micro = amount.value < 0 ? -amount.value : amount.value;
    const std::int64_t rest = micro % 1'000'000;
    const std::string sign = amount.value < 0 ? "-" : "";
    return rest % 100 == 0 ? fmt::format("{}{}.{:04}", sign, micro / 1'000'000, rest / 100)
                           : fmt::format("{}{}.{:06}", sign, micro / 1'000'000, rest);
}

std::string span_in_words(Duration span) {
    const std::int64_t seconds =
        std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(span).count());
    if (seconds < 60) return fmt::format("{} s", seconds);
    if (seconds < 3600) return fmt::format("{} min", seconds / 60);
    if (seconds < 172'800)
        return fmt::format("{} h {:02} min", seconds / 3600, seconds % 3600 / 60);
    return fmt::format("{} days {} h", seconds / 86'400, seconds % 86'400 / 3600);
}

std::string standing_in_words(const MachineStanding& standing) {
    std::string text =
        row("state", standing.state + (standing.label.value ? ", called " + *standing.label.value
                                                            : std::string()));
    text += row("rental", rental_in_words(standing));
    text += row("earned", fmt::format("{} today, {} this month (booked, by UTC)",
                                      money_in_words(standing.earned_today_micro.value),
                                      money_in_words(standing.earned_month_micro.value)));
    text += row("offer", offer_in_words(standing));
    text += row("test", standing.test);
    text += row("reach", in_words(standing.reach, standing.reach_why.value));
    return text;
}

std::string findings_in_words(const MachineStanding& standing) {
    std::string text;
    for (const auto& finding : standing.findings)
        text += fmt::format("  {} {}\n    {}\n",
                            finding.severity == agent_protocol::Severity::blocker ? "!" : "-",
                            shown(finding.code), shown(finding.message));
    return text.empty() ? text : "\nto do\n" + text;
}

std::string cards_in_words(const gpu::Inventory& inventory,
                           const std::vector<agent_protocol::GpuTelemetry>& samples) {
    std::string text =
        fmt::format("\n{:<34}{:>7}{:>8}{:>15}  {}\n", "card", "load", "heat", "power", "memory");
    for (const auto& card : inventory.gpus) {
        agent_protocol::GpuTelemetry sample;
        for (const auto& each : samples)
            if (each.pci_address && each.pci_address->value == card.pci_address.value)
                sample = each;
        const std::string model = card.model.value ? card.model.value->value : "unknown";
        text += fmt::format("{:<34}{:>7}{:>8}{:>15}  {}\n", model.substr(0, 33),
                            or_dash(sample.util_pct, "%"), or_dash(sample.temperature_c, "C"),
                            power_in_words(sample), memory_in_words(sample));
    }
    return inventory.gpus.empty() ? "\nno card is there\n" : text;
}

namespace {

int status_of_machine(const Options& options) {
    const StateFolder state(options.state);
    const auto said = ask_agent(state.control_path(), "status");
    const Identity identity = enrolled_identity(state);
    std::string text = said ? "running\n" + *said
                            : fmt::format("not running\nmachine {}\nserver {}\n",
                                          to_string(*identity.machine_id), identity.server);
    if (!said)
        for (const JobRecord& record : JobRecords(state).all())
            text += fmt::format("job {} {}\n", to_string(record.job_id), enum_name(record.phase));
    while (text.ends_with("\n\n")) text.pop_back();
    const ToldStanding told = ask_standing(state);
    text += "\n" + (told.standing ? standing_in_words(*told.standing)
                                  : row("standing", "unknown: " + told.trouble));
    const auto cards = make_gpus(state, settings_of(options, identity.settings));
    text += cards_in_words(cards->inventory(), cards->telemetry());
    if (told.standing) text += findings_in_words(*told.standing);
    fmt::print("{}", text);
    return said ? 0 : 3;
}

}  // namespace

int status(const Options& options) {
    const auto slots = find_slots(options.state);
    if (!slots || !options.slot.empty()) return status_of_machine(in_slot(options, Use::looked_at));
    int worst = 0;
    for (const Slot& slot : slots->slots.value) {
        fmt::print("{}slot {}\n", &slot == slots->slots.value.data() ? "" : "\n", slot.name.value);
        Options own = options;
        own.slot = slot.name.value;
        try {
            worst = std::max(worst, status_of_machine(in_slot(own, Use::looked_at)));
        } catch (const std::exception& error) {
            fmt::print("{}\n", error.what());
            worst = std::max(worst, 3);
        }
    }
    return worst;
}

int drain(const Options& options) {
    const StateFolder state(options.state);
    Identity identity = enrolled_identity(state);
    const SystemBootClock clock;
    http::CurlClient client;
    Link link(client, clock, identity);
    const http::Response response =
        send_by_either_key(link, identity, {.target = "/api/v1/host-agent/drain"});
    const ToldStanding told = read_standing(response);
    if (!told.standing)
        throw std::runtime_error(fmt::format("{}: {}", told.trouble, shown(response.body)));
    fmt::print("{}\n", told.standing->rental.value
                           ? "taken off the market; the rental goes on, and no other follows"
                           : "taken off the market");
    fmt::print("{}", standing_in_words(*told.standing));
    return 0;
}

int logs(const Options& options) {
    const auto mark_of = [](const std::string& slot) {
        return fmt::format(R"("slot":"{}")", slot);  // in what the agents of slots log
    };
    std::vector<std::string> words{"journalctl", "--unit", "berth-agent", "--lines",
                                   std::to_string(options.lines)};
    if (options.follow) words.emplace_back("--follow");
    if (!options.slot.empty()) words.insert(words.end(), {"--grep", mark_of(options.slot)});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    throw std::runtime_error(fmt::format(
        "journalctl cannot be started ({}): without systemd the agent logs to its standard error, "
        "wherever whoever started it has put that",
        std::strerror(errno)));
}

}  // namespace berth::host_agent
