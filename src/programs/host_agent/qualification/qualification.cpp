#include "host_agent/qualification/qualification.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "host_agent/core/listening.hpp"
#include "host_agent/qualification/proof.hpp"
#include "http/resolve.hpp"
#include "wire/wire.hpp"

namespace berth::host_agent {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr Duration endpoint_open = 120s;
constexpr Duration door_max = 20s;  // for a gate to lead here
constexpr std::int64_t mebi = 1024LL * 1024;
constexpr int sends_max = 5;

Check check(std::string id, bool passed, std::string summary, std::string remedy) {
    Check said;
    said.id = {std::move(id)};
    said.status = passed ? CheckStatus::pass : CheckStatus::fail;
    said.summary.emplace(wire::Text<0, 500>{std::move(summary)});
    if (!passed) said.remediation.emplace(wire::Text<0, 1000>{std::move(remedy)});
    return said;
}

Check& with(Check& said, std::int64_t actual, std::int64_t required, std::string unit) {
    said.actual = wire::Json{std::to_string(actual)};
    said.required = wire::Json{std::to_string(required)};
    said.unit.emplace(wire::Text<0, 32>{std::move(unit)});
    return said;
}

// Every card, as a job gets them, and the server as what every job can reach. A server that is not
// public, as in development, or has no address of IPv4 is reached by no job, and its name says
// nothing of whether jobs can look names up.
Runtime::ProfileQuestion profile_question(const LocalParts& parts) {
    Runtime::ProfileQuestion question;
    if (parts.settings.simulate_gpu.empty()) {
        const gpu::Inventory inventory = parts.gpus.inventory();
        question.driver_version = inventory.driver_version;
        for (const auto& card : inventory.gpus)
            question.gpus.push_back(
                {card.pci_address.value, card.uuid.value ? card.uuid.value->value : ""});
    }
    if (is_loopback_address(parts.server)) return question;
    const ServerPlace place = place_of(parts.server);
    for (const http::Address& address :
         http::resolve(place.host, http::Reach::public_only).addresses) {
        const std::string text = http::to_string(address);
        if (text.find(':') != std::string::npos) continue;  // a job has no IPv6
        question.address = text;
        question.port = place.port;
        if (!http::parse_address(place.host)) question.name = place.host;
        break;
    }
    return question;
}

void measure_host(const LocalParts& parts, const agent_protocol::TestLimits& limits,
                  TestResult& said) {
    const auto disk = disk_space(parts.folder);
    Check free =
        check("disk.free", disk && disk->free_bytes >= limits.min_disk_bytes.value,
              disk ? fmt::format("{} GB are free for jobs.", disk->free_bytes / 1'000'000'000)
                   : "The disk could not be asked.",
              fmt::format("Free space on the disk of {}.", parts.folder));
    if (disk) {
        with(free, disk->free_bytes, limits.min_disk_bytes.value, "bytes");
        said.measurements.disk_bytes = wire::Decimal{disk->free_bytes};
    }
    said.checks.value.push_back(std::move(free));
    const auto ram = ram_bytes(parts.settings);
    Check memory = check("ram", ram && *ram >= limits.min_ram_bytes.value,
                         ram ? fmt::format("{} GB of memory.", *ram / 1'000'000'000)
                             : "The memory could not be asked.",
                         "Give the host more memory.");
    if (ram) {
        with(memory, *ram, limits.min_ram_bytes.value, "bytes");
        said.measurements.ram_bytes = wire::Decimal{*ram};
    }
    said.checks.value.push_back(std::move(memory));
    said.measurements.cpu_cores.emplace(wire::Integer<1, 65536>{cpu_cores(parts.settings)});
}

Check profile_check(const LocalParts& parts) {
    if (const auto asserted = parts.runtime.assert_profile(profile_question(parts)))
        return check("container.profile", asserted->holds, asserted->summary.substr(0, 500),
                     asserted->remedy);
    Check profile;
    profile.id = {"container.profile"};
    profile.status = CheckStatus::skipped;
    profile.summary.emplace(wire::Text<0, 500>{"This host runs no containers."});
    return profile;
}

std::uint64_t number_of(const std::string& seed) {
    std::uint64_t number = 0xcbf29ce484222325;
    for (const char letter : seed)
        number = (number ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    return number;
}

Check left_to_server(std::string id, std::string what) {
    Check said;
    said.id = {std::move(id)};
    said.status = CheckStatus::skipped;
    said.summary.emplace(wire::Text<0, 500>{std::move(what)});
    return said;
}

// What servers ask for at least; each says its own with its test.
agent_protocol::TestLimits usual_limits() {
    return {{8'000'000'000}, {4'000'000'000}, {20'000'000'000}, {0}};
}

}  // namespace

TestResult test_alone(const LocalParts& parts) {
    const agent_protocol::TestLimits limits = usual_limits();
    const std::uint64_t seed = number_of(SystemRandom().bytes(8));
    TestResult said;
    judge_cards(parts.gpus.inventory(), parts.gpus.users(), parts.gpus.measure(seed),
                limits.min_vram_bytes.value, said);
    measure_host(parts, limits, said);
    said.checks.value.push_back(profile_check(parts));
    said.checks.value.push_back(judge_wipes(parts.gpus.wipe(seed)));
    for (const char* id : {"net.down", "net.up", "net.endpoint"})
        said.checks.value.push_back(
            left_to_server(id, "The server measures it when it tests the machine."));
    said.checks.value.push_back(
        left_to_server("gpu.proof", "The server asks for it when it tests the machine."));
    return said;
}

// Where the server looks whether jobs on this machine could be reached.
class Qualification::EndpointServer final : public http::Handler {
public:
    EndpointServer(std::string token, const std::string& address, std::int64_t port)
        : token_(std::move(token)) {
        http::ServerOptions options;
        options.address = address;
        options.port = static_cast<std::uint16_t>(port);
        options.connections_max = 16;
        options.drain_max = 100ms;
        server_ = std::make_unique<http::Server>(options, *this);
        server_->start();
    }
    void handle(http::Request request, http::Reply reply) override {
        http::Response response;
        response.content_type = "text/plain";
        if (request.method == "GET" && request.path() == "/berth-endpoint")
            response.body = token_;
        else
            response.status = 404;
        reply(std::move(response));
    }
    std::int64_t port() const { return server_->port(); }
    bool is_old() const { return steady_clock::now() - opened_ > endpoint_open; }

private:
    const std::string token_;
    const steady_clock::time_point opened_ = steady_clock::now();
    std::unique_ptr<http::Server> server_;
};

bool Qualification::begin(const QualifyPayload& order) {
    const std::lock_guard lock(mutex_);
    if (!running_.empty()) return running_ == to_string(order.run_id);
    running_ = to_string(order.run_id);
    std::thread([this, order] {
        try {
            run(order);
        } catch (const std::exception& error) {
            log(Level::error, "machine_test_failed", {{"why", error.what()}});
        }
        const std::lock_guard done(mutex_);
        running_.clear();
    }).detach();
    return true;
}

void Qualification::tidy() {
    std::shared_ptr<EndpointServer> old;
    std::shared_ptr<EndpointServer> old_behind_door;
    const std::lock_guard lock(mutex_);
    if (endpoint_ && endpoint_->is_old()) old = std::move(endpoint_);
    if (behind_door_ && behind_door_->is_old()) old_behind_door = std::move(behind_door_);
    if (old_behind_door && has_door_) parts_.gate.give_back(*std::exchange(has_door_, {}));
}

// Cheap ones first.
void Qualification::run(const QualifyPayload& order) {
    log(Level::info, "machine_test", {{"run_id", to_string(order.run_id)}});
    const agent_protocol::TestLimits& limits = order.limits;
    const std::uint64_t seed = number_of(order.seed);
    TestResult said;
    judge_cards(parts_.gpus.inventory(), parts_.gpus.users(), parts_.gpus.measure(seed),
                limits.min_vram_bytes.value, said);
    measure_host(local(), limits, said);
    measure_network(said);
    said.checks.value.push_back(profile_check(local()));
    // The wipe comes after it: what the proof left behind is no renter's to read.
    said.checks.value.push_back(
        prove_cards({parts_.link, parts_.counters, parts_.gpus}, order.run_id));
    said.checks.value.push_back(judge_wipes(parts_.gpus.wipe(seed)));
    open_endpoint(order, said);
    open_door(order, said);
    said.fence.value = parts_.counters.fence();
    send(order, said);
}

void Qualification::measure_network(TestResult& said) {
    for (const bool is_upload : {false, true}) {
        auto rate = megabits(is_upload);
        // What the line carries, but no more of it than the machine has.
        if (rate && parts_.settings.share)
            rate = std::min(*rate, static_cast<double>(parts_.settings.share->network_mbit.value));
        Check net;
        net.id = {is_upload ? "net.up" : "net.down"};
        net.status = rate ? CheckStatus::pass : CheckStatus::warn;
        net.unit.emplace(wire::Text<0, 32>{"Mb/s"});
        if (rate) {
            net.actual = wire::Json{fmt::format("{:.1f}", *rate)};
            net.summary.emplace(wire::Text<0, 500>{fmt::format(
                "{:.0f} megabits a second {} the server.", *rate, is_upload ? "to" : "from")});
            (is_upload ? said.measurements.upload_mbps : said.measurements.download_mbps) = *rate;
        } else {
            net.summary.emplace(wire::Text<0, 500>{"The speed of the line could not be measured."});
        }
        said.checks.value.push_back(std::move(net));
    }
}

// A little first; on a line that takes it in no time, more.
std::optional<double> Qualification::megabits(bool is_upload) {
    std::optional<double> rate;
    for (const std::int64_t bytes : {2 * mebi, 32 * mebi}) {
        Call call{.method = is_upload ? "POST" : "GET",
                  .target = fmt::format("/api/v1/host-agent/speed-test?bytes={}", bytes),
                  .content_type = "application/octet-stream",
                  .total_max = 30s,
                  .response_bytes_max = 33 * mebi};
        if (is_upload) call.body = SystemRandom().bytes(static_cast<std::size_t>(bytes));
        const auto began = steady_clock::now();
        try {
            const http::Response response = parts_.link.send(call);
            if (response.status != 200 && response.status != 204) {
                log(Level::warn, "speed_test_refused", {{"status", response.status}});
                return rate;
            }
        } catch (const http::TransportError&) {
            return rate;
        }
        const std::chrono::duration<double> took = steady_clock::now() - began;
        rate = static_cast<double>(bytes) * 8 / 1e6 / std::max(took.count(), 1e-6);
        if (took > 1s) break;
    }
    return rate;
}

void Qualification::open_endpoint(const QualifyPayload& order, TestResult& said) {
    if (parts_.settings.public_host.empty()) return;
    const std::int64_t port = parts_.settings.port_last.value;
    std::shared_ptr<EndpointServer> old;
    const std::lock_guard lock(mutex_);
    old = std::move(endpoint_);
    old.reset();
    try {
        endpoint_ = std::make_shared<EndpointServer>(
            order.endpoint_token, listen_address(parts_.settings.public_host), port);
        said.endpoint = agent_protocol::AnnouncedEndpoint{{parts_.settings.public_host}, {port}};
    } catch (const std::exception& error) {
        log(Level::warn, "no_endpoint", {{"why", error.what()}});
    }
}

// Where a gate may lead to this machine the server tries that, too. What is not to be had is told,
// so that the owner reads why.
void Qualification::open_door(const QualifyPayload& order, TestResult& said) {
    if (order.reach != agent_protocol::Reach::gate ||
        parts_.settings.gate == agent_protocol::GateWish::never)
        return;
    std::string why;
    try {
        auto server = std::make_shared<EndpointServer>(order.endpoint_token, "127.0.0.1", 0);
        const std::int64_t port = server->port();
        {
            const std::lock_guard lock(mutex_);
            if (has_door_) parts_.gate.give_back(*has_door_);
            behind_door_.swap(server);
            has_door_ = order.run_id;
        }
        parts_.gate.want(order.run_id, {{"endpoint", agent_protocol::DoorKind::test, port}});
        if (const auto place = wait_for_door(order)) {
            said.door = agent_protocol::AnnouncedEndpoint{{place->host}, {place->port}};
            return;
        }
        why = parts_.gate.trouble();
    } catch (const std::exception& error) {
        why = error.what();
    }
    log(Level::warn, "no_door", {{"why", why}});
    Check gate;
    gate.id = {"net.gate"};
    gate.status = CheckStatus::warn;
    gate.summary.emplace(wire::Text<0, 500>{
        (why.empty() ? std::string("No gate led to the host in time.") : why).substr(0, 500)});
    gate.remediation.emplace(wire::Text<0, 1000>{
        "Allow TCP from the host to the server's gates: `berth-agent doctor` tries them."});
    said.checks.value.push_back(std::move(gate));
}

std::optional<DoorPlace> Qualification::wait_for_door(const QualifyPayload& order) {
    const auto until = steady_clock::now() + door_max;
    do {
        if (const auto places = parts_.gate.places(order.run_id)) return places->front();
        std::this_thread::sleep_for(100ms);
    } while (steady_clock::now() < until);
    return std::nullopt;
}

void Qualification::send(const QualifyPayload& order, const TestResult& said) {
    const Call call{
        .target = "/api/v1/host-agent/qualification/" + to_string(order.run_id) + "/result",
        .body = wire::encode(said)};
    for (int tries = 0; tries < sends_max; ++tries) {
        try {
            const http::Response response = parts_.link.send(call);
            log(response.status == 202 ? Level::info : Level::error, "machine_test_sent",
                {{"status", response.status}, {"answer", response.body}});
            if (response.status < 500) return;
        } catch (const http::TransportError& error) {
            log(Level::warn, "machine_test_unsent", {{"why", error.what()}});
        }
        std::this_thread::sleep_for(3s);
    }
}

}  // namespace berth::host_agent
