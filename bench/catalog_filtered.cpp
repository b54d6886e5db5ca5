// A page behind selective filters (model, price, continent), with the fit of a template and another
// sort, against the default page of the same 100,000 offers.
#include "bench/catalog_server.hpp"

namespace {

using namespace berth;

constexpr int rounds = 5;

void measure() {
    bench::CatalogServer server(bench::usual_offers);
    server.start();
    const auto templates =
        server.database().read([](db::Transaction& tx) { return offers::published_templates(tx); });
    const std::string query = fmt::format("{}&template_id={}", bench::selective_query,
                                          to_string(templates.at(0).template_id));
    if (server.page(query).find("\"fit\"") == std::string::npos)
        throw std::runtime_error("the filtered page is empty");
    std::vector<double> ours;
    std::vector<double> plain;
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(bench::pages_per_second(server.url(query)));
        plain.push_back(bench::pages_per_second(server.url()));
    }
    bench::print("catalog_filtered", ours, "catalog", plain,
                 bench::wrk_latencies("-t1 -c64 -d3s " + server.url(query)));
}

}  // namespace

int main() { return bench::run("catalog_filtered", measure); }
