#include "base/line_socket.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <stdexcept>

#include "support/folder.hpp"

namespace berth {
namespace {

std::string refusal(const std::string& path, const std::string& line) {
    try {
        return "answered: " + ask_line(path, line);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
}

TEST(LineSocket, AnswersItsOwnerALineForALine) {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() + "/door";
    EXPECT_EQ(refusal(path, "hello"), path + ": nobody listens there");
    {
        const LineServer server(path, [](const std::string& line) {
            if (line == "fail") throw std::invalid_argument("not\nthat");
            return "heard " + line;
        });
        struct stat facts {};
        ASSERT_EQ(::stat(path.c_str(), &facts), 0);
        EXPECT_EQ(facts.st_mode & 0777, 0600U);
        EXPECT_EQ(ask_line(path, "hello"), "heard hello");
        EXPECT_EQ(ask_line(path, "again"), "heard again");
        EXPECT_EQ(refusal(path, "fail"), "not that");
        EXPECT_EQ(refusal(path, std::string(5000, 'x')), path + ": no answer came");
        EXPECT_EQ(ask_line(path, "still there"), "heard still there");
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_THROW(LineServer("/nowhere/door", [](const std::string& line) { return line; }),
                 std::runtime_error);
    EXPECT_THROW(LineServer(std::string(200, 'x'), [](const std::string& line) { return line; }),
                 std::runtime_error);
}

}  // namespace
}  // namespace berth
