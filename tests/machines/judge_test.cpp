#include <gtest/gtest.h>

#include "base/problem.hpp"
#include "machines/judge.hpp"

namespace berth::test {
namespace {

using namespace machines;
using machines::Outcome;  // and not that of a process

constexpr std::string_view reported_ids[] = {
    "driver.version",      "gpu.uniform", "gpu.memory",        "gpu.idle",
    "gpu.vram_write_read", "gpu.compute", "gpu.mem_bandwidth", "gpu.pcie",
    "disk.free",           "ram",         "net.down",          "net.up",
    "container.profile",   "cleanup.wipe"};

struct Sheet {
    TestFacts facts;
    TestResult result;

    Check& check(std::string_view id) {
        for (Check& check : result.checks.value)
            if (check.id.value == id) return check;
        throw std::out_of_range(std::string(id));
    }
    void remove(std::string_view id) {
        std::erase_if(result.checks.value, [&](const Check& it) { return it.id.value == id; });
    }
};

Sheet good() {
    Sheet sheet;
    sheet.facts.gpu_count = 1;
    sheet.facts.proof = {.state = ProofState::proven, .bytes = 25'000'000'000, .tops = 300};
    for (const std::string_view id : reported_ids) {
        Check check;
        check.id.value = id;
        check.status = CheckStatus::pass;
        sheet.result.checks.value.push_back(check);
    }
    sheet.result.measurements.vram_bytes = wire::Decimal{25'757'220'864};
    sheet.result.measurements.ram_bytes = wire::Decimal{68'719'476'736};
    sheet.result.measurements.disk_bytes = wire::Decimal{1'000'000'000'000};
    sheet.result.measurements.download_mbps = 900;
    sheet.result.measurements.upload_mbps = 400;
    return sheet;
}

std::vector<std::string> codes(const Judgement& judgement, Severity severity) {
    std::vector<std::string> list;
    for (const Finding& finding : judgement.findings)
        if (finding.severity == severity) list.push_back(finding.code);
    return list;
}

using Codes = std::vector<std::string>;

TEST(Judge, AGoodResultPassesAndOnlyMissesTheEndpoint) {
    const Sheet sheet = good();
    const Judgement judgement = judge(sheet.facts, sheet.result);
    EXPECT_EQ(judgement.outcome, Outcome::passed);
    EXPECT_EQ(codes(judgement, Severity::blocker), Codes{});
    EXPECT_EQ(codes(judgement, Severity::warning), Codes{"net.endpoint"});
    EXPECT_TRUE(judgement.wipes);
    EXPECT_EQ(judgement.checks.size(), std::size(reported_ids) + 4);
}

TEST(Judge, EveryRequiredCheckFailsWhenItFailsIsSkippedOrMissing) {
    for (const std::string_view id : reported_ids) {
        if (id.starts_with("net.")) continue;
        for (const bool missing : {false, true}) {
            for (const CheckStatus status : {CheckStatus::fail, CheckStatus::skipped}) {
                Sheet sheet = good();
                sheet.check(id).status = status;
                if (missing) sheet.remove(id);
                const Judgement judgement = judge(sheet.facts, sheet.result);
                EXPECT_EQ(judgement.outcome, Outcome::failed) << id;
                EXPECT_EQ(codes(judgement, Severity::blocker), Codes{std::string(id)});
                EXPECT_FALSE(judgement.findings.front().message.empty());
            }
        }
    }
}

TEST(Judge, TheNetworkOnlyWarns) {
    for (const std::string_view id : {"net.down", "net.up"}) {
        Sheet sheet = good();
        sheet.remove(id);
        const Judgement judgement = judge(sheet.facts, sheet.result);
        EXPECT_EQ(judgement.outcome, Outcome::passed);
        EXPECT_EQ(codes(judgement, Severity::warning), (Codes{std::string(id), "net.endpoint"}));
    }
}

TEST(Judge, NumbersOutweighTheAgentsWord) {
    struct Row {
        std::string_view id;
        void (*spoil)(Sheet&);
    };
    const Row rows[] = {
        {"gpu.memory",
         [](Sheet& it) { it.result.measurements.vram_bytes = wire::Decimal{7'999'999'999}; }},
        {"gpu.memory", [](Sheet& it) { it.result.measurements.vram_bytes.reset(); }},
        {"ram", [](Sheet& it) { it.result.measurements.ram_bytes = wire::Decimal{1}; }},
        {"disk.free", [](Sheet& it) { it.result.measurements.disk_bytes = wire::Decimal{1}; }},
        {"manifest.match", [](Sheet& it) { it.facts.manifest_matches = false; }},
    };
    for (const Row& row : rows) {
        Sheet sheet = good();
        row.spoil(sheet);
        const Judgement judgement = judge(sheet.facts, sheet.result);
        EXPECT_EQ(judgement.outcome, Outcome::failed) << row.id;
        EXPECT_EQ(codes(judgement, Severity::blocker), Codes{std::string(row.id)});
        EXPECT_FALSE(judgement.hopeless);
    }
}

TEST(Judge, HowFastTheLineMustBeGrowsWithTheMemory) {
    struct Row {
        std::int64_t vram_gib, gpus;
        double just_enough;
    };
    // Never under 100, never above 500, and 500 for 192 GiB in between.
    for (const Row& row : {Row{24, 1, 100}, Row{80, 1, 208.34}, Row{24, 4, 250}, Row{80, 8, 500}}) {
        for (const bool enough : {true, false}) {
            Sheet sheet = good();
            sheet.facts.gpu_count = row.gpus;
            sheet.result.measurements.vram_bytes = wire::Decimal{row.vram_gib << 30};
            sheet.result.measurements.upload_mbps = 1000;
            sheet.result.measurements.download_mbps = row.just_enough - (enough ? 0 : 0.02);
            const auto warnings = codes(judge(sheet.facts, sheet.result), Severity::warning);
            const Codes expected =
                enough ? Codes{"net.endpoint"} : Codes{"net.down", "net.endpoint"};
            EXPECT_EQ(warnings, expected) << row.vram_gib << " x " << row.gpus;
        }
    }
}

TEST(Judge, WhatCannotPassByItselfIsHopeless) {
    Sheet old_driver = good();
    old_driver.check("driver.version").status = CheckStatus::fail;
    EXPECT_TRUE(judge(old_driver.facts, old_driver.result).hopeless);
    Sheet shared = good();
    shared.facts.gpu_memory_shared = true;
    EXPECT_TRUE(judge(shared.facts, shared.result).hopeless);
    Sheet none = good();
    none.facts.gpu_count = 0;
    EXPECT_TRUE(judge(none.facts, none.result).hopeless);
    Sheet busy = good();
    busy.check("gpu.idle").status = CheckStatus::fail;
    EXPECT_FALSE(judge(busy.facts, busy.result).hopeless);
}

TEST(Judge, OtherRuntimesMaySkipWhatTheyCannotHave) {
    Sheet process = good();
    process.facts.runtime_kind = RuntimeKind::process;
    process.remove("container.profile");
    EXPECT_EQ(judge(process.facts, process.result).outcome, Outcome::passed);
    process.remove("gpu.compute");
    EXPECT_EQ(judge(process.facts, process.result).outcome, Outcome::failed);

    Sheet simulated = good();
    simulated.facts.runtime_kind = RuntimeKind::simulated;
    simulated.facts.gpu_count = 0;
    simulated.result.measurements.vram_bytes.reset();
    for (const std::string_view id : reported_ids)
        if (id.starts_with("gpu.") || id == "container.profile") simulated.remove(id);
    EXPECT_EQ(judge(simulated.facts, simulated.result).outcome, Outcome::passed);
    simulated.remove("cleanup.wipe");
    EXPECT_EQ(judge(simulated.facts, simulated.result).outcome, Outcome::failed);
}

TEST(Judge, AnAnnouncedEndpointIsDialledUnlessTheRestFailedAlready) {
    Sheet sheet = good();
    sheet.facts.needs_endpoint = true;
    EXPECT_EQ(judge(sheet.facts, sheet.result).outcome, Outcome::failed) << "none was announced";
    EXPECT_EQ(codes(judge(sheet.facts, sheet.result), Severity::blocker), Codes{"net.endpoint"});
    sheet.result.endpoint = AnnouncedEndpoint{{"203.0.113.7"}, {40000}};
    EXPECT_EQ(judge(sheet.facts, sheet.result).outcome, Outcome::pending);
    sheet.facts.dialled = Dialled::answered;
    EXPECT_EQ(judge(sheet.facts, sheet.result).outcome, Outcome::passed);
    EXPECT_TRUE(judge(sheet.facts, sheet.result).findings.empty());
    sheet.facts.dialled = Dialled::unreachable;
    EXPECT_EQ(codes(judge(sheet.facts, sheet.result), Severity::blocker), Codes{"net.endpoint"});
    sheet.facts.dialled = Dialled::not_yet;
    sheet.check("gpu.idle").status = CheckStatus::fail;
    EXPECT_EQ(judge(sheet.facts, sheet.result).outcome, Outcome::failed);
}

TEST(Judge, WhatTheAgentSaysOfTheServersChecksDoesNotCount) {
    Sheet sheet = good();
    Check said;
    said.id.value = "manifest.match";
    said.status = CheckStatus::pass;
    sheet.result.checks.value.push_back(said);
    sheet.facts.manifest_matches = false;
    EXPECT_EQ(judge(sheet.facts, sheet.result).outcome, Outcome::failed);
}

TEST(Judge, UnknownChecksAreKeptAndNotJudged) {
    Sheet sheet = good();
    Check odd;
    odd.id.value = "moon.phase";
    odd.status = CheckStatus::fail;
    sheet.result.checks.value.push_back(odd);
    const Judgement judgement = judge(sheet.facts, sheet.result);
    EXPECT_EQ(judgement.outcome, Outcome::passed);
    EXPECT_EQ(judgement.checks.back().id.value, "moon.phase");
}

TEST(Judge, TheAgentsOwnWordsAreShownForItsChecks) {
    Sheet sheet = good();
    sheet.check("gpu.idle").status = CheckStatus::fail;
    sheet.check("gpu.idle").summary.emplace(wire::Text<0, 500>{"Xorg uses GPU 0."});
    sheet.check("gpu.idle").remediation.emplace(wire::Text<0, 1000>{"Stop the desktop."});
    EXPECT_EQ(judge(sheet.facts, sheet.result).findings.front().message,
              "Xorg uses GPU 0. Stop the desktop.");
}

TEST(Judge, NonsenseIsRefused) {
    const auto refused = [](void (*spoil)(Sheet&)) {
        Sheet sheet = good();
        spoil(sheet);
        try {
            judge(sheet.facts, sheet.result);
            return std::string("taken");
        } catch (const Problem& problem) {
            EXPECT_EQ(problem.code, Code::invalid_input);
            return problem.message.substr(0, problem.message.find(':'));
        }
    };
    EXPECT_EQ(
        refused([](Sheet& it) { it.result.checks.value.push_back(it.result.checks.value[0]); }),
        "body.checks");
    EXPECT_EQ(refused([](Sheet& it) { it.result.measurements.tflops = -1; }),
              "body.measurements.tflops");
    EXPECT_EQ(refused([](Sheet& it) { it.result.measurements.pcie_gbps = 0; }),
              "body.measurements.pcie_gbps");
    EXPECT_EQ(refused([](Sheet& it) { it.result.measurements.upload_mbps = 1e300; }),
              "body.measurements.upload_mbps");
    EXPECT_EQ(refused([](Sheet& it) { it.result.measurements.vram_bytes = wire::Decimal{0}; }),
              "body.measurements.vram_bytes");
}

TEST(Judge, RatesKeepThreeDigitsAfterThePointAndAreNeverRoundedToNothing) {
    Measurements measured;
    measured.tflops = 82.6;
    measured.ai_speed_tok_s = 0.0001;
    const Measured kept = measured_of(measured);
    EXPECT_EQ(kept.tflops_milli, 82'600);
    EXPECT_EQ(shown_rate(kept.tflops_milli), 82.6);
    EXPECT_EQ(kept.ai_speed_tok_s_milli, 1);
    EXPECT_EQ(kept.download_mbps_milli, std::nullopt);
}

TEST(Judge, WithoutAProofOfItsCardsAMachineFailsUnlessThatIsAllowed) {
    Sheet sheet = good();
    Check boast;
    boast.id.value = "gpu.proof";
    boast.status = CheckStatus::pass;
    sheet.result.checks.value.push_back(boast);
    sheet.facts.proof = {};
    EXPECT_EQ(codes(judge(sheet.facts, sheet.result), Severity::blocker), Codes{"gpu.proof"});
    sheet.facts.runtime_kind = RuntimeKind::simulated;
    EXPECT_EQ(codes(judge(sheet.facts, sheet.result), Severity::blocker), Codes{"gpu.proof"});
    sheet.facts.proof.unproven_allowed = true;
    EXPECT_EQ(judge(sheet.facts, sheet.result).outcome, Outcome::passed);
    sheet.facts.proof.state = ProofState::failed;
    EXPECT_EQ(judge(sheet.facts, sheet.result).outcome, Outcome::failed);
    sheet.facts.proof.state = ProofState::waits;
    EXPECT_EQ(judge(sheet.facts, sheet.result).outcome, Outcome::pending);
}

TEST(Judge, AProofIsOfAsMuchMemoryAndSpeedAsTheCardHas) {
    Sheet sheet = good();
    sheet.facts.proof.bytes = 20'600'000'000;  // a little under 80 %
    EXPECT_EQ(judge(sheet.facts, sheet.result).outcome, Outcome::failed);
    sheet.facts.proof.bytes = 20'610'000'000;
    EXPECT_EQ(judge(sheet.facts, sheet.result).outcome, Outcome::passed);
    sheet.facts.proof.tops_min = 301;
    EXPECT_EQ(codes(judge(sheet.facts, sheet.result), Severity::blocker), Codes{"gpu.proof"});
}

}  // namespace
}  // namespace berth::test
