// A database with a full catalog, for a berthd that is started on it: catalog_seed URL OFFERS
#include "bench/catalog_server.hpp"
#include "server/schema.hpp"

int main(int count, char** words) {
    if (count != 3) {
        std::fprintf(stderr, "usage: catalog_seed DATABASE-URL OFFERS\n");
        return 2;
    }
    return berth::bench::run("catalog_seed", [&] {
        const auto database = berth::db::open(words[1]);
        berth::db::migrate(*database, berth::server::schema());
        const berth::bench::Seed seed(*database, std::stoll(words[2]));
    });
}
