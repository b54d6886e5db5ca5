// What a host with several machines types: one change for one or for many, and who needs what.
#include <gtest/gtest.h>

#include "cli/shell.hpp"
#include "relay/rental.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

class Fleet : public RentalTest {
protected:
    Fleet() : shell("http://127.0.0.1:" + std::to_string(town.harness.app->port())) {
        shell.environment["BERTH_API_KEY"] = ada.key;
    }
    ~Fleet() override { town.harness.app.reset(); }

    std::string add(const std::string& label = "", const NewMachine& wanted = {}) {
        const std::string id = to_string(enrolled(town.harness, ada.account, wanted).machine_id);
        if (!label.empty()) name(id, label);
        return id;
    }
    std::string offered(const std::string& label = "") {
        const std::string id = to_string(put_up().machine_id);
        if (!label.empty()) name(id, label);
        return id;
    }
    void name(const std::string& id, const std::string& label) {
        const Printed named = shell.run({"machines", "name", id, "--label", label});
        EXPECT_EQ(named.status, 0) << named.err;
    }
    std::string versions(const std::string& id) { return shell.run({"offers", "history", id}).out; }

    Shell shell;
};

TEST_F(Fleet, ChangesOneThingOfAnOfferAndKeepsTheRest) {
    const std::string id = offered();
    const Printed edited = shell.run({"offers", "edit", id, "--rate", "0.35"});
    ASSERT_EQ(edited.status, 0) << edited.err;
    EXPECT_EQ(member(edited.out, "offer_version"), "2");
    const std::string all = versions(id);
    EXPECT_EQ(member(all, "items.0.rate_micro_per_hour"), "350000") << all;
    EXPECT_EQ(member(all, "items.0.state"), "listed");
    for (const std::string kept : {"included_disk_gib", "included_egress_gib", "available_from",
                                   "available_until", "availability_class"})
        EXPECT_EQ(member(all, "items.0." + kept), member(all, "items.1." + kept)) << kept << all;

    ASSERT_EQ(shell.run({"offers", "edit", id, "--included-disk-gib", "50"}).status, 0);
    EXPECT_EQ(member(versions(id), "items.0.rate_micro_per_hour"), "350000");
    EXPECT_EQ(member(versions(id), "items.0.included_disk_gib"), "50");
}

TEST_F(Fleet, OverwritesNoEditItHasNotSeen) {
    const std::string id = offered();
    const Printed stale =
        shell.run({"offers", "edit", id, "--rate", "0.35", "--expected-version", "7"});
    EXPECT_EQ(stale.status, 5) << stale.err;
    EXPECT_NE(stale.err.find("VERSION_CONFLICT"), std::string::npos) << stale.err;
    EXPECT_EQ(member(versions(id), "items.0.offer_version"), "1");
}

TEST_F(Fleet, NeedsAPriceAloneForAFirstOffer) {
    const std::string id =
        add("", {.state = machines::MachineState::UNLISTED, .measured = measured_4090()});
    const Printed bare = shell.run({"offers", "edit", id, "--included-disk-gib", "10"});
    EXPECT_EQ(bare.status, 2);
    EXPECT_NE(bare.err.find("needs --rate"), std::string::npos) << bare.err;
    EXPECT_EQ(shell.run({"offers", "edit", id}).status, 2);
    const Printed made = shell.run({"offers", "edit", id, "--rate", "0.40"});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(member(made.out, "offer_version"), "1") << made.out;
    EXPECT_EQ(member(made.out, "included_disk_gib"), "100") << made.out;
    EXPECT_EQ(shell.run({"machines", "list-for-rent", id}).status, 0);
    const Printed nothing = shell.run({"offers", "edit", id});
    EXPECT_EQ(nothing.status, 2) << nothing.out;
    EXPECT_NE(nothing.err.find("what is to change"), std::string::npos) << nothing.err;
}

TEST_F(Fleet, ChangesAllThatAreCalledSo) {
    const std::string first = offered("rack 2");
    const std::string second = offered("rack 2");
    const std::string other = offered("rack 3");
    const std::string unoffered = add("rack 2");
    ASSERT_EQ(shell.run({"offers", "edit", second, "--rate", "0.35"}).status, 0);

    const Printed edited = shell.run(
        {"offers", "edit", "--label", "rack 2", "--included-egress-gib", "7", "-o", "table"});
    EXPECT_EQ(edited.status, 2) << "one of them has no offer";
    EXPECT_NE(edited.out.find("needs --rate"), std::string::npos) << edited.out;
    for (const std::string& id : {first, second})
        EXPECT_EQ(member(versions(id), "items.0.included_egress_gib"), "7") << edited.out;
    EXPECT_EQ(member(versions(second), "items.0.rate_micro_per_hour"), "350000");
    EXPECT_EQ(member(versions(other), "items.0.included_egress_gib"), "1000");

    // Repeated, it changes what was not changed yet, and nothing twice.
    const std::vector<std::string> words{"offers", "edit", "--label", "rack 2", "--rate", "0.35"};
    for (int time = 0; time < 2; ++time) {
        const Printed all = shell.run(words);
        EXPECT_EQ(all.status, 0) << all.out << all.err;
        EXPECT_EQ(member(versions(unoffered), "items.0.rate_micro_per_hour"), "350000");
        EXPECT_EQ(member(versions(first), "items.0.offer_version"), "3") << time;
        EXPECT_EQ(member(versions(second), "items.0.offer_version"), "3") << time;
    }
    EXPECT_EQ(shell.run({"offers", "edit", "--label", "nobody", "--rate", "1"}).status, 4);
    EXPECT_EQ(shell.run({"offers", "edit", "--label", "", "--rate", "1"}).status, 2)
        << "not all that have no name";
    EXPECT_EQ(shell.run({"offers", "edit", "--rate", "1"}).status, 2) << "which?";
    EXPECT_EQ(shell.run({"offers", "edit", first, "--label", "rack 2", "--rate", "1"}).status, 2);
}

TEST_F(Fleet, SendsNothingWhileItOnlyExplains) {
    const std::string id = offered();
    const Printed told = shell.run({"offers", "edit", id, "--rate", "0.35", "--explain"});
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_NE(told.out.find("PATCH /api/v1/hosts/machines/" + id + "/offer"), std::string::npos);
    EXPECT_NE(told.out.find(R"("rate_micro_per_hour":"350000")"), std::string::npos) << told.out;
    EXPECT_NE(told.out.find("offer_version of GET"), std::string::npos) << told.out;
    EXPECT_EQ(member(versions(id), "items.0.offer_version"), "1");
}

TEST_F(Fleet, ListsFirstWhoNeedsItsOwnerWithTheNextStep) {
    const std::string rented = offered();
    rent(ben, seen(town.harness, MachineId{parse_uuid(rented).value()}));
    const std::string fine = offered("rack 1");
    const std::string aside = add();
    happen(town.harness, MachineId{parse_uuid(aside).value()}, machines::MachineEvent::quarantine,
           {.cause = machines::QuarantineCause::operator_});
    const std::string unheard = add("", {.heard = false});
    const std::string unoffered =
        add("", {.state = machines::MachineState::UNLISTED, .measured = measured_4090()});
    for (const std::string& id : {rented, fine, aside, unoffered})
        hear(town.harness, MachineId{parse_uuid(id).value()});

    const Printed list = shell.run({"machines", "list", "-o", "table"});
    ASSERT_EQ(list.status, 0) << list.err;
    std::size_t before = 0;
    for (const std::string& id : {aside, unheard, unoffered, fine, rented}) {
        const std::size_t at = list.out.find("\n" + id);
        ASSERT_NE(at, std::string::npos) << id << "\n" << list.out;
        EXPECT_GE(at, before) << list.out;
        before = at;
    }
    for (const std::string& words :
         {"put aside: berth machines doctor " + aside, std::string("berth-agent status"),
          "berth offers edit " + unoffered + " --rate", std::string("rack 1"), std::string("NEXT")})
        EXPECT_NE(list.out.find(words), std::string::npos) << words << "\n" << list.out;

    const Printed page = shell.run({"machines", "list", "-o", "table", "--limit", "2"});
    EXPECT_NE(page.err.find("there is more"), std::string::npos) << page.err << page.out;
    EXPECT_NE(page.out.find("berth offers edit " + unoffered), std::string::npos) << page.out;
    const Printed read = shell.run({"machines", "list"});
    EXPECT_EQ(member(read.out, "items.0.next_step"), "") << "programs read the server's own";
}

}  // namespace
}  // namespace berth::test
