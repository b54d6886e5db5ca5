#include "gate/reporter.hpp"

#include <ctime>

#include <cstdlib>

#include "base/log.hpp"
#include "base/version.hpp"

namespace berth::gate {
namespace {

constexpr std::size_t orders_bytes_max = std::size_t{16} * 1024 * 1024;
constexpr std::int64_t tolerated_off_us = 5'000'000;

// "Sun, 06 Nov 1994 08:49:37 GMT"; empty for anything else.
std::optional<Time> parse_date_field(std::string_view text) {
    std::tm fields{};
    const std::string copy(text);
    const char* const end = ::strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &fields);
    if (end == nullptr || *end != '\0') return std::nullopt;
    return Time{} + std::chrono::seconds(::timegm(&fields));
}

std::optional<agent_protocol::GateOrders> read_orders(const std::string& body) {
    agent_protocol::GateOrders orders;
    wire::Errors errors;
    wire::decode(wire::type_of<agent_protocol::GateOrders>(), body, &orders, "body", errors,
                 wire::Unknown::pass_over);
    if (!errors.empty()) return std::nullopt;
    return orders;
}

}  // namespace

bool HeardClock::hear(const http::Response& response) {
    const auto field = response.headers.find("Date");
    const auto date = field ? parse_date_field(*field) : std::nullopt;
    if (!date || off_ == Off::ignored) return false;
    const std::int64_t off_by = (*date - now()).count();
    if (std::abs(off_by) < tolerated_off_us) return false;
    log(Level::warn, "clock_off", {{"seconds", off_by / 1'000'000}});
    offset_us_ += off_by;
    return true;
}

Reporter::Reporter(ReporterOptions options, const Identity& identity, http::Client& client,
                   HeardClock& clock, Random& random, Tally& tally, Hooks hooks)
    : options_(std::move(options)),
      signer_(identity.gate_id, key_of(identity)),
      client_(client),
      clock_(clock),
      random_(random),
      tally_(tally),
      hooks_(std::move(hooks)) {
    report_.boot_id = {to_string(*uuid_from_bytes(random.bytes(sizeof(Uuid))))};
    report_.started_at = clock.now();
}

Reporter::~Reporter() { stop(); }

void Reporter::start() {
    if (options_.every > Duration(0)) thread_ = std::thread([this] { run(); });
}

void Reporter::stop() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Reporter::run() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
        lock.unlock();
        const bool heard = report_once();
        if (heard != std::exchange(was_heard_, heard))
            log(heard ? Level::info : Level::warn, heard ? "server_heard" : "server_not_heard",
                {{"server", options_.server}});
        lock.lock();
        wake_.wait_for(lock, options_.every, [this] { return ending_; });
    }
}

bool Reporter::report_once() {
    hooks_.fill(report_);
    const std::string body = wire::encode(report_);
    auto answer = send(body);
    // A clock that is off is refused once, and known from then on.
    if (answer && clock_.hear(*answer) && answer->status == 401) answer = send(body);
    const auto orders = answer && answer->status == 200 ? read_orders(answer->body) : std::nullopt;
    tally_.count_report(orders.has_value());
    if (!orders) {
        if (answer && was_heard_)
            log(Level::error, "report_refused",
                {{"status", answer->status}, {"body", answer->body.substr(0, 300)}});
        return false;
    }
    hooks_.follow(*orders, report_.doors.value);
    return true;
}

std::optional<http::Response> Reporter::send(const std::string& body) {
    http::Outbound request{.method = "POST",
                           .url = options_.server + "/api/v1/gate/report",
                           .body = body,
                           .total_max = options_.answer_max,
                           .response_bytes_max = orders_bytes_max,
                           .ca_file = options_.ca_file};
    request.headers.add("User-Agent", user_agent("berth-gate"));
    request.headers.add("Content-Type", "application/json");
    const std::string nonce = agent_protocol::make_nonce(random_);
    signer_.sign(request, {clock_.now(), nonce});
    try {
        return client_.send(request);
    } catch (const http::TransportError& error) {
        if (was_heard_) log(Level::warn, "report_not_sent", {{"reason", error.what()}});
        return std::nullopt;
    }
}

}  // namespace berth::gate
