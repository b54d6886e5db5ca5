#include <sys/random.h>

#include <chrono>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "card_proof/pattern.hpp"
#include "gpu/gpu.hpp"
#include "hardware/gpus.hpp"

namespace berth::gpu {
namespace {

using agent_protocol::GpuTelemetry;
using agent_protocol::ManifestGpu;
using agent_protocol::MemoryClass;
using card_proof::pattern_word;

constexpr std::size_t buffer_bytes = std::size_t{4} << 20;
constexpr std::int64_t bytes_in_gb = 1'000'000'000;

// A card's memory is a stretch of one file, so that what a job left there would be found there.
class Buffer {
public:
    Buffer(const std::string& path, std::size_t index)
        : file_(path, std::ios::binary | std::ios::in | std::ios::out),
          begin_(static_cast<std::streamoff>(index * buffer_bytes)) {}

    void fill(std::optional<std::uint64_t> seed) {
        std::vector<std::uint64_t> words(buffer_bytes / sizeof(std::uint64_t));
        for (std::size_t i = 0; seed && i < words.size(); ++i) words[i] = pattern_word(*seed, i);
        file_.seekp(begin_);
        file_.write(reinterpret_cast<const char*>(words.data()), buffer_bytes);
        file_.flush();
    }

    // Words that are not as fill() wrote them; everything, when it cannot be read.
    std::size_t mismatches(std::optional<std::uint64_t> seed) {
        std::vector<std::uint64_t> words(buffer_bytes / sizeof(std::uint64_t));
        file_.seekg(begin_);
        file_.read(reinterpret_cast<char*>(words.data()), buffer_bytes);
        if (!file_) return words.size();
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < words.size(); ++i)
            if (words[i] != (seed ? pattern_word(*seed, i) : 0)) ++wrong;
        return wrong;
    }

private:
    std::fstream file_;
    std::streamoff begin_;
};

std::string address(std::size_t card) { return fmt::format("ffff:{:02x}:00.0", card); }

class SimulatedGpus : public Gpus {
public:
    SimulatedGpus(const hardware::GpuModel& model, std::vector<std::size_t> cards,
                  std::string memory_file)
        : model_(model), cards_(std::move(cards)), memory_file_(std::move(memory_file)) {
        std::ofstream(memory_file_, std::ios::binary | std::ios::app).close();
    }

    Inventory inventory() override {
        // Said to be what templates ask for: there is no engine here that would need it.
        Inventory found{.driver_version = "simulated", .cuda_max = "12.8", .gpus = {}};
        for (const std::size_t i : cards_) {
            ManifestGpu gpu;
            gpu.pci_address = {address(i)};
            gpu.vendor = {"simulated"};
            gpu.model = wire::Text<1, 200>{std::string(model_.name)};
            gpu.memory_bytes = wire::Decimal{memory_bytes()};
            gpu.memory_class = MemoryClass::dedicated;
            gpu.backends.value = {agent_protocol::Backend::cuda};
            found.gpus.push_back(std::move(gpu));
        }
        return found;
    }

    std::vector<GpuTelemetry> telemetry() override { return {}; }
    std::vector<Health> health() override { return {}; }
    std::vector<User> users() override { return {}; }

    std::vector<Wipe> wipe(std::uint64_t seed) override {
        std::vector<Wipe> wipes;
        for (const std::size_t i : cards_) wipes.push_back(wipe_one(i, seed));
        return wipes;
    }

    // A buffer has neither bandwidth nor arithmetic: nothing of that is claimed.
    std::vector<Measurement> measure(std::uint64_t seed) override {
        std::vector<Measurement> measured;
        for (const std::size_t i : cards_) {
            Buffer buffer(memory_file_, i);
            buffer.fill(seed);
            Measurement one;
            one.pci_address = {address(i)};
            one.vram_bytes = wire::Decimal{memory_bytes()};
            one.pattern_bytes = wire::Decimal{buffer_bytes};
            one.mismatches = wire::Decimal{static_cast<std::int64_t>(buffer.mismatches(seed))};
            one.simulated = true;
            measured.push_back(std::move(one));
        }
        return measured;
    }

    // A buffer is no memory of a card: there is nothing to prove.
    std::vector<std::unique_ptr<ProvingCard>> proving_cards() override { return {}; }

private:
    std::int64_t memory_bytes() const { return model_.memory_gb * bytes_in_gb; }

    Wipe wipe_one(std::size_t index, std::uint64_t seed) {
        const auto began = std::chrono::steady_clock::now();
        Buffer buffer(memory_file_, index);
        buffer.fill(seed);
        std::size_t wrong = buffer.mismatches(seed);
        buffer.fill(std::nullopt);
        wrong = std::max(wrong, buffer.mismatches(std::nullopt));
        const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::steady_clock::now() - began);
        Wipe wipe;
        wipe.pci_address = {address(index)};
        wipe.total_bytes = {buffer_bytes};
        wipe.wiped_bytes = {buffer_bytes};
        wipe.verified_bytes = {
            static_cast<std::int64_t>(buffer_bytes - wrong * sizeof(std::uint64_t))};
        wipe.milliseconds = {took.count()};
        wipe.simulated = true;
        return wipe;
    }

    const hardware::GpuModel& model_;
    const std::vector<std::size_t> cards_;
    const std::string memory_file_;
};

}  // namespace

std::unique_ptr<Gpus> simulated_gpus(std::string_view model, std::vector<std::size_t> cards,
                                     std::string memory_file) {
    const auto* known = hardware::canonical(model);
    if (known == nullptr)
        throw std::invalid_argument(fmt::format("{} is not a GPU model that is known", model));
    return std::make_unique<SimulatedGpus>(*known, std::move(cards), std::move(memory_file));
}

std::optional<std::size_t> simulated_card(std::string_view pci_address) {
    for (std::size_t card = 0; card < agent_protocol::gpus_max; ++card)
        if (address(card) == pci_address) return card;
    return std::nullopt;
}

}  // namespace berth::gpu
