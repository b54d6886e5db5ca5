// Real servers that are killed while they deliver, and two of them with couriers on one database.
#include <condition_variable>
#include <set>
#include <thread>

#include "delivery/receiver.hpp"
#include "delivery/server_process.hpp"
#include "support/postgres_cluster.hpp"

namespace berth::test {
namespace {

std::string make_hook(std::uint16_t port, const std::string& key, const std::string& url,
                      Random& random) {
    const std::string body = R"({"url":")" + url + R"(","from":"0"})";
    RawSocket socket(port);
    socket.send(fmt::format(
        "POST /api/v1/webhooks HTTP/1.1\r\nHost: a\r\n{}"
        "Idempotency-Key: {}\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\n\r\n{}",
        bearer(key), to_string(make_uuid(SystemClock().now(), random)), body.size(), body));
    const http::Response made = socket.receive();
    EXPECT_EQ(made.status, 201) << made.body;
    return member(made.body, "webhook_id");
}

// In the order in which they were first seen; what was seen again has the id of the first time.
std::vector<std::string> first_seen(const std::vector<Received>& all) {
    std::vector<std::string> order;
    std::map<std::string, std::string> ids;
    for (const Received& each : all) {
        const auto [known, is_new] = ids.emplace(each.sequence(), each.id);
        if (is_new) order.push_back(each.sequence());
        EXPECT_EQ(known->second, each.id);
    }
    return order;
}

std::vector<std::string> numbers(int count) {
    std::vector<std::string> all;
    for (int i = 1; i <= count; ++i) all.push_back(std::to_string(i));
    return all;
}

TEST(WebhookProcess, KilledBetweenChangeAndDeliveryLosesNothing) {
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
    Receiver receiver;
    receiver.take_only(100);
    ServerProcess server(fresh.url(), folder.path(), {"--allow-private-webhooks"});
    server.start();
    make_hook(server.port, ada.key, receiver.url(), random);
    ASSERT_TRUE(eventually([&] { return receiver.received().size() > 100; }));
    server.kill();
    receiver.take_only(1'000'000);
    server.start();
    ASSERT_TRUE(eventually([&] { return receiver.taken().size() > 150; }));
    server.kill();
    server.start();
    ASSERT_TRUE(eventually([&] { return first_seen(receiver.taken()).size() == all; }))
        << receiver.sequences();
    EXPECT_EQ(first_seen(receiver.taken()), numbers(all));
    EXPECT_LE(receiver.taken().size(), all + 2u * 17) << "only what was not noted comes again";
}

TEST(PostgresOnlyWebhookServers, ShareTheWorkAndSendEachEventOnce) {
    constexpr int all = 400;
    PostgresCluster cluster;
    const auto fresh = TestDatabase::postgres(cluster.url());
    TemporaryFolder folder;
    SystemRandom random;
    const auto database = fresh->open();
    db::migrate(*database, server::schema());
    const KeyedAccount ada = database->write(
        [&](db::Transaction& tx) { return add_account(tx, random, SystemClock().now()); });
    ServerProcess one(fresh->url(), folder.path(), {"--allow-private-webhooks"});
    ServerProcess two(fresh->url(), folder.path(), {"--allow-private-webhooks"});
    one.start();
    two.start();
    Receiver first;
    Receiver second;
    make_hook(one.port, ada.key, first.url(), random);
    make_hook(two.port, ada.key, second.url(), random);
    std::thread writer([&] { tell_account(*database, random, ada.id, all); });
    const bool done = eventually(
        [&] { return first.received().size() >= all && second.received().size() >= all; });
    writer.join();
    EXPECT_TRUE(done) << first.received().size() << " and " << second.received().size();
    for (const Receiver* each : {&first, &second}) {
        std::vector<std::string> order;
        for (const Received& one_event : each->received()) order.push_back(one_event.sequence());
        EXPECT_EQ(order, numbers(all));
        EXPECT_EQ(each->at_once_max(), 1u);
    }
}

}  // namespace
}  // namespace berth::test
