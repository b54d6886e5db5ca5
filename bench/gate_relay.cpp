// A chat request and its answer, 1 KB each, over 32 connections through the whole of the relay, as
// relay_json has it, to an engine behind a gate: relay, door, gate, machine, engine. Against the
// same relay whose engine is behind nginx's stream module with one worker.
#include "bench/gate_machine.hpp"
#include "bench/nginx.hpp"
#include "bench/rental.hpp"

namespace {

using namespace berth;

constexpr int rounds = 3;
constexpr std::size_t body_bytes = 1024;

std::string padded(const std::string& before, const std::string& after) {
    return before + std::string(body_bytes - before.size() - after.size(), 'x') + after;
}

// nginx that passes TCP connections on.
class NginxStream {
public:
    NginxStream(std::uint16_t port, std::uint16_t to) {
        const std::string file = folder_.path + "/nginx.conf";
        const char* const module = "/usr/lib/nginx/modules/ngx_stream_module.so";
        std::ofstream(file) << fmt::format(
            "{3} daemon off; worker_processes 1; pid {0}/pid; error_log {0}/error.log;\n"
            "events {{ worker_connections 4096; }}\n"
            "stream {{ server {{ listen 127.0.0.1:{1} backlog=4096; "
            "proxy_pass 127.0.0.1:{2}; }} }}\n",
            folder_.path, port, to,
            std::filesystem::exists(module) ? fmt::format("load_module {};", module) : "");
        process_ = ::fork();
        if (process_ != 0) return;
        ::setenv("PATH", "/usr/local/sbin:/usr/sbin:/usr/bin:/bin", 1);
        ::execlp("nginx", "nginx", "-c", file.c_str(), "-p", folder_.path.c_str(), "-e",
                 (folder_.path + "/error.log").c_str(), nullptr);
        ::_exit(127);
    }
    ~NginxStream() {
        ::kill(process_, SIGTERM);
        ::waitpid(process_, nullptr, 0);
    }
    NginxStream(const NginxStream&) = delete;
    NginxStream& operator=(const NginxStream&) = delete;

private:
    bench::Folder folder_;
    pid_t process_ = -1;
};

void await(std::uint16_t port) {
    const std::string command = fmt::format(
        "for i in $(seq 100); do curl -s --noproxy '*' -o /dev/null http://127.0.0.1:{}/ && exit; "
        "sleep 0.1; done; exit 1",
        port);
    if (std::system(command.c_str()) != 0) throw std::runtime_error("a server does not listen");
}

// What wrk measures of a rental.
class Load {
public:
    explicit Load(const bench::Rental& rental)
        : url_(fmt::format("http://127.0.0.1:{}{}/chat/completions", rental.port, rental.path)),
          script_(folder_.path + "/load.lua") {
        std::ofstream(script_) << fmt::format(
            "wrk.method = 'POST'\nwrk.body = '{}'\n"
            "wrk.headers['Content-Type'] = 'application/json'\n"
            "wrk.headers['Authorization'] = 'Bearer {}'\n",
            padded(R"({"model":"m","messages":[{"role":"user","content":")", R"("}]})"),
            rental.key);
    }
    double rate(int seconds, int connections = 32) const {
        return bench::wrk_rate(
            fmt::format("-t1 -c{} -d{}s -s {} {}", connections, seconds, script_, url_));
    }

private:
    bench::Folder folder_;
    std::string url_;
    std::string script_;
};

void measure() {
    const std::uint16_t engine_port = bench::free_tcp_port();
    const std::uint16_t nginx_port = bench::free_tcp_port();
    const std::string answer =
        padded(R"({"object":"chat.completion","choices":[{"message":{"content":")",
               R"("}}],"usage":{"prompt_tokens":9,"completion_tokens":99,"total_tokens":108}})");
    bench::Nginx engine(
        fmt::format("listen 127.0.0.1:{} backlog=4096; default_type application/json; "
                    "location = /v1/models {{ return 200 '{}'; }} "
                    "location / {{ return 200 '{}'; }}",
                    engine_port, R"({"object":"list","data":[{"id":"m"}]})", answer));
    engine.start();
    await(engine_port);
    const NginxStream stream(nginx_port, engine_port);
    await(nginx_port);
    bench::GateProcess gate;
    // A door of a test: the relay of rental_server speaks to its engine without TLS.
    const bench::BenchMachine machine(
        gate,
        {.link_port = gate.link_port(), .call_port = gate.call_port(), .local_port = engine_port},
        {.kind = agent_protocol::DoorKind::test});
    await(bench::gate_doors_from);
    const bench::Rental by_gate(bench::gate_doors_from);
    const bench::Rental by_nginx(nginx_port);
    const Load ours_load(by_gate);
    const Load theirs_load(by_nginx);
    std::vector<double> ours;
    std::vector<double> theirs;
    // Half of the connections first: a gate lets no more than 30 strangers into a door at once.
    for (const Load* const load : {&ours_load, &theirs_load}) load->rate(1, 16);
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(ours_load.rate(4));
        theirs.push_back(theirs_load.rate(4));
    }
    bench::print("gate_relay", ours, "nginx-stream", theirs);
}

}  // namespace

int main() { return bench::run("gate_relay", measure); }
