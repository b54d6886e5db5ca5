// Two connections that a pump joins: every byte, in order, each way; the end and the reset of
// either side; slow readers; rates; and owners that end it.
#include "http/pump.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "ends.hpp"
#include "support/sanitized.hpp"

namespace berth::http {
namespace {

using namespace std::chrono_literals;
using support::eventually;

constexpr std::size_t pumped_mib = std::size_t{1024} * 1024;

// The strangers a and b, and the pair between them.
struct Joined {
    explicit Joined(Connected a_, Connected b_, std::shared_ptr<Pace> pace = nullptr)
        : a(std::move(a_.outside)), b(std::move(b_.outside)) {
        pump = join(thread.loop(), std::move(a_.inside), std::move(b_.inside),
                    {.pace = std::move(pace), .counters = counters, .on_end = ended.callback()});
    }
    Joined() : Joined(connect_ends(), connect_ends()) {}

    std::shared_ptr<PumpCounters> counters = std::make_shared<PumpCounters>();
    Once<PumpEnd> ended;
    End a;
    End b;
    Pump pump;
    LoopThread thread;
};

std::size_t open_pipes() {
    std::size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const auto target = std::filesystem::read_symlink(each.path(), gone);
        if (!gone && target.string().starts_with("pipe:")) ++count;
    }
    return count;
}

// True when all that was sent on `from` came out at `to`, unchanged.
bool passes(const End& from, const End& to, std::size_t bytes, std::size_t piece = pumped_mib) {
    std::thread sender([&] {
        Pattern pattern;
        for (std::size_t sent = 0; sent < bytes; sent += piece) from.send(pattern.next(piece));
        from.finish_sending();
    });
    Pattern expected;
    bool same = true;
    for (std::size_t got = 0; got < bytes && same; got += piece)
        same = to.receive(piece) == expected.next(piece);
    same = same && to.is_finished();
    sender.join();
    return same;
}

TEST(Pump, CarriesBytesAndTheEndOfEachSide) {
    Joined joined;
    joined.a.send("ping");
    EXPECT_EQ(joined.b.receive(4), "ping");
    joined.b.send("pong!");
    EXPECT_EQ(joined.a.receive(5), "pong!");
    joined.a.finish_sending();
    EXPECT_TRUE(joined.b.is_finished());
    EXPECT_FALSE(joined.pump.is_over());
    joined.b.finish_sending();
    EXPECT_TRUE(joined.a.is_finished());
    EXPECT_EQ(joined.ended.wait(), PumpEnd::finished);
    EXPECT_TRUE(eventually([&] { return joined.pump.is_over(); }));
    EXPECT_EQ(joined.counters->from_a, 4u);
    EXPECT_EQ(joined.counters->from_b, 5u);
}

TEST(Pump, OneSideMaySayMuchAfterTheOtherHasFinished) {
    Joined joined;
    joined.b.send("x");
    EXPECT_EQ(joined.a.receive(1), "x");
    joined.a.finish_sending();
    EXPECT_TRUE(joined.b.is_finished());
    EXPECT_TRUE(passes(joined.b, joined.a, 8 * pumped_mib));
    EXPECT_EQ(joined.ended.wait(), PumpEnd::finished);

    Joined other;  // the other side first
    other.b.finish_sending();
    EXPECT_TRUE(other.a.is_finished());
    EXPECT_TRUE(passes(other.a, other.b, 8 * pumped_mib));
    EXPECT_EQ(other.ended.wait(), PumpEnd::finished);
}

TEST(Pump, CarriesManyMebibytesUnchanged) {
    Joined joined;
    const std::size_t bytes = (test::sanitized ? 48 : 300) * pumped_mib;
    EXPECT_TRUE(passes(joined.a, joined.b, bytes));
    EXPECT_EQ(joined.counters->from_a, bytes);
}

TEST(Pump, CarriesMuchBothWaysAtOnce) {
    Joined joined;
    bool back = false;
    std::thread other([&] { back = passes(joined.b, joined.a, 32 * pumped_mib); });
    EXPECT_TRUE(passes(joined.a, joined.b, 32 * pumped_mib));
    other.join();
    EXPECT_TRUE(back);
    EXPECT_EQ(joined.ended.wait(), PumpEnd::finished);
}

TEST(Pump, CarriesSinglesAndOddPieces) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{16 * 1024}, std::size_t{16'385}}) {
        Joined joined;
        EXPECT_TRUE(passes(joined.a, joined.b, piece * 300, piece)) << piece;
    }
}

TEST(Pump, TakesAPipeForWhatIsLargeAndKeepsNoneForWhatIsNot) {
    Joined joined(connect_ends(), connect_ends(16 * 1024));
    const std::size_t before = open_pipes();
    joined.a.send("little");
    EXPECT_EQ(joined.b.receive(6), "little");
    EXPECT_EQ(open_pipes(), before);
    const std::string much(pumped_mib, 'x');
    EXPECT_TRUE(eventually([&] {
        static_cast<void>(joined.a.send_some(much));
        return open_pipes() > before;
    }));
}

TEST(Pump, BytesThatWereReadBeforeComeFirst) {
    Pattern pattern;
    const std::string early = pattern.next(100 * 1024);  // more than is copied before it splices
    const std::string late = pattern.next(pumped_mib);
    Connected a = connect_ends();
    a.outside.send(late.substr(0, 64 * 1024));  // is there when the pair begins
    a.inside.put_back(early);
    Joined joined(std::move(a), connect_ends());
    std::thread sender([&] { joined.a.send(std::string_view(late).substr(64 * 1024)); });
    EXPECT_EQ(joined.b.receive(early.size() + late.size()), early + late);
    sender.join();
}

// Sends until nothing goes on any more, for b does not read; gives how much that was.
std::size_t fill_up(Joined& joined) {
    const std::string piece(64 * 1024, 'x');
    std::size_t sent = 0;
    std::uint64_t carried = 0;
    int quiet = 0;  // looks in which nothing went on
    EXPECT_TRUE(eventually([&] {
        const std::size_t now = joined.a.send_some(piece);
        sent += now;
        const std::uint64_t before = std::exchange(carried, joined.counters->from_a.load());
        quiet = now == 0 && before == carried ? quiet + 1 : 0;
        return quiet > 50;
    }));
    return sent;
}

TEST(Pump, AReaderThatDoesNotReadHoldsTheSenderBackAndNotTheOtherWay) {
    Joined joined(connect_ends(64 * 1024), connect_ends(64 * 1024));
    const std::size_t sent = fill_up(joined);
    EXPECT_LT(sent, 4 * pumped_mib);
    joined.b.send("still here");
    EXPECT_EQ(joined.a.receive(10), "still here");
    joined.a.finish_sending();
    EXPECT_EQ(joined.b.receive(sent + 1).size(), sent);
}

TEST(Pump, AResetOfOneSideResetsTheOther) {
    Joined joined;
    joined.a.send("x");
    EXPECT_EQ(joined.b.receive(1), "x");
    joined.a.reset();
    EXPECT_TRUE(joined.b.is_reset());
    EXPECT_EQ(joined.ended.wait(), PumpEnd::broken);
}

TEST(Pump, AResetAfterTheEndIsNoticedWhileTheOtherSideIsSilent) {
    Joined joined;
    joined.a.finish_sending();
    EXPECT_TRUE(joined.b.is_finished());
    joined.a.reset();
    EXPECT_EQ(joined.ended.wait(), PumpEnd::broken);
}

TEST(Pump, AResetWhileBytesWaitForAReaderEndsBoth) {
    Joined joined(connect_ends(16 * 1024), connect_ends(16 * 1024));
    const std::string much(pumped_mib, 'x');
    EXPECT_TRUE(eventually([&] { return joined.a.send_some(much) == 0; }));
    joined.b.reset();
    EXPECT_EQ(joined.ended.wait(), PumpEnd::broken);
    EXPECT_TRUE(joined.a.is_reset());
}

// Pairs that nobody has any more would keep the places of a machine.
TEST(Pump, AResetOfASenderIsNoticedWhileItsBytesWaitForASilentReader) {
    Joined joined(connect_ends(16 * 1024), connect_ends(16 * 1024));
    fill_up(joined);
    joined.a.reset();
    EXPECT_EQ(joined.ended.wait(), PumpEnd::broken);
    EXPECT_TRUE(joined.b.is_reset());
}

TEST(Pump, AnUrgentByteIsNoReset) {
    Joined joined(connect_ends(16 * 1024), connect_ends(16 * 1024));
    const std::size_t sent = fill_up(joined);  // from here on resets are looked for
    EXPECT_EQ(joined.b.receive(sent).size(), sent);
    ASSERT_EQ(::send(joined.a.number(), "!", 1, MSG_OOB), 1);
    joined.a.send("after it");
    EXPECT_EQ(joined.b.receive(8), "after it");
    fill_up(joined);
    joined.a.reset();
    EXPECT_EQ(joined.ended.wait(), PumpEnd::broken);
}

TEST(Pump, AnOwnerEndsItWhileBytesAreInFlight) {
    Joined joined;
    std::thread sender([&] {
        const std::string piece(pumped_mib, 'x');
        try {
            for (;;) joined.a.send(piece);
        } catch (const std::runtime_error&) {
        }
    });
    EXPECT_EQ(joined.b.receive(4 * pumped_mib).size(), 4 * pumped_mib);
    joined.pump.end();
    joined.pump.end();
    EXPECT_TRUE(joined.b.is_reset());
    EXPECT_EQ(joined.ended.wait(), PumpEnd::ended);
    sender.join();
    joined.pump.end();  // harmless
}

TEST(Pump, ASocketThatIsGoneAlreadyEndsIt) {
    Connected a = connect_ends();
    a.outside.reset();
    Joined joined(std::move(a), connect_ends());
    EXPECT_EQ(joined.ended.wait(), PumpEnd::broken);
    EXPECT_TRUE(joined.b.is_reset());

    LoopThread thread;
    Once<PumpEnd> ended;
    Connected b = connect_ends();
    join(thread.loop(), Carrier(), std::move(b.inside), {.on_end = ended.callback()});
    EXPECT_EQ(ended.wait(), PumpEnd::broken);
    EXPECT_TRUE(b.outside.is_reset());
}

TEST(Pump, PairsAreClosedWithTheirLoop) {
    auto joined = std::make_unique<Joined>();
    joined->a.send("x");
    EXPECT_EQ(joined->b.receive(1), "x");
    const Pump pump = joined->pump;
    const End a = std::move(joined->a);
    joined.reset();
    EXPECT_TRUE(pump.is_over());
    EXPECT_TRUE(a.is_finished());
    pump.end();  // nobody is there to hear it
}

TEST(Pump, HundredsOfPairsGoOnBesideEachOther) {
    const LoopThread thread;
    std::vector<std::pair<End, End>> ends;
    for (int i = 0; i < 200; ++i) {
        Connected a = connect_ends();
        Connected b = connect_ends();
        join(thread.loop(), std::move(a.inside), std::move(b.inside), {});
        ends.emplace_back(std::move(a.outside), std::move(b.outside));
    }
    const std::string piece(100 * 1024, 'x');
    for (int round = 0; round < 3; ++round) {
        for (const auto& [a, b] : ends) a.send(piece);
        for (const auto& [a, b] : ends) EXPECT_EQ(b.receive(piece.size()), piece);
        for (const auto& [a, b] : ends) b.send("ok");
        for (const auto& [a, b] : ends) EXPECT_EQ(a.receive(2), "ok");
    }
}

// 8 Mb/s: a fifth of a second's worth may go at once, the rest not before its time.
TEST(Pump, KeepsToItsPace) {
    Joined joined(connect_ends(), connect_ends(), std::make_shared<Pace>(8'000'000));
    const auto begin = std::chrono::steady_clock::now();
    joined.a.send(std::string(500'000, 'x'));
    EXPECT_EQ(joined.b.receive(500'000).size(), 500'000u);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 290ms);
}

TEST(Pump, APaceThatIsLiftedHoldsNobodyBack) {
    const auto pace = std::make_shared<Pace>(80'000);
    Joined joined(connect_ends(), connect_ends(), pace);
    joined.a.send(std::string(10'000, 'x'));
    pace->set_rate_bps(0);
    joined.a.send(std::string(4 * pumped_mib, 'x'));  // minutes, at the pace it had
    EXPECT_EQ(joined.b.receive(4 * pumped_mib).size(), 4 * pumped_mib);
}

// Bytes that a pace lets through in ten seconds of its own time, asked for as fast as it says.
std::size_t let_through(Pace& pace, Pace::Clock::time_point& now, std::size_t wanted) {
    const Pace::Clock::time_point end = now + 10s;
    std::size_t bytes = 0;
    while (now < end) {
        const Pace::Leave leave = pace.take(Pace::Way::from_a, wanted, now);
        bytes += leave.bytes;
        if (leave.bytes == 0) {
            EXPECT_GT(leave.wait.count(), 0);
            now += leave.wait;
        }
    }
    return bytes;
}

TEST(Pace, LetsThroughWhatItsRateIs) {
    for (const std::int64_t rate_bps : {80'000, 10'000'000, 1'000'000'000}) {
        for (const std::size_t wanted :
             {std::size_t{1}, std::size_t{1400}, 256 * std::size_t{1024}}) {
            if (wanted == 1 && rate_bps > 80'000) continue;  // a call for each byte
            Pace pace(rate_bps);
            Pace::Clock::time_point now = Pace::Clock::now();
            const auto bytes = static_cast<double>(let_through(pace, now, wanted));
            const double meant = static_cast<double>(rate_bps) / 8 * 10;
            EXPECT_NEAR(bytes / meant, 1, 0.05) << rate_bps << " " << wanted;
        }
    }
}

TEST(Pace, HoldsForAllWhoShareItAndEachWayForItself) {
    Pace pace(8'000'000);
    const Pace::Clock::time_point now = Pace::Clock::now();
    EXPECT_EQ(pace.take(Pace::Way::from_a, pumped_mib, now).bytes, 200'000u);
    EXPECT_EQ(pace.take(Pace::Way::from_a, pumped_mib, now).bytes, 0u);
    EXPECT_EQ(pace.take(Pace::Way::from_b, pumped_mib, now).bytes, 200'000u);
    pace.give_back(Pace::Way::from_a, 50'000);
    EXPECT_EQ(pace.take(Pace::Way::from_a, pumped_mib, now).bytes, 50'000u);
}

TEST(Pace, CanBeChangedAndLifted) {
    Pace pace(8'000'000);
    Pace::Clock::time_point now = Pace::Clock::now();
    EXPECT_TRUE(pace.is_limited());
    static_cast<void>(let_through(pace, now, pumped_mib));
    pace.set_rate_bps(16'000'000);
    EXPECT_NEAR(static_cast<double>(let_through(pace, now, pumped_mib)), 20e6, 1e6);
    pace.set_rate_bps(0);
    EXPECT_FALSE(pace.is_limited());
    EXPECT_EQ(pace.take(Pace::Way::from_a, pumped_mib, now).bytes, pumped_mib);
}

}  // namespace
}  // namespace berth::http
