// berth-agent: turns a machine with a GPU into supply.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/version.hpp"
#include "gpu/gpu.hpp"
#include "host_agent/access/front_process.hpp"
#include "host_agent/access/ssh.hpp"
#include "host_agent/access/ssh_listener.hpp"
#include "host_agent/program/commands.hpp"
#include "host_agent/program/slots.hpp"
#include "host_agent/runtimes/shim.hpp"
#include "host_agent/runtimes/toy_engine.hpp"

namespace {

using namespace berth::host_agent;

constexpr int exit_failed = 1;
constexpr int exit_bad_options = 2;

void add_state(CLI::App& command, Options& options) {
    command.add_option("--state", options.state,
                       "folder of identity, counters and jobs [" + options.state + "]");
    command.add_option("--slot", options.slot,
                       "of a computer that is sold in slots (slots.json in that folder): which");
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
    command.add_option("--gpus", options.gpus,
                       "which GPUs are offered, by bus address or uuid, with commas between them "
                       "[all that can be rented out]");
    command.add_option("--driver-root", options.driver_root,
                       "where the GPU driver's files are, if not where they always are");
    command
        .add_option("--store-gib", options.store_gib,
                    "how much images may take of the disk [a third of it]")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
    command
        .add_option("--gate", options.gate,
                    "whether jobs are reached by a gate of the server, which needs no open port: "
                    "auto (where this host's own ports do not answer from outside), always or "
                    "never [auto]")
        ->check(CLI::IsMember({"auto", "always", "never"}));
    command.add_flag("--gate-tls", options.gate_tls,
                     "call gates by TLS alone, for networks that pass nothing else");
    command.add_option("--allow-registry", options.allow_registry,
                       "for development: NAME:PORT=ADDRESS:PORT, a registry of images in this "
                       "host's own network, and where it is");
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

// As what the agent starts itself; nobody types these.
struct Inner {
    uid_t front_user = 0;
    std::string socket;
    std::string folder;
};

void add_inner(CLI::App& program, Inner& inner, std::function<int()>& chosen) {
    const auto add = [&](const char* name, const char* help) {
        return program.add_subcommand(name, help)->group("");
    };
    add("shim", "what the agent starts engines with")->callback([&] {
        chosen = [] { return run_shim(STDIN_FILENO, STDOUT_FILENO); };
    });
    CLI::App* const worker = add("gpu-worker", "what the agent asks GPUs with");
    worker->prefix_command();
    worker->callback([&chosen, worker] {
        chosen = [worker] { return berth::gpu::run_worker(worker->remaining()); };
    });
    CLI::App* const front = add("front", "what the agent lets strangers speak to");
    front->add_option("--user", inner.front_user)->required();
    front->callback([&] { chosen = [&] { return run_front(front_socket, inner.front_user); }; });
    CLI::App* const listening = add("ssh-listen", "what listens for a job's renter");
    listening->add_option("folder", inner.folder)->required();
    listening->callback([&] { chosen = [&] { return start_ssh_listener(inner.folder); }; });
    CLI::App* const entering = add("ssh-enter", "what sshd starts for a job's renter");
    entering->add_option("socket", inner.socket)->required();
    // It ends at once: a sanitizer would look for /proc, which there is none of where sshd lives.
    entering->callback([&] { chosen = [&]() -> int { ::_exit(enter_by_ssh(inner.socket)); }; });
}

// What was typed is carried out once all of it was read.
using Chosen = std::function<int()>;

// Told of all that was typed, as what is for a whole computer is.
CLI::App* add_whole(CLI::App& program, Options& options, Chosen& chosen, const char* name,
                    const char* help, const std::function<int(const Options&)>& command) {
    CLI::App* const sub = program.add_subcommand(name, help);
    add_state(*sub, options);
    sub->callback([&chosen, &options, command] {
        chosen = [&options, command] { return command(options); };
    });
    return sub;
}

void add_commands(CLI::App& program, Options& options, Chosen& chosen) {
    const auto add_all = [&](const char* name, const char* help, int (*command)(const Options&)) {
        return add_whole(program, options, chosen, name, help, command);
    };
    // Of one machine: the computer, or the slot that is named.
    const auto add = [&](const char* name, const char* help, int (*command)(const Options&),
                         Use use = Use::looked_at) {
        return add_whole(
            program, options, chosen, name, help,
            [command, use](const Options& given) { return command(in_slot(given, use)); });
    };
    CLI::App* const enrolling =
        add("enroll", "make this machine known to a server", enroll, Use::prepared);
    enrolling->add_option("--server", options.server, "its address, https")->required();
    enrolling->add_option("--token-file", options.token_file,
                          "file with the enrollment token; - is standard input. Without it: "
                          "BERTH_ENROLL_TOKEN, else standard input");
    add_host(*enrolling, options);
    CLI::App* const running = add_all("run", "serve jobs until told to end", run);
    add_host(*running, options);
    add_policy(*running, options);
    running->add_option("--clock-file", options.clock_file,
                        "for development: the clock of a simulated server");
    add_all("status", "tell how it stands: rented or not, earned, cards, what to do", status);
    CLI::App* const reading = add_all("logs", "show what the agent logged, by journalctl", logs);
    reading->add_option("--lines", options.lines, "how many of the last lines [100]")
        ->check(CLI::Range(1, 1'000'000));
    reading->add_flag("--follow,-f", options.follow, "go on with what comes");
    add("drain", "take no other rental; one that runs goes on", drain);
    add("preempt", "give the running job notice", preempt)
        ->add_option("--reason", options.reason, "for the renter");
    CLI::App* const examining =
        add("doctor", "tell what is missing on this host", doctor, Use::prepared);
    examining->add_option("--server", options.server, "also whether this server can be reached");
    add_host(*examining, options);
    add_policy(*examining, options);
    add_all("leave", "end this machine's enrollment and remove all that the agent has here", leave);
    CLI::App* const testing =
        add("test", "take the machine test as far as it goes without a server", test_machine,
            Use::prepared);
    testing->add_option("--server", options.server, "whose network jobs are to reach");
    add_host(*testing, options);
    CLI::App* const preparing =
        add("setup", "look at this host, test it, enroll it, start the agent, wait for the listing",
            setup, Use::prepared);
    preparing->add_option("--server", options.server, "its address, https")->required();
    preparing->add_option("--token-file", options.token_file,
                          "file with the enrollment token; - is standard input. Without it: "
                          "BERTH_ENROLL_TOKEN");
    preparing->add_flag("--no-start", options.no_start, "leave it to others to start the agent");
    add_host(*preparing, options);
    add_policy(*preparing, options);
    add("mend-fence", "take the server's fence in place of ours, when the two are too far apart",
        mend_fence);
}

int run_program(int count, char** words) {
    Options options;
    options.words.assign(words, words + count);
    Chosen chosen;
    CLI::App program("The Berth host agent: rents out this machine's GPUs.", "berth-agent");
    program.require_subcommand(1);
    program.set_version_flag("--version", berth::name_and_version("berth-agent"));
    add_commands(program, options, chosen);
    std::int64_t port = 0;
    std::string key_file;
    CLI::App* const toy = program.add_subcommand(
        "engine", "a toy engine with the OpenAI API, to try things without a GPU");
    toy->add_option("--port", port, "of loopback; 0 takes a free one [0]");
    toy->add_option("--key-file", key_file, "the key it wants [BERTH_API_KEY]");
    toy->callback([&] { chosen = [&] { return run_engine(port, key_file); }; });
    Inner inner;
    add_inner(program, inner, chosen);
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
