#include "base/talk.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <stdexcept>
#include <thread>

namespace berth {
namespace {

using namespace std::chrono_literals;

void say_for_ever(Talk& talk) {
    while (true) {
        talk.say("x");
        std::this_thread::sleep_for(1ms);
    }
}

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
    Talk over({"sh", "-c", "exit 1"});
    EXPECT_THROW(over.hear(10s), std::runtime_error);
    // Which of its two ends is closed first when a program exits is the kernel's affair.
    EXPECT_THROW(say_for_ever(over), std::runtime_error);
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
