// `berth` with a server of its own to talk to, and the mail that it sends.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "cli/shell.hpp"
#include "http/client.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

namespace berth::test {

// One server for all cases of a suite; each has a home of its own.
class Served : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        folder = new TemporaryFolder;
        place = "127.0.0.1:" + std::to_string(free_port());
        server =
            new Process({program_path("berthd"), "serve", "--listen", place, "--db",
                         "sqlite:" + folder->path() + "/berth.db", "--secrets",
                         folder->path() + "/secrets", "--mail", "file:" + folder->path() + "/mail",
                         "--metrics-listen", "127.0.0.1:" + std::to_string(free_port())},
                        folder->path() + "/log");
        ASSERT_TRUE(wait_until_ready(*server, "http://" + place + "/readyz"))
            << read_text(folder->path() + "/log");
    }
    static void TearDownTestSuite() {
        delete server;
        delete folder;
    }

    // The code of the newest mail to the address beyond those that were read.
    std::string mailed_code(const std::string& email) {
        static const std::regex code("[cC]ode[^\n]*: ([0-9]{6})");
        std::string found;
        const bool came = support::eventually([&] {
            std::error_code none;
            for (const auto& entry :
                 std::filesystem::directory_iterator(folder->path() + "/mail", none)) {
                const std::string text = read_text(entry.path());
                std::smatch match;
                if (entry.path().extension() != ".eml" || read_.contains(entry.path()) ||
                    text.find("To: " + email) == text.npos || !std::regex_search(text, match, code))
                    continue;
                read_.insert(entry.path());
                found = match[1];
                return true;
            }
            return false;
        });
        EXPECT_TRUE(came) << "no mail to " << email;
        return found;
    }
    Shell::Typed mailed(const std::string& after, const std::string& email) {
        return {after, [this, email] { return mailed_code(email); }};
    }
    Printed register_agent() {
        return shell.run({"agents", "register", "--name", "Scout", "--vendor", "Example",
                          "--passphrase-file", shell.file("passphrase", "correct horse\n")});
    }
    static std::filesystem::perms mode(const std::string& file) {
        return std::filesystem::status(file).permissions();
    }

    static constexpr std::filesystem::perms owner_only =
        std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
    inline static TemporaryFolder* folder = nullptr;
    inline static std::string place;
    inline static Process* server = nullptr;
    Shell shell{"http://" + place};

private:
    std::set<std::filesystem::path> read_;
};

}  // namespace berth::test
