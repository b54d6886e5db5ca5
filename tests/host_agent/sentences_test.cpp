// What of the host's own words leaves it, and when a job's sending is worth a word.
#include <gtest/gtest.h>

#include "host_agent/job/evidence.hpp"

namespace berth::host_agent {
namespace {

TEST(Sentences, LeaveTheHostWithoutSecretsAndFolders) {
    EXPECT_EQ(
        presentable_sentence("cannot write /var/lib/berth-agent/jobs/1/record.json: full", {}),
        "cannot write …/record.json: full");
    EXPECT_EQ(presentable_sentence("exec: \"/opt/app/bin/start\": not found", {}),
              "exec: \"…/start\": not found");
    // What is the same in every container says nothing of the host.
    EXPECT_EQ(presentable_sentence("/work is full, and /bin/sh is missing", {}),
              "/work is full, and /bin/sh is missing");
    EXPECT_EQ(presentable_sentence("asked https://ghcr.io/v2/a/b/manifests", {}),
              "asked https://ghcr.io/v2/a/b/manifests");
    EXPECT_EQ(presentable_sentence("key s3cret, again s3cret", {"s3cret", ""}), "key …, again …");
    const std::string key = "Bearer bjk_0123456789abcdef0123456789abcdef0123456789abcdef";
    EXPECT_EQ(presentable_sentence("with " + key, {}).find("0123456789abcdef0123456789abcdef"),
              std::string::npos);
}

TEST(Sentences, AreOneLineThatFitsAndEndsWithALetter) {
    EXPECT_EQ(presentable_sentence("one\ntwo\x1b[31m\tthree", {}), "one two [31m\tthree");
    std::string long_one;
    for (int i = 0; i < 400; ++i) long_one += "é";
    for (const std::size_t most : {std::size_t{500}, std::size_t{499}, std::size_t{7}}) {
        const std::string cut = presentable_sentence(long_one, {}, most);
        EXPECT_LE(cut.size(), most);
        EXPECT_EQ(cut.size() % 2, 0U) << "a letter was cut in two";
    }
}

TEST(Sentences, HaveNoBytesThatAreNoLetters) {
    EXPECT_EQ(presentable_sentence("\xff\x80game\xc3, process 7, uses \xc3\xa9", {}),
              "game, process 7, uses \xc3\xa9");
    EXPECT_EQ(presentable_sentence("it says " + std::string(300, '\x80'), {}, 200), "it says ");
}

TEST(Egress, IsToldPastFourFifthsAndPastAll) {
    EXPECT_EQ(egress_use(0, 0), EgressUse::within);
    EXPECT_EQ(egress_use(1, 0), EgressUse::all);
    EXPECT_EQ(egress_use(800, 1000), EgressUse::within);
    EXPECT_EQ(egress_use(801, 1000), EgressUse::most);
    EXPECT_EQ(egress_use(1000, 1000), EgressUse::most);
    EXPECT_EQ(egress_use(1001, 1000), EgressUse::all);
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(egress_use(most - 1, most), EgressUse::most);
}

}  // namespace
}  // namespace berth::host_agent
