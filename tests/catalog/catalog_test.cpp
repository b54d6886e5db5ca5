// GET /offers through the whole of the service: what is shown, in which order, and what is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "catalog/market.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

using machines::Continent;
using machines::MachineState;
using machines::OfferState;
using machines::VerificationLevel;
using std::chrono::hours;
using std::chrono::seconds;
using Ids = std::vector<OfferId>;

TEST(Catalog, ShowsWhatIsSoldToTheLetter) {
    Market market;
    const Machine machine = market.sell();
    market.harness.clock.advance(seconds(7));
    market.refresh();
    const http::Response response = market.get("/api/v1/offers");
    EXPECT_EQ(response.headers.find("Cache-Control"), "no-store");
    const std::string began = to_rfc3339(machine.enrolled_at);
    EXPECT_EQ(
        *Market::body_of(response),
        R"({"items":[{"offer_id":")" + to_string(machine.offer_id) +
            R"(","offer_version":"1","model":"NVIDIA GeForce RTX 4090","gpu_model_key":"rtx-4090",)"
            R"("gpu_count":2,"total_rate_micro_per_hour":"400000",)"
            R"("rate_micro_per_gpu_hour":"200000","readiness":"ready",)"
            R"("verification_level":"auto_verified","included_quotas":{"included_disk_gib":100,)"
            R"("included_egress_gib":1000},"available_from":")" +
            began + R"(","available_until":")" + to_rfc3339(machine.enrolled_at + hours(24)) +
            R"(","tier":"container","backends":["cuda","vulkan"],"availability_class":"dedicated",)"
            R"("continent":"EU","accepts_custom_images":false,"runtime":"container",)"
            R"("listed_at":")" +
            began +
            R"(","vram_bytes":"25757220864","ram_bytes":"134217728000",)"
            R"("disk_bytes":"1000204886016","cpu_cores":32,"download_mbps":940,"upload_mbps":870,)"
            R"("gpu_mem_bw_gbps":936,"tflops":82.6,"ai_speed_tok_s":112,)"
            R"("driver_version":"570.86.15","cuda_max":"12.8","platform_fee_bps":1000,)"
            R"("last_seen_age_s":7}],"next_cursor":null})");
}

TEST(Catalog, OneOfferIsShownAsInTheList) {
    Market market;
    const Machine machine = market.sell();
    const Machine untested = market.sell({}, [](Machine& m) {
        m.state = MachineState::UNQUALIFIED;
        m.verification_level = VerificationLevel::unverified;
    });
    market.refresh();
    const std::string path = "/api/v1/offers/" + to_string(machine.offer_id);
    const std::string list = *Market::body_of(market.get("/api/v1/offers"));
    const auto shown = market.get(path);
    EXPECT_EQ(shown.status, 200);
    EXPECT_EQ(shown.headers.find("Cache-Control"), "no-store");
    EXPECT_EQ(list, R"({"items":[)" + *Market::body_of(shown) + R"(],"next_cursor":null})");
    const auto early =
        market.get("/api/v1/offers/" + to_string(untested.offer_id) + "?fits_for=all");
    EXPECT_NE(Market::body_of(early)->find(R"("readiness":"unverified")"), std::string::npos);
    EXPECT_NE(Market::body_of(early)->find("fits_template_ids"), std::string::npos);

    EXPECT_EQ(market.get(path + "?fits_for=some").status, 422);
    EXPECT_EQ(market.get(path + "?template_id=whisper").status, 422);
    EXPECT_EQ(market.get(path + "?template_id=" + market.harness.new_id()).status, 404);
    EXPECT_EQ(market.get("/api/v1/offers/" + market.harness.new_id()).status, 404);
    EXPECT_EQ(market.get("/api/v1/offers/mine").status, 422);
    EXPECT_EQ(market.get("/api/v1/offers/explain").status, 200) << "a word before an id";
    market.harness.clock.advance(seconds(91));
    EXPECT_EQ(market.get(path).status, 404) << "it fell silent";
    market.heard(machine);
    market.refresh();
    EXPECT_EQ(market.get(path).status, 200);
    market.change(machine, [](Machine& m) { m.offer_state = OfferState::unlisted; });
    market.refresh();
    EXPECT_EQ(market.get(path).status, 404) << "it was taken back";
}

TEST(Catalog, WhatNobodyMeasuredIsLeftOut) {
    Market market;
    market.sell({},
                [](Machine& machine) {
                    machine.continent.reset();
                    machine.gpu_model_key.reset();
                    machine.cuda_max.reset();
                },
                {});
    market.refresh();
    const auto offers = market.offers();
    ASSERT_EQ(offers.items.size(), 1U);
    const OfferSummary& offer = offers.items.front();
    EXPECT_FALSE(offer.vram_bytes || offer.ram_bytes || offer.disk_bytes || offer.cpu_cores ||
                 offer.download_mbps || offer.tflops || offer.ai_speed_tok_s || offer.cuda_max ||
                 offer.continent || offer.reliability || offer.uptime_bps || offer.interruption ||
                 offer.fit || offer.fits_template_ids);
    EXPECT_EQ(offer.gpu_model_key.value, std::nullopt);
}

TEST(Catalog, CountsInterruptionsOfInterruptibleOffersAlone) {
    Market market;
    const Machine dedicated = market.sell();
    const Machine interruptible = market.sell({.notice_s = 60}, [](Machine& m) {
        m.availability_class = machines::AvailabilityClass::interruptible;
        m.mode = machines::HostMode::idle;
    });
    for (const Machine& machine : {dedicated, interruptible})
        market.write([&](db::Transaction& tx) {
            tx.run(
                "UPDATE machines SET interruptible_runs = 3, uninterrupted_runs = 2, "
                "interruption_at = $2 WHERE machine_id = $1",
                machine.machine_id, market.harness.clock.now());
        });
    market.refresh();
    const auto offers = market.offers();
    ASSERT_EQ(offers.items.size(), 2U);
    for (const OfferSummary& offer : offers.items)
        EXPECT_EQ(offer.interruption.has_value(), offer.offer_id == interruptible.offer_id);
}

TEST(Catalog, ShowsTheFeeOfNow) {
    Market market;
    market.sell();
    market.refresh();
    market.harness.set("money.platform_fee_bps", "750");
    EXPECT_EQ(market.offers().items.at(0).platform_fee_bps.value, 750);
}

// Each of these takes an offer out of the catalog, and its opposite brings it back.
TEST(Catalog, OnlyWhatCanBeReservedIsListed) {
    struct Row {
        const char* why;
        void (*spoil)(Machine&);
    };
    const Row rows[] = {
        {"unlisted", [](Machine& m) { m.offer_state = OfferState::unlisted; }},
        {"draining", [](Machine& m) { m.offer_state = OfferState::draining; }},
        {"the machine is put aside", [](Machine& m) { m.state = MachineState::QUARANTINED; }},
        {"the machine is not listed", [](Machine& m) { m.state = MachineState::UNLISTED; }},
        {"the machine is being cleaned", [](Machine& m) { m.state = MachineState::CLEANING; }},
        {"the machine has a job",
         [](Machine& m) {
             m.state = MachineState::ALLOCATED;
             m.job_id = JobId{m.machine_id.uuid};
         }},
        {"not offerable", [](Machine& m) { m.offerable = false; }},
        {"a class that the mode does not sell",
         [](Machine& m) { m.mode = machines::HostMode::idle; }},
        {"retired", [](Machine& m) { m.retired_at = m.enrolled_at; }},
    };
    for (const Row& row : rows) {
        Market market;
        const Machine machine = market.sell();
        const Machine other = market.sell({.rate = Micro{900'000}});
        market.refresh();
        EXPECT_EQ(market.ids(), (Ids{machine.offer_id, other.offer_id})) << row.why;
        market.change(machine, row.spoil);
        market.refresh();
        EXPECT_EQ(market.ids(), Ids{other.offer_id}) << row.why;
        EXPECT_EQ(market.ids("?include_unverified=true"), Ids{other.offer_id}) << row.why;
        market.harness.app->catalog().follower().rebuild(market.harness.app->database(),
                                                         market.harness.clock.now());
        EXPECT_EQ(market.ids(), Ids{other.offer_id}) << row.why << ", read anew";
    }
}

TEST(Catalog, AnOfferHasATime) {
    Market market;
    const Time now = market.harness.clock.now();
    const Machine later = market.sell({.from = now + seconds(30)});
    const Machine ending = market.sell({.rate = Micro{500'000}}, [&](Machine& machine) {
        machine.available_until = now + seconds(100);
    });
    market.refresh();
    EXPECT_EQ(market.ids(), Ids{ending.offer_id});
    market.harness.clock.advance(seconds(30));
    market.heard(later);
    market.heard(ending);
    market.refresh();
    EXPECT_EQ(market.ids(), (Ids{later.offer_id, ending.offer_id}));
    market.harness.clock.advance(seconds(11));
    EXPECT_EQ(market.ids(), Ids{later.offer_id}) << "a minute before its end, without a look";
}

TEST(Catalog, AMachineThatFallsSilentIsHiddenAndComesBackWithAHeartbeat) {
    Market market;
    const Machine machine = market.sell();
    market.refresh();
    market.harness.clock.advance(seconds(90));
    EXPECT_EQ(market.offers().items.at(0).last_seen_age_s.value, 90);
    market.harness.clock.advance(seconds(1));
    EXPECT_EQ(market.ids(), Ids{});
    market.refresh();
    EXPECT_EQ(market.ids(), Ids{});
    market.heard(machine);
    market.refresh();
    EXPECT_EQ(market.offers().items.at(0).last_seen_age_s.value, 0);
}

TEST(Catalog, SuspendedHostsLeaveItAndComeBack) {
    Market market;
    const Machine mine = market.sell();
    const AccountId bad = market.host();
    market.owner = bad;
    const Machine one = market.sell({.rate = Micro{500'000}});
    const Machine two = market.sell({.rate = Micro{600'000}});
    market.refresh();
    EXPECT_EQ(market.ids(), (Ids{mine.offer_id, one.offer_id, two.offer_id}));
    const auto suspend = [&](bool on) {
        market.write([&](db::Transaction& tx) {
            tx.run("UPDATE accounts SET suspended = $2 WHERE account_id = $1", bad, on);
        });
        market.refresh();
    };
    suspend(true);
    EXPECT_EQ(market.ids(), Ids{mine.offer_id});
    market.harness.app->catalog().follower().rebuild(market.harness.app->database(),
                                                     market.harness.clock.now());
    EXPECT_EQ(market.ids(), Ids{mine.offer_id});
    suspend(false);
    EXPECT_EQ(market.ids(), (Ids{mine.offer_id, one.offer_id, two.offer_id}));
}

TEST(Catalog, MachinesThatHaveNotPassedAreShownOnRequestOnly) {
    Market market;
    const Machine passed = market.sell();
    const Machine fresh = market.sell({.rate = Micro{100'000}},
                                      [](Machine& machine) {
                                          machine.state = MachineState::UNQUALIFIED;
                                          machine.verification_level =
                                              VerificationLevel::unverified;
                                      },
                                      {});
    const Machine known = market.sell({.rate = Micro{500'000}}, [](Machine& machine) {
        machine.verification_level = VerificationLevel::manually_verified;
    });
    market.refresh();
    EXPECT_EQ(market.ids(), (Ids{passed.offer_id, known.offer_id}));
    const auto all = market.offers("?include_unverified=true").items;
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].offer_id, fresh.offer_id);
    EXPECT_EQ(all[0].readiness, catalog::OfferReadiness::unverified);
    EXPECT_EQ(all[1].readiness, catalog::OfferReadiness::ready);
    EXPECT_EQ(market.ids("?verification_level=unverified"), Ids{});
    EXPECT_EQ(market.ids("?verification_level=unverified&include_unverified=true"),
              Ids{fresh.offer_id});
    EXPECT_EQ(market.ids("?verification_level=manually_verified"), Ids{known.offer_id});
    EXPECT_EQ(market.ids("?sort=verification&include_unverified=true"),
              (Ids{known.offer_id, passed.offer_id, fresh.offer_id}));
}

TEST(Catalog, EveryParameterDoesWhatItSays) {
    Market market;
    const Machine cheap = market.sell(
        {.rate = Micro{300'000}},
        [](Machine& machine) {
            machine.gpu_model = "NVIDIA GeForce RTX 3090";
            machine.gpu_count = 1;
            machine.continent = Continent::SA;
        },
        Market::only({.vram_bytes = 25'438'126'080, .download_mbps = 200, .tflops = 35}));
    const Machine strange = market.sell({.rate = Micro{400'000}},
                                        [](Machine& machine) {
                                            machine.gpu_model = "50%_Radeon";
                                            machine.backends = "rocm";
                                            machine.continent.reset();
                                            machine.tier = machines::Tier::inference;
                                            machine.listed_at = *machine.listed_at - seconds(1);
                                        },
                                        {});
    const Machine strong = market.sell(
        {.rate = Micro{2'000'000}},
        [](Machine& machine) {
            machine.gpu_model = "NVIDIA H100 80GB HBM3";
            machine.gpu_count = 8;
            machine.continent = Continent::NA;
            machine.listed_at = *machine.listed_at - hours(1);
        },
        Market::only({.vram_bytes = 85'520'809'984,
                      .download_mbps = 9000,
                      .tflops = 60,
                      .ai_speed_tok_s = 300}));
    market.refresh();
    const OfferId a = cheap.offer_id;
    const OfferId b = strange.offer_id;
    const OfferId c = strong.offer_id;
    const std::pair<const char*, Ids> rows[] = {
        {"", {a, b, c}},
        {"?sort=price_asc", {a, b, c}},
        {"?sort=price_desc", {c, b, a}},
        {"?sort=vram_desc", {c, a, b}},
        {"?sort=net_desc", {c, a, b}},
        {"?sort=tflops_desc", {c, a, b}},
        {"?sort=ai_speed_desc", {c, a, b}},
        {"?sort=newest", {a, b, c}},
        {"?sort=nonsense", {a, b, c}},
        {"?nonsense=1&colour=red", {a, b, c}},
        {"?min_bandwidth_mbps=200", {a, c}},
        {"?min_bandwidth_mbps=201", {c}},
        {"?min_bandwidth_mbps=0", {a, c}},
        {"?max_rate_micro_per_hour=400000", {a, b}},
        {"?max_rate_micro_per_hour=399999", {a}},
        {"?max_rate_micro_per_hour=0", {}},
        {"?gpu_count=2", {b, c}},
        {"?gpu_count=9", {}},
        {"?model=rtx", {a}},
        {"?model=GEFORCE%20rtx%203090", {a}},
        {"?model=nvidia", {a, c}},
        {"?model=%25", {b}},
        {"?model=_", {b}},
        {"?model=50%25_r", {b}},
        {"?model=r%25x", {}},
        {"?model=4090", {}},
        {"?tier=inference", {b}},
        {"?tier=container", {a, c}},
        {"?backend=rocm", {b}},
        {"?backend=vulkan", {a, c}},
        {"?backend=metal", {}},
        {"?continent=americas", {a, c}},
        {"?continent=NA", {c}},
        {"?continent=SA", {a}},
        {"?continent=europe", {}},
        {"?near=NA", {c, a, b}},
        {"?near=americas&sort=price_desc", {c, a, b}},
        {"?near=europe", {a, b, c}},
        {"?near=SA&continent=americas&sort=price_desc", {a, c}},
        {"?model=nvidia&max_rate_micro_per_hour=500000&continent=americas&gpu_count=1", {a}},
        {"?limit=2", {a, b}},
    };
    for (const auto& [query, expected] : rows) EXPECT_EQ(market.ids(query), expected) << query;
    // Where all are equal the ids decide.
    for (const std::string query :
         {"?sort=reliability_desc", "?sort=uptime_desc", "?sort=verification"}) {
        const Ids found = market.ids(query);
        EXPECT_EQ(found.size(), 3U) << query;
        EXPECT_TRUE(std::is_sorted(found.begin(), found.end())) << query;
    }
}

// Of machines that differ in nothing else, whose ids run the other way.
TEST(Catalog, TheMostReliableAndTheLongestUpComeFirst) {
    Market market;
    std::vector<OfferId> ids;
    for (int i = 0; i < 4; ++i) {
        ids.push_back(market.sell().offer_id);
        market.harness.clock.advance(seconds(1));
    }
    const auto figure = [&](std::size_t which, std::int64_t faulted, std::int64_t uptime_bps) {
        market.write([&](db::Transaction& tx) {
            tx.run(
                "UPDATE machines SET rated_jobs = 4, faulted_jobs = $2, uptime_bps = $3, "
                "version = version + 1 WHERE offer_id = $1",
                ids[which], faulted, uptime_bps);
        });
    };
    figure(1, 3, 9'999);
    figure(2, 1, 5'000);
    figure(3, 0, 7'000);
    market.refresh();
    EXPECT_EQ(market.ids("?sort=reliability_desc"), (Ids{ids[3], ids[2], ids[1], ids[0]}));
    EXPECT_EQ(market.ids("?sort=uptime_desc"), (Ids{ids[1], ids[3], ids[2], ids[0]}));
    EXPECT_EQ(market.ids("?sort=reliability_asc"), (Ids{ids[0], ids[1], ids[2], ids[3]}))
        << "no such order: by price, and then by id";
}

// What is not among them is ignored; there is no filter by memory, place or disk.
TEST(Catalog, TheParametersAreThoseOfTheContract) {
    Market market;
    const http::Response document = market.get("/openapi.json");
    std::set<std::string> names;
    for (int i = 0; i < 30; ++i)
        names.insert(member(*Market::body_of(document),
                            fmt::format("paths./api/v1/offers.get.parameters.{}.name", i)));
    names.erase("");
    EXPECT_EQ(names, (std::set<std::string>{
                         "cursor", "limit", "template_id", "fits_for", "sort", "verification_level",
                         "include_unverified", "min_bandwidth_mbps", "max_rate_micro_per_hour",
                         "gpu_count", "model", "tier", "backend", "continent", "near"}));
    market.sell();
    market.refresh();
    for (const std::string query :
         {"?vram_bytes=1", "?min_vram_bytes=999999999999999", "?region=mars", "?ram_bytes=0",
          "?disk_bytes=0", "?max_bandwidth_mbps=0"})
        EXPECT_EQ(market.ids(query).size(), 1U) << query;
}

TEST(Catalog, EveryBadParameterIsRefusedByName) {
    Market market;
    market.sell();
    market.refresh();
    const std::pair<const char*, const char*> rows[] = {
        {"limit", "0"},
        {"limit", "101"},
        {"limit", "-1"},
        {"limit", "many"},
        {"limit", ""},
        {"limit", "1.5"},
        {"cursor", ""},
        {"cursor", "AAAA"},
        {"template_id", "vllm-qwen2-5-7b-instruct"},
        {"template_id", ""},
        {"template_id", "0"},
        {"fits_for", "some"},
        {"fits_for", ""},
        {"fits_for", "ALL"},
        {"verification_level", "verified"},
        {"verification_level", ""},
        {"include_unverified", "yes"},
        {"include_unverified", "1"},
        {"include_unverified", ""},
        {"min_bandwidth_mbps", "fast"},
        {"min_bandwidth_mbps", "-1"},
        {"min_bandwidth_mbps", "1.5"},
        {"min_bandwidth_mbps", ""},
        {"min_bandwidth_mbps", "99999999999999999999"},
        {"max_rate_micro_per_hour", "-5"},
        {"max_rate_micro_per_hour", "1.5"},
        {"max_rate_micro_per_hour", "007"},
        {"max_rate_micro_per_hour", "cheap"},
        {"max_rate_micro_per_hour", ""},
        {"max_rate_micro_per_hour", "9223372036854775808"},
        {"gpu_count", "two"},
        {"gpu_count", "-2"},
        {"gpu_count", "1e3"},
        {"gpu_count", ""},
        {"tier", "vm"},
        {"tier", "Container"},
        {"tier", ""},
        {"backend", "opengl"},
        {"backend", "rocm-hip"},
        {"backend", ""},
        {"continent", "mars"},
        {"continent", "Europe"},
        {"continent", "eu"},
        {"continent", ""},
        {"near", "home"},
        {"near", "north"},
        {"near", ""},
    };
    for (const auto& [name, value] : rows)
        for (const char* path : {"/api/v1/offers", "/api/v1/offers/explain"}) {
            // What explains a search does not go on from a page.
            if (std::string_view(name) == "cursor" && std::string_view(path).ends_with("explain"))
                continue;
            const auto response = market.get(std::string(path) + "?" + name + "=" + value);
            EXPECT_EQ(response.status, 422) << path << ' ' << name << '=' << value;
            EXPECT_EQ(error_code(response), "INVALID_INPUT");
            EXPECT_NE(error_message(response).find(std::string("query.") + name), std::string::npos)
                << name << '=' << value << ": " << error_message(response);
        }
    const auto twice = market.get("/api/v1/offers?tier=container&tier=inference");
    EXPECT_EQ(twice.status, 422);
    for (const char* bytes : {"%FF", "%00", "%", "%zz"})
        EXPECT_EQ(market.get(std::string("/api/v1/offers?model=") + bytes).status, 422) << bytes;
    const std::string long_model(201, 'x');
    EXPECT_EQ(market.get("/api/v1/offers?model=" + long_model).status, 422);
    EXPECT_EQ(market.get("/api/v1/offers?model=" + long_model.substr(1)).status, 200);
}

TEST(Catalog, ACursorBelongsToItsSortAndFilters) {
    Market market;
    for (int i = 0; i < 5; ++i) market.sell({.rate = Micro{100'000 + i}});
    market.refresh();
    const auto first = market.offers("?limit=2&backend=cuda");
    ASSERT_TRUE(first.next_cursor.value);
    const std::string cursor = "&cursor=" + *first.next_cursor.value;
    EXPECT_EQ(market.offers("?limit=2&backend=cuda" + cursor).items.size(), 2U);
    EXPECT_EQ(market.offers("?limit=100&backend=cuda" + cursor).items.size(), 3U)
        << "another limit may follow";
    EXPECT_EQ(market.offers("?sort=price_asc&backend=cuda" + cursor).items.size(), 3U)
        << "the default sort by its name";
    for (const std::string other : {"?backend=vulkan", "?", "?backend=cuda&sort=newest",
                                    "?backend=cuda&gpu_count=1", "?backend=cuda&near=EU"}) {
        const auto response = market.get("/api/v1/offers" + other + cursor);
        EXPECT_EQ(response.status, 422) << other;
        EXPECT_NE(error_message(response).find("query.cursor"), std::string::npos);
    }
    std::string edited = cursor;
    edited[edited.size() - 3] = edited[edited.size() - 3] == 'A' ? 'B' : 'A';
    EXPECT_EQ(market.get("/api/v1/offers?backend=cuda" + edited).status, 422);
}

TEST(Catalog, PagesHoldTogetherWhileOffersComeGoAndChange) {
    Market market;
    std::set<OfferId> kept;
    std::vector<Machine> others;
    for (int i = 0; i < 40; ++i) {
        const Terms terms{.rate = Micro{100'000 + 1000 * (i % 7)}};
        if (i % 2 == 0)
            kept.insert(market.sell(terms).offer_id);
        else
            others.push_back(market.sell(terms));
    }
    market.refresh();
    std::multiset<OfferId> seen;
    std::string cursor;
    for (std::size_t page = 0;; ++page) {
        const auto found = market.offers("?limit=3" + cursor);
        for (const OfferSummary& offer : found.items) seen.insert(offer.offer_id);
        if (!found.next_cursor.value) break;
        cursor = "&cursor=" + *found.next_cursor.value;
        if (page < others.size())
            market.change(others[page],
                          [](Machine& machine) { machine.offer_state = OfferState::unlisted; });
        market.sell({.rate = Micro{100'000 + static_cast<std::int64_t>(page) * 300}});
        market.refresh();
    }
    for (const OfferId id : kept) EXPECT_EQ(seen.count(id), 1U);
}

TEST(Catalog, SaysWhichTemplatesAnOfferCanRun) {
    Market market;
    market.write([&](db::Transaction& tx) {
        offers::plant_starter_templates(tx, market.harness.clock.now());
    });
    const Machine large = market.sell(
        {.rate = Micro{100'000}}, [](Machine& machine) { machine.gpu_count = 8; },
        Market::only({.vram_bytes = 85'520'809'984}));
    market.sell({}, [](Machine& machine) { machine.backends = "metal"; }, {});
    market.refresh();
    const auto templates = market.harness.app->database().read(
        [](db::Transaction& tx) { return offers::published_templates(tx); });
    ASSERT_GE(templates.size(), 3U);
    for (const offers::TemplateRow& row : templates) {
        const auto items =
            market.offers("?template_id=" + to_string(row.template_id) + "&fits_for=all").items;
        ASSERT_EQ(items.size(), 2U) << "a template removes nothing";
        for (const OfferSummary& item : items) {
            const auto& ids = item.fits_template_ids.value();
            const bool listed = std::count(ids.begin(), ids.end(), row.template_id) == 1;
            EXPECT_EQ(item.fit.value().fits, listed) << row.slug;
            EXPECT_EQ(item.fit->reason.value.has_value(), !item.fit->fits);
        }
        EXPECT_FALSE(items[1].fit->fits);
    }
    EXPECT_EQ(market.offers("?fits_for=all").items.at(0).offer_id, large.offer_id);
    EXPECT_FALSE(market.offers("?fits_for=all").items.at(0).fits_template_ids->empty());

    const auto unknown = market.get("/api/v1/offers?template_id=" + market.harness.new_id());
    EXPECT_EQ(unknown.status, 404);
    EXPECT_EQ(error_code(unknown), "NOT_FOUND");
    market.write([&](db::Transaction& tx) {
        tx.run("UPDATE templates SET published_at = NULL WHERE template_id = $1",
               templates.front().template_id);
    });
    market.refresh();
    const std::string gone = to_string(templates.front().template_id);
    EXPECT_EQ(market.get("/api/v1/offers?template_id=" + gone).status, 404) << "unpublished";
    EXPECT_EQ(market.get("/api/v1/offers/explain?template_id=" + gone).status, 404);
}

TEST(Catalog, ExplainsAnEmptySearch) {
    Market market;
    market.sell({.rate = Micro{900'000}});
    market.sell({.rate = Micro{300'000}},
                [](Machine& machine) { machine.continent = Continent::AS; });
    market.sell({.rate = Micro{200'000}}, [](Machine& machine) {
        machine.state = MachineState::UNQUALIFIED;
        machine.verification_level = VerificationLevel::unverified;
    });
    market.refresh();
    const std::string query = "?continent=europe&max_rate_micro_per_hour=400000";
    EXPECT_EQ(market.ids(query), Ids{});
    const auto response = market.get("/api/v1/offers/explain" + query);
    const auto why = wire::decode<catalog::Explanation>(response.body, "response");
    EXPECT_EQ(why.listed.value, 3);
    EXPECT_EQ(why.matching.value, 0);
    std::map<catalog::Filter, std::int64_t> removed;
    for (const auto& each : why.removed_by) removed[each.filter] = each.count.value;
    EXPECT_EQ(removed, (std::map<catalog::Filter, std::int64_t>{
                           {catalog::Filter::include_unverified, 1},
                           {catalog::Filter::continent, 1},
                           {catalog::Filter::max_rate_micro_per_hour, 1}}));
    std::vector<catalog::Filter> missed;
    for (const auto& each : why.nearest) missed.push_back(each.filter);
    EXPECT_EQ(missed, (std::vector{catalog::Filter::include_unverified, catalog::Filter::continent,
                                   catalog::Filter::max_rate_micro_per_hour}))
        << "in the order of the sort, the cheapest first";
}

TEST(Catalog, AnswersAnyoneWhateverTheySend) {
    Market market;
    market.sell();
    market.refresh();
    const auto response = market.harness.ask({.target = "/api/v1/offers", .as = "ark_nonsense"});
    EXPECT_EQ(response.status, 200);
}

}  // namespace
}  // namespace berth::test
