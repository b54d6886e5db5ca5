// Real servers that are killed, and two of them on one database.
#include <thread>

#include "delivery/server_process.hpp"
#include "support/postgres_cluster.hpp"

namespace berth::test {
namespace {

TEST(EventProcess, AKilledServerGoesOnAtTheReadersNumber) {
    constexpr int all = 300;
    TemporaryFolder folder;
    TestDatabase fresh;
    SystemRandom random;
    KeyedAccount ada;
    {
        const auto database = fresh.open();
        db::migrate(*database, server::schema());
        ada = database->write(
            [&](db::Transaction& tx) { return add_account(tx, random, SystemClock().now()); });
        tell_account(*database, random, ada.id, all);
    }
    ServerProcess server(fresh.url(), folder.path());
    server.start();
    int seen = 0;
    for (int round = 0; round < 3; ++round) {
        EventReader reader(server.port, bearer(ada.key), "after=" + std::to_string(seen));
        ASSERT_EQ(reader.head().status, 200);
        for (int i = 0; i < 60; ++i) ASSERT_EQ(reader.next().id, std::to_string(++seen));
        server.kill();
        server.start();
    }
    // What it does itself right before it is killed is there afterwards, too.
    RawSocket socket(server.port);
    socket.send(fmt::format(
        "DELETE /api/v1/account/api-keys/{} HTTP/1.1\r\nHost: a\r\n{}"
        "Idempotency-Key: {}\r\nContent-Length: 0\r\n\r\n",
        ada.other_id, bearer(ada.key), to_string(make_uuid(SystemClock().now(), random))));
    EXPECT_EQ(socket.receive(true).status, 204);
    server.kill();
    server.start();
    EventReader reader(server.port, bearer(ada.key), "after=" + std::to_string(seen));
    ASSERT_EQ(reader.head().status, 200);
    while (seen < all) ASSERT_EQ(reader.next().id, std::to_string(++seen));
    EXPECT_EQ(reader.next().type, "account.revoke_api_key");
}

TEST(PostgresOnlyEventServers, WhatOneTellsTheStreamsOfTheOtherHearInTime) {
    PostgresCluster cluster;
    const auto fresh = TestDatabase::postgres(cluster.url());
    TemporaryFolder folder;
    SystemRandom random;
    const auto database = fresh->open();
    db::migrate(*database, server::schema());
    const KeyedAccount ada = database->write(
        [&](db::Transaction& tx) { return add_account(tx, random, SystemClock().now()); });
    ServerProcess one(fresh->url(), folder.path());
    ServerProcess two(fresh->url(), folder.path());
    one.start();
    two.start();
    EventReader reader(two.port, bearer(ada.key));
    ASSERT_EQ(reader.head().status, 200);
    EventReader revoked(two.port, bearer(ada.other_key));
    ASSERT_EQ(revoked.head().status, 200);
    const auto began = std::chrono::steady_clock::now();
    RawSocket socket(one.port);
    socket.send(fmt::format(
        "DELETE /api/v1/account/api-keys/{} HTTP/1.1\r\nHost: a\r\n{}"
        "Idempotency-Key: {}\r\nContent-Length: 0\r\n\r\n",
        ada.other_id, bearer(ada.key), to_string(make_uuid(SystemClock().now(), random))));
    EXPECT_EQ(socket.receive(true).status, 204);
    EXPECT_EQ(reader.next().type, "account.revoke_api_key");
    EXPECT_LT(std::chrono::steady_clock::now() - began, 10s) << "a look is a second";
    Dispatched last = revoked.next();
    while (last.type != "end") last = revoked.next();
    EXPECT_EQ(last.data, R"({"reason":"credential_ended"})");
    // Many from a third process, while both serve.
    std::thread writer([&] { tell_account(*database, random, ada.id, 200); });
    EventReader other(one.port, bearer(ada.key), "after=0");
    ASSERT_EQ(other.head().status, 200);
    for (int i = 1; i <= 201; ++i) ASSERT_EQ(other.next().id, std::to_string(i));
    for (int i = 2; i <= 201; ++i) ASSERT_EQ(reader.next().id, std::to_string(i));
    writer.join();
}

}  // namespace
}  // namespace berth::test
