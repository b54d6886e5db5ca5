// Who answers for a start that failed, as the code of its failure tells.
#include "rentals/market.hpp"

namespace berth::test {
namespace {

using agent_protocol::JobEventKind;

class Blamed : public MarketTest {
protected:
    Blamed() { town.harness.set("operations.custom_images_enabled", "true"); }

    static Wish own_image() {
        return {.what = R"("image":"example.org/a/b@sha256:)" + std::string(64, 'a') + R"(")"};
    }
    // A start that ends with this code, and what is left behind it is cleaned up.
    JobId fail(const machines::Machine& machine, const std::string& code, const Wish& wish = {}) {
        const JobId job = rent(ben, machine, wish);
        accept(job);
        EXPECT_EQ(tell(job, JobEventKind::exited, fmt::format(R"({{"code":"{}"}})", code)),
                  "FAILED");
        return job;
    }
    std::int64_t failed_starts(const machines::Machine& machine) {
        return seen(town.harness, machine.machine_id).starts_failed;
    }
};

TEST_F(Blamed, IsNobodyForAnImageOfATemplateThatCameToNoMachine) {
    for (const char* code : {"IMAGE_NOT_FOUND", "IMAGE_DIGEST_MISMATCH", "PULL_TIMEOUT"}) {
        SCOPED_TRACE(code);
        const auto machine = put_up();
        for (int i = 0; i < 4; ++i) {
            const JobId job = fail(machine, code);
            EXPECT_FALSE(find(job).live.unbilled_at) << "nor is it the renter";
            EXPECT_EQ(clean(job), "FAILED");
        }
        EXPECT_EQ(failed_starts(machine), 0);
        EXPECT_EQ(seen(town.harness, machine.machine_id).state, machines::MachineState::AVAILABLE);
    }
}

TEST_F(Blamed, IsTheHostWhereTheSameImageCameToAnotherMachineThatDay) {
    const auto other = put_up();
    const JobId good = rent(ben, other);
    get_ready(good);
    const auto machine = put_up();
    EXPECT_EQ(clean(fail(machine, "IMAGE_NOT_FOUND")), "FAILED");
    EXPECT_EQ(failed_starts(machine), 1);
    // What came to the machine itself says nothing of the others, and what came long ago nothing
    // of today.
    stop(ben, good, R"(,"skip_retrieval":true)");
    end(good);
    clean(good);
    EXPECT_EQ(clean(fail(other, "IMAGE_NOT_FOUND")), "FAILED");
    EXPECT_EQ(failed_starts(other), 0);
    town.harness.clock.advance(hours(25));
    EXPECT_EQ(clean(fail(machine, "IMAGE_NOT_FOUND")), "FAILED");
    EXPECT_EQ(failed_starts(machine), 1);
}

TEST_F(Blamed, IsTheRenterForAnImageOfOnesOwnAndNeverForTheHostsTroubles) {
    const auto machine = put_up();
    for (const char* code :
         {"IMAGE_NOT_FOUND", "PULL_TIMEOUT", "ENGINE_EXITED", "OUT_OF_MEMORY", "PROBE_FAILED"}) {
        const JobId job = fail(machine, code, own_image());
        EXPECT_TRUE(find(job).live.unbilled_at) << code;
        clean(job);
    }
    for (const char* code : {"DISK_FULL", "HOST_REJECTED", "INTERNAL"}) {
        const JobId job = fail(machine, code, own_image());
        EXPECT_FALSE(find(job).live.unbilled_at) << code;
        clean(job);
    }
    EXPECT_EQ(failed_starts(machine), 0);
}

TEST_F(Blamed, IsTheHostForWhatItDoesWithATemplate) {
    for (const char* code : {"ENGINE_EXITED", "DISK_FULL", "INTERNAL", "PROBE_FAILED"}) {
        const auto machine = put_up();
        EXPECT_EQ(clean(fail(machine, code)), "FAILED");
        EXPECT_EQ(failed_starts(machine), 1) << code;
    }
}

TEST_F(Blamed, NoQuoteIsMadeForAnImageWithoutARegistry) {
    const auto machine = put_up();
    const std::string digest = "@sha256:" + std::string(64, 'a');
    for (const char* name : {"python", "library/python", "vllm/vllm-openai", "-bad.org/x",
                             "host:/x", "host:port/x", "a..org./x", "/x"}) {
        const auto refused =
            quote(ben, machine, {.what = fmt::format(R"("image":"{}{}")", name, digest)});
        EXPECT_EQ(refused.status, 422) << name;
        EXPECT_NE(error_message(refused).find("body.image"), std::string::npos) << refused.body;
    }
    for (const char* name : {"docker.io/library/python", "ghcr.io/a/b", "registry.test:5000/a",
                             "localhost/a", "203.0.113.7:5000/a"})
        EXPECT_EQ(
            quote(ben, machine, {.what = fmt::format(R"("image":"{}{}")", name, digest)}).status,
            201)
            << name;
}

}  // namespace
}  // namespace berth::test
