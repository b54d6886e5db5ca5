// The same pages out of 1,000,000 offers against 100,000: the search and the text, without HTTP,
// which costs the same whatever the size. The ratio is that of the default page; the one of a page
// behind selective filters, whose bitmaps grow with the offers, stands after it.
#include <fmt/format.h>

#include <chrono>

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
constexpr std::chrono::milliseconds round_length{500};

struct Market {
    explicit Market(std::size_t offers) {
        SampleListings listings(pulses);
        snapshot.shards[0] =
            make_shard(std::make_shared<const Index>(listings.some(offers)), nullptr, pulses,
                       SampleListings::now);
    }
    double pages_per_second(const OffersQuery& query) const {
        const auto begin = std::chrono::steady_clock::now();
        double pages = 0;
        std::size_t bytes = 0;
        while (std::chrono::steady_clock::now() - begin < round_length) {
            std::string text;
            const Search search(snapshot, pulses, query, SampleListings::now);
            for (const Found& found : search.page(std::nullopt, page_items + 1))
                append_item(text, found, pulses, {.now = SampleListings::now});
            bytes += text.size();
            ++pages;
        }
        if (bytes == 0) throw std::runtime_error("the pages are empty");
        const std::chrono::duration<double> span = std::chrono::steady_clock::now() - begin;
        return pages / span.count();
    }

    Pulses pulses;
    Snapshot snapshot;
};

struct Pace {
    double of_many = 0;
    double of_few = 0;
};

Pace compare(const Market& many, const Market& few, const OffersQuery& query) {
    std::vector<double> of_many;
    std::vector<double> of_few;
    for (int round = 0; round < rounds; ++round) {
        of_many.push_back(many.pages_per_second(query));
        of_few.push_back(few.pages_per_second(query));
    }
    return {bench::median(of_many), bench::median(of_few)};
}

void measure() {
    const Market few(small);
    const Market many(large);
    OffersQuery selective;
    selective.model = {"rtx 4090"};
    selective.max_rate_micro_per_hour = Micro{75'000};
    selective.continent = ContinentFilter::europe;
    selective.sort = "tflops_desc";
    const Pace plain = compare(many, few, {});
    const Pace filtered = compare(many, few, selective);
    fmt::print("BENCH catalog_growth ours={:.0f} baseline=tenth:{:.0f} ratio={:.2f} "
               "filtered={:.0f}/{:.0f}\n",
               plain.of_many, plain.of_few, plain.of_many / plain.of_few, filtered.of_many,
               filtered.of_few);
}

}  // namespace

int main() {
    try {
        measure();
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "catalog_growth: {}\n", error.what());
        return 1;
    }
}
