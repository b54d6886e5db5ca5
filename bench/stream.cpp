// 500 streams of 200 small events, relayed by the streaming handler and the upstream client on one
// I/O thread, against nginx with one worker and buffering off. Each event carries the moment at
// which the engine sent it; what counts is how many microseconds later the middle one arrives than
// without anything in between.
#include "bench/streams.hpp"
#include "http/server.hpp"
#include "tests/http/relay.hpp"

namespace {

using namespace berth;

constexpr int rounds = 3;
const std::string ask = "GET /stream HTTP/1.1\r\nHost: bench\r\n\r\n";

class Relays final : public http::Handler {
public:
    explicit Relays(std::uint16_t port) : port_(port) {}
    void handle(http::Request request, http::Reply reply) override {
        reply(http::relayed({.endpoint = {.address = *http::parse_address("127.0.0.1"),
                                          .port = port_,
                                          .host = "127.0.0.1"},
                             .target = request.target}));
    }

private:
    std::uint16_t port_;
};

// Our server, in a process of its own as nginx is.
class Ours {
public:
    Ours(std::uint16_t port, std::uint16_t engine_port) : process_(::fork()) {
        if (process_ != 0) return;
        Relays relays(engine_port);
        http::Server server({.port = port}, relays);
        server.start();
        while (true) ::pause();
    }
    ~Ours() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    Ours(const Ours&) = delete;
    Ours& operator=(const Ours&) = delete;

private:
    pid_t process_;
};

}  // namespace

int main() {
    try {
        bench::go_first();
        const bench::Engine engine;
        Relays relays(engine.port());
        const std::uint16_t our_port = http::Server({}, relays).port();  // free again at once
        const std::uint16_t nginx_port = http::Server({}, relays).port();
        bench::Nginx nginx(
            fmt::format("listen 127.0.0.1:{} backlog=4096; location / {{ proxy_pass "
                        "http://127.0.0.1:{}; proxy_http_version 1.1; "
                        "proxy_buffering off; }}",
                        nginx_port, engine.port()));
        nginx.start();
        const Ours server(our_port, engine.port());
        bench::await_server(our_port);
        bench::await_server(nginx_port);

        std::vector<double> direct;
        std::vector<double> ours;
        std::vector<double> theirs;
        for (int round = 0; round < rounds; ++round) {
            direct.push_back(bench::delay_of(engine.port(), ask).p50);
            ours.push_back(bench::delay_of(our_port, ask).p50);
            theirs.push_back(bench::delay_of(nginx_port, ask).p50);
        }
        const double nothing = bench::median(direct);
        const double added = bench::median(ours) - nothing;
        const double baseline = bench::median(theirs) - nothing;
        fmt::print("BENCH stream ours={:.1f} baseline=nginx:{:.1f} ratio={:.2f}\n", added, baseline,
                   baseline / added);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "stream: %s\n", error.what());
        return 1;
    }
}
