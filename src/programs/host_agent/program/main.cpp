// berth-agent: turns a machine with a GPU into supply.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/version.hpp"
#include "gpu/gpu.hpp"
#include "host_agent/access/ssh.hpp"
#include "host_agent/program/commands.hpp"
#include "host_agent/runtimes/shim.hpp"
#include "host_agent/runtimes/toy_engine.hpp"

namespace {

using namespace berth::host_agent;

constexpr int exit_failed = 1;
constexpr int exit_bad_options = 2;

void add_state(CLI::App& command, Options& options) {
    command.add_option("--state", options.state,
                       "folder of identity, counters and jobs [" + options.state + "]");
}

void add_host(CLI::App& command, Options& options) {
    command.add_option("--mode", options.mode, "dedicated, idle or colisted [dedicated]");
    command.add_option("--public-host", options.public_host,
                       "name or address under which jobs are reached from outside");
    command.add_option_function<std::string>(
        "--ports",
        [&options](const std::string& text) {
            options.ports = parse_ports(text);
            if (!options.ports)
                throw CLI::ValidationError("--ports", "must be FIRST-LAST, within 1024-65535");
        },
        "ports that jobs may use, open to the world [40000-40099]");
    command.add_option("--runtime", options.runtime,
                       "what runs jobs: podman, process or simulated [podman]");
    command.add_option("--simulate-gpu", options.simulate_gpu,
                       "for development: a GPU of this model that is not there, as \"RTX 4090\"");
    command.add_option("--engines", options.engines,
                       "table of engines for --runtime process (JSON)");
    command.add_option("--ca-file", options.ca_file,
                       "certificates that the server's is judged by [the system's]");
}

void add_policy(CLI::App& command, Options& options) {
    command.add_option(
        "--policy", options.policy,
        "what its owner allows, whatever the server says (JSON) [" + options.policy + "]");
}

int run_engine(std::int64_t port, const std::string& key_file) {
    ToyEngineOptions options{port, ""};
    if (const char* key = std::getenv("BERTH_API_KEY")) options.key = key;
    if (!key_file.empty()) {
        std::ifstream file(key_file);
        if (!std::getline(file, options.key))
            throw std::invalid_argument(key_file + ": has no key");
    }
    return run_toy_engine(options);
}

int run_program(int count, char** words) {
    Options options;
    std::function<int()> chosen;
    CLI::App program("The Berth host agent: rents out this machine's GPUs.", "berth-agent");
    program.require_subcommand(1);
    program.set_version_flag("--version", berth::name_and_version("berth-agent"));
    const auto add = [&](const char* name, const char* help, int (*command)(const Options&)) {
        CLI::App* const sub = program.add_subcommand(name, help);
        add_state(*sub, options);
        sub->callback([&chosen, &options, command] {
            chosen = [&options, command] { return command(options); };
        });
        return sub;
    };
    CLI::App* const enrolling = add("enroll", "make this machine known to a server", enroll);
    enrolling->add_option("--server", options.server, "its address, https")->required();
    enrolling->add_option("--token-file", options.token_file,
                          "file with the enrollment token; - is standard input. Without it: "
                          "BERTH_ENROLL_TOKEN, else standard input");
    add_host(*enrolling, options);
    CLI::App* const running = add("run", "serve jobs until told to end", run);
    add_host(*running, options);
    add_policy(*running, options);
    running->add_option("--clock-file", options.clock_file,
                        "for development: the clock of a simulated server");
    add("status", "tell how it stands", status);
    add("preempt", "give the running job notice", preempt)
        ->add_option("--reason", options.reason, "for the renter");
    CLI::App* const examining = add("doctor", "tell what is missing on this host", doctor);
    examining->add_option("--server", options.server, "also whether this server can be reached");
    add_host(*examining, options);
    add_policy(*examining, options);
    add("leave", "end this machine's enrollment", leave);
    add("mend-fence", "take the server's fence in place of ours, when the two are too far apart",
        mend_fence);

    std::int64_t port = 0;
    std::string key_file;
    CLI::App* const toy = program.add_subcommand(
        "engine", "a toy engine with the OpenAI API, to try things without a GPU");
    toy->add_option("--port", port, "of loopback; 0 takes a free one [0]");
    toy->add_option("--key-file", key_file, "the key it wants [BERTH_API_KEY]");
    toy->callback([&] { chosen = [&] { return run_engine(port, key_file); }; });
    program.add_subcommand("shim", "what the agent starts engines with")->group("")->callback([&] {
        chosen = [] { return run_shim(STDIN_FILENO, STDOUT_FILENO); };
    });
    CLI::App* const worker =
        program.add_subcommand("gpu-worker", "what the agent asks GPUs with")->group("");
    worker->prefix_command();
    worker->callback(
        [&] { chosen = [worker] { return berth::gpu::run_worker(worker->remaining()); }; });
    std::string socket;
    CLI::App* const entering =
        program.add_subcommand("ssh-enter", "what sshd starts for a job's renter")->group("");
    entering->add_option("socket", socket)->required();
    entering->callback([&] { chosen = [&] { return enter_by_ssh(socket); }; });
    CLI11_PARSE(program, count, words);
    return chosen();
}

}  // namespace

int main(int count, char** words) {
    try {
        return run_program(count, words);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr, "berth-agent: {}\n", error.what());
        return exit_bad_options;
    } catch (const std::exception& error) {
        fmt::print(stderr, "berth-agent: {}\n", error.what());
        return exit_failed;
    }
}
