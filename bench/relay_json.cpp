// A chat request and its answer, 1 KB each, over 64 connections: through the whole of the relay
// (who calls and the job's row, both remembered for half a second; rate, the body as JSON, the
// job's key, counting), against nginx with one worker that passes everything to the same engine,
// and against npm's @portkey-ai/gateway. The engine is an nginx that answers from memory.
#include "bench/nginx.hpp"
#include "bench/rental.hpp"
#include "http/server.hpp"

namespace {

using namespace berth;

constexpr int rounds = 3;
constexpr std::size_t body_bytes = 1024;

class Nothing final : public http::Handler {
    void handle(http::Request, http::Reply reply) override { reply({}); }
};

std::uint16_t free_port() {
    Nothing nothing;
    return http::Server({}, nothing).port();  // free again at once
}

std::string padded(const std::string& before, const std::string& after) {
    return before + std::string(body_bytes - before.size() - after.size(), 'x') + after;
}

// What wrk sends, as a script of its own.
std::string script(const bench::Folder& folder, const std::string& name,
                   const std::string& headers) {
    const std::string path = folder.path + "/" + name;
    std::ofstream(path) << fmt::format(
        "wrk.method = 'POST'\nwrk.body = '{}'\n"
        "wrk.headers['Content-Type'] = 'application/json'\n{}",
        padded(R"({"model":"m","messages":[{"role":"user","content":")", R"("}]})"), headers);
    return path;
}

double rate(const std::string& script, std::uint16_t port, const std::string& path) {
    return bench::wrk_rate(
        fmt::format("-t1 -c64 -d4s -s {} http://127.0.0.1:{}{}", script, port, path));
}

void await(std::uint16_t port, const std::string& path) {
    const std::string command = fmt::format(
        "for i in $(seq 100); do curl -s --noproxy '*' -o /dev/null http://127.0.0.1:{}{} && exit; "
        "sleep 0.1; done; exit 1",
        port, path);
    if (std::system(command.c_str()) != 0) throw std::runtime_error("a server does not listen");
}

// The gateway, where bench/portkey has been installed.
class Portkey {
public:
    explicit Portkey(std::uint16_t port) {
        const std::filesystem::path server =
            "bench/portkey/node_modules/@portkey-ai/gateway/build/start-server.js";
        if (!std::filesystem::exists(server)) return;
        process_ = ::fork();
        if (process_ != 0) return;
        if (std::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(127);
        ::execlp("node", "node", server.c_str(), "--headless",
                 fmt::format("--port={}", port).c_str(), nullptr);
        ::_exit(127);
    }
    ~Portkey() {
        if (process_ <= 0) return;
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    Portkey(const Portkey&) = delete;
    Portkey& operator=(const Portkey&) = delete;

    bool is_there() const { return process_ > 0; }

private:
    pid_t process_ = -1;
};

}  // namespace

int main() {
    try {
        const std::uint16_t engine_port = free_port();
        const std::uint16_t nginx_port = free_port();
        const std::uint16_t portkey_port = free_port();
        const std::string answer = padded(
            R"({"object":"chat.completion","choices":[{"message":{"content":")",
            R"("}}],"usage":{"prompt_tokens":9,"completion_tokens":99,"total_tokens":108}})");
        bench::Nginx engine(
            fmt::format("listen 127.0.0.1:{} backlog=4096; default_type application/json; "
                        "location = /v1/models {{ return 200 '{}'; }} "
                        "location / {{ return 200 '{}'; }}",
                        engine_port, R"({"object":"list","data":[{"id":"m"}]})", answer));
        engine.start();
        // The second server block needs an upstream that keeps its connections.
        bench::Nginx proxy(fmt::format(
            "listen 127.0.0.1:{}; }} upstream engine {{ server 127.0.0.1:{}; keepalive 64; "
            "keepalive_requests 100000000; }} server {{ listen 127.0.0.1:{} backlog=4096; "
            "location / {{ proxy_pass http://engine; proxy_http_version 1.1; "
            "proxy_set_header Connection ''; }}",
            free_port(), engine_port, nginx_port));
        proxy.start();
        await(engine_port, "/");
        await(nginx_port, "/");
        const bench::Rental rental(engine_port);
        const Portkey portkey(portkey_port);
        if (portkey.is_there()) await(portkey_port, "/");

        const bench::Folder folder;
        const std::string plain = script(folder, "plain.lua", "");
        const std::string keyed =
            script(folder, "keyed.lua",
                   fmt::format("wrk.headers['Authorization'] = 'Bearer {}'\n", rental.key));
        const std::string named =
            script(folder, "named.lua",
                   fmt::format("wrk.headers['Authorization'] = 'Bearer x'\n"
                               "wrk.headers['x-portkey-provider'] = 'openai'\n"
                               "wrk.headers['x-portkey-custom-host'] = 'http://127.0.0.1:{}/v1'\n",
                               engine_port));
        std::vector<double> ours;
        std::vector<double> theirs;
        std::vector<double> gateway;
        for (int round = 0; round < rounds; ++round) {
            ours.push_back(rate(keyed, rental.port, rental.path + "/chat/completions"));
            theirs.push_back(rate(plain, nginx_port, "/v1/chat/completions"));
            if (portkey.is_there())
                gateway.push_back(rate(named, portkey_port, "/v1/chat/completions"));
        }
        const auto print = [&](const char* name, const char* what, double baseline) {
            fmt::print("BENCH {} ours={:.0f} baseline={}:{:.0f} ratio={:.2f}\n", name,
                       bench::median(ours), what, baseline, bench::median(ours) / baseline);
        };
        print("relay_json", "nginx", bench::median(theirs));
        if (portkey.is_there()) print("relay_json_gateway", "portkey", bench::median(gateway));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "relay_json: %s\n", error.what());
        return 1;
    }
}
