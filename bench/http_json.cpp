// A 10 KB JSON answer over 64 keep-alive connections: a declared route that only touches memory, on
// our one I/O thread, with all that a request goes through (routing, request id, metrics, headers),
// against nginx with one worker serving the same bytes from a file. wrk drives both, in turns.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/service.hpp"
#include "base/log.hpp"
#include "bench/measure.hpp"
#include "bench/nginx.hpp"
#include "http/client.hpp"
#include "http/server.hpp"

namespace {

using namespace berth;

constexpr std::size_t body_bytes = 10 * 1024;
constexpr int rounds = 5;

// An array of small objects, padded to the byte.
std::string make_json() {
    std::string text = R"({"items":[)";
    for (int i = 0; text.size() < body_bytes - 200; ++i)
        text += fmt::format(R"({{"id":"{:08}","name":"machine {}","price":"{}"}},)", i, i, i * 977);
    text += R"({"padding":")";
    text.append(body_bytes - text.size() - 4, 'x');
    return text + "\"}]}";
}

// A route for anyone asks nobody who calls, and its handler asks for no record.
class Nobody final : public api::Authenticator {
public:
    api::Caller identify(const http::Request&, db::Transaction&, Time) override { return {}; }
    void note_use(const api::Caller&, db::Transaction&, Time) override {}
};

void add_route(api::Router& router, const std::string& body) {
    router.add({.method = "GET",
                .path = "/data.json",
                .name = "data",
                .group = "bench",
                .summary = "The bytes.",
                .access = api::Access::anyone,
                .work = api::Work::memory,
                .rate = &api::unlimited,
                .cache = api::Cache::open},
               [document = std::make_shared<const std::string>(body)](api::Call&) {
                   return wire::Rendered<wire::Object>{{document}};
               });
}

std::string address(std::uint16_t port) {
    return fmt::format("http://127.0.0.1:{}/data.json", port);
}

// Both must serve the very bytes before anything is measured.
void await_bytes(std::uint16_t port, const std::string& expected) {
    constexpr int tries_max = 100;
    http::CurlClient client;
    http::Outbound request;
    request.url = address(port);
    for (int i = 0; i < tries_max; ++i) {
        try {
            if (client.send(request).body == expected) return;
        } catch (const http::TransportError&) {
        }
        ::usleep(20'000);
    }
    throw std::runtime_error("a server does not answer with the bytes");
}

double requests_per_second(std::uint16_t port) {
    return bench::wrk_rate("-t1 -c64 -d3s " + address(port));
}

}  // namespace

int main() {
    try {
        const std::string body = make_json();
        api::Router router;
        add_route(router, body);
        const bench::Folder folder;
        const auto database = db::open("sqlite:" + folder.path + "/unused.db");
        Nobody nobody;
        const SystemClock clock;
        SystemRandom random;
        api::Metrics metrics;
        const settings::Registry no_settings;
        const settings::Live live(no_settings, {});
        api::Service handler(
            {router, *database, {.accounts = &nobody}, clock, random, "secret", metrics, live});
        const std::uint16_t nginx_port = http::Server({}, handler).port();  // free again at once
        bench::Nginx nginx(fmt::format("listen 127.0.0.1:{};", nginx_port));
        nginx.put("data.json", body);
        nginx.start();
        http::Server server({}, handler);
        server.start();
        await_bytes(server.port(), body);
        await_bytes(nginx_port, body);

        std::vector<double> ours;
        std::vector<double> theirs;
        for (int round = 0; round < rounds; ++round) {
            ours.push_back(requests_per_second(server.port()));
            theirs.push_back(requests_per_second(nginx_port));
        }
        bench::print("http_json", ours, "nginx", theirs);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "http_json: %s\n", error.what());
        return 1;
    }
}
