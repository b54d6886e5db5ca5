// 500 streams of 200 small events through the whole relay of a server with a running rental,
// against nginx with one worker and buffering off: what each adds to the middle event and to the
// slowest of a hundred, and what an open stream takes of our memory.
#include "bench/rental.hpp"
#include "bench/streams.hpp"
#include "http/server.hpp"

namespace {

using namespace berth;

constexpr int rounds = 3;
constexpr double goal_kib = 32;

class Nothing final : public http::Handler {
    void handle(http::Request, http::Reply reply) override { reply({}); }
};

std::string ask(const std::string& path, const std::string& key) {
    const std::string body = R"({"model":"m","stream":true,"messages":[]})";
    return fmt::format(
        "POST {}/chat/completions HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {}\r\n"
        "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        path, key, body.size(), body);
}

struct Rounds {
    std::vector<double> p50;
    std::vector<double> p99;

    void add(const bench::Delays& delays) {
        p50.push_back(delays.p50);
        p99.push_back(delays.p99);
    }
};

void print(const char* name, double ours, double theirs) {
    fmt::print("BENCH {} ours={:.1f} baseline=nginx:{:.1f} ratio={:.2f}\n", name, ours, theirs,
               theirs / ours);
}

}  // namespace

int main() {
    try {
        bench::go_first();
        const bench::Engine engine;
        Nothing nothing;
        const std::uint16_t nginx_port = http::Server({}, nothing).port();  // free again at once
        bench::Nginx nginx(
            fmt::format("listen 127.0.0.1:{} backlog=4096; location / {{ proxy_pass "
                        "http://127.0.0.1:{}; proxy_http_version 1.1; "
                        "proxy_buffering off; }}",
                        nginx_port, engine.port()));
        nginx.start();
        const bench::Rental rental(engine.port());
        bench::await_server(nginx_port);

        Rounds direct;
        Rounds ours;
        Rounds theirs;
        std::vector<double> kib;
        for (int round = 0; round < rounds; ++round) {
            direct.add(bench::delay_of(engine.port(), ask("/v1", "x")));
            const double before = rental.resident_kib();
            ours.add(bench::delay_of(rental.port, ask(rental.path, rental.key), [&] {
                if (round == 0) kib.push_back((rental.resident_kib() - before) / bench::streams);
            }));
            theirs.add(bench::delay_of(nginx_port, ask("/v1", "x")));
        }
        print("relay_stream", bench::median(ours.p50) - bench::median(direct.p50),
              bench::median(theirs.p50) - bench::median(direct.p50));
        print("relay_stream_p99", bench::median(ours.p99) - bench::median(direct.p99),
              bench::median(theirs.p99) - bench::median(direct.p99));
        fmt::print("BENCH relay_stream_kib ours={:.1f} baseline=goal:{:.0f} ratio={:.2f}\n",
                   kib.front(), goal_kib, goal_kib / kib.front());
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "relay_stream: %s\n", error.what());
        return 1;
    }
}
