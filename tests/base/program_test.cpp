#include "base/program.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

using std::chrono::milliseconds;

TEST(Program, SaysWhatItPrintedAndHowItEnded) {
    const auto end = run_program({.arguments = {"sh", "-c", "echo out; echo bad >&2; exit 3"}});
    EXPECT_EQ(end.status, 3);
    EXPECT_EQ(end.output, "out\n");
    EXPECT_EQ(end.errors, "bad\n");
    EXPECT_FALSE(end.ok());
}

TEST(Program, GetsItsInputWhole) {
    const std::string much(300'000, 'x');
    const auto end = run_program({.arguments = {"wc", "-c"}, .input = much});
    EXPECT_TRUE(end.ok());
    EXPECT_EQ(std::stoul(end.output), much.size());
}

TEST(Program, MayLeaveItsInputUnread) {
    const auto end = run_program({.arguments = {"true"}, .input = std::string(300'000, 'x')});
    EXPECT_TRUE(end.ok());
}

TEST(Program, ThatIsNotThereDidNotStart) {
    const auto end = run_program({.arguments = {"/nowhere/berth-nothing"}});
    EXPECT_EQ(end.status, 127);
    EXPECT_NE(end.errors.find("/nowhere/berth-nothing"), std::string::npos);
}

TEST(Program, IsKilledWithItsChildrenWhenItsTimeIsOver) {
    const auto end = run_program(
        {.arguments = {"sh", "-c", "sleep 600 & echo $!; wait"}, .deadline = milliseconds(100)});
    EXPECT_TRUE(end.timed_out);
    EXPECT_EQ(end.status, 128 + 9);
    // The child was killed too; it may be a zombie until its new parent has looked.
    const auto child = run_program({.arguments = {"sh", "-c",
                                                  "! kill -0 $0 2>/dev/null || grep -q 'State:.*Z' "
                                                  "/proc/$0/status || ! test -e /proc/$0",
                                                  end.output.substr(0, end.output.find('\n'))}});
    EXPECT_TRUE(child.ok());
}

TEST(Program, SeesTheGivenEnvironmentBeforeOurs) {
    ::setenv("BERTH_PROGRAM_TEST", "ours", 1);
    const auto end = run_program({.arguments = {"sh", "-c", "echo $BERTH_PROGRAM_TEST $PWD"},
                                  .environment = {"BERTH_PROGRAM_TEST=given"},
                                  .folder = "/"});
    EXPECT_EQ(end.output, "given /\n");
}

TEST(Program, KeepsNoMoreThanAllowedOfWhatWasPrinted) {
    const auto end =
        run_program({.arguments = {"sh", "-c", "yes | head -c 100000"}, .output_bytes_max = 10});
    EXPECT_TRUE(end.ok());
    EXPECT_EQ(end.output.size(), 10u);
}

}  // namespace
}  // namespace berth
