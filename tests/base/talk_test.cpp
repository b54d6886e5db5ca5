#include "base/talk.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <stdexcept>

namespace berth {
namespace {

using namespace std::chrono_literals;

TEST(Talk, AsksAndHearsLineByLine) {
    Talk talk({"sh", "-c", "while read a; do echo \"<$a>\"; done"});
    talk.say("one");
    talk.say("two");
    EXPECT_EQ(talk.hear(10s), "<one>");
    EXPECT_EQ(talk.hear(10s), "<two>");
    const std::string large(300'000, 'x');
    talk.say(large);
    EXPECT_EQ(talk.hear(10s), "<" + large + ">");
}

TEST(Talk, SaysWhatBecameOfTheProgram) {
    // Which of its ends is closed first when a program exits is the kernel's affair.
    Talk over({"sh", "-c", "exec <&-; exit 1"});
    EXPECT_THROW(over.hear(10s), std::runtime_error);
    EXPECT_THROW(over.say("x"), std::runtime_error);
    Talk silent({"sleep", "60"});
    EXPECT_THROW(silent.hear(10ms), std::runtime_error);
    EXPECT_THROW(Talk({"berth-no-such-program"}), std::runtime_error);
}

TEST(Talk, EndsTheProgramWithItself) {
    pid_t process = 0;
    {
        Talk talk({"sh", "-c", "echo $$; exec sleep 60"});
        process = std::stoi(talk.hear(10s));
        EXPECT_EQ(::kill(process, 0), 0);
    }
    EXPECT_NE(::kill(process, 0), 0);
}

}  // namespace
}  // namespace berth
