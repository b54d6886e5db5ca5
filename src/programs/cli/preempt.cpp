#include "cli/preempt.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/json_text.hpp"
#include "base/program.hpp"
#include "cli/special.hpp"
#include "cli/ssh_key.hpp"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view packaged_state = "/var/lib/berth-agent";
constexpr std::string_view default_reason = "the owner needs the machine";
constexpr std::string_view refusal = "refused by the server (";

// Beside this program, as a build and a package put it, else wherever PATH has it.
ProgramEnd ask_agent(const std::vector<std::string>& words) {
    const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path() / "berth-agent";
    ProgramCall call{.arguments = {fs::exists(beside) ? beside.string() : "berth-agent"}};
    call.arguments.insert(call.arguments.end(), words.begin(), words.end());
    return run_program(call);
}

// The API's own error where the server refused.
Failure agent_failure(const std::string& said) {
    const std::size_t body = said.find("): ");
    if (!said.starts_with(refusal) || body == said.npos)
        return {said.starts_with("no job") ? Exit::conflict : Exit::unexpected, said};
    const std::string status = said.substr(refusal.size(), body - refusal.size());
    return {exit_of_status(std::stoi(status)), said, said.substr(body + 3)};
}

}  // namespace

std::string find_agent_state(const std::string& home, const std::string& machine) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(fs::path(home).parent_path() / "hosts", none)) {
        std::ifstream file(entry.path() / "machine");
        std::string line;
        if (std::getline(file, line) && line == machine) return (entry.path() / "state").string();
    }
    return std::string(packaged_state);
}

std::string give_notice(const std::string& state, const std::string& reason) {
    const ProgramEnd end = ask_agent({"preempt", "--state", state, "--reason", reason});
    std::string said = end.output + end.errors;
    while (said.ends_with('\n')) said.pop_back();
    if (!end.ok()) throw agent_failure(said);
    return said;
}

int preempt_machine(Context& context) {
    if (context.is_rehearsal())
        throw Failure(Exit::usage, "nothing is sent to the server: the machine's agent does it");
    const std::string& machine = context.arguments().operands[0];
    const std::string reason = context.arguments().get("reason", default_reason);
    if (holds_private_key(reason))
        throw Failure(Exit::usage, "--reason: a private key is for nobody; no notice was given");
    const std::string state = context.arguments().has("state")
                                  ? context.arguments().get("state")
                                  : find_agent_state(context.profiles().folder(), machine);
    const ProgramEnd status = ask_agent({"status", "--state", state});
    if (!status.ok() || status.output.find("\nmachine " + machine + "\n") == std::string::npos)
        throw Failure(Exit::usage,
                      fmt::format("no agent of machine {} runs here with its state in {}. The "
                                  "notice is given on the machine itself, as the agent's user: "
                                  "berth-agent preempt --reason \"…\"",
                                  printable(machine), printable(state)));
    const std::string said = give_notice(state, reason);
    std::string text;
    append_json_string(text, said);
    context.print_own(fmt::format("{{\"said\":{}}}", text), said + "\n");
    return 0;
}

}  // namespace berth::cli
