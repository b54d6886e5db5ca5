// What berth-agent says to the one who installs it, before any server has heard of the machine.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "host_agent/card_of_host.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

TEST(AgentCommandLine, TheDoctorSaysWhatIsMissingAndHowToMendIt) {
    TemporaryFolder folder;
    const auto examine = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {program_path("berth-agent"), "doctor", "--state",
                                     folder.path() + "/state", "--runtime", "process"});
        return run_program(words);
    };
    const Outcome bare = examine({"--server", "http://127.0.0.1:1"});
    EXPECT_EQ(bare.status, 1);
    for (const char* words :
         {"BAD  0 GPUs\n     Install the GPU's driver", "BAD  the runtime process",
          "There is no engine to start", "BAD  the server http://127.0.0.1:1"})
        EXPECT_NE(bare.output.find(words), std::string::npos) << words << "\n" << bare.output;
    const CardOfHost card;
    std::ofstream(folder.path() + "/engines")
        << R"({"engines":[{"name":"vllm","program":"/bin/true","arguments":[]}]})";
    const Outcome equipped =
        examine({"--public-host", "gpu1.example", "--engines", folder.path() + "/engines"});
    for (const char* words :
         {"ok   1 GPUs", "ok   0000:01:00.0 NVIDIA GeForce RTX 4090", "ok   the runtime process",
          "ok   jobs are reached under gpu1.example"})
        EXPECT_NE(equipped.output.find(words), std::string::npos) << words << equipped.output;
    std::ofstream(folder.path() + "/engines")
        << R"({"engines":[{"name":"vllm","program":"/no/such","arguments":[]}]})";
    const Outcome broken = examine({"--engines", folder.path() + "/engines"});
    EXPECT_EQ(broken.status, 2);
    EXPECT_NE(broken.output.find("must be the full path"), std::string::npos) << broken.output;
}

TEST(AgentCommandLine, TheDoctorKnowsTheFirewallAndTheLineThatOpensIt) {
    TemporaryFolder folder;
    const std::string path = std::getenv("PATH");
    ::setenv("PATH", (folder.path() + ":" + path).c_str(), 1);
    const auto fake = [&](const std::string& name, const std::string& script) {
        std::ofstream(folder.path() + "/" + name) << "#!/bin/sh\n" << script << "\n";
        std::filesystem::permissions(folder.path() + "/" + name, std::filesystem::perms::owner_all);
    };
    const auto told = [&] {
        return run_program({program_path("berth-agent"), "doctor", "--state",
                            folder.path() + "/state", "--runtime", "process", "--simulate-gpu",
                            "RTX 4090", "--public-host", "gpu1.example", "--ports", "40000-40009"})
            .output;
    };
    fake("ufw", "echo 'Status: inactive'");
    fake("firewall-cmd", "exit 1");
    fake("nft",
         "echo 'table inet filter {'; echo '  chain input {'; "
         "echo '    type filter hook input priority 0; policy drop;'; echo '  }'; echo '}'");
    EXPECT_NE(told().find("nft insert rule inet filter input tcp dport 40000-40009 accept"),
              std::string::npos)
        << told();
    fake("firewall-cmd", "[ \"$1\" = --state ]");
    EXPECT_NE(told().find("firewall-cmd --permanent --add-port=40000-40009/tcp"), std::string::npos)
        << told();
    fake("ufw", "echo 'Status: active'");
    EXPECT_NE(told().find("ufw allow 40000:40009/tcp"), std::string::npos) << told();
    fake("ufw", "echo 'Status: active'; echo '40000:40009/tcp  ALLOW  Anywhere'");
    EXPECT_NE(told().find("ufw, and allows 40000:40009/tcp"), std::string::npos) << told();
    EXPECT_EQ(told().find("To be reached at its own ports"), std::string::npos) << told();
    ::setenv("PATH", path.c_str(), 1);
}

TEST(AgentCommandLine, WantsHttpsAndATokenThatIsNoArgument) {
    TemporaryFolder folder;
    const auto enroll = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {program_path("berth-agent"), "enroll", "--state",
                                     folder.path() + "/state", "--token-file", "/dev/null"});
        return run_program(words);
    };
    const Outcome plain = enroll({"--server", "http://berth.example"});
    EXPECT_EQ(plain.status, 2);
    EXPECT_NE(plain.output.find("is not an https address"), std::string::npos) << plain.output;
    const Outcome bare = enroll({"--server", "https://berth.example"});
    EXPECT_EQ(bare.status, 2);
    EXPECT_NE(bare.output.find("has no token"), std::string::npos) << bare.output;
    EXPECT_NE(enroll({"--server", "https://berth.example", "--token", "bre_x"}).status, 0);
    const Outcome unknown =
        run_program({program_path("berth-agent"), "run", "--state", folder.path() + "/state"});
    EXPECT_EQ(unknown.status, 2);
    EXPECT_NE(unknown.output.find("enroll it first"), std::string::npos) << unknown.output;
}

}  // namespace
}  // namespace berth::test
