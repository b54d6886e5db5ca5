// The hub by itself, over a database that takes its time.
#include <atomic>
#include <thread>

#include "delivery/event_stream.hpp"
#include "delivery/readers.hpp"
#include "server/schema.hpp"
#include "support/database.hpp"

namespace berth::test {
namespace {

class SlowDatabase final : public db::Database {
public:
    SlowDatabase(db::Database& inner, std::chrono::milliseconds span)
        : inner_(inner), span_(span) {}

    db::Engine engine() const override { return inner_.engine(); }
    std::uint64_t changes() const override { return inner_.changes(); }
    bool is_touched(const Uuid& id) const override { return inner_.is_touched(id); }

    std::atomic<int> reads = 0;

protected:
    void run_write(const Work& work) override {
        inner_.write([&](db::Transaction& tx) { work(tx); });
    }
    void run_read(const Work& work) override {
        ++reads;
        std::this_thread::sleep_for(span_);
        inner_.read([&](db::Transaction& tx) { work(tx); });
    }

private:
    db::Database& inner_;
    const std::chrono::milliseconds span_;
};

// More streams catch up than can be served in a second; one of them is of a key that has ended.
TEST(EventHub, LooksWhoseKeysHaveEndedHoweverManyStreamsCatchUp) {
    constexpr int streams = 4000;
    constexpr int batches = streams / 200;
    TestDatabase fresh;
    const auto inner = fresh.open();
    db::migrate(*inner, server::schema());
    SlowDatabase database(*inner, 60ms);
    const SystemClock clock;
    SystemRandom random;
    std::atomic<int> reads_when_ended = 0;
    const auto loop = std::make_shared<http::Loop>([&](const http::Loop::Work&) {
        int none = 0;
        reads_when_ended.compare_exchange_strong(none, database.reads);
    });
    delivery::Hub hub;
    hub.connect(database, clock);
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < streams; ++i) {
        delivery::Hub::Listener listener;
        listener.owner = listener.stream = AccountId::make(clock.now(), random);
        listener.credential = {api::Credential::api_key, make_uuid(clock.now(), random)};
        ids.push_back(hub.attach(listener, loop, {}));
    }
    hub.has_room(ids);
    hub.start();
    EXPECT_TRUE(eventually([&] { return reads_when_ended > 0; }));
    EXPECT_LT(reads_when_ended, batches);
    hub.stop();
}

}  // namespace
}  // namespace berth::test
