#include "gpu/nvml.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <mutex>

#include <fmt/format.h>

namespace berth::gpu {
namespace {

using agent_protocol::Backend;
using agent_protocol::GpuTelemetry;
using agent_protocol::HealthKind;
using agent_protocol::ManifestGpu;
using agent_protocol::MemoryClass;

// Of nvml.h; the numbers and layouts are a part of the library's promise to old programs.
constexpr int nvml_success = 0;
constexpr int gpu_is_lost = 15;
constexpr unsigned temperature_of_chip = 0;
constexpr unsigned clock_sm = 1;
constexpr unsigned clock_memory = 2;
constexpr unsigned long long event_double_bit_ecc = 2;
constexpr unsigned long long event_xid = 8;
constexpr std::size_t users_max = 64;

struct PciInfo {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};
struct Memory {
    unsigned long long total, free, used;
};
struct Utilization {
    unsigned gpu, memory;
};
struct EventData {
    void* device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};
struct ProcessInfo {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
};

struct Throttle {
    unsigned long long bit;
    std::string_view name;
};
constexpr auto throttles = std::to_array<Throttle>({
    {0x2, "applications_clocks"},
    {0x4, "sw_power_cap"},
    {0x8, "hw_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "sw_thermal"},
    {0x40, "hw_thermal"},
    {0x80, "hw_power_brake"},
    {0x100, "display_clocks"},
});

template <class Number>
bool all_ones(Number number) {
    return number == static_cast<Number>(~Number{0});
}

// "00000000:01:00.0" as the kernel writes it: a domain of four digits, lower case.
std::string bus_address(const PciInfo& pci) {
    std::string address(pci.bus_id, std::find(pci.bus_id, std::end(pci.bus_id), '\0'));
    std::ranges::transform(address, address.begin(),
                           [](unsigned char c) { return std::tolower(c); });
    if (address.size() == 16 && address.starts_with("0000")) address.erase(0, 4);
    return address;
}

}  // namespace

struct Nvml::Functions {
    explicit Functions(const Library& from)
        : init(from.find<int()>("nvmlInit_v2")),
          shutdown(from.find<int()>("nvmlShutdown")),
          driver_version(from.find<int(char*, unsigned)>("nvmlSystemGetDriverVersion")),
          cuda_version(from.find<int(int*)>("nvmlSystemGetCudaDriverVersion_v2")),
          count(from.find<int(unsigned*)>("nvmlDeviceGetCount_v2")),
          by_index(from.find<int(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2")),
          pci(from.find<int(Handle, PciInfo*)>("nvmlDeviceGetPciInfo_v3")),
          name(from.find<int(Handle, char*, unsigned)>("nvmlDeviceGetName")),
          uuid(from.find<int(Handle, char*, unsigned)>("nvmlDeviceGetUUID")),
          memory(from.find<int(Handle, Memory*)>("nvmlDeviceGetMemoryInfo")),
          utilization(from.find<int(Handle, Utilization*)>("nvmlDeviceGetUtilizationRates")),
          temperature(from.find<int(Handle, unsigned, unsigned*)>("nvmlDeviceGetTemperature")),
          power(from.find<int(Handle, unsigned*)>("nvmlDeviceGetPowerUsage")),
          power_limit(from.find<int(Handle, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit")),
          clock(from.find<int(Handle, unsigned, unsigned*)>("nvmlDeviceGetClockInfo")),
          fan(from.find<int(Handle, unsigned*)>("nvmlDeviceGetFanSpeed")),
          throttle(from.find<int(Handle, unsigned long long*)>(
              "nvmlDeviceGetCurrentClocksThrottleReasons")),
          compute_users(from.find<int(Handle, unsigned*, ProcessInfo*)>(
              "nvmlDeviceGetComputeRunningProcesses_v3")),
          graphics_users(from.find<int(Handle, unsigned*, ProcessInfo*)>(
              "nvmlDeviceGetGraphicsRunningProcesses_v3")),
          mig_mode(from.find<int(Handle, unsigned*, unsigned*)>("nvmlDeviceGetMigMode")),
          event_set(from.find<int(Handle*)>("nvmlEventSetCreate")),
          free_event_set(from.find<int(Handle)>("nvmlEventSetFree")),
          register_events(
              from.find<int(Handle, unsigned long long, Handle)>("nvmlDeviceRegisterEvents")),
          wait_event(from.find<int(Handle, EventData*, unsigned)>("nvmlEventSetWait_v2")) {}

    int (*init)();
    int (*shutdown)();
    int (*driver_version)(char*, unsigned);
    int (*cuda_version)(int*);
    int (*count)(unsigned*);
    int (*by_index)(unsigned, Handle*);
    int (*pci)(Handle, PciInfo*);
    int (*name)(Handle, char*, unsigned);
    int (*uuid)(Handle, char*, unsigned);
    int (*memory)(Handle, Memory*);
    int (*utilization)(Handle, Utilization*);
    int (*temperature)(Handle, unsigned, unsigned*);
    int (*power)(Handle, unsigned*);
    int (*power_limit)(Handle, unsigned*);
    int (*clock)(Handle, unsigned, unsigned*);
    int (*fan)(Handle, unsigned*);
    int (*throttle)(Handle, unsigned long long*);
    int (*compute_users)(Handle, unsigned*, ProcessInfo*);
    int (*graphics_users)(Handle, unsigned*, ProcessInfo*);
    int (*mig_mode)(Handle, unsigned*, unsigned*);
    int (*event_set)(Handle*);
    int (*free_event_set)(Handle);
    int (*register_events)(Handle, unsigned long long, Handle);
    int (*wait_event)(Handle, EventData*, unsigned);
};

namespace {

// A number the driver gives, or nothing.
template <class Number, class Function, class... Given>
std::optional<Number> ask(Function* function, Given... given) {
    Number number{};
    if (function == nullptr || function(given..., &number) != nvml_success) return std::nullopt;
    if constexpr (std::is_unsigned_v<Number>) {
        if (all_ones(number)) return std::nullopt;
    }
    return number;
}

std::optional<std::string> ask_text(int (*function)(void*, char*, unsigned), void* device) {
    std::array<char, 96> text{};
    if (function == nullptr || function(device, text.data(), text.size() - 1) != nvml_success)
        return std::nullopt;
    std::string said = text.data();
    return said.empty() ? std::nullopt : std::optional(said);
}

std::string name_of(unsigned process) {
    std::ifstream file(fmt::format("/proc/{}/comm", process));
    std::string name;
    std::getline(file, name);
    return name;
}

std::optional<double> scaled(std::optional<unsigned> number, double scale = 1) {
    return number ? std::optional(*number * scale) : std::nullopt;
}

}  // namespace

Nvml::Nvml(const char* library) : library_(library), call_(std::make_unique<Functions>(library_)) {
    start();
}

Nvml::~Nvml() { stop(); }

void Nvml::start() {
    is_started_ = call_->init != nullptr && call_->init() == nvml_success;
    if (is_started_) find_devices();
}

void Nvml::stop() {
    if (events_ != nullptr && call_->free_event_set != nullptr) call_->free_event_set(events_);
    events_ = nullptr;
    if (is_started_ && call_->shutdown != nullptr) call_->shutdown();
    is_started_ = false;
}

// A driver may come up after us, and tells of the cards that it saw when it was started.
void Nvml::look_for_driver() {
    const std::unique_lock lock(mutex_);
    if (!devices_.empty() || call_->init == nullptr) return;
    stop();
    start();
}

void Nvml::find_devices() {
    const auto count = ask<unsigned>(call_->count).value_or(0);
    if (call_->by_index == nullptr || call_->pci == nullptr) return;
    for (unsigned i = 0; i < std::min<unsigned>(count, agent_protocol::gpus_max); ++i) {
        Handle device = nullptr;
        PciInfo pci{};
        if (call_->by_index(i, &device) != nvml_success || call_->pci(device, &pci) != nvml_success)
            continue;
        devices_.emplace(bus_address(pci), device);
        watch(device);
    }
}

void Nvml::watch(Handle device) {
    if (call_->event_set == nullptr || call_->register_events == nullptr) return;
    if (events_ == nullptr && call_->event_set(&events_) != nvml_success) events_ = nullptr;
    if (events_ != nullptr)
        call_->register_events(device, event_xid | event_double_bit_ecc, events_);
}

Inventory Nvml::inventory() {
    look_for_driver();
    const std::shared_lock lock(mutex_);
    Inventory found;
    if (devices_.empty()) return found;
    std::array<char, 81> version{};
    if (call_->driver_version != nullptr &&
        call_->driver_version(version.data(), version.size() - 1) == nvml_success)
        found.driver_version = version.data();
    if (const auto cuda = ask<int>(call_->cuda_version); cuda && *cuda > 0)
        found.cuda_max = fmt::format("{}.{}", *cuda / 1000, *cuda % 1000 / 10);
    for (const auto& [address, device] : devices_) {
        ManifestGpu gpu;
        gpu.pci_address = {address};
        gpu.vendor = {"NVIDIA"};
        if (auto name = ask_text(call_->name, device)) gpu.model = wire::Text<1, 200>{*name};
        if (auto uuid = ask_text(call_->uuid, device)) gpu.uuid = wire::Text<1, 128>{*uuid};
        Memory memory{};
        if (call_->memory != nullptr && call_->memory(device, &memory) == nvml_success &&
            !all_ones(memory.total) && memory.total > 0) {
            // Cards that share the host's memory have no memory of their own to tell of.
            gpu.memory_bytes = wire::Decimal{static_cast<std::int64_t>(memory.total)};
            gpu.memory_class = MemoryClass::dedicated;
        }
        gpu.backends = {{Backend::cuda}};
        unsigned is_divided = 0;
        unsigned will_be = 0;
        if (call_->mig_mode != nullptr &&
            call_->mig_mode(device, &is_divided, &will_be) == nvml_success && is_divided != 0)
            found.unfit.emplace(address,
                                "MIG is on, and parts of cards are not rented out: "
                                "nvidia-smi -i " +
                                    address + " -mig 0 turns it off");
        found.gpus.push_back(std::move(gpu));
    }
    return found;
}

std::vector<GpuTelemetry> Nvml::telemetry() const {
    const std::shared_lock lock(mutex_);
    std::vector<GpuTelemetry> all;
    for (const auto& [address, device] : devices_) {
        GpuTelemetry gpu;
        gpu.pci_address = wire::Text<1, 64>{address};
        Utilization used{};
        if (call_->utilization != nullptr && call_->utilization(device, &used) == nvml_success) {
            if (!all_ones(used.gpu)) gpu.util_pct = used.gpu;
            if (!all_ones(used.memory)) gpu.memory_util_pct = used.memory;
        }
        Memory memory{};
        if (call_->memory != nullptr && call_->memory(device, &memory) == nvml_success) {
            if (!all_ones(memory.used))
                gpu.memory_used_bytes = wire::Decimal{static_cast<std::int64_t>(memory.used)};
            if (!all_ones(memory.total))
                gpu.memory_total_bytes = wire::Decimal{static_cast<std::int64_t>(memory.total)};
        }
        gpu.temperature_c = scaled(ask<unsigned>(call_->temperature, device, temperature_of_chip));
        gpu.power_w = scaled(ask<unsigned>(call_->power, device), 1e-3);
        gpu.power_limit_w = scaled(ask<unsigned>(call_->power_limit, device), 1e-3);
        gpu.sm_clock_mhz = scaled(ask<unsigned>(call_->clock, device, clock_sm));
        gpu.mem_clock_mhz = scaled(ask<unsigned>(call_->clock, device, clock_memory));
        gpu.fan_pct = scaled(ask<unsigned>(call_->fan, device));
        if (const auto reasons = ask<unsigned long long>(call_->throttle, device)) {
            gpu.throttle.emplace();
            for (const auto& throttle : throttles)
                if ((*reasons & throttle.bit) != 0)
                    gpu.throttle->value.push_back({std::string(throttle.name)});
        }
        all.push_back(std::move(gpu));
    }
    return all;
}

std::vector<Health> Nvml::health() {
    const std::shared_lock lock(mutex_);
    std::vector<Health> found;
    EventData event{};
    while (events_ != nullptr && call_->wait_event != nullptr && found.size() < users_max &&
           call_->wait_event(events_, &event, 0) == nvml_success) {
        const auto from = std::ranges::find_if(
            devices_, [&](const auto& device) { return device.second == event.device; });
        if (from == devices_.end()) continue;
        if (event.type == event_xid) {
            found.push_back({.kind = HealthKind::gpu_xid,
                             .pci_address = from->first,
                             .code = static_cast<std::int64_t>(event.data),
                             .text = fmt::format("the driver reported Xid {}", event.data)});
        } else {
            found.push_back({.kind = HealthKind::gpu_ecc,
                             .pci_address = from->first,
                             .code = std::nullopt,
                             .text = "the driver reported a double-bit memory error"});
        }
    }
    look_for_lost(found);
    return found;
}

// A card that fell off the bus answers every question with that.
void Nvml::look_for_lost(std::vector<Health>& found) {
    if (call_->memory == nullptr) return;
    for (const auto& [address, device] : devices_) {
        Memory memory{};
        const bool lost = call_->memory(device, &memory) == gpu_is_lost;
        if (lost && !lost_[address]) {
            found.push_back({.kind = HealthKind::gpu_lost,
                             .pci_address = address,
                             .code = std::nullopt,
                             .text = "the card no longer answers on its bus"});
        } else if (!lost && lost_[address]) {
            found.push_back({.kind = HealthKind::gpu_back,
                             .pci_address = address,
                             .code = std::nullopt,
                             .text = "the card answers again"});
        }
        lost_[address] = lost;
    }
}

std::vector<User> Nvml::users() const {
    const std::shared_lock lock(mutex_);
    std::vector<User> all;
    for (const auto& [address, device] : devices_) {
        std::map<unsigned, bool> draws;  // by process
        for (const bool is_screen : {false, true}) {
            const auto list = is_screen ? call_->graphics_users : call_->compute_users;
            std::array<ProcessInfo, users_max> found{};
            unsigned count = found.size();
            if (list == nullptr || list(device, &count, found.data()) != nvml_success) continue;
            for (unsigned i = 0; i < std::min<unsigned>(count, found.size()); ++i)
                if (bool& known = draws[found[i].pid]; is_screen) known = true;
        }
        for (const auto& [process, is_screen] : draws)
            all.push_back({.pci_address = address,
                           .process = process,
                           .is_screen = is_screen,
                           .program = name_of(process)});
    }
    return all;
}

}  // namespace berth::gpu
