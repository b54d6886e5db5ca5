#include "host_agent/core/link.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

#include "base/version.hpp"

namespace berth::host_agent {
namespace {

std::string host_of(const std::string& server) {
    const std::size_t begin = server.find("://");
    if (begin == std::string::npos) return {};
    std::string host = server.substr(begin + 3);
    host = host.substr(0, host.find('/'));
    if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
    return host.substr(0, host.find(':'));
}

// "Sun, 06 Nov 1994 08:49:37 GMT"; empty for anything else.
std::optional<Time> parse_date(std::string_view text) {
    std::tm fields{};
    const std::string copy(text);
    const char* const end = ::strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &fields);
    if (end == nullptr || *end != '\0') return std::nullopt;
    return Time{} + std::chrono::seconds(::timegm(&fields));
}

}  // namespace

bool is_loopback_address(const std::string& server) {
    const std::string host = host_of(server);
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

ServerPlace place_of(const std::string& server) {
    ServerPlace place{host_of(server), server.starts_with("https://") ? 443 : 80};
    const std::size_t begin = server.find("://");
    if (begin == std::string::npos) return place;
    const std::string authority = server.substr(begin + 3, server.find('/', begin + 3) - begin - 3);
    const std::size_t colon = authority.rfind(':');
    if (colon == std::string::npos || authority.ends_with(']')) return place;
    std::int64_t port = 0;
    const char* const end = authority.data() + authority.size();
    if (std::from_chars(authority.data() + colon + 1, end, port).ec == std::errc())
        place.port = port;
    return place;
}

void check_server_address(const std::string& server) {
    if (server.starts_with("https://") && !host_of(server).empty()) return;
    if (server.starts_with("http://") && is_loopback_address(server)) return;
    throw std::invalid_argument(fmt::format(
        "--server: '{}' is not an https address (http is only for 127.0.0.1 and localhost)",
        server));
}

Link::Link(http::Client& client, const BootClock& clock, const Identity& identity)
    : client_(client),
      clock_(clock),
      server_(identity.server),
      ca_file_(identity.settings.ca_file),
      machine_(identity.machine_id.value()),
      seed_(identity.seed),
      offset_us_(clock.wall().micros - clock.since_boot().count()) {}

http::Response Link::send(const Call& call) {
    http::Response response = attempt(call);
    const bool was_off = note_date(response);
    // A clock that is off is refused once, and known from then on.
    if (response.status == 401 && was_off) response = attempt(call);
    return response;
}

void Link::use_key(const std::string& seed) {
    const std::lock_guard lock(mutex_);
    seed_ = seed;
}

http::Response Link::attempt(const Call& call) {
    http::Outbound request{.method = call.method,
                           .url = server_ + call.target,
                           .body = call.body,
                           .total_max = call.total_max,
                           .response_bytes_max = call.response_bytes_max,
                           .ca_file = ca_file_};
    request.headers.add("User-Agent", user_agent("berth-agent"));
    if (!call.body.empty()) request.headers.add("Content-Type", call.content_type);
    sign(request);
    return client_.send(request);
}

void Link::sign(http::Outbound& request) {
    std::string seed;
    {
        const std::lock_guard lock(mutex_);
        seed = seed_;
    }
    agent_protocol::RequestSigner(machine_, key_of(seed))
        .sign(request, {created(), agent_protocol::make_nonce(random_)});
}

Time Link::created() const { return {clock_.since_boot().count() + offset_us_.load()}; }

// True when we were off by more than the server's window is wide, or nearly.
bool Link::note_date(const http::Response& response) {
    constexpr std::int64_t tolerated_us = 5'000'000;
    if (clock_.is_simulated()) return false;
    const auto field = response.headers.find("Date");
    const auto date = field ? parse_date(*field) : std::nullopt;
    if (!date) return false;
    const std::int64_t offset = date->micros - clock_.since_boot().count();
    if (std::abs(offset - offset_us_.load()) < tolerated_us) return false;
    offset_us_ = offset;
    return true;
}

}  // namespace berth::host_agent
