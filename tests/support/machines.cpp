#include "support/machines.hpp"
#include "machines/gpus.hpp"
#include "support/host_agent_double.hpp"

#include <fmt/format.h>

namespace berth::test {

using namespace machines;

Measured measured_4090() {
    return {.vram_bytes = 25'757'220'864,
            .ram_bytes = 68'719'476'736,
            .disk_bytes = 1'000'000'000'000,
            .cpu_cores_measured = 16,
            .download_mbps_milli = 900'000,
            .upload_mbps_milli = 400'000,
            .gpu_mem_bw_gbps_milli = 920'000,
            .tflops_milli = 80'000,
            .ai_speed_tok_s_milli = 110'000,
            .pcie_gbps_milli = 25'000};
}

Machine enrolled(Harness& harness, AccountId owner, const NewMachine& wanted) {
    harness.clock.advance(std::chrono::milliseconds(1));
    const Time now = harness.clock.now();
    const bool tested = wanted.measured || wanted.state != MachineState::UNQUALIFIED;
    Machine machine;
    machine.machine_id = MachineId::make(now, harness.random);
    machine.version = 1;
    machine.owner = owner;
    machine.tier = wanted.tier;
    machine.enrolled_at = now;
    machine.changed_at = now;
    machine.state = wanted.state;
    machine.public_key = wanted.public_key;
    machine.agent_version = "1.0.0";
    machine.boot_id = harness.new_id();
    machine.manifest_hash = "sha256:" + std::string(64, 'a');
    machine.runtime_kind = wanted.runtime_kind;
    machine.gpu_model = wanted.gpu_model;
    machine.gpu_model_key = wanted.gpu_model_key;
    machine.gpu_count = wanted.gpu_count;
    machine.backends = "cuda,vulkan";
    machine.driver_version = "570.86.10";
    machine.cuda_max = "12.8";
    machine.cpu_cores = 16;
    machine.continent = wanted.continent;
    machine.mode = wanted.mode;
    machine.offerable = wanted.offerable;
    if (wanted.mode) machine.mode_observed_at = now;
    machine.offer_id = OfferId::make(now, harness.random);
    if (wanted.offer) {
        machine.offer_version = 1;
        machine.offer_state = wanted.offer;
        machine.available_until = wanted.available_until.value_or(now + std::chrono::hours(24));
        if (*wanted.offer == OfferState::listed) machine.listed_at = now;
    }
    if (tested) {
        machine.verification_level = VerificationLevel::auto_verified;
        machine.qualify_state = QualifyState::passed;
        machine.tested_manifest_hash = machine.manifest_hash;
        machine.wipe_available = true;
    } else {
        machine.qualify_next_at = now;
    }
    if (wanted.state == MachineState::ALLOCATED || wanted.state == MachineState::DRAINING ||
        wanted.state == MachineState::CLEANING)
        machine.job_id = JobId::make(now, harness.random);
    if (wanted.adjust) wanted.adjust(machine);
    const auto uuids = wanted.gpu_uuids.empty()
                           ? std::vector<std::string>{"GPU-" + harness.new_id()}
                           : wanted.gpu_uuids;
    harness.app->database().write([&](db::Transaction& tx) {
        add(tx, machine, agent_protocol::canonical_manifest(manifest_4090(uuids.front())), uuids);
        if (tested)
            save_measured(tx, machine.machine_id, wanted.measured.value_or(measured_4090()));
        if (tested) note_gpus_passed({tx, harness.random, now}, machine.machine_id);
        if (wanted.heard) note_heard(tx, {machine.machine_id, now, machine.boot_id});
    });
    return machine;
}

Machine seen(Harness& harness, MachineId id) {
    return harness.app->database().read([&](db::Transaction& tx) { return find(tx, id).value(); });
}

void hear(Harness& harness, MachineId id) {
    harness.app->database().write([&](db::Transaction& tx) {
        note_heard(tx, {id, harness.clock.now(), find(tx, id).value().boot_id});
    });
}

Machine happen(Harness& harness, MachineId id, MachineEvent event, const Details& details) {
    return harness.app->database().write([&](db::Transaction& tx) {
        Machine machine = hold(tx, id).value();
        apply({tx, harness.random, harness.clock.now()}, machine, event, details);
        return machine;
    });
}

}  // namespace berth::test
