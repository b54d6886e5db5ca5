// A host with its key, and the requests it makes about its machines.
#pragma once

#include <fmt/format.h>

#include "offers/live_jobs.hpp"
#include "support/machines.hpp"
#include "support/town.hpp"

namespace berth::test {

// A job that was promised a machine, and what was asked of whoever keeps it.
struct OneJob final : offers::LiveJobs {
    std::optional<Time> promised_until(db::Transaction&, const machines::Machine&) const override {
        return until;
    }
    void custom_images_off(const db::Context&, machines::Machine& machine) const override {
        EXPECT_FALSE(machine.accepts_custom_images);
        ++told;
    }
    std::optional<Time> until;
    mutable std::atomic<int> told{0};
};

class HostOf : public ::testing::Test {
protected:
    struct Host {
        std::string key;
        AccountId account;
    };
    Host host() {
        const auto wallet = crypto::SigningKey::make(town.harness.random);
        const std::string body = town.enlist(wallet, R"(["host"])").body;
        return {member(body, "api_key.secret"),
                AccountId{parse_uuid(member(body, "account_id")).value()}};
    }
    machines::Machine machine(const NewMachine& wanted = {
                                  .state = machines::MachineState::UNLISTED}) {
        return enrolled(town.harness, ada.account, wanted);
    }
    std::string at(Duration from_now) { return to_rfc3339(town.harness.clock.now() + from_now); }
    // A good edit.
    std::string body(const std::string& version, const std::string& more = "") {
        using std::chrono::hours;
        return fmt::format(
            R"({{"expected_version":"{}","rate_micro_per_hour":"400000","included_disk_gib":100,)"
            R"("included_egress_gib":1000,"available_from":"{}","available_until":"{}"{}}})",
            version, at(-hours(1)), at(hours(240)), more);
    }
    http::Response send(const std::string& method, const machines::Machine& of,
                        const std::string& what, const std::string& text = "",
                        const std::string& key = "") {
        return town.harness.ask(
            {.method = method,
             .target = "/api/v1/hosts/machines/" + to_string(of.machine_id) + what,
             .as = ada.key,
             .key = method == "GET" ? ""
                    : key.empty()   ? new_key()
                                    : key,
             .body = text});
    }
    http::Response edit(const machines::Machine& of, const std::string& text) {
        return send("PATCH", of, "/offer", text);
    }
    machines::Machine now(const machines::Machine& m) { return seen(town.harness, m.machine_id); }
    std::string new_key() {
        const std::lock_guard lock(mutex);
        return town.harness.new_id();
    }

    OneJob job;
    Town town{options()};
    std::mutex mutex;
    Host ada = host();

private:
    Harness::Options options() {
        Harness::Options made;
        made.overrides.live_jobs = &job;
        return made;
    }
};

}  // namespace berth::test
