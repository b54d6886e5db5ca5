// A whole gate: its loops, its ports, and the thread that reports.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gate/board.hpp"
#include "gate/entrance.hpp"
#include "gate/reporter.hpp"
#include "gate/siblings.hpp"
#include "gate/tickets.hpp"
#include "http/loop_thread.hpp"
#include "http/server.hpp"

namespace berth::gate {

struct GateOptions {
    std::string folder;
    ReporterOptions reporter{};
    BoardOptions board{};            // its address is that of every port
    std::size_t io_threads = 1;      // for links and calls; and as many for streams
    std::string metrics_address{};   // empty: there is no page of metrics
    std::uint16_t metrics_port = 0;  // 0 takes a free one
    HeardClock::Off clock_off = HeardClock::Off::noticed;
};

class Gate {
public:
    // Listens, but for doors, which tickets bring. Throws, with one sentence,
    // std::invalid_argument and std::runtime_error.
    Gate(GateOptions options, const Clock& clock, Random& random, http::Client& client);
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    void start();
    // Takes no links any more, and is drained when all streams have ended.
    void drain();
    bool is_drained();
    void stop();

    bool report_once() { return reporter_.report_once(); }
    Present present();
    const Tally& tally() const { return tally_; }
    const Identity& identity() const { return identity_; }
    std::uint16_t metrics_port() const { return metrics_ ? metrics_->port() : std::uint16_t{0}; }

private:
    struct MetricsPage;
    http::ServerOptions server_options(bool links) const;

    const GateOptions options_;
    const Folder folder_;
    const Identity identity_;
    Tally tally_;
    HeardClock clock_;
    Tickets tickets_;
    std::vector<std::unique_ptr<http::LoopThread>> stream_threads_;
    http::LoopThread board_thread_;
    const std::shared_ptr<Board> board_;
    Siblings siblings_;
    Hall hall_;
    Entrance link_entrance_;
    Entrance call_entrance_;
    std::unique_ptr<MetricsPage> metrics_page_;
    std::unique_ptr<http::Server> links_;
    std::unique_ptr<http::Server> calls_;
    std::unique_ptr<http::Server> metrics_;
    Reporter reporter_;
    bool stopped_ = false;
};

}  // namespace berth::gate
