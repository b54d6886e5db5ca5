// A server with machines that sell, put into its database as their features would.
#pragma once

#include "api/page.hpp"
#include "catalog/catalog.hpp"
#include "catalog/types.hpp"
#include "machines/machine.hpp"
#include "offers/templates.hpp"
#include "support/harness.hpp"
#include "wire/wire.hpp"

namespace berth::test {

using catalog::OfferSummary;
using machines::Machine;
using machines::OfferId;

// What is sold, beside what stands on the machine.
struct Terms {
    Micro rate{400'000};
    Time from{};
    std::optional<std::int64_t> notice_s = {};
};

class Market {
public:
    explicit Market(Harness::Options options = {}) : harness(prepared(std::move(options))) {}

    AccountId host() {
        const AccountId id{make_uuid(harness.clock.now(), harness.random)};
        write([&](db::Transaction& tx) {
            tx.run(
                "INSERT INTO accounts (account_id, kind, email, role, host_capability, "
                "host_barred, suspended, version, totp_step, created_at) "
                "VALUES ($1, 'agent', NULL, 'host', 1, 0, 0, 1, 0, $2)",
                id, harness.clock.now());
        });
        return id;
    }

    // A machine that has passed, is listed and was heard from now; `change` has the last word.
    Machine ready(const std::function<void(Machine&)>& change = {}) {
        const Time now = harness.clock.now();
        Machine machine;
        machine.machine_id = {make_uuid(now, harness.random)};
        machine.offer_id = {make_uuid(now, harness.random)};
        machine.owner = owner ? *owner : *(owner = host());
        machine.version = 1;
        machine.enrolled_at = now;
        machine.changed_at = now;
        machine.state = machines::MachineState::AVAILABLE;
        machine.gpu_model = "NVIDIA GeForce RTX 4090";
        machine.gpu_model_key = "rtx-4090";
        machine.gpu_count = 2;
        machine.backends = "cuda,vulkan";
        machine.driver_version = "570.86.15";
        machine.cuda_max = "12.8";
        machine.continent = machines::Continent::EU;
        machine.verification_level = machines::VerificationLevel::auto_verified;
        machine.qualify_state = machines::QualifyState::passed;
        machine.offer_version = 1;
        machine.offer_state = machines::OfferState::listed;
        machine.listed_at = now;
        machine.available_until = now + std::chrono::hours(24);
        machine.availability_class = machines::AvailabilityClass::dedicated;
        machine.public_key = to_string(machine.machine_id);
        if (change) change(machine);
        return machine;
    }
    static machines::Measured usual_measures() {
        return {.vram_bytes = 25'757'220'864,
                .ram_bytes = 134'217'728'000,
                .disk_bytes = 1'000'204'886'016,
                .cpu_cores_measured = 32,
                .download_mbps_milli = 940'000,
                .upload_mbps_milli = 870'000,
                .gpu_mem_bw_gbps_milli = 936'000,
                .tflops_milli = 82'600,
                .ai_speed_tok_s_milli = 112'000,
                .pcie_gbps_milli = 25'000};
    }

    struct Some {
        std::optional<std::int64_t> vram_bytes = {};
        std::optional<double> download_mbps = {};
        std::optional<double> tflops = {};
        std::optional<double> ai_speed_tok_s = {};
    };
    static std::optional<std::int64_t> thousandths(const std::optional<double>& rate) {
        return rate ? std::optional(std::llround(*rate * machines::rate_scale)) : std::nullopt;
    }
    static machines::Measured only(const Some& some) {
        machines::Measured measured;
        measured.vram_bytes = some.vram_bytes;
        measured.download_mbps_milli = thousandths(some.download_mbps);
        measured.tflops_milli = thousandths(some.tflops);
        measured.ai_speed_tok_s_milli = thousandths(some.ai_speed_tok_s);
        return measured;
    }

    void add(db::Transaction& tx, const Machine& machine, const Terms& terms,
             const machines::Measured& measured) {
        machines::add(tx, machine, "{}", {});
        machines::save_measured(tx, machine.machine_id, measured);
        machines::note_heard(tx, {machine.machine_id, harness.clock.now(), "boot"});
        add_version(tx, machine, terms);
    }
    void add_version(db::Transaction& tx, const Machine& machine, const Terms& terms) {
        tx.run(
            "INSERT INTO offer_versions (offer_id, offer_version, machine_id, "
            "rate_micro_per_hour, included_disk_gib, included_egress_gib, available_from, "
            "available_until, availability_class, preemption_notice_s, created_at) "
            "VALUES ($1, $2, $3, $4, 100, 1000, $5, $6, $7, $8, $9)",
            machine.offer_id, machine.offer_version, machine.machine_id, terms.rate,
            terms.from.micros == 0 ? machine.enrolled_at : terms.from, *machine.available_until,
            *machine.availability_class, terms.notice_s, harness.clock.now());
    }
    Machine sell(const Terms& terms = {}, const std::function<void(Machine&)>& change = {},
                 const machines::Measured& measured = usual_measures()) {
        const Machine machine = ready(change);
        write([&](db::Transaction& tx) { add(tx, machine, terms, measured); });
        return machine;
    }
    // As its features do: the version grows and changed_at is now.
    void change(const Machine& machine, const std::function<void(Machine&)>& how) {
        write([&](db::Transaction& tx) {
            Machine row = machines::hold(tx, machine.machine_id).value();
            how(row);
            machines::save({tx, harness.random, harness.clock.now()}, row);
        });
    }
    void heard(const Machine& machine) {
        write([&](db::Transaction& tx) {
            machines::note_heard(tx, {machine.machine_id, harness.clock.now(), "boot"});
        });
    }
    template <class Work>
    void write(const Work& work) {
        harness.app->database().write(work);
    }

    void refresh() { harness.app->catalog().refresh(harness.app->database(), harness.clock.now()); }

    http::Response get(const std::string& target) { return harness.ask({.target = target}); }
    api::Page<OfferSummary> offers(const std::string& query = "") {
        const http::Response response = get("/api/v1/offers" + query);
        EXPECT_EQ(response.status, 200) << query << ": " << *body_of(response);
        return wire::decode<api::Page<OfferSummary>>(*body_of(response), "response");
    }
    std::vector<OfferId> ids(const std::string& query = "") {
        std::vector<OfferId> out;
        for (const OfferSummary& offer : offers(query).items) out.push_back(offer.offer_id);
        return out;
    }
    static const std::string* body_of(const http::Response& response) {
        return response.shared_body ? response.shared_body.get() : &response.body;
    }

    std::optional<AccountId> owner;
    Harness harness;

private:
    static Harness::Options prepared(Harness::Options options) {
        options.real_accounts = true;
        options.flags.insert({"rate-public-per-minute", "1000000000"});
        return options;
    }
};

}  // namespace berth::test
