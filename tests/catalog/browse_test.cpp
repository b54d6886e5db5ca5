// GET /catalog through the whole of the service: more filters than /offers, and figures of the
// market.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "catalog/market.hpp"
#include "catalog/page_types.hpp"

namespace berth::test {
namespace {

using catalog::CatalogPage;
using std::chrono::seconds;

CatalogPage browse(Market& market, const std::string& query = "") {
    const http::Response response = market.get("/api/v1/catalog" + query);
    EXPECT_EQ(response.status, 200) << query << ": " << *Market::body_of(response);
    return wire::decode<CatalogPage>(*Market::body_of(response), "response");
}
OfferSummary offer_of(const wire::Rendered<OfferSummary>& item) {
    return wire::decode<OfferSummary>(*item.json, "item");
}
std::vector<OfferId> browsed_ids(Market& market, const std::string& query) {
    std::vector<OfferId> ids;
    for (const auto& item : browse(market, query).items) ids.push_back(offer_of(item).offer_id);
    return ids;
}

void make_interruptible(Machine& machine) {
    machine.availability_class = machines::AvailabilityClass::interruptible;
    machine.mode = machines::HostMode::idle;
}
void make_h100(Machine& machine) {
    machine.gpu_model = "NVIDIA H100 80GB HBM3";
    machine.gpu_model_key = "h100-sxm";
    machine.gpu_count = 1;
}

TEST(Browse, AnItemIsAnOfferWithThePriceOfTheMarket) {
    Market market;
    market.sell();
    market.refresh();
    std::string offer = *Market::body_of(market.get("/api/v1/offers"));
    offer = offer.substr(0, offer.find("}],\"next_cursor\""));
    const std::string page = *Market::body_of(market.get("/api/v1/catalog"));
    EXPECT_EQ(page.find(offer +
                        R"(,"market_price_micro_per_gpu_hour":null}],"next_cursor":null,)"
                        R"("total":1,"total_listed":1,)"
                        R"("lowest_rate_micro_per_gpu_hour":"200000","gpu_models":[{)"
                        R"("model":"NVIDIA GeForce RTX 4090","gpu_model_key":"rtx-4090",)"
                        R"("count":1,"lowest_rate_micro_per_gpu_hour":"200000",)"
                        R"("market_price_micro_per_gpu_hour":null}],"changed_at":")" +
                        to_rfc3339(market.harness.clock.now())),
              0U)
        << page;
}

TEST(Browse, AnEmptyMarketHasNoFigures) {
    Market market;
    market.refresh();
    const CatalogPage page = browse(market);
    EXPECT_TRUE(page.items.empty() && page.gpu_models.empty());
    EXPECT_EQ(page.total.value, 0);
    EXPECT_EQ(page.lowest_rate_micro_per_gpu_hour.value, std::nullopt);
}

TEST(Browse, CountsAllPagesAndTheModelsThatOtherFiltersLeave) {
    Market market;
    for (const std::int64_t rate : {400'000, 600'000, 800'000}) market.sell({.rate = Micro{rate}});
    market.sell({.rate = Micro{2'000'000}}, make_h100);
    market.sell({.rate = Micro{100}}, [](Machine& machine) {
        machine.state = machines::MachineState::UNQUALIFIED;
        machine.verification_level = machines::VerificationLevel::unverified;
    });
    market.refresh();
    const CatalogPage page = browse(market, "?limit=1&model=rtx");
    ASSERT_EQ(page.items.size(), 1U);
    const auto shown = offer_of(page.items.front()).market_price_micro_per_gpu_hour;
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->value, Micro{300'000}) << "what nobody could rent does not count";
    EXPECT_EQ(page.total.value, 3);
    EXPECT_EQ(page.total_listed.value, 5);
    EXPECT_EQ(page.lowest_rate_micro_per_gpu_hour.value, Micro{200'000});
    ASSERT_EQ(page.gpu_models.size(), 2U) << "`model` does not take away what it chooses from";
    EXPECT_EQ(page.gpu_models[0].gpu_model_key.value, "rtx-4090");
    EXPECT_EQ(page.gpu_models[0].count.value, 3);
    EXPECT_EQ(page.gpu_models[0].market_price_micro_per_gpu_hour.value, Micro{300'000});
    EXPECT_EQ(page.gpu_models[1].lowest_rate_micro_per_gpu_hour, Micro{2'000'000});
    EXPECT_EQ(page.gpu_models[1].market_price_micro_per_gpu_hour.value, std::nullopt);

    ASSERT_TRUE(page.next_cursor.value);
    const std::string rest = "&cursor=" + *page.next_cursor.value;
    EXPECT_EQ(browse(market, "?limit=5&model=rtx" + rest).items.size(), 2U);
    EXPECT_EQ(browse(market, "?limit=5&model=rtx" + rest).total.value, 3);
    EXPECT_EQ(market.get("/api/v1/catalog?model=rtx&class=dedicated" + rest).status, 422);
    EXPECT_EQ(market.get("/api/v1/offers?model=rtx" + rest).status, 422) << "of another list";
}

TEST(Browse, FiltersByClassAndMemory) {
    Market market;
    const OfferId small =
        market.sell({}, {}, Market::only({.vram_bytes = 25'757'220'864})).offer_id;
    const OfferId large =
        market
            .sell({.rate = Micro{500'000}}, make_h100, Market::only({.vram_bytes = 85'520'809'984}))
            .offer_id;
    const OfferId unmeasured = market.sell({.rate = Micro{600'000}}, {}, {}).offer_id;
    const OfferId idle = market
                             .sell({.rate = Micro{700'000}, .notice_s = 60}, make_interruptible,
                                   Market::only({.vram_bytes = 25'769'803'776}))
                             .offer_id;
    market.refresh();
    using Ids = std::vector<OfferId>;
    const std::pair<const char*, Ids> rows[] = {
        {"", {small, large, unmeasured, idle}},
        {"?class=dedicated", {small, large, unmeasured}},
        {"?class=interruptible", {idle}},
        {"?min_vram_gib=0", {small, large, idle}},
        {"?min_vram_gib=24", {small, large, idle}},
        {"?min_vram_gib=25", {large}},
        {"?min_vram_gib=80&sort=vram_desc", {large}},
        {"?min_vram_gib=24&sort=vram_desc", {large, idle, small}},
        {"?min_vram_gib=81", {}},
        {"?min_vram_gib=24&class=interruptible", {idle}},
        {"?min_vram_gib=1048576", {}},
    };
    for (const auto& [query, wanted] : rows) {
        EXPECT_EQ(browsed_ids(market, query), wanted) << query;
        EXPECT_EQ(browse(market, query).total.value, static_cast<std::int64_t>(wanted.size()));
    }
    EXPECT_EQ(market.ids("?class=interruptible&min_vram_gib=81").size(), 4U)
        << "/offers has no such filters";
    const auto why = wire::decode<catalog::Explanation>(
        market.get("/api/v1/offers/explain?class=interruptible&min_vram_gib=25").body, "response");
    EXPECT_EQ(why.matching.value, 0);
    std::map<std::string_view, std::int64_t> removed;
    for (const auto& each : why.removed_by) removed[enum_name(each.filter)] = each.count.value;
    EXPECT_EQ(removed,
              (std::map<std::string_view, std::int64_t>{{"class", 3}, {"min_vram_gib", 3}}));
}

TEST(Browse, ShowsOnRequestOnlyWhatRunsATemplate) {
    Market market;
    market.write([&](db::Transaction& tx) {
        offers::plant_starter_templates(tx, market.harness.clock.now());
    });
    market.sell(
        {}, [](Machine& machine) { machine.gpu_count = 8; },
        Market::only({.vram_bytes = 85'520'809'984}));
    market.sell({}, [](Machine& machine) { machine.backends = "metal"; }, {});
    market.refresh();
    const auto templates = market.harness.app->database().read(
        [](db::Transaction& tx) { return offers::published_templates(tx); });
    for (const offers::TemplateRow& row : templates) {
        const std::string asked = "?template_id=" + to_string(row.template_id);
        std::size_t fitting = 0;
        for (const auto& item : browse(market, asked).items)
            if (offer_of(item).fit.value().fits) ++fitting;
        const CatalogPage only = browse(market, asked + "&fits_only=true");
        EXPECT_EQ(only.items.size(), fitting) << row.slug;
        EXPECT_EQ(only.total.value, static_cast<std::int64_t>(fitting)) << row.slug;
        EXPECT_LT(fitting, 2U) << row.slug;
        EXPECT_EQ(browse(market, asked + "&fits_only=false").total.value, 2);
    }
    EXPECT_EQ(market.get("/api/v1/catalog?template_id=" + market.harness.new_id()).status, 404);
}

TEST(Browse, WhatFellSilentIsNotCounted) {
    Market market;
    const Machine machine = market.sell();
    market.refresh();
    market.harness.clock.advance(seconds(91));
    EXPECT_EQ(browse(market).total.value, 0) << "without a look";
    market.refresh();
    EXPECT_EQ(browse(market).total_listed.value, 0);
    market.heard(machine);
    market.refresh();
    EXPECT_EQ(browse(market).total.value, 1);
}

TEST(Browse, SaysWhenAnOfferLastChanged) {
    Market market;
    const Machine machine = market.sell();
    market.refresh();
    const Time first = browse(market).changed_at;
    market.harness.clock.advance(seconds(5));
    market.heard(machine);
    market.refresh();
    EXPECT_EQ(browse(market).changed_at, first) << "a heartbeat changes no offer";
    market.change(machine, [](Machine& m) { m.offer_state = machines::OfferState::unlisted; });
    market.refresh();
    EXPECT_EQ(browse(market).changed_at, market.harness.clock.now());
}

// Hosts choose what their GPUs are called.
TEST(Browse, ManyStrangeModelsDoNotMakeAnAnswerLong) {
    Market market;
    for (int i = 0; i < 120; ++i)
        market.sell({}, [&](Machine& machine) {
            machine.gpu_model = fmt::format("\"}},<script>{}", i);
            machine.gpu_model_key.reset();
        });
    market.sell({}, [](Machine& machine) {
        machine.gpu_model.reset();
        machine.gpu_model_key.reset();
    });
    market.refresh();
    const CatalogPage page = browse(market);
    EXPECT_EQ(page.total.value, 121);
    EXPECT_EQ(page.gpu_models.size(), 100U);
}

TEST(Browse, EveryBadParameterIsRefusedByName) {
    Market market;
    market.refresh();
    const std::pair<const char*, const char*> rows[] = {
        {"class", "spot"},           {"class", ""},
        {"min_vram_gib", "-1"},      {"min_vram_gib", "1.5"},
        {"min_vram_gib", "1048577"}, {"min_vram_gib", "99999999999999999999"},
        {"min_vram_gib", ""},        {"fits_only", "yes"},
        {"fits_only", "true"},       {"template_id", "whisper"},
        {"continent", "mars"},       {"limit", "101"},
    };
    for (const auto& [name, value] : rows)
        for (const char* path : {"/api/v1/catalog", "/api/v1/offers/explain"}) {
            const auto response = market.get(std::string(path) + "?" + name + "=" + value);
            EXPECT_EQ(response.status, 422) << path << ' ' << name << '=' << value;
            EXPECT_NE(error_message(response).find(std::string("query.") + name), std::string::npos)
                << error_message(response);
        }
    EXPECT_EQ(market.get("/api/v1/catalog?cursor=AAAA").status, 422);
}

}  // namespace
}  // namespace berth::test
