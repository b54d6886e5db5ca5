// The program berth-gate itself.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>

#include "gate/gate_double.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

std::string berth_gate() { return program_path("berth-gate"); }

struct Made {
    TemporaryFolder folder;
    std::uint16_t first = free_ports(4);
    Outcome outcome =
        run_program({berth_gate(), "init", "--dir", folder.path(), "--host", "127.0.0.1",
                     "--link-port", std::to_string(first), "--call-port", std::to_string(first + 1),
                     "--ports", fmt::format("{}-{}", first + 2, first + 3)});

    std::vector<std::string> run_words(std::uint16_t metrics) const {
        return {berth_gate(), "run",
                "--dir",      folder.path(),
                "--server",   "http://127.0.0.1:9",
                "--listen",   "127.0.0.1",
                "--metrics",  fmt::format("127.0.0.1:{}", metrics)};
    }
    std::string health() const { return fmt::format("http://127.0.0.1:{}/v1/health", first + 1); }
};

TEST(GateProgram, MakesAGateAndTheLineForTheServer) {
    const Made made;
    EXPECT_EQ(made.outcome.status, 0) << made.outcome.output;
    const std::size_t at = made.outcome.output.find("berthd gates add --id ");
    ASSERT_NE(at, std::string::npos) << made.outcome.output;
    const std::string line = made.outcome.output.substr(at);
    for (const char* word : {" --host 127.0.0.1 ", " --link-port ", " --call-port ", " --ports ",
                             " --public-key ", " --tls-key-sha256 "})
        EXPECT_NE(line.find(word), line.npos) << word;
    namespace files = std::filesystem;
    for (const char* name : {"gate.json", "tls.key"})
        EXPECT_EQ(files::status(made.folder.path() + "/" + name).permissions(),
                  files::perms::owner_read | files::perms::owner_write)
            << name;
}

TEST(GateProgram, MakesTheSameGateAgainAndNoOtherInItsPlace) {
    const Made made;
    std::vector<std::string> words = {
        berth_gate(),  "init",
        "--dir",       made.folder.path(),
        "--host",      "127.0.0.1",
        "--link-port", std::to_string(made.first),
        "--call-port", std::to_string(made.first + 1),
        "--ports",     fmt::format("{}-{}", made.first + 2, made.first + 3)};
    EXPECT_EQ(run_program(words).output, made.outcome.output);
    words[5] = "other.example";
    EXPECT_EQ(run_program(words).status, 2);
}

TEST(GateProgram, RefusesWhatMakesNoSense) {
    const TemporaryFolder folder;
    const auto init = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words = {berth_gate(), "init", "--dir", folder.path() + "/g"};
        words.insert(words.end(), more.begin(), more.end());
        return run_program(words).status;
    };
    EXPECT_EQ(init({"--host", "a b"}), 2);
    EXPECT_EQ(init({"--host", "g.example", "--ports", "9-8"}), 2);
    EXPECT_EQ(init({"--host", "g.example", "--ports", "20000"}), 2);
    EXPECT_EQ(init({"--host", "g.example", "--link-port", "0"}), 2);
    EXPECT_EQ(init({"--host", "g.example", "--link-port", "20001"}), 2);
    EXPECT_EQ(run_program(
                  {berth_gate(), "run", "--dir", folder.path(), "--server", "http://berth.example"})
                  .status,
              2);
    EXPECT_EQ(run_program({berth_gate(), "run", "--dir", folder.path(), "--server",
                           "https://berth.example"})
                  .status,
              2);
}

TEST(GateProgram, RunsWithoutItsServerAndEndsWhenTold) {
    const Made made;
    Process process(made.run_words(free_port()), made.folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(process, made.health())) << read_text(process.log_path());
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait(), 0) << read_text(process.log_path());
}

TEST(GateProgram, TakesAsManyFilesAsItMay) {
    const Made made;
    std::vector<std::string> words = {"/bin/sh", "-c", "ulimit -S -n 100 && exec \"$0\" \"$@\""};
    const auto run = made.run_words(free_port());
    words.insert(words.end(), run.begin(), run.end());
    Process process(words, made.folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(process, made.health())) << read_text(process.log_path());
    rlimit files{};
    ASSERT_EQ(::prlimit(process.pid(), RLIMIT_NOFILE, nullptr, &files), 0);
    EXPECT_EQ(files.rlim_cur, files.rlim_max);
}

TEST(GateProgram, TwoOfOneFolderRunBesideEachOther) {
    const Made made;
    Process older(made.run_words(free_port()), made.folder.path() + "/a.log");
    ASSERT_TRUE(wait_until_ready(older, made.health())) << read_text(older.log_path());
    const std::uint16_t metrics = free_port();
    Process newer(made.run_words(metrics), made.folder.path() + "/b.log");
    ASSERT_TRUE(wait_until_ready(newer, fmt::format("http://127.0.0.1:{}/metrics", metrics)))
        << read_text(newer.log_path());
    older.signal(SIGTERM);
    EXPECT_EQ(older.wait(), 0) << read_text(older.log_path());
    EXPECT_TRUE(wait_until_ready(newer, made.health()));
}

}  // namespace
}  // namespace berth::test
