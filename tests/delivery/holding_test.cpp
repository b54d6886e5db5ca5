// Who holds a webhook while it is served, and what is left of a round whose owner, key or process
// changed under way.
#include <atomic>
#include <future>
#include <thread>

#include "delivery/receiver.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

class WebhookCrowd : public WebhooksTest {
protected:
    WebhookCrowd()
        : WebhooksTest(std::map<std::string, std::string>{{"allow-private-webhooks", "true"},
                                                          {"webhooks-per-account", "40"}}) {}
};

TEST_F(WebhookCrowd, OfOneAccountHoldsUpNobodyElse) {
    auto& delivery = town.harness.app->delivery();
    std::promise<void> release;
    const auto released = release.get_future().share();
    std::atomic<bool> is_slow = false;
    std::atomic<std::int64_t> waiting = 0;
    delivery.resolve_by([&](const std::string& host, http::Reach reach) {
        if (is_slow && host.ends_with("example.org")) {
            ++waiting;
            released.wait();
        }
        return http::resolve("127.0.0.1", reach);
    });
    const Person ada = join(), ben = join();
    Receiver receiver;
    for (int i = 0; i < 40; ++i) hook(ada, receiver.url(fmt::format("slow{}.example.org", i)));
    hook(ben, receiver.url());
    is_slow = true;
    tell(ada);
    delivery.couriers().start();
    EXPECT_TRUE(eventually([&] { return waiting >= 4; }));
    tell(ben);
    EXPECT_TRUE(eventually([&] { return receiver.received().size() == 1; }));
    EXPECT_EQ(waiting.load(), 4);
    release.set_value();
    EXPECT_TRUE(eventually([&] { return receiver.received().size() == 41; }));
    delivery.couriers().stop();
}

}  // namespace
}  // namespace berth::test
