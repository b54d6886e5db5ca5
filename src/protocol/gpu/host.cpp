#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "base/problem.hpp"
#include "base/program.hpp"
#include "gpu/amd.hpp"
#include "gpu/nvml.hpp"
#include "gpu/offered.hpp"
#include "gpu/proving_child.hpp"
#include "wire/open.hpp"

namespace berth::gpu {
namespace {

using agent_protocol::GpuTelemetry;

constexpr auto worker_deadline = std::chrono::minutes(5);
constexpr std::string_view no_measure = "this vendor's cards cannot be measured yet";

class HostGpus : public Gpus {
public:
    HostGpus(std::vector<std::string> worker, const Places& places)
        : worker_(std::move(worker)), nvml_(places.nvml), amd_(places.sysfs) {
        for (const std::string& name : places.offered) names_.push_back({.name = name});
    }

    Inventory inventory() override {
        auto found = nvml_.inventory();
        auto others = amd_.inventory();
        if (!found.driver_version) found.driver_version = others.driver_version;
        std::ranges::move(others.gpus, std::back_inserter(found.gpus));
        std::ranges::sort(found.gpus, {}, [](const auto& gpu) { return gpu.pci_address.value; });
        found.unfit.merge(others.unfit);
        const std::vector<std::string> names = settle_names(found);
        return offered(std::move(found), names);
    }

    std::vector<GpuTelemetry> telemetry() override {
        auto all = nvml_.telemetry();
        std::ranges::move(amd_.telemetry(), std::back_inserter(all));
        return of_offered(std::move(all), [](const GpuTelemetry& card) {
            return card.pci_address ? card.pci_address->value : "";
        });
    }

    std::vector<Health> health() override {
        return of_offered(nvml_.health(), [](const Health& news) { return news.pci_address; });
    }
    std::vector<User> users() override {
        return of_offered(nvml_.users(), [](const User& user) { return user.pci_address; });
    }

    std::vector<Wipe> wipe(std::uint64_t seed) override {
        return each<Wipe>("wipe", unwipeable, seed);
    }
    std::vector<Measurement> measure(std::uint64_t seed) override {
        return each<Measurement>("measure", no_measure, seed);
    }

    std::vector<std::unique_ptr<ProvingCard>> proving_cards() override {
        std::vector<std::unique_ptr<ProvingCard>> cards;
        for (const auto& gpu : inventory().gpus) {
            if (gpu.vendor.value != "NVIDIA") return {};
            cards.push_back(proving_child(worker_, gpu.pci_address.value, cards.size()));
        }
        return cards;
    }

private:
    struct Named {
        std::string name;
        std::string address{};  // where it was found
    };

    // A name stands for where it was last found: a card that falls off its bus no longer tells its
    // identity, and that it is lost must be told all the same. A card that has come there in its
    // place, and tells another identity, was not named.
    std::vector<std::string> settle_names(const Inventory& found) {
        const std::lock_guard lock(mutex_);
        const auto card_at = [&](const std::string& address) {
            return std::ranges::find_if(
                found.gpus, [&](const auto& gpu) { return gpu.pci_address.value == address; });
        };
        std::vector<std::string> settled;
        for (Named& named : names_) {
            const std::string at = address_called(found, named.name);
            const bool is_there = card_at(at) != found.gpus.end();
            if (is_there) named.address = at;
            const auto card = card_at(named.address);
            const bool is_lost =
                card != found.gpus.end() && (!card->uuid.value || card->uuid.value->value.empty());
            settled.push_back(is_there || is_lost ? named.address : named.name);
        }
        return settled;
    }

    // What is told of a card that is not offered is its owner's affair.
    template <class Told, class Address>
    std::vector<Told> of_offered(std::vector<Told> all, const Address& address) {
        std::set<std::string> addresses;
        for (const auto& gpu : inventory().gpus) addresses.insert(gpu.pci_address.value);
        std::erase_if(all, [&](const Told& told) { return !addresses.contains(address(told)); });
        return all;
    }

    template <class Result>
    std::vector<Result> each(const std::string& task, std::string_view unable, std::uint64_t seed) {
        std::vector<Result> results;
        for (const auto& gpu : inventory().gpus) {
            Result result;
            if (gpu.vendor.value == "NVIDIA") {
                result = in_child<Result>(task, gpu.pci_address.value, seed);
            } else {
                result.error = wire::Text<1, 500>{std::string(unable)};
            }
            result.pci_address = gpu.pci_address;
            if constexpr (requires { result.uuid; }) result.uuid = gpu.uuid.value;
            results.push_back(std::move(result));
        }
        return results;
    }

    template <class Result>
    Result in_child(const std::string& task, const std::string& address, std::uint64_t seed) {
        auto arguments = worker_;
        arguments.insert(arguments.end(), {task, address, fmt::format("{}", seed)});
        const auto end = run_program({.arguments = arguments, .deadline = worker_deadline});
        try {
            if (end.ok()) return wire::decode_known<Result>(end.output, "worker");
            return failed<Result>(why_not(end));
        } catch (const Problem& garbled) {
            return failed<Result>(garbled.message);
        }
    }

    static std::string why_not(const ProgramEnd& end) {
        if (end.timed_out) return "the worker did not end in time";
        if (end.errors.empty()) return fmt::format("the worker ended with {}", end.status);
        return end.errors.substr(0, end.errors.find('\n'));
    }

    template <class Result>
    static Result failed(const std::string& why) {
        Result result;
        result.error = wire::Text<1, 500>{why.substr(0, 500)};
        return result;
    }

    const std::vector<std::string> worker_;
    std::mutex mutex_;
    std::vector<Named> names_;  // of what is offered
    Nvml nvml_;
    Amd amd_;
};

}  // namespace

std::string in_words(const User& user) {
    const std::string who = user.program.empty()
                                ? fmt::format("process {}", user.process)
                                : fmt::format("{}, process {},", user.program, user.process);
    return fmt::format("{} {} {}", who, user.is_screen ? "draws a desktop on" : "uses",
                       user.pci_address);
}

std::unique_ptr<Gpus> host_gpus(std::vector<std::string> worker, const Places& places) {
    return std::make_unique<HostGpus>(std::move(worker), places);
}

}  // namespace berth::gpu
