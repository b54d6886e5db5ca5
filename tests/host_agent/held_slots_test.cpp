// What slots have since before their file was changed, and who else may have it meanwhile; without
// processes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "host_agent/job/job_record.hpp"
#include "host_agent/program/prerequisites.hpp"
#include "host_agent/program/slots.hpp"
#include "host_agent/two_slots.hpp"

namespace berth::test {
namespace {

using host_agent::in_slot;
using host_agent::Options;
using host_agent::StateFolder;
using host_agent::Use;

// Two slots that were enrolled with a card each, `a` and `b`, when the file said so.
class HeldSlots : public testing::Test {
protected:
    void SetUp() override {
        host_agent::make_state_folder(computer);
        write(both_slots(slot("left", "gpu-a", 0), slot("right", "gpu-b", 1)));
        enrol("left", "gpu-a", 0);
        enrol("right", "gpu-b", 1);
    }
    static std::string slot(const std::string& name, const std::string& card, int ports) {
        return slot_text(name, card, fmt::format("4000{0}-4000{1}", ports * 2, ports * 2 + 1),
                         R"("cpus":1,"memory_gib":1,"disk_gib":1)");
    }
    void write(const std::string& text) const { std::ofstream(computer + "/slots.json") << text; }
    std::string folder_of(const std::string& name) const { return computer + "/slots/" + name; }
    void enrol(const std::string& name, const std::string& card, int ports) const {
        host_agent::Identity identity;
        identity.seed = std::string(64, 'a');
        identity.settings.gpus = card;
        identity.settings.port_first.value = 40000 + ports * 2;
        identity.settings.port_last.value = 40001 + ports * 2;
        identity.settings.share.emplace().slot = name;
        StateFolder(folder_of(name)).save(identity);
    }
    void rent(const std::string& name) const {
        SystemRandom random;
        host_agent::JobRecord record;
        record.job_id = JobId::make(SystemClock().now(), random);
        host_agent::JobRecords(StateFolder(folder_of(name))).save(record);
    }
    Options told(const std::string& name, Use use) const {
        Options options;
        options.state = computer;
        options.slot = name;
        options.runtime = "simulated";
        return in_slot(options, use);
    }
    std::string refusal(const std::string& name, Use use) const {
        try {
            return "it has " + told(name, use).gpus.value();
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
    }
    std::string says(const std::string& what) const {
        return fmt::format("{}/slots.json: file.slots: {}", computer, what);
    }

    TemporaryFolder folder;
    const std::string computer = folder.path() + "/state";
};

TEST_F(HeldSlots, TakeWhatTheFileSaysWhenNobodyHasIt) {
    write(both_slots(slot("left", "gpu-b", 1), slot("right", "gpu-a", 0)));
    EXPECT_EQ(refusal("left", Use::run), "it has gpu-b");
    EXPECT_EQ(refusal("right", Use::run), "it has gpu-a");
}

// Its test would fill the card that somebody has rented, and its renter would be given it.
TEST_F(HeldSlots, NoSlotHasACardThatIsRentedWithAnother) {
    write(both_slots(slot("left", "gpu-b", 0), slot("right", "gpu-a", 1)));
    rent("left");
    EXPECT_EQ(refusal("left", Use::run), "it has gpu-a");
    EXPECT_EQ(refusal("right", Use::run),
              says("right.gpus: gpu-a is the slot left's still, which is rented since before the "
                   "file was changed"));
    EXPECT_EQ(refusal("right", Use::prepared).substr(0, says("right.gpus").size()),
              says("right.gpus"));
    EXPECT_EQ(refusal("right", Use::looked_at), "it has gpu-a") << "who only looks is told";
}

TEST_F(HeldSlots, NoSlotHasAPortThatIsRentedWithAnother) {
    write(both_slots(slot("left", "gpu-a", 1), slot("right", "gpu-b", 0)));
    rent("left");
    EXPECT_EQ(refusal("right", Use::run),
              says("right.ports: some of 40000-40001 are the slot left's still, which is rented "
                   "since before the file was changed"));
}

// It was not started again since.
TEST_F(HeldSlots, NoSlotHasACardThatAnAgentHasByAnEarlierFile) {
    write(both_slots(slot("left", "gpu-b", 0), slot("right", "gpu-a", 1)));
    StateFolder left(folder_of("left"));
    left.lock();
    EXPECT_EQ(refusal("right", Use::run),
              says("right.gpus: gpu-a is the slot left's still, which has an agent that runs since "
                   "before the file was changed"));
    // Whoever looks sees what it has, and gives its cgroup no other bounds.
    EXPECT_EQ(refusal("left", Use::looked_at), "it has gpu-a");
    EXPECT_EQ(refusal("left", Use::prepared), "it has gpu-a");
    EXPECT_EQ(refusal("left", Use::run), "it has gpu-b") << "the next agent";
}

TEST_F(HeldSlots, OneThatIsDamagedHoldsNobodyUp) {
    write(both_slots(slot("left", "gpu-b", 0), slot("right", "gpu-a", 1)));
    rent("left");
    std::ofstream(folder_of("left") + "/identity.json") << "{";
    EXPECT_EQ(refusal("right", Use::run), "it has gpu-a");
    EXPECT_THROW(told("left", Use::run), host_agent::StateLost);
}

TEST_F(HeldSlots, ARentalGoesOnWhateverHasBecomeOfTheFile) {
    rent("left");
    for (const char* text : {"{", R"({"slots":[]})", ""}) {
        write(text);
        EXPECT_EQ(refusal("left", Use::run), "it has gpu-a") << text;
        EXPECT_NE(refusal("right", Use::run).find("/slots.json"), std::string::npos) << text;
        EXPECT_NE(refusal("left", Use::prepared), "it has gpu-a") << text;
    }
    std::filesystem::remove(computer + "/slots.json");
    EXPECT_EQ(refusal("left", Use::run), "it has gpu-a");
    EXPECT_EQ(refusal("right", Use::run), "--slot: there is no " + computer + "/slots.json");
    EXPECT_EQ(host_agent::rented_slots(computer), std::vector<std::string>{"left"});
}

// All cards of it would be sold a second time.
TEST_F(HeldSlots, AComputerIsNotSoldWholeWhileItHasSlotsAndNoFile) {
    std::filesystem::remove(computer + "/slots.json");
    for (const Use use : {Use::prepared, Use::run, Use::looked_at}) {
        Options whole;
        whole.state = computer;
        try {
            in_slot(whole, use);
            ADD_FAILURE() << "taken";
        } catch (const std::invalid_argument& error) {
            EXPECT_EQ(error.what(), says("left is a slot still: put it back, and leave it first "
                                         "(berth-agent leave --slot left)"));
        }
    }
}

TEST_F(HeldSlots, NameNoFolderBeyondTheirOwn) {
    for (const char* name : {"../..", "..", "left/../right", "-l", "Left"})
        EXPECT_EQ(refusal(name, Use::run), "--slot: must be of a-z, 0-9 and -") << name;
}

// What is called by its name, as its cgroup, has one name.
TEST_F(HeldSlots, AreTheSameHoweverTheFolderIsTyped) {
    for (const std::string& typed : {computer + "/", computer + "/./", computer + "/../state"}) {
        EXPECT_EQ(StateFolder(typed).folder(), computer);
        EXPECT_EQ(host_agent::slot_folder(typed, "left"), folder_of("left"));
    }
}

TEST(Prerequisites, CallTheDriverAsTheSystemDoes) {
    using host_agent::driver_packages;
    EXPECT_EQ(driver_packages("NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n").front(),
              "nvidia-driver-580-server");
    EXPECT_EQ(driver_packages("ID=ubuntu\n").front(), "nvidia-driver-580-server");
    EXPECT_EQ(driver_packages("NAME=\"Debian GNU/Linux\"\nID=debian\n").front(), "nvidia-driver");
    EXPECT_EQ(driver_packages("").size(), 2U);
}

}  // namespace
}  // namespace berth::test
