#include "host_agent/program/supervisor.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

#include "base/log.hpp"
#include "host_agent/program/enrolled.hpp"
#include "host_agent/program/slots.hpp"

namespace berth::host_agent {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto start_pause = 2s;     // after one that ended
constexpr auto trouble_pause = 10s;  // after one that could not be started
constexpr timespec tick{.tv_sec = 1, .tv_nsec = 0};

bool is_enrolled_in(const std::string& folder) {
    return std::filesystem::exists(folder + "/identity.json") && holds_machine(StateFolder(folder));
}

class Supervisor {
public:
    explicit Supervisor(const Options& options)
        : options_(options), program_(std::filesystem::read_symlink("/proc/self/exe")) {}

    // Until it is told to end: then the agents are, and what they run goes on without them.
    void run(const sigset_t& awaited) {
        for (int number = 0; number != SIGTERM && number != SIGINT;) {
            take_more();
            for (SlotAgent& agent : agents_) keep(agent);
            number = ::sigtimedwait(&awaited, nullptr, &tick);
            bury();
        }
        for (const SlotAgent& agent : agents_)
            if (agent.process != 0) ::kill(agent.process, SIGTERM);
        for (const SlotAgent& agent : agents_)
            if (agent.process != 0) ::waitpid(agent.process, nullptr, 0);
    }

private:
    struct SlotAgent {
        std::string slot;
        pid_t process = 0;
        steady_clock::time_point not_before{};
        std::string trouble{};  // told once
    };

    void take(const std::string& slot) {
        if (std::ranges::find(agents_, slot, &SlotAgent::slot) == agents_.end())
            agents_.push_back({slot});
    }

    // Slots that their owner added since. One that is named no more is its owner's to leave, but
    // not before its rental is over.
    void take_more() {
        std::string trouble;
        try {
            const Slots slots = find_slots(options_.state).value_or(Slots{});
            for (const Slot& slot : slots.slots.value) take(slot.name.value);
            for (const std::string& name : unnamed_slots(options_.state, slots))
                trouble += fmt::format("{} is a slot still, and named no more; ", name);
        } catch (const std::exception& error) {
            trouble = error.what();
        }
        if (!std::exchange(has_looked_, true))
            for (const std::string& slot : rented_slots(options_.state)) take(slot);
        if (std::exchange(trouble_, trouble) != trouble && !trouble.empty())
            log(Level::error, "slots_file", {{"why", trouble}});
    }

    void keep(SlotAgent& agent) {
        if (agent.process != 0 || steady_clock::now() < agent.not_before) return;
        try {
            Options own = options_;
            own.slot = agent.slot;
            if (!is_enrolled_in(in_slot(own, Use::run).state)) return;
            agent.process = start(agent.slot);
            agent.trouble.clear();
            log(Level::info, "slot_started", {{"slot", agent.slot}, {"process", agent.process}});
        } catch (const std::exception& error) {
            // Of this slot alone: the others go on.
            agent.not_before = steady_clock::now() + trouble_pause;
            if (std::exchange(agent.trouble, error.what()) != error.what())
                log(Level::error, "slot_not_started",
                    {{"slot", agent.slot}, {"why", error.what()}});
        }
    }

    // As this process was started, for one slot; by the program that is installed now, which an
    // upgrade may have replaced. It does not outlive this process, whose next one
    // would find its folder locked.
    pid_t start(const std::string& slot) const {
        std::vector<std::string> words = options_.words;
        words.insert(words.end(), {"--slot", slot});
        std::vector<char*> pointers;
        for (std::string& word : words) pointers.push_back(word.data());
        pointers.push_back(nullptr);
        const pid_t parent = ::getpid();
        const pid_t process = ::fork();
        if (process < 0) throw std::runtime_error("no process can be made");
        if (process != 0) return process;
        sigset_t none;
        sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (::getppid() == parent) ::execv(program_.c_str(), pointers.data());
        ::_exit(1);
    }

    void bury() {
        int status = 0;
        for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;)
            for (SlotAgent& agent : agents_) {
                if (agent.process != ended) continue;
                agent.process = 0;
                agent.not_before = steady_clock::now() + start_pause;
                log(Level::warn, "slot_ended",
                    {{"slot", agent.slot},
                     {"status", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)}});
            }
    }

    const Options& options_;
    const std::string program_;
    std::vector<SlotAgent> agents_;
    bool has_looked_ = false;
    std::string trouble_;  // told once
};

}  // namespace

int supervise(const Options& options) {
    sigset_t awaited;
    sigemptyset(&awaited);
    for (const int number : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&awaited, number);
    ::sigprocmask(SIG_BLOCK, &awaited, nullptr);
    StateFolder state(options.state);
    state.lock();
    log(Level::info, "slots_run", {{"state", state.folder()}});
    Supervisor(options).run(awaited);
    log(Level::info, "slots_end", {{"why", "it was told to"}});
    return 0;
}

}  // namespace berth::host_agent
