#include "bench/catalog_server.hpp"

#include <fmt/format.h>

#include <array>

#include "accounts/accounts.hpp"
#include "audit/audit.hpp"
#include "ledger/settings.hpp"
#include "offers/offers.hpp"
#include "offers/templates.hpp"

namespace berth::bench {
namespace {

const settings::Registry& registry() {
    static const settings::Registry all =
        settings::Registry().add<api::Settings>().add<ledger::Settings>();
    return all;
}

}  // namespace

Seed::Seed(db::Database& database, std::int64_t offers, Keys keys, Ids ids)
    : database_(database), keys_(keys), ids_(ids) {
    owner_ = AccountId::make(now_, random_);
    database_.write([&](db::Transaction& tx) {
        tx.run(
            "INSERT INTO accounts (account_id, kind, email, role, host_capability, "
            "host_barred, suspended, version, totp_step, created_at) "
            "VALUES ($1, 'agent', NULL, 'host', 1, 0, 0, 1, 0, $2)",
            owner_, now_);
        offers::plant_starter_templates(tx, now_);
    });
    constexpr std::int64_t at_once = 2'000;
    for (std::int64_t done = 0; done < offers; done += at_once)
        database_.write([&](db::Transaction& tx) {
            for (std::int64_t i = done; i < std::min(done + at_once, offers); ++i) add(tx);
        });
}

std::int64_t Seed::up_to(std::int64_t most) {
    return static_cast<std::int64_t>(dice_() % static_cast<std::uint64_t>(most));
}

void Seed::add(db::Transaction& tx) {
    constexpr std::array<std::pair<const char*, const char*>, 8> models{
        {{"NVIDIA GeForce RTX 4090", "rtx-4090"},
         {"NVIDIA GeForce RTX 3090", "rtx-3090"},
         {"NVIDIA H100 80GB HBM3", "h100-sxm-80gb"},
         {"NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"},
         {"NVIDIA L40S", "l40s"},
         {"NVIDIA GeForce RTX 5090", "rtx-5090"},
         {"NVIDIA RTX A6000", "rtx-a6000"},
         {"NVIDIA L4", "l4"}}};
    const auto& [model, key] = models[static_cast<std::size_t>(up_to(models.size()))];
    machines::Machine machine;
    machine.machine_id = MachineId::make(now_, random_);
    machine.offer_id = machines::OfferId::make(now_, random_);
    if (ids_ == Ids::numbered) {
        machine.machine_id = numbered_machine(machines_.size());
        machine.offer_id = numbered_offer(machines_.size());
    }
    machine.owner = owner_;
    machine.version = 1;
    machine.enrolled_at = machine.changed_at = now_;
    machine.state = machines::MachineState::AVAILABLE;
    machine.public_key = keys_ == Keys::none
                             ? to_string(machine.machine_id)
                             : agent_protocol::key_text(key_of(machines_.size()).public_key());
    machine.agent_version = "1.0.0";
    machine.boot_id = boot_id;
    machine.manifest_hash = manifest_hash;
    machine.gpu_model = model;
    machine.gpu_model_key = key;
    machine.gpu_count = 1 + up_to(8);
    machine.backends = "cuda,vulkan";
    machine.driver_version = "570.86.15";
    machine.cuda_max = "12.8";
    machine.continent = static_cast<machines::Continent>(up_to(7));
    machine.verification_level = machines::VerificationLevel::auto_verified;
    machine.qualify_state = machines::QualifyState::passed;
    machine.offer_version = 1;
    machine.offer_state = machines::OfferState::listed;
    machine.listed_at = now_ - std::chrono::seconds(up_to(1'000'000));
    machine.available_until = now_ + std::chrono::hours(1000);
    machine.availability_class = machines::AvailabilityClass::dedicated;
    machines::add(tx, machine, "{}", {});
    machines::save_measured(tx, machine.machine_id,
                            {.vram_bytes = 25'757'220'864,
                             .ram_bytes = 134'217'728'000,
                             .disk_bytes = 1'000'204'886'016,
                             .cpu_cores_measured = 32,
                             .download_mbps_milli = up_to(2'000'000),
                             .upload_mbps_milli = up_to(2'000'000),
                             .gpu_mem_bw_gbps_milli = 936'000,
                             .tflops_milli = up_to(100'000),
                             .ai_speed_tok_s_milli = up_to(200'000),
                             .pcie_gbps_milli = 25'000});
    const Duration ahead = keys_ == Keys::none ? std::chrono::hours(100) : Duration{};
    machines::note_heard(tx, {machine.machine_id, now_ + ahead, boot_id});
    tx.run(
        "INSERT INTO offer_versions (offer_id, offer_version, machine_id, "
        "rate_micro_per_hour, included_disk_gib, included_egress_gib, available_from, "
        "available_until, availability_class, preemption_notice_s, created_at) "
        "VALUES ($1, 1, $2, $3, 100, 1000, $4, $5, 'dedicated', NULL, $4)",
        machine.offer_id, machine.machine_id, 1000 * (100 + up_to(900)),
        now_ - std::chrono::hours(1), *machine.available_until);
    machines_.push_back(machine.machine_id);
}

CatalogServer::CatalogServer(std::int64_t offers, const std::string& url)
    : database_(db::open(url.empty() ? "sqlite:" + folder_.path + "/berth.db" : url)),
      live_(registry(), registry().read({.flags = {{"rate-public-per-minute", "1000000000"}}})),
      service_({router_, *database_, {}, clock_, random_, "secret", metrics_, live_}) {
    std::vector<db::Migration> schema;
    for (const auto& history : {audit::migrations, accounts::migrations, machines::migrations,
                                offers::migrations, catalog::migrations})
        schema.insert(schema.end(), history.begin(), history.end());
    db::migrate(*database_, schema);
    seed_ = std::make_unique<Seed>(*database_, offers);
    catalog_.add_routes(router_);
}

void CatalogServer::start() {
    catalog_.refresh(*database_, clock_.now());
    server_ = std::make_unique<http::Server>(http::ServerOptions{}, service_);
    server_->start();
}

std::string CatalogServer::page(std::string_view query) {
    http::Request request;
    request.method = "GET";
    request.target = "/api/v1/offers" + std::string(query);
    const http::Response response = service_.answer(request);
    if (response.status != 200) throw std::runtime_error(response.body);
    return *response.shared_body;
}
std::string CatalogServer::url(std::string_view query) const {
    return fmt::format("'http://127.0.0.1:{}/api/v1/offers{}'", server_->port(), query);
}

}  // namespace berth::bench
