// The same pages out of 1,000,000 offers against 100,000: the search and the text, without HTTP,
// which costs the same whatever the size. The ratio is that of a page behind selective filters
// (model, price, continent, with the fit of a template, sorted by tflops); the one of the default
// page, and what it costs to explain the filtered one, stand after it. All in processor time, so
// that neighbours do not count.
#include <fmt/format.h>
#include <time.h>

#include "bench/measure.hpp"
#include "catalog/render.hpp"
#include "tests/catalog/sample.hpp"

namespace {

using namespace berth;
using namespace berth::catalog;

constexpr std::size_t small = 100'000;
constexpr std::size_t large = 1'000'000;
constexpr std::size_t page_items = 20;
constexpr int rounds = 5;
constexpr double round_seconds = 0.3;

struct Market {
    explicit Market(std::size_t offers) {
        SampleListings listings(pulses);
        snapshot.shards[0] = make_shard(std::make_shared<const Index>(listings.some(offers)),
                                        nullptr, pulses, {SampleListings::now, {}});
    }
    // Seconds of each page, one after the other.
    std::vector<double> pages(const OffersQuery& query) const {
        const Measure measure{{}, {.min_vram_bytes = 20'000'000'000}};
        const Ending ending{.now = SampleListings::now, .template_asked = &measure};
        return timed([&] {
            std::string text;
            const Search search(snapshot, pulses, query, SampleListings::now);
            for (const Found& found : search.page(std::nullopt, page_items + 1))
                append_item(text, found, pulses, ending);
            if (text.empty()) throw std::runtime_error("the page is empty");
        });
    }
    std::vector<double> explanations(const OffersQuery& query) const {
        return timed([&] {
            const Search search(snapshot, pulses, query, SampleListings::now);
            if (search.reasons(3).matching == 0) throw std::runtime_error("nothing matches");
        });
    }

    template <class Work>
    static std::vector<double> timed(const Work& work) {
        const auto seconds = [] {
            timespec time{};
            ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
            return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
        };
        const double begin = seconds();
        std::vector<double> times;
        for (double last = begin; last - begin < round_seconds;) {
            work();
            const double now = seconds();
            times.push_back(now - last);
            last = now;
        }
        return times;
    }

    Pulses pulses;
    Snapshot snapshot;
};

struct Pace {
    double many = 0;  // microseconds: the median page out of many offers, and out of few
    double few = 0;
    double many_p99 = 0;
};

double part(std::vector<double> times, double share) {
    std::sort(times.begin(), times.end());
    return 1e6 * times.at(static_cast<std::size_t>(share * static_cast<double>(times.size())));
}

// In turns, so that neighbours trouble both alike.
template <class Times>
Pace compare(const Market& many, const Market& few, const Times& times) {
    std::vector<double> of_many;
    std::vector<double> of_few;
    std::vector<double> last;
    for (int round = 0; round < rounds; ++round) {
        of_few.push_back(part(times(few), 0.5));
        last = times(many);
        of_many.push_back(part(last, 0.5));
    }
    return {bench::median(of_many), bench::median(of_few), part(last, 0.99)};
}

void measure() {
    const Market few(small);
    const Market many(large);
    OffersQuery selective;
    selective.model = {"rtx 4090"};
    selective.max_rate_micro_per_hour = Micro{75'000};
    selective.continent = ContinentFilter::europe;
    selective.sort = "tflops_desc";
    const auto pages = [](const OffersQuery& query) {
        return [query](const Market& market) { return market.pages(query); };
    };
    const Pace filtered = compare(many, few, pages(selective));
    const Pace plain = compare(many, few, pages({}));
    const Pace reasons =
        compare(many, few, [&](const Market& market) { return market.explanations(selective); });
    fmt::print(
        "BENCH catalog_growth ours={:.0f} baseline=tenth:{:.0f} ratio={:.2f} p50={:.1f}us "
        "p99={:.1f}us plain={:.1f}/{:.1f}us explain={:.0f}/{:.0f}us\n",
        1e6 / filtered.many, 1e6 / filtered.few, filtered.few / filtered.many, filtered.many,
        filtered.many_p99, plain.many, plain.few, reasons.many, reasons.few);
}

}  // namespace

int main() { return bench::run("catalog_growth", measure); }
