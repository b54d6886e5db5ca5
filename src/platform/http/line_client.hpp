// Outbound HTTP/1.1 for small requests that go to the same few places one after the other: over
// lines that stay open between calls. It blocks as the client in client.hpp does and keeps the same
// promises for less of the processor, reads answers by the strict grammar of parse.hpp, and dials
// nothing but the address that it is given.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "http/client.hpp"

namespace berth::http {

// Safe to call from any thread. What it cannot do: `take`, `is_over`, `pinned_key`.
class LineClient final : public Client {
public:
    static constexpr std::size_t idle_max = 64;
    static constexpr std::chrono::seconds idle_for_max{60};

    LineClient();
    ~LineClient() override;

    // Once more over a fresh line, where one that was kept has ended before anything came back.
    Response send(const Outbound& request) override;

private:
    using SteadyClock = std::chrono::steady_clock;
    struct Place;
    struct Line;
    class Conversation;
    struct Idle;
    struct Authorities;

    std::unique_ptr<Line> take(const Place& place);
    void keep(const Place& place, std::unique_ptr<Line> line);
    std::unique_ptr<Line> dial(const Place& place, const Outbound& request,
                               SteadyClock::time_point deadline);
    std::shared_ptr<const Authorities> authorities(const std::string& ca_file);

    std::mutex mutex_;
    std::vector<Idle> idle_;  // the freshest at the back
    std::shared_ptr<const Authorities> authorities_;
};

}  // namespace berth::http
