#include "catalog/follower.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/operators.hpp"
#include "base/log.hpp"
#include "base/one_of.hpp"
#include "catalog/render.hpp"
#include "machines/figures.hpp"
#include "machines/gpus.hpp"
#include "machines/listing.hpp"
#include "machines/states.hpp"
#include "offers/disk.hpp"
#include "offers/templates.hpp"
#include "rentals/rentals.hpp"
#include "rentals/service_life.hpp"
#include "wire/wire.hpp"

namespace berth::catalog {
namespace {

// As far as the rule of sale looks at it.
machines::Machine machine_of(const OfferRow& row) {
    machines::Machine machine;
    machine.machine_id = row.machine_id;
    machine.state = row.state;
    machine.retired_at = row.retired_at;
    machine.manifest_hash = row.manifest_hash;
    machine.runtime_kind = row.runtime_kind;
    machine.gpu_memory_shared = row.gpu_memory_shared;
    machine.verification_level = row.verification_level;
    machine.mode = row.mode;
    machine.offerable = row.offerable;
    machine.offer_version = row.offer_version;
    machine.offer_state = row.offer_state;
    machine.availability_class = row.availability_class;
    machine.qualify_state = row.qualify_state;
    machine.tested_manifest_hash = row.tested_manifest_hash;
    machine.wipe_available = row.wipe_available;
    machine.gpus_lost = row.gpus_lost;
    return machine;
}

// Whether an offer can be in the catalog at all. Time and heartbeats decide at each moment whether
// it is shown, so here it is heard and in its time; and a pause of the whole service is told by the
// service, not by every offer.
machines::Sale sale_of(const OfferRow& row, bool is_duplicate, const machines::Settings& settings) {
    const Time now{1};
    return machines::sale_of(
        machine_of(row),
        {.now = now,
         .last_healthy_at = now,
         .host_capability = row.host_capability,
         .host_suspended = row.suspended,
         .gpu_duplicate = is_duplicate,
         .runtime_allowed = is_allowed(settings, row.runtime_kind),
         .disk_too_small = !offers::has_disk_for(row.included_disk_gib, row.disk_bytes)});
}

std::optional<wire::Decimal> decimal(std::optional<std::int64_t> value) {
    return value ? std::optional(wire::Decimal{*value}) : std::nullopt;
}
std::optional<wire::Count> count(std::optional<std::int64_t> value) {
    return value ? std::optional(wire::Count{*value}) : std::nullopt;
}

std::vector<offers::Backend> backends_of(offers::BackendBits bits) {
    std::vector<offers::Backend> backends;
    for (const EnumName& name : EnumTable<offers::Backend>::names)
        if (const auto backend = static_cast<offers::Backend>(name.value);
            (bits & offers::bit_of(backend)) != 0)
            backends.push_back(backend);
    return backends;
}

// Jobs that ended without the host's fault, to four digits; none without jobs to judge by.
std::optional<double> reliability_of(const OfferRow& row) {
    if (row.rated_jobs <= 0) return std::nullopt;
    constexpr std::int64_t digits = 10'000;
    const std::int64_t good = row.rated_jobs - row.faulted_jobs;
    return static_cast<double>(good * digits / row.rated_jobs) / digits;
}

std::optional<Interruption> interruption_of(const OfferRow& row) {
    if (row.interruptible_runs <= 0 || !row.interruption_at) return std::nullopt;
    constexpr std::int64_t horizon = machines::interruption_horizon_h;
    return Interruption{{row.interruptible_runs},
                        {row.uninterrupted_runs},
                        {horizon},
                        *row.interruption_at,
                        fmt::format("{} of {} runs reached {} hours without interruption.",
                                    row.uninterrupted_runs, row.interruptible_runs, horizon)};
}

OfferSummary summary_of(const OfferRow& row, bool is_ready) {
    const std::int64_t gpus = std::max(row.gpu_count.value_or(1), std::int64_t{1});
    OfferSummary offer;
    offer.offer_id = row.offer_id;
    offer.offer_version = {row.offer_version};
    offer.model = row.gpu_model;
    offer.gpu_model_key = row.gpu_model_key;
    offer.gpu_count = count(row.gpu_count);
    offer.total_rate_micro_per_hour = row.rate_micro_per_hour;
    offer.rate_micro_per_gpu_hour = {row.rate_micro_per_hour.value / gpus};
    offer.readiness = is_ready ? OfferReadiness::ready : OfferReadiness::unverified;
    offer.verification_level = row.verification_level;
    offer.included_quotas = {{row.included_disk_gib}, {row.included_egress_gib}};
    offer.available_from = row.available_from;
    offer.available_until = row.available_until;
    offer.tier = row.tier;
    offer.backends = backends_of(offers::backend_bits(row.backends));
    offer.availability_class = row.availability_class;
    if (row.preemption_notice_s) offer.preemption_notice_s = {*row.preemption_notice_s};
    offer.continent = row.continent;
    offer.accepts_custom_images = row.accepts_custom_images;
    offer.runtime = row.runtime_kind;
    offer.listed_at = row.listed_at.value_or(row.available_from);
    offer.vram_bytes = decimal(row.vram_bytes);
    offer.ram_bytes = decimal(row.ram_bytes);
    offer.disk_bytes = decimal(row.disk_bytes);
    offer.cpu_cores = count(row.cpu_cores_measured);
    offer.download_mbps = machines::shown_rate(row.download_mbps_milli);
    offer.upload_mbps = machines::shown_rate(row.upload_mbps_milli);
    offer.gpu_mem_bw_gbps = machines::shown_rate(row.gpu_mem_bw_gbps_milli);
    offer.tflops = machines::shown_rate(row.tflops_milli);
    offer.ai_speed_tok_s = machines::shown_rate(row.ai_speed_tok_s_milli);
    offer.driver_version = row.driver_version;
    offer.cuda_max = row.cuda_max;
    if (row.rated_jobs > 0)
        offer.reliability = Reliability{reliability_of(row).value(), {row.rated_jobs}};
    if (row.uptime_bps) offer.uptime_bps = {*row.uptime_bps};
    if (row.availability_class == machines::AvailabilityClass::interruptible)
        offer.interruption = interruption_of(row);
    return offer;
}

std::vector<Measure> measures_of(db::Transaction& tx) {
    std::vector<Measure> measures;
    for (const offers::TemplateRow& row : offers::published_templates(tx))
        measures.push_back({.template_id = row.template_id,
                            .needs = offers::needs_of(row),
                            .image = image_number(row.image_digest.value_or(""))});
    return measures;
}

WarmByMachine warm_of(const std::vector<WarmRow>& rows) {
    WarmByMachine all;
    for (const WarmRow& row : rows) {
        WarmImages& warm = all[row.machine_id];
        for (const std::string& digest :
             wire::decode<std::vector<std::string>>(row.images, "stored"))
            warm.push_back(image_number(digest));
        std::sort(warm.begin(), warm.end());
    }
    return all;
}

}  // namespace

void Follower::rebuild(db::Database& database, Time now) {
    const std::lock_guard lock(work_);
    load(database, now);
}

void Follower::look(db::Database& database, Time now) {
    const std::lock_guard lock(work_);
    if (!loaded_) return load(database, now);
    const bool wide = looks_ % looks_per_wide_one == 0;
    // After an outage the time that was missed is asked for too.
    const Time from = std::min(now, looked_at_);
    apply(read(database, now, from - (wide ? wide_overlap : overlap),
               from - (wide ? wide_heartbeat_overlap : heartbeat_overlap)));
    looked_at_ = now;
    publish(now);
}

void Follower::load(db::Database& database, Time now) {
    take_over(read_all(database, looks_, now));
    apply(read(database, now, now - overlap, now));
    looked_at_ = rebuilt_at_ = now;
    loaded_ = true;
    publish(now);
}

Follower::Seen Follower::read(db::Database& database, Time now, Time since, Time beats_since) {
    return database.read([&](db::Transaction& tx) {
        Seen seen;
        seen.not_hosting = accounts::list_not_hosting(tx);
        seen.duplicates = machines::find_duplicates(tx, now);
        seen.heard_since = rentals::heard_since(tx, now, rentals::outage_after);
        seen.measures = measures_of(tx);
        // Medians of a month change slowly, and each is a query.
        if (looks_ % looks_per_starts == 0) {
            usual_starts_.clear();
            for (const Measure& measure : seen.measures)
                if (const auto usual = rentals::usual_start(tx, measure.template_id, now))
                    usual_starts_[measure.template_id] = *usual;
        }
        for (Measure& measure : seen.measures)
            if (const auto usual = usual_starts_.find(measure.template_id);
                usual != usual_starts_.end())
                measure.usual_start = usual->second;
        seen.heartbeats = read_heartbeats(tx, beats_since, heartbeats_max);
        seen.versions = read_changed(tx, since, versions_max);
        std::vector<MachineId> ids = unknown(seen.versions);
        std::vector<AccountId> turned;  // may not host, or may again
        std::set_symmetric_difference(not_hosting_.begin(), not_hosting_.end(),
                                      seen.not_hosting.begin(), seen.not_hosting.end(),
                                      std::back_inserter(turned));
        std::set_symmetric_difference(duplicates_.begin(), duplicates_.end(),
                                      seen.duplicates.begin(), seen.duplicates.end(),
                                      std::back_inserter(ids));
        for (const AccountId& owner : turned) {
            const auto own = read_machines_of(tx, owner);
            ids.insert(ids.end(), own.begin(), own.end());
        }
        std::sort(ids.begin(), ids.end());
        ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
        seen.too_many = static_cast<std::int64_t>(ids.size()) > changes_max ||
                        static_cast<std::int64_t>(seen.versions.size()) == versions_max;
        if (!seen.too_many) {
            seen.rows = read_offers(tx, ids);
            seen.warm = warm_of(read_warm(tx, ids));
        }
        return seen;
    });
}

std::vector<MachineId> Follower::unknown(const std::vector<Version>& versions) {
    const std::lock_guard lock(known_mutex_);
    std::vector<MachineId> ids;
    for (const Version& each : versions) {
        const auto found = known_.find(each.machine_id);
        if (found == known_.end() || found->second.version < each.version)
            ids.push_back(each.machine_id);
    }
    return ids;
}

// The number of a machine, with what the row says of its last heartbeat. A catalog that has no room
// for more machines leaves out those that come last.
std::optional<std::uint32_t> Follower::pulse_of(const OfferRow& row) {
    const std::lock_guard lock(known_mutex_);
    const auto found = known_.try_emplace(row.machine_id).first;
    std::optional<std::uint32_t>& pulse = found->second.pulse;
    const Time heard = row.last_healthy_at.value_or(Time{});
    if (pulse)
        pulses_.set(*pulse, heard);
    else
        pulse = pulses_.add(heard);
    if (!pulse) ++left_out_;
    return pulse;
}

void Follower::note(const std::vector<Version>& versions) {
    const std::lock_guard lock(known_mutex_);
    for (const Version& each : versions) {
        Known& known = known_[each.machine_id];
        known.version = std::max(known.version, each.version);
        known.look = looks_;
    }
}

// Drops what is known of machines that are not listed and have not changed for a while, so that the
// map does not grow with every machine that ever was. When one of them changes, it is read again.
void Follower::forget() {
    const std::lock_guard lock(known_mutex_);
    std::vector<bool> in_use(pulses_.size());
    for (std::uint32_t slot = 0; slot < base_->size(); ++slot) in_use[base_->pulse(slot)] = true;
    for (const auto& [id, change] : changes_)
        if (change.listing) in_use[change.listing->pulse] = true;
    std::vector<std::uint32_t> unused;
    std::erase_if(known_, [&](const auto& entry) {
        const Known& known = entry.second;
        if (looks_ - known.look < looks_remembered || (known.pulse && in_use[*known.pulse]))
            return false;
        if (known.pulse) unused.push_back(*known.pulse);
        return true;
    });
    pulses_.give_back(std::move(unused));
    if (left_out_ > 0) log(Level::warn, "catalog_is_full", {{"offers_left_out", left_out_}});
    left_out_ = 0;
}

std::optional<Listing> Follower::listing_of(const OfferRow& row,
                                            const std::vector<MachineId>& duplicates,
                                            const WarmByMachine& warm) {
    const machines::Sale sale = sale_of(
        row, std::binary_search(duplicates.begin(), duplicates.end(), row.machine_id), settings_);
    if (sale == machines::Sale::none) return std::nullopt;
    const bool is_ready = sale == machines::Sale::ready;
    const std::optional<std::uint32_t> pulse = pulse_of(row);
    if (!pulse) return std::nullopt;
    Listing listing;
    listing.pulse = *pulse;
    listing.offer_id = row.offer_id;
    listing.version = row.version;
    listing.available_from = row.available_from;
    listing.available_until = row.available_until;
    listing.admitted = is_ready;
    listing.tier = row.tier;
    listing.verification_level = row.verification_level;
    listing.continent = row.continent;
    listing.model = row.gpu_model.value_or("");
    listing.model_key = row.gpu_model_key.value_or("");
    listing.availability_class = row.availability_class;
    listing.listed_at = row.listed_at.value_or(row.available_from);
    listing.rate_micro_per_hour = row.rate_micro_per_hour.value;
    listing.download_mbps_milli = row.download_mbps_milli;
    listing.tflops_milli = row.tflops_milli;
    listing.ai_speed_tok_s_milli = row.ai_speed_tok_s_milli;
    listing.reliability = reliability_of(row);
    listing.uptime_bps = row.uptime_bps;
    listing.fit = {.inference_only = row.tier == Tier::inference,
                   .backends = offers::backend_bits(row.backends),
                   .gpu_count = row.gpu_count.value_or(0),
                   .vram_bytes = row.vram_bytes,
                   .cuda_max = row.cuda_max ? offers::parse_version(*row.cuda_max) : std::nullopt};
    if (const auto known = warm.find(row.machine_id); known != warm.end())
        listing.warm = known->second;
    listing.text = item_text(summary_of(row, is_ready));
    return listing;
}

void Follower::apply(Seen seen) {
    ++looks_;
    measures_ = std::move(seen.measures);
    heard_since_ = seen.heard_since;
    for (const OfferRow& row : seen.rows) {
        changes_[row.offer_id] = {looks_, row.version, listing_of(row, seen.duplicates, seen.warm)};
        changes_are_new_ = true;
    }
    if (seen.too_many) {
        too_many_ = true;
    } else {
        // Also those without a row: a machine that has no offer.
        note(seen.versions);
        not_hosting_ = std::move(seen.not_hosting);
        duplicates_ = std::move(seen.duplicates);
    }
    const std::lock_guard lock(known_mutex_);
    for (const Heartbeat& heartbeat : seen.heartbeats)
        if (const auto found = known_.find(heartbeat.machine_id);
            found != known_.end() && found->second.pulse)
            pulses_.set(*found->second.pulse, heartbeat.last_healthy_at);
}

// On a thread of its own, except for the first.
Follower::Rebuilt Follower::read_all(db::Database& database, std::int64_t look, Time now) {
    Rebuilt rebuilt{nullptr, look, {}, {}, {}};
    std::vector<Listing> listings;
    database.read([&](db::Transaction& tx) {
        listings.clear();
        rebuilt.versions.clear();
        rebuilt.not_hosting = accounts::list_not_hosting(tx);
        rebuilt.duplicates = machines::find_duplicates(tx, now);
        MachineId after;
        for (;;) {
            const auto rows = read_listed(tx, after, page_rows_max);
            const WarmByMachine warm = rows.empty()
                                           ? WarmByMachine()
                                           : warm_of(read_warm(tx, after, rows.back().machine_id));
            for (const OfferRow& row : rows) {
                rebuilt.versions.push_back({row.machine_id, row.version});
                if (auto listing = listing_of(row, rebuilt.duplicates, warm))
                    listings.push_back(std::move(*listing));
            }
            if (static_cast<std::int64_t>(rows.size()) < page_rows_max) return;
            after = rows.back().machine_id;
        }
    });
    rebuilt.index = std::make_shared<const Index>(std::move(listings));
    return rebuilt;
}

// What a look has found since the rebuild began stays, unless the rebuild has seen something newer.
void Follower::take_over(Rebuilt rebuilt) {
    base_ = std::move(rebuilt.index);
    note(rebuilt.versions);
    std::erase_if(changes_, [&](const auto& entry) {
        const auto& [id, change] = entry;
        const auto slot = base_->find(id);
        const bool later = change.look > rebuilt.look;
        if (!slot) return !later || !change.listing;
        const std::int64_t version = base_->version(*slot);
        return change.version < version || (change.version == version && !later);
    });
    changes_are_new_ = true;
    // An index that is being read beside this one has numbers that only known_ can tell.
    if (!rebuilding_.valid()) forget();
    if (too_many_) {
        not_hosting_ = std::move(rebuilt.not_hosting);
        duplicates_ = std::move(rebuilt.duplicates);
    }
    too_many_ = false;
}

bool Follower::needs_rebuild(Time now) const {
    const std::size_t bearable = std::clamp(base_->size() / recent_share, recent_min, recent_max);
    return too_many_ || changes_.size() > bearable || now - rebuilt_at_ > rebuild_every;
}

void Follower::publish(Time now) {
    if (changes_are_new_) {
        std::vector<Listing> listings;
        superseded_ = Bitmap(base_->size());
        for (const auto& [id, change] : changes_) {
            if (const auto slot = base_->find(id)) superseded_.set(*slot);
            if (change.listing) listings.push_back(*change.listing);
        }
        recent_ = std::make_shared<const Index>(std::move(listings));
        changes_are_new_ = false;
        changed_at_ = now;
    }
    auto next = std::make_unique<Snapshot>();
    next->loaded = true;
    next->changed_at = changed_at_;
    next->shards[0] = make_shard(base_, &superseded_, pulses_, {now, heard_since_});
    next->shards[1] = make_shard(recent_, nullptr, pulses_, {now, heard_since_});
    next->measures = measures_;
    published_.replace(std::move(next));
    if (!too_many_) current_at_ = SteadyClock::now();  // else a rebuild will find the rest
}

double Follower::age_seconds() const {
    return std::chrono::duration<double>(SteadyClock::now() - current_at_.load()).count();
}

void Follower::follow(db::Database& database, const Clock& clock) {
    if (thread_.joinable()) return;
    thread_ = std::thread([this, &database, &clock] { loop(database, clock); });
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, first_wait_max, [&] { return began_ || stopping_; });
}

void Follower::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
    if (rebuilding_.valid()) rebuilding_.wait();
}

// While the database is away the last snapshot holds, and its offers fall silent one by one; the
// log tells it once.
void Follower::loop(db::Database& database, const Clock& clock) {
    bool reached = true;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        lock.unlock();
        try {
            turn(database, clock.now());
            reached = true;
        } catch (const std::exception& error) {
            if (reached) log(Level::warn, "catalog_not_read", {{"why", error.what()}});
            reached = false;
        }
        lock.lock();
        began_ = began_ || reached;
        wake_.notify_all();
        wake_.wait_for(lock, look_every, [&] { return stopping_; });
    }
}

void Follower::turn(db::Database& database, Time now) {
    using namespace std::chrono_literals;
    look(database, now);
    const std::lock_guard lock(work_);
    if (rebuilding_.valid()) {
        if (rebuilding_.wait_for(0s) != std::future_status::ready) return;
        too_many_ = true;  // it is tried again at once, should this one have failed
        take_over(rebuilding_.get());
        publish(now);
        log(Level::info, "catalog_rebuilt", {{"offers", base_->size()}});
    } else if (needs_rebuild(now)) {
        rebuilt_at_ = now;
        rebuilding_ = std::async(std::launch::async, [this, &database, look = looks_, now] {
            return read_all(database, look, now);
        });
    }
}

}  // namespace berth::catalog
