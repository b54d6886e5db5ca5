#include "gpu/proving_child.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <csignal>
#include <iostream>
#include <stdexcept>

#include "base/problem.hpp"
#include "base/talk.hpp"
#include "gpu/prover.hpp"
#include "wire/open.hpp"

namespace berth::gpu {
namespace {

using agent_protocol::NamedBlock;
using agent_protocol::Shown;
using namespace std::chrono_literals;

// More than the server allows for any of it.
constexpr std::chrono::milliseconds task_max = 90s;

class ProvingChild final : public ProvingCard {
public:
    // The child dies with the thread that starts it (run_prover), so that it is started here and
    // not by whoever waits for it.
    explicit ProvingChild(const std::vector<std::string>& command) : talk_(command) {}

    void make_ready() override { heard(); }
    std::string multiply(const agent_protocol::ProductOrder& order) override {
        ProvingTask task;
        task.work = ProvingWork::multiply;
        task.product = order;
        return asked(task).root;
    }
    std::vector<Shown> rows(const std::vector<wire::Count>& named) override {
        ProvingTask task;
        task.work = ProvingWork::rows;
        task.rows = named;
        return asked(task).shown;
    }
    Filled fill(const agent_protocol::LaneOrder& order) override {
        ProvingTask task;
        task.work = ProvingWork::fill;
        task.lanes = order;
        const ProvingAnswer answer = asked(task);
        return {answer.lanes.value, answer.root};
    }
    std::vector<Shown> blocks(const std::vector<NamedBlock>& named) override {
        ProvingTask task;
        task.work = ProvingWork::blocks;
        task.blocks = named;
        return asked(task).shown;
    }

private:
    ProvingAnswer asked(const ProvingTask& task) {
        talk_.say(wire::encode(task));
        return heard();
    }
    ProvingAnswer heard() {
        try {
            ProvingAnswer answer =
                wire::decode_known<ProvingAnswer>(talk_.hear(task_max), "worker");
            if (answer.error) throw std::runtime_error(*answer.error);
            return answer;
        } catch (const Problem& garbled) {
            throw std::runtime_error(garbled.message);
        }
    }

    Talk talk_;
};

std::uint64_t size(const wire::Count& count) { return static_cast<std::uint64_t>(count.value); }

std::string root_text(const Bytes& root) { return "sha256:" + to_hex(root); }

ProvingAnswer carry_out_task(Prover& prover, const ProvingTask& task) {
    ProvingAnswer answer;
    switch (task.work) {
        case ProvingWork::multiply:
            if (!task.product) throw CudaError("the task has no product");
            answer.root = root_text(prover.multiply(
                task.product->seed, {size(task.product->rows), size(task.product->columns),
                                     size(task.product->depth)}));
            break;
        case ProvingWork::rows:
            for (const wire::Count& row : task.rows) answer.shown.push_back(prover.row(size(row)));
            break;
        case ProvingWork::fill: {
            if (!task.lanes) throw CudaError("the task has no lanes");
            const auto filled = prover.fill(task.lanes->seed, size(task.lanes->lane_words));
            answer.lanes = {static_cast<std::int64_t>(filled.lanes)};
            answer.root = root_text(filled.root);
            break;
        }
        case ProvingWork::blocks:
            for (const NamedBlock& named : task.blocks)
                answer.shown.push_back(prover.block(size(named.lane), size(named.block)));
            break;
    }
    return answer;
}

void print(const ProvingAnswer& answer) {
    fmt::print("{}\n", wire::encode(answer));
    std::fflush(stdout);
}

ProvingAnswer refusal(const char* why) {
    ProvingAnswer answer;
    answer.error = why;
    return answer;
}

}  // namespace

std::unique_ptr<ProvingCard> proving_child(std::vector<std::string> worker,
                                           const std::string& pci_address, std::size_t number) {
    worker.insert(worker.end(), {"prove", pci_address, fmt::format("{}", number)});
    return std::make_unique<ProvingChild>(worker);
}

int run_prover(const std::string& pci_address, std::uint64_t number, const char* library) {
    // A card's memory is not held for an agent that is gone.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        Cuda cuda(pci_address, library);
        Prover prover(cuda, number);
        print({});
        for (std::string line; std::getline(std::cin, line);) {
            try {
                print(carry_out_task(prover, wire::decode_known<ProvingTask>(line, "task")));
            } catch (const Problem& problem) {
                print(refusal(problem.message.c_str()));
            } catch (const std::exception& error) {
                print(refusal(error.what()));
            }
        }
        return 0;
    } catch (const std::exception& error) {
        print(refusal(error.what()));
        return 1;
    }
}

}  // namespace berth::gpu
