#include "fake_drivers/nvml.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

using berth::test::Answer;
using berth::test::FakeCard;
using berth::test::FakeEvent;

namespace {

berth::test::FakeNvml state;

// A program that is told of a folder finds one card, and what the test puts into that folder:
// `events` with a type and a number in each line, and `lost`. In the container of a machine test
// there is that card, and no folder.
class Folder {
public:
    Folder() {
        const char* const given = std::getenv("BERTH_FAKE_DRIVERS");
        if (given == nullptr && !std::filesystem::exists("/berth-inside-cards")) return;
        if (given != nullptr) path_ = given;
        FakeCard& card = state.cards.emplace_back();
        card.bus_id = "00000000:01:00.0";
        card.name = "NVIDIA GeForce RTX 4090";
        card.uuid = "GPU-berth-fake-1";
        card.memory_total.number = 24'000'000'000;
    }
    void take_events() {
        if (path_.empty()) return;
        std::ifstream file(path_ + "/events");
        FakeEvent event;
        for (std::size_t line = 0; file >> event.type >> event.data; ++line)
            if (line == taken_) ++taken_, state.events.push_back(event);
    }
    bool is_lost() const { return !path_.empty() && std::filesystem::exists(path_ + "/lost"); }

private:
    std::string path_;
    std::size_t taken_ = 0;
};
Folder folder;

struct Pci {
    char legacy[16];
    unsigned numbers[5];
    char bus_id[32];
};
struct Memory {
    unsigned long long total, free, used;
};
struct Event {
    void* device;
    unsigned long long type, data;
    unsigned instances[2];
};
struct User {
    unsigned pid;
    unsigned long long memory;
    unsigned instances[2];
};

FakeCard& card(void* device) { return *static_cast<FakeCard*>(device); }

int give(const Answer& answer, unsigned* number) {
    *number = static_cast<unsigned>(answer.number);
    return answer.result;
}

int give(const std::string& text, char* into, unsigned size) {
    std::memset(into, 0, size);
    text.copy(into, size - 1);
    return text.empty() ? berth::test::nvml_not_supported : 0;
}

}  // namespace

extern "C" {

berth::test::FakeNvml* fake_nvml() { return &state; }

int nvmlInit_v2() { return state.init; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* into, unsigned size) { return give("580.1", into, size); }
int nvmlSystemGetCudaDriverVersion_v2(int* version) { return *version = 12080, 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
    return *count = static_cast<unsigned>(state.cards.size()), 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    return *device = &state.cards.at(index), 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
    return give(card(device).bus_id, pci->bus_id, sizeof pci->bus_id);
}
int nvmlDeviceGetName(void* device, char* into, unsigned size) {
    return give(card(device).name, into, size);
}
int nvmlDeviceGetUUID(void* device, char* into, unsigned size) {
    return give(card(device).uuid, into, size);
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
    if (folder.is_lost()) return berth::test::nvml_lost;
    memory->total = card(device).memory_total.number;
    memory->used = card(device).memory_used.number;
    return card(device).memory_total.result;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* rates) {
    rates[1] = static_cast<unsigned>(card(device).utilization.number);
    return give(card(device).utilization, rates);
}
int nvmlDeviceGetTemperature(void* device, unsigned, unsigned* degrees) {
    return give(card(device).temperature, degrees);
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
    return give(card(device).power, milliwatts);
}
int nvmlDeviceGetFanSpeed(void* device, unsigned* percent) {
    return give(card(device).fan, percent);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
    *reasons = card(device).throttle.number;
    return card(device).throttle.result;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, User* users) {
    const auto& pids = card(device).users;
    *count = static_cast<unsigned>(std::min<std::size_t>(*count, pids.size()));
    for (unsigned i = 0; i < *count; ++i) users[i].pid = pids[i];
    return 0;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void* device, unsigned* count, User* users) {
    const auto& pids = card(device).screens;
    *count = static_cast<unsigned>(std::min<std::size_t>(*count, pids.size()));
    for (unsigned i = 0; i < *count; ++i) users[i].pid = pids[i];
    return 0;
}
int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* next) {
    *now = *next = card(device).is_divided;
    return 0;
}
int nvmlEventSetCreate(void** set) { return *set = &state, 0; }
int nvmlEventSetFree(void*) { return 0; }
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { return 0; }
int nvmlEventSetWait_v2(void*, Event* event, unsigned) {
    folder.take_events();
    if (state.events.empty()) return 10;  // timeout
    const auto next = state.events.front();
    state.events.pop_front();
    *event = {.device = &state.cards.at(next.card),
              .type = next.type,
              .data = next.data,
              .instances = {}};
    return 0;
}
}
