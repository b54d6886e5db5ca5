// Everything the server can be asked has a command, and every command asks something that is there.
#include <gtest/gtest.h>

#include <set>

#include "base/letters.hpp"
#include "cli/command.hpp"
#include "cli/describe.hpp"
#include "cli/reading.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

struct LeftOut {
    std::string_view begins;
    std::string_view why;
};
constexpr LeftOut left_out[] = {
    {"GET /\n", "a page for browsers"},
    {"GET /docs", "a page for browsers"},
    {"GET /sign-in", "a page for browsers"},
    {"GET /terms", "a page for browsers"},
    {"GET /assets/{name}", "a file of a page for browsers"},
    {"GET /branding", "a file of a page for browsers"},
    {"GET /api/v1/branding", "how a page for browsers looks"},
    {"POST /api/v1/simulated/faucet", "of the page of a simulated server"},
    {"GET /api/v1/simulated/mail", "of the page of a simulated server"},
    {"GET /confirm/{confirmation_id}", "a page for browsers"},
    {"GET /recovery/{id}", "a page for browsers"},
    {"GET /api/v1/events/stream", "for programs; `berth events --follow` waits at the page"},
    {"GET /api/v1/admin/events/stream", "for programs; `berth admin events --follow` likewise"},
    {"POST /api/v1/host-agent/", "what machines say, signed with their own keys"},
    {"GET /api/v1/host-agent/", "what machines ask, signed with their own keys"},
    {"POST /api/v1/gate/", "what gates report, signed with their own keys"},
};

bool is_of(const std::string& operation, const LeftOut& each) {
    return (operation + "\n").starts_with(each.begins);
}
bool is_left_out(const std::string& operation) {
    return std::any_of(std::begin(left_out), std::end(left_out),
                       [&](const LeftOut& each) { return is_of(operation, each); });
}

std::set<std::string> operations() {
    const cli::Reading spec(read_text(BERTH_SOURCE_DIR "/openapi.json"));
    std::set<std::string> all;
    for (const auto& [path, about] : spec.members(*spec.find("paths")))
        for (const auto& [method, operation] : spec.members(about)) {
            std::string name(method);
            std::transform(name.begin(), name.end(), name.begin(), to_upper);
            all.insert(name + " " + std::string(path));
        }
    return all;
}

std::set<std::string> commanded() {
    std::set<std::string> all;
    for (const cli::Command* command : cli::all_commands()) {
        if (!command->method.empty())
            all.insert(std::string(command->method) + " " + std::string(command->path));
        for (std::string_view rest = command->uses; !rest.empty();) {
            const std::size_t comma = std::min(rest.find(", "), rest.size());
            all.insert(std::string(rest.substr(0, comma)));
            rest.remove_prefix(std::min(comma + 2, rest.size()));
        }
    }
    return all;
}

TEST(Commands, AreThereForEveryOperation) {
    const auto has = commanded();
    for (const std::string& operation : operations())
        EXPECT_NE(has.contains(operation), is_left_out(operation)) << operation;
}

TEST(Commands, AreLeftOutOnlyForWhatIsThere) {
    const auto all = operations();
    for (const LeftOut& each : left_out)
        EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const std::string& one) {
            return is_of(one, each);
        })) << each.begins;
}

TEST(Commands, AskForNothingThatIsNotThere) {
    const auto there = operations();
    for (const std::string& operation : commanded())
        EXPECT_TRUE(there.contains(operation)) << operation;
}

TEST(Commands, HaveHelpAndNamesOfTheirOwn) {
    std::set<std::string_view> names;
    for (const cli::Command* command : cli::all_commands()) {
        EXPECT_TRUE(names.insert(command->words).second) << command->words;
        EXPECT_FALSE(command->help.empty()) << command->words;
        std::set<std::string> flags;
        for (const cli::Flag& flag : cli::flags_of(*command))
            EXPECT_TRUE(flags.insert(flag.name).second) << command->words << " --" << flag.name;
        for (const cli::Flag& flag : cli::flags_of(*command))
            EXPECT_FALSE(flag.secret && !flag.name.ends_with("-file")) << flag.name;
    }
}

TEST(Commands, AreToldToAgentsWhole) {
    const cli::Reading all(cli::everything_as_json());
    const auto commands = all.items(*all.find("commands"));
    EXPECT_EQ(commands.size(), cli::all_commands().size());
    EXPECT_EQ(all.items(*all.find("exit_codes")).size(), cli::exit_meanings.size());
    for (const auto each : commands) {
        if (all.text("command", each) != "berth rentals wait") continue;
        EXPECT_EQ(all.text("flags", each),
                  R"([{"name":"--for","value":"STATE","help":"running, stopped, closed, or )"
                  R"(another state","default":"running","required":false},{"name":"--timeout",)"
                  R"("value":"DURATION","help":"how long to wait","default":"10m",)"
                  R"("required":false}])");
    }
}

TEST(Commands, ShowHowAQuestionIsAnsweredWithNo) {
    for (const cli::Command* command : cli::all_commands()) {
        if (command->words != "machines custom-images") continue;
        const std::string help = cli::help_of(*command, cli::flags_of(*command));
        EXPECT_NE(help.find("--accept[=false]  "), std::string::npos) << help;
    }
}

TEST(Commands, AreCompleted) {
    EXPECT_EQ(cli::completions({"ren"}), "rentals\n");
    EXPECT_EQ(cli::completions({"rentals", "s"}), "show\nssh\nstop\n");
    EXPECT_EQ(cli::completions({"rentals", "wait", "--t"}), "--timeout\n");
    EXPECT_EQ(cli::completions({"nonsense", ""}), "");
}

}  // namespace
}  // namespace berth::test
