// docs/agents.md as it stands: its blocks in one shell, against a real server and a real node.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "on_chain/money_town.hpp"

namespace berth::test {
namespace {

namespace fs = std::filesystem;

constexpr auto guide_wait_max = std::chrono::minutes(4);

// The bash blocks, one after the other.
std::string blocks_of(const std::string& guide) {
    constexpr std::string_view begin = "```bash\n";
    std::string script;
    for (std::size_t at = guide.find(begin); at != guide.npos; at = guide.find(begin, at)) {
        at += begin.size();
        script += guide.substr(at, guide.find("```", at) - at);
    }
    return script;
}

void put(std::string& script, const std::string& instead_of, const std::string& text) {
    const std::size_t at = script.find(instead_of);
    ASSERT_NE(at, script.npos) << instead_of;
    script.replace(at, instead_of.size(), text);
}

std::string last_value(const std::string& text, const std::string& member_name) {
    const std::string mark = "\"" + member_name + "\":\"";
    const std::size_t at = text.rfind(mark);
    if (at == text.npos) return "";
    const std::size_t first = at + mark.size();
    return text.substr(first, text.find('"', first) - first);
}

TEST(AgentsGuide, LeadsAnAgentFromItsWalletInAndOutAgain) {
    EvmNode node;
    node.set_ether(treasury_address(), 1'000'000'000'000'000'000);
    const TemporaryFolder folder;
    const TestDatabase database;
    write_secret(folder.path() + "/secrets", "treasury.key", to_hex(treasury_secret));
    const std::string place = "127.0.0.1:" + std::to_string(free_port());
    const std::string address = "http://" + place;
    Process server({program_path("berthd"),
                    "serve",
                    "--listen",
                    place,
                    "--db",
                    database.url(),
                    "--secrets",
                    folder.path() + "/secrets",
                    "--mail",
                    "file:" + folder.path() + "/mail",
                    "--allow-unsafe",
                    "undurable-db",
                    "--chain-rpc",
                    node.url(),
                    "--chain-poll-ms",
                    "500",
                    "--token-usdc",
                    crypto::to_string(node.usdc()),
                    "--token-usdt",
                    crypto::to_string(node.usdt())},
                   folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(server, address + "/readyz")) << read_text(server.log_path());

    // What differs from a reader's machine: where the server, the node and viem are, and that the
    // wallet is given its money in the middle of it.
    const fs::path source = fs::path(BERTH_SOURCE_DIR);
    std::string script = "set -euo pipefail\n" + blocks_of(read_text(source / "docs/agents.md"));
    put(script, "(cd tests/clients && npm ci --silent)",
        "[[ -e tests/clients/node_modules/.package-lock.json ]] ||\n"
        "    (cd tests/clients && npm ci --ignore-scripts --silent)");
    put(script, "http://127.0.0.1:8080", address);
    put(script, "https://mainnet.base.org", node.url());
    put(script, "claim=$(pay",
        "echo \"$address\" > wallet; mv wallet wallet.wants\n"
        "until [[ -e wallet.has ]]; do sleep 0.1; done\nclaim=$(pay");
    while (script.find("sleep 5") != script.npos) put(script, "sleep 5", "sleep 0.3");
    fs::create_symlink(source / "tests", folder.path() + "/tests");
    std::ofstream(folder.path() + "/guide") << script;
    Process reader({"/usr/bin/env", "-C", folder.path(), "bash", "guide"}, folder.path() + "/told");

    const SystemClock clock;
    const Time until = clock.now() + guide_wait_max;
    const std::string wants = folder.path() + "/wallet.wants";
    bool given = false;
    while (reader.running() && clock.now() < until) {
        if (!given && fs::exists(wants)) {
            const auto wallet = crypto::parse_address(read_text(wants).substr(0, 42)).value();
            node.set_ether(wallet, 1'000'000'000'000'000'000);
            node.mint(node.usdc(), {wallet, Micro{5'000'000}});
            std::ofstream(folder.path() + "/wallet.has") << "";
            given = true;
        }
        node.mine();
        // Blocks come at a pace, as on a chain; nothing is concluded from the pause.
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    const std::string told = read_text(reader.log_path());
    ASSERT_FALSE(reader.running()) << told;
    EXPECT_EQ(reader.wait(), 0) << told << read_text(server.log_path());
    EXPECT_EQ(last_value(told, "spendable_micro"), "5000000") << told;
    EXPECT_NE(told.find("\"state\":\"SETTLED\""), told.npos) << told;
    const auto wallet = crypto::parse_address(read_text(wants).substr(0, 42)).value();
    EXPECT_EQ(node.balance(node.usdc(), wallet), Micro{2'000'000});
}

}  // namespace
}  // namespace berth::test
