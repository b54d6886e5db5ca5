// How soon a template would answer on an offer: what is on the machine's disk already, and what
// starts usually take.
#include <gtest/gtest.h>

#include "catalog/market.hpp"
#include "catalog/render.hpp"

namespace berth::test {
namespace {

TEST(WarmCatalog, SaysWhetherTheImageOfATemplateIsOnTheMachine) {
    Market market;
    market.write([&](db::Transaction& tx) {
        offers::plant_starter_templates(tx, market.harness.clock.now());
    });
    const auto templates = market.harness.app->database().read(
        [](db::Transaction& tx) { return offers::published_templates(tx); });
    const offers::TemplateRow& asked = templates.at(0);
    const std::string digest = asked.image_digest->substr(asked.image_digest->find("sha256:"));
    const Machine warm = market.sell({.rate = Micro{100'000}});
    const Machine cold = market.sell({.rate = Micro{200'000}});
    market.write([&](db::Transaction& tx) {
        const std::string others = R"(["sha256:)" + std::string(64, 'e') + "\"";
        machines::save_images(tx, {warm.machine_id, others + ",\"" + digest + "\"]", Time{1}});
        machines::save_images(tx, {cold.machine_id, others + "]", Time{1}});
    });
    market.refresh();
    const std::string query = "?template_id=" + to_string(asked.template_id);
    auto items = market.offers(query).items;
    ASSERT_EQ(items.size(), 2u);
    EXPECT_TRUE(items[0].time_to_ready.value().is_warm);
    EXPECT_FALSE(items[1].time_to_ready.value().is_warm);
    EXPECT_FALSE(items[0].time_to_ready->expected_ms.value) << "nothing was measured yet";
    EXPECT_FALSE(market.offers().items.at(0).time_to_ready) << "without a template";

    // What became of it is seen when the machine is back on the market.
    market.write([&](db::Transaction& tx) {
        machines::save_images(tx, {cold.machine_id, "[\"" + digest + "\"]", Time{2}});
    });
    market.change(cold, [](Machine&) {});
    market.refresh();
    items = market.offers(query).items;
    EXPECT_TRUE(items[1].time_to_ready.value().is_warm);
}

TEST(WarmCatalog, LeavesThePullOutWhereTheImageIsThere) {
    const std::string image = "docker.io/a/b@sha256:" + std::string(64, 'a');
    catalog::Listing listing;
    listing.text = R"({"offer":1)";
    listing.warm = {catalog::image_number(image)};
    catalog::Pulses pulses;
    listing.pulse = pulses.add(Time{}).value();
    const catalog::Index index({listing});
    const auto rendered = [&](const std::string& asked_image) {
        const catalog::Measure measure{
            .template_id = {},
            .needs = {},
            .image = catalog::image_number(asked_image),
            .usual_start = offers::TimeToReady{{60'000}, {40'000}, {41'000}}};
        std::string out;
        catalog::append_item(out, {.index = &index, .slot = 0, .mark = {}}, pulses,
                             {.now = Time{}, .platform_fee_bps = 0, .template_asked = &measure});
        return out.substr(out.find(R"("time_to_ready")"));
    };
    EXPECT_EQ(rendered(image), R"("time_to_ready":{"is_warm":true,"expected_ms":"41000"}})");
    EXPECT_EQ(rendered("docker.io/a/b@sha256:" + std::string(64, 'b')),
              R"("time_to_ready":{"is_warm":false,"expected_ms":"101000"}})");
    EXPECT_EQ(catalog::image_number("docker.io/a/b:latest"), 0u);
    EXPECT_EQ(catalog::image_number("sha256:zz"), 0u);
}

}  // namespace
}  // namespace berth::test
