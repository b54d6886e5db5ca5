// Mail as .eml files.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "mail/file_transport.hpp"
#include "support/fakes.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::mail {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
protected:
    Envelope envelope(std::string message) {
        return {MailId::make(clock.now(), random), "berth@localhost", "a@b.c", std::move(message)};
    }
    static std::vector<std::string> names(const fs::path& folder) {
        std::vector<std::string> found;
        for (const auto& entry : fs::directory_iterator(folder))
            found.push_back(entry.path().filename().string());
        return found;
    }

    test::ManualClock clock;
    test::SeededRandom random;
    test::TemporaryFolder home;
};

TEST_F(Files, AMailIsOneFileForItsOwnerOnly) {
    const fs::path folder = home.path() + "/some/where";
    const auto transport = make_transport("file:" + folder.string());
    const Envelope mail = envelope("Subject: x\r\n\r\nHello\r\n");
    transport->deliver(mail);
    const std::string name = to_string(mail.id) + ".eml";
    EXPECT_EQ(names(folder), std::vector<std::string>{name});
    EXPECT_EQ(test::read_text((folder / name).string()), mail.message);
    const auto others = fs::perms::group_all | fs::perms::others_all;
    EXPECT_EQ(fs::status(folder).permissions() & others, fs::perms::none);
    EXPECT_EQ(fs::status(folder / name).permissions() & others, fs::perms::none);
}

TEST_F(Files, AMailDeliveredAgainReplacesItsFile) {
    FileTransport transport(home.path());
    const Envelope mail = envelope("Hello\r\n");
    transport.deliver(mail);
    transport.deliver(mail);
    EXPECT_EQ(names(home.path()).size(), 1U);
}

TEST_F(Files, AFolderThatWasRemovedIsMadeAgain) {
    const fs::path folder = home.path() + "/mail";
    FileTransport transport(folder);
    fs::remove_all(folder);
    transport.deliver(envelope("Hello\r\n"));
    EXPECT_EQ(names(folder).size(), 1U);
}

TEST_F(Files, WhatCannotBeWrittenIsNotDeliveredAndLeavesNothing) {
    const fs::path folder = home.path() + "/mail";
    FileTransport transport(folder);
    const Envelope mail = envelope("Hello\r\n");
    fs::create_directories(folder / (to_string(mail.id) + ".eml") / "in the way");
    EXPECT_THROW(transport.deliver(mail), NotDelivered);
    EXPECT_EQ(names(folder).size(), 1U);
    fs::remove_all(folder);
    std::ofstream(folder) << "not a folder";
    EXPECT_THROW(transport.deliver(mail), NotDelivered);
}

TEST_F(Files, AFolderThatCannotBeMadeIsToldAtOnce) {
    EXPECT_THROW(make_transport("file:"), std::invalid_argument);
    EXPECT_THROW(make_transport("file:/dev/null/mail"), std::invalid_argument);
}

}  // namespace
}  // namespace berth::mail
