// `berth-agent setup`: from a bare host to a listed machine, and `berth-agent test`.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "base/enum_names.hpp"
#include "host_agent/core/tool.hpp"
#include "host_agent/job/job_record.hpp"
#include "host_agent/program/commands.hpp"
#include "host_agent/program/control.hpp"
#include "host_agent/program/enrolled.hpp"
#include "host_agent/program/equipment.hpp"
#include "host_agent/program/settings_of.hpp"
#include "host_agent/program/status.hpp"
#include "host_agent/qualification/qualification.hpp"

namespace berth::host_agent {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto listing_max = 40min;  // a test may take half an hour
constexpr auto look_every = 1s;

// What goes on is to be seen while it does, in a pipe as well.
void say(const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
}

std::string plain(const std::optional<wire::Json>& value) {
    std::string text = value ? value->text : "";
    if (text.size() > 1 && text.front() == '"') text = text.substr(1, text.size() - 2);
    return text;
}

std::string in_words(const Check& check) {
    const auto summary = agent_protocol::given(check.summary);
    const auto unit = agent_protocol::given(check.unit);
    const auto remedy = agent_protocol::given(check.remediation);
    std::string text = fmt::format("{:<8}{:<20}{}\n", enum_name(check.status), check.id.value,
                                   summary ? summary->value : "");
    const std::string needed = plain(check.required);
    if (!needed.empty())
        text += fmt::format("{:<28}found {}, needed {}{}\n", "", plain(check.actual), needed,
                            unit ? " " + unit->value : "");
    if (remedy && check.status != CheckStatus::pass)
        text += fmt::format("{:<28}to do: {}\n", "", remedy->value);
    return text;
}

// Whether nothing failed.
bool take_test(const StateFolder& state, const Settings& settings, const std::string& server) {
    Equipment equipment(state, settings);
    const TestResult result =
        test_alone({equipment.gpus(), equipment.runtime(), settings, state.folder(), server});
    bool passed = true;
    for (const Check& check : result.checks.value) {
        say(in_words(check));
        passed = passed && check.status != CheckStatus::fail;
    }
    say(passed ? "the host passes what can be tested without a server\n"
               : "the machine would not pass its test: mend what failed, then try again\n");
    return passed;
}

// The cards are filled by it: nobody else may have them meanwhile.
void lock_for_test(StateFolder& state) {
    if (!JobRecords(state).all().empty())
        throw std::runtime_error("this machine is rented: it is tested when nobody is on it");
    try {
        state.lock();
    } catch (const StateLost& lost) {
        throw std::runtime_error(
            fmt::format("{}. While it runs the server tests the machine: berth machines retry-test",
                        lost.what()));
    }
}

bool has_token(const Options& options) {
    return !options.token_file.empty() || std::getenv("BERTH_ENROLL_TOKEN") != nullptr;
}

bool agent_runs(const StateFolder& state) {
    return ask_agent(state.control_path(), "status").has_value();
}

std::string computer_of(const Options& options) {
    return plain_path(options.computer.empty() ? options.state : options.computer);
}

// Whether it runs, or will in a moment.
bool start_agent(const Options& options, const StateFolder& state) {
    if (agent_runs(state)) return true;
    const bool by_service = !options.no_start && std::filesystem::exists("/run/systemd/system") &&
                            computer_of(options) == "/var/lib/berth-agent";
    if (by_service) {
        run_tool_or_throw({.arguments = {"systemctl", "enable", "--now", "berth-agent.service"}});
        return true;
    }
    say(
        fmt::format("start the agent, and run this again to see it listed:\n  berth-agent run "
                    "--state {}\n",
                    computer_of(options)));
    return false;
}

// The last word of the wait, when there is one.
std::optional<int> outcome_of(const agent_protocol::MachineStanding& standing) {
    if (standing.state == "AVAILABLE" || standing.state == "ALLOCATED" ||
        standing.state == "CLEANING")
        return 0;
    if (standing.test == "retrying" || standing.test == "needs_attention") return 1;
    if (standing.state == "QUARANTINED") return 1;
    // Tested, and nobody said that it is to be listed, or something is in the way.
    const bool is_wanted = standing.offer.value && standing.offer.value->state == "listed";
    if (standing.test == "passed") return is_wanted ? 1 : 0;
    return std::nullopt;
}

int wait_for_listing(const StateFolder& state) {
    const auto until = steady_clock::now() + listing_max;
    std::string before;
    for (;;) {
        const ToldStanding told = ask_standing(state);
        const std::string now =
            told.standing ? fmt::format("{}, test: {}", told.standing->state, told.standing->test)
                          : told.trouble;
        if (std::exchange(before, now) != now) say(fmt::format("  {}\n", now));
        const auto outcome = told.standing ? outcome_of(*told.standing) : std::nullopt;
        if (outcome) {
            say("\n" + standing_in_words(*told.standing) + findings_in_words(*told.standing));
            return *outcome;
        }
        if (steady_clock::now() > until)
            throw std::runtime_error(
                "the machine was not listed in time: berth-agent status says "
                "how it stands");
        std::this_thread::sleep_for(look_every);
    }
}

}  // namespace

int test_machine(const Options& options) {
    StateFolder state(options.state);
    const auto identity = state.identity();
    lock_for_test(state);
    const Settings settings = settings_of(options, identity ? identity->settings : Settings{});
    const std::string server =
        options.server.empty() && identity ? identity->server : options.server;
    return take_test(state, settings, server) ? 0 : 1;
}

// Each step is skipped where it was taken already: whoever is interrupted runs it again.
int setup(const Options& options) {
    {
        StateFolder state(options.state);
        if (!holds_machine(state)) {
            say("1. what this host has\n");
            if (doctor(options) != 0) {
                say("mend what is BAD, then run this again\n");
                return 1;
            }
            say("\n2. the machine test, for nobody\n");
            lock_for_test(state);
            if (!take_test(state, settings_of(options, Settings{}), options.server)) return 1;
            if (!has_token(options)) {
                say("\nthe host is ready. Ask for a token where you are signed in, and give it "
                    "with --token-file:\n  berth machines enroll --rate 0.40 --list\n");
                return 0;
            }
        }
    }
    {
        const StateFolder state(options.state);
        if (!holds_machine(state)) {
            say("\n3. enrollment\n");
            enroll(options);
        }
    }
    const StateFolder state(options.state);
    say("\n4. the agent, and the listing\n");
    return start_agent(options, state) ? wait_for_listing(state) : 0;
}

}  // namespace berth::host_agent
