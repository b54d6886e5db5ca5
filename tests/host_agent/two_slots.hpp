// A computer that is sold in two slots, each with a simulated card, and a renter of both.
#pragma once

#include "host_agent/agent_town.hpp"
#include "host_agent/core/state_folder.hpp"

namespace berth::test {

// Of a slot in slots.json; `more` is what it has of the computer.
inline std::string slot_text(const std::string& name, const std::string& card,
                             const std::string& ports,
                             const std::string& more = R"("cpus":4,"memory_gib":28,"disk_gib":200)",
                             int network_mbit = 500) {
    return fmt::format(R"({{"name":"{}","gpus":["{}"],"ports":"{}","network_mbit":{},{}}})", name,
                       card, ports, network_mbit, more);
}
inline std::string both_slots(const std::string& first, const std::string& second) {
    return fmt::format(R"({{"slots":[{},{}]}})", first, second);
}

class TwoSlots : public AgentTown {
protected:
    static constexpr const char* names[] = {"left", "right"};

    void SetUp() override {
        AgentTown::SetUp();
        host_agent::make_state_folder(computer_folder());
        const std::uint16_t first = free_ports(20);
        const auto of = [&](int number) {
            return slot_text(names[number], fmt::format("ffff:0{}:00.0", number),
                             fmt::format("{}-{}", first + number * 10, first + number * 10 + 9),
                             slot_share, slot_mbit);
        };
        write_slots(both_slots(of(0), of(1)));
    }
    void TearDown() override {
        for (const char* name : names) {
            chosen = name;
            AgentTown::TearDown();
        }
    }
    void write_slots(const std::string& text) const {
        std::ofstream(computer_folder() + "/slots.json") << text;
    }
    virtual std::string computer_folder() const { return folder.path() + "/state"; }
    std::string state() const override { return computer_folder() + "/slots/" + chosen; }

    Outcome tell_agent(std::vector<std::string> words) const {
        words.insert(words.begin(), program_path("berth-agent"));
        words.insert(words.end(), {"--state", computer_folder()});
        return run_program(words);
    }
    Outcome tell_slot(std::vector<std::string> words) const {
        words.insert(words.end(), {"--slot", chosen});
        return tell_agent(std::move(words));
    }
    Outcome enroll_slot() {
        std::ofstream(folder.path() + "/token")
            << member(post(ada, "/api/v1/hosts/enrollments",
                           R"({"tier":")" + tier +
                               R"(","rate_micro_per_hour":"360000000",)"
                               R"("included_disk_gib":1,"list":true})",
                           201),
                      "token")
            << "\n";
        std::vector<std::string> words{"enroll", "--server", url, "--token-file",
                                       folder.path() + "/token"};
        words.insert(words.end(), machine_options.begin(), machine_options.end());
        return tell_slot(words);
    }
    void choose(const std::string& name) {
        chosen = name;
        machine = machines.at(name);
    }
    void start_computer() {
        agent =
            std::make_unique<Process>(std::vector<std::string>{program_path("berth-agent"), "run",
                                                               "--state", computer_folder()},
                                      folder.path() + "/agent.log");
    }
    void open_slots() {
        for (const char* name : names) {
            chosen = name;
            const Outcome enrolled = enroll_slot();
            ASSERT_EQ(enrolled.status, 0) << enrolled.output;
            machines[name] =
                enrolled.output.substr(enrolled.output.find("enrolled as machine ") + 20, 36);
        }
        start_computer();
        for (const char* name : names) {
            choose(name);
            await_machine("AVAILABLE");
        }
    }
    std::string rent(const std::string& name) {
        choose(name);
        offer = member(get(ada, machine_place() + "/offers"), "items.0.offer_id");
        const std::string job = reserve();
        await_state(job, "RUNNING");
        return job;
    }
    pid_t process_of(const std::string& name) const {
        return std::stoi("0" + read_text(computer_folder() + "/slots/" + name + "/lock"));
    }

    int slot_mbit = 7;  // less than loopback carries
    std::string slot_share = R"("cpus":1,"memory_gib":4,"disk_gib":1)";
    std::string chosen = "left";
    std::map<std::string, std::string> machines;
};

}  // namespace berth::test
