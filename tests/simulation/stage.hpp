// What the players of a simulation share: the service, the bookkeeper, time, chance and a tally.
#pragma once

#include <functional>
#include <queue>

#include "simulation/plain_model.hpp"
#include "simulation/world.hpp"

namespace berth::simulation {

// Chance that a seed decides.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}

    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low +
               static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low + 1)));
    }
    bool chance(int percent) { return between(1, 100) <= percent; }
    Duration seconds(std::int64_t low, std::int64_t high) {
        return std::chrono::milliseconds(between(low * 1000, high * 1000));
    }

private:
    test::SeededRandom random_;
};

// Things to come, in the order of their times; of those at one time, as they were put there.
class Timeline {
public:
    using Work = std::function<void()>;

    void put(Time at, Work work) { coming_.push({at, ++last_, std::move(work)}); }
    bool empty() const { return coming_.empty(); }
    Time next() const { return coming_.top().at; }
    Work take() {
        Work work = coming_.top().work;
        coming_.pop();
        return work;
    }

private:
    struct Thing {
        Time at;
        std::uint64_t number;
        Work work;

        bool operator<(const Thing& other) const {
            return at != other.at ? at > other.at : number > other.number;
        }
    };
    std::priority_queue<Thing> coming_;
    std::uint64_t last_ = 0;
};

// What happened, for the line that is printed.
struct Tally {
    std::map<std::string, std::int64_t> counts;
    std::int64_t billed_ms = 0;
    std::uint64_t digest = 0xcbf29ce484222325;  // of every answer; FNV-1a

    void add(const std::string& what) { ++counts[what]; }
    void mix(std::string_view text) {
        for (const char byte : text)
            digest = (digest ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
};

class GateCrew;

struct Players {
    World& world;
    PlainModel& model;
    Timeline& timeline;
    Dice& dice;
    Tally& tally;
    GateCrew& gates;

    Time now() const { return world.now(); }
    Moment moment() const { return world.now().micros; }
    void later(Duration span, Timeline::Work work) const {
        timeline.put(now() + span, std::move(work));
    }
    http::Response ask(const Ask& ask) const {
        http::Response response = world.ask(ask);
        tally.mix(std::to_string(response.status));
        tally.mix(response.body);
        return response;
    }
};

}  // namespace berth::simulation
