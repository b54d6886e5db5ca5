// A consumer that goes on by another way again and again, while things happen: it sees each number
// once, and in order.
#include <thread>

#include "delivery/receiver.hpp"

namespace berth::test {
namespace {

class MovingReader : public WebhooksTest {
protected:
    static constexpr std::int64_t all = 1000;

    // A stream that was cut counts until the server has noticed.
    MovingReader()
        : WebhooksTest(std::map<std::string, std::string>{
              {"allow-private-webhooks", "true"}, {"event-streams-per-account", "10000"}}) {}

    void see(const std::string& sequence) {
        ASSERT_EQ(sequence, std::to_string(place + 1));
        ++place;
    }
    void read_page() {
        const auto answer = page(ada, fmt::format("limit=3&after={}", place));
        ASSERT_EQ(answer.status, 200) << answer.body;
        for (int i = 0;; ++i) {
            const std::string number = member(answer.body, fmt::format("items.{}.sequence", i));
            if (number.empty()) return;
            see(number);
        }
    }
    // The connection is cut in the middle of it.
    void read_stream() {
        EventReader reader = open(ada, fmt::format("after={}", place));
        for (int i = 0; i < 3 && place < all; ++i) see(reader.next().id);
        ++cuts;
    }
    void read_webhook() {
        const std::size_t before = receiver.taken().size();
        receiver.take_only(3);
        const Hook made = hook(ada, receiver.url(), fmt::format(R"(,"from":"{}")", place));
        carry();
        const auto taken = receiver.taken();
        for (std::size_t i = before; i < taken.size(); ++i) see(taken[i].sequence());
        EXPECT_EQ(shown(ada, made, "sent_through"), std::to_string(place));
        ASSERT_EQ(town.with_key(ada.key, "DELETE", "/api/v1/webhooks/" + made.id).status, 204);
    }

    Person ada = join();
    Receiver receiver;
    std::int64_t place = 0;
    int cuts = 0;
};

TEST_F(MovingReader, SeesEachNumberOnceByPageStreamAndWebhook) {
    std::thread writer([&] {
        for (std::int64_t told = 0; told < all; told += 10) tell(ada, 10);
    });
    while (place < all && !HasFatalFailure()) {
        read_page();
        if (place < all) read_stream();
        if (place < all) read_webhook();
    }
    writer.join();
    EXPECT_EQ(place, all);
    EXPECT_GE(cuts, 100);
}

}  // namespace
}  // namespace berth::test
