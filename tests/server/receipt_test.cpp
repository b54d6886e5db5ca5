// A receipt that proves itself: signed by the service, checked by the program without it.
#include <fstream>

#include "billing/receipts.hpp"
#include "rentals/market.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

class SignedReceipt : public MarketTest {
protected:
    std::string receipt_of(JobId job) {
        const auto answer =
            send(ben, "GET", "/api/v1/billing/receipts/" + to_string(job) + "?signed=true");
        EXPECT_EQ(answer.status, 200) << answer.body;
        return answer.body;
    }
    std::string keys() {
        const auto answer = town.harness.ask({.target = "/.well-known/berth-keys.json"});
        EXPECT_EQ(answer.status, 200) << answer.body;
        return answer.body;
    }
    std::string keep(const std::string& name, const std::string& text) {
        const std::string path = folder.path() + "/" + name;
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }
    static std::string replaced(std::string text, const std::string& from, const std::string& to) {
        const auto at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return at == std::string::npos ? text : text.replace(at, from.size(), to);
    }
    JobId finished_job() {
        const JobId job = rent(ben, put_up());
        get_ready(job);
        town.harness.clock.advance(seconds(30));
        beat(job, 30'000);
        stop(ben, job);
        end(job, 30'000);
        return job;
    }

    TemporaryFolder folder;
};

TEST_F(SignedReceipt, IsCheckedByTheProgramWithoutTheServer) {
    const JobId job = finished_job();
    const std::string good = receipt_of(job);
    const std::string tampered =
        replaced(good, R"("charge_micro":"30000")", R"("charge_micro":"29999")");
    const std::string receipt = keep("receipt.json", good);
    const std::string published = keep("keys.json", keys());
    const auto verify = [&](const std::string& file, const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments{program_path("berthd"), "verify", "receipt", file};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_program(arguments);
    };
    const auto checked = verify(receipt, {"--keys", published});
    EXPECT_EQ(checked.status, 0) << checked.output;
    EXPECT_NE(checked.output.find(to_string(job)), std::string::npos) << checked.output;
    EXPECT_EQ(verify(receipt).status, 0);
    const auto refused = verify(keep("tampered.json", tampered), {"--keys", published});
    EXPECT_EQ(refused.status, 1) << refused.output;
    EXPECT_NE(refused.output.find("NOT GOOD"), std::string::npos) << refused.output;
    EXPECT_NE(verify(keep("nothing.json", "{}")).status, 0);
    EXPECT_NE(verify(folder.path() + "/missing.json").status, 0);
}

TEST_F(SignedReceipt, IsBoundToItsEvidenceAndToAPublishedKey) {
    const JobId job = finished_job();
    const std::string good = receipt_of(job);
    EXPECT_EQ(member(good, "evidence_head"), find(job).live.evidence_head.value());
    EXPECT_EQ(member(good, "signature.alg"), "ed25519");
    EXPECT_TRUE(billing::verify_receipt(good, keys()).good);
    EXPECT_FALSE(billing::verify_receipt(good, R"({"keys":[]})").good);
    EXPECT_FALSE(billing::verify_receipt(replaced(good, "sha256:", "sha256:0"), keys()).good);
    // The members may stand in any order and spacing: what is signed is their canonical form.
    EXPECT_TRUE(billing::verify_receipt(" " + replaced(good, ",", " ,\n"), keys()).good);
    // A member that was put in is not what was signed.
    EXPECT_FALSE(billing::verify_receipt(replaced(good, "{", R"({"note":"paid",)"), keys()).good);
    const auto plain = send(ben, "GET", "/api/v1/billing/receipts/" + to_string(job));
    EXPECT_EQ(member(plain.body, "signature"), "");
    EXPECT_EQ(member(plain.body, "as_of"), "");
    EXPECT_THROW(billing::verify_receipt(plain.body, {}), Problem);
}

TEST_F(SignedReceipt, KeysThatWentOutOfUseStayPublished) {
    const std::string before = receipt_of(finished_job());
    const std::string old_id = member(before, "signature.key_id");
    town.harness.clock.advance(seconds(10));
    const crypto::Ed25519Key next{crypto::Secret::make(town.harness.random)};
    const std::vector<billing::OwnKey> own{{billing::KeyUse::receipts, next.public_key()}};
    database().write([&](db::Transaction& tx) { billing::note_keys(tx, own, now()); });
    const auto all =
        database().read([](db::Transaction& tx) { return billing::published_keys(tx); });
    int ended = 0;
    for (const billing::PublishedKey& key : all.keys) {
        if (key.key_id == old_id) {
            EXPECT_EQ(key.until.value, now());
        }
        ended += key.until.value.has_value() ? 1 : 0;
    }
    EXPECT_EQ(ended, 3);  // those of the server, for each of its uses
    EXPECT_EQ(all.keys.size(), 4u);
    EXPECT_TRUE(billing::verify_receipt(before, keys()).good);
}

}  // namespace
}  // namespace berth::test
