// Listings by the thousand, for the tests and benchmarks of the index.
#pragma once

#include <random>

#include "catalog/render.hpp"
#include "machines/machine.hpp"

namespace berth::catalog {

class SampleListings {
public:
    explicit SampleListings(Pulses& pulses, std::uint64_t seed = 1)
        : pulses_(pulses), random_(seed) {}

    static constexpr Time now{1'700'000'000'000'000};

    Listing next() {
        constexpr std::array<std::string_view, 8> models{"NVIDIA GeForce RTX 4090",
                                                         "NVIDIA GeForce RTX 3090",
                                                         "NVIDIA H100 80GB HBM3",
                                                         "NVIDIA A100-SXM4-80GB",
                                                         "NVIDIA L40S",
                                                         "AMD Instinct MI300X",
                                                         "Apple M3 Ultra",
                                                         "100%_odd"};
        constexpr std::array<std::int64_t, 5> memories{
            8'000'000'000, 24'000'000'000, 25'757'220'864, 48'000'000'000, 85'520'809'984};
        Listing listing;
        listing.offer_id = random_id();
        listing.version = 1;
        listing.pulse = pulses_.add(now - std::chrono::seconds(up_to(60))).value();
        listing.available_from = now - std::chrono::hours(1);
        listing.available_until = now + std::chrono::hours(1 + up_to(1000));
        listing.verification_level = static_cast<VerificationLevel>(up_to(3));
        listing.admitted = listing.verification_level != VerificationLevel::unverified;
        listing.tier = static_cast<Tier>(up_to(2));
        if (up_to(8) != 0) listing.continent = static_cast<Continent>(up_to(7));
        listing.model = models[static_cast<std::size_t>(up_to(models.size()))];
        listing.listed_at = now - std::chrono::seconds(up_to(100));
        listing.rate_micro_per_hour = 1000 * (50 + up_to(400));
        if (listing.rate_micro_per_hour % 3000 == 0)
            listing.availability_class = machines::AvailabilityClass::interruptible;
        if (up_to(4) != 0) listing.download_mbps_milli = up_to(1'000'000);
        if (up_to(4) != 0) listing.tflops_milli = up_to(90'000);
        if (up_to(4) != 0) listing.ai_speed_tok_s_milli = up_to(200'000);
        if (up_to(4) != 0) listing.reliability = static_cast<double>(up_to(100)) / 100;
        if (up_to(4) != 0) listing.uptime_bps = 9000 + up_to(1000);
        listing.fit.inference_only = listing.tier == Tier::inference;
        listing.fit.backends = static_cast<offers::BackendBits>(1 + up_to(31));
        listing.fit.gpu_count = 1 + up_to(8);
        if (up_to(4) != 0)
            listing.fit.vram_bytes = memories[static_cast<std::size_t>(up_to(memories.size()))];
        listing.fit.cuda_max = offers::parse_version("12.8");
        listing.text = item_text(summary_of(listing));
        return listing;
    }
    std::vector<Listing> some(std::size_t count) {
        std::vector<Listing> all;
        all.reserve(count);
        while (all.size() < count) all.push_back(next());
        return all;
    }

    std::int64_t up_to(std::size_t most) { return static_cast<std::int64_t>(random_() % most); }

private:
    OfferId random_id() {
        OfferId id;
        for (char& byte : id.uuid.bytes) byte = static_cast<char>(random_());
        return id;
    }

    // As wide as that of a machine whose test measured everything.
    static OfferSummary summary_of(const Listing& listing) {
        OfferSummary offer;
        offer.offer_id = listing.offer_id;
        offer.offer_version = {3};
        offer.model = listing.model;
        offer.gpu_model_key = std::string("rtx-4090");
        offer.gpu_count = wire::Count{listing.fit.gpu_count};
        offer.total_rate_micro_per_hour = {listing.rate_micro_per_hour};
        offer.rate_micro_per_gpu_hour = {listing.rate_micro_per_hour / listing.fit.gpu_count};
        offer.verification_level = listing.verification_level;
        offer.included_quotas = {{100}, {1000}};
        offer.available_from = listing.available_from;
        offer.available_until = listing.available_until;
        offer.tier = listing.tier;
        offer.backends = {offers::Backend::cuda, offers::Backend::vulkan};
        offer.continent = listing.continent;
        offer.listed_at = listing.listed_at;
        offer.vram_bytes = wire::Decimal{25'757'220'864};
        offer.ram_bytes = wire::Decimal{134'217'728'000};
        offer.disk_bytes = wire::Decimal{1'000'204'886'016};
        offer.cpu_cores = wire::Count{32};
        offer.download_mbps = machines::shown_rate(listing.download_mbps_milli.value_or(0));
        offer.upload_mbps = 870.5;
        offer.gpu_mem_bw_gbps = 936.1;
        offer.tflops = 82.6;
        offer.ai_speed_tok_s = 112.4;
        offer.driver_version = "570.86.15";
        offer.cuda_max = "12.8";
        return offer;
    }

    Pulses& pulses_;
    std::mt19937_64 random_;
};

}  // namespace berth::catalog
