#include "host_agent/gate/gate_link.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/log.hpp"
#include "base/version.hpp"

namespace berth::host_agent {
namespace {

using agent_protocol::LineKind;
using agent_protocol::LinkLine;

// Lines of no kind are of a later version. What is no line at all is no gate.
constexpr int not_understood_max = 16;

}  // namespace

GateLink::GateLink(Setup setup, Hooks hooks)
    : setup_(std::move(setup)), hooks_(std::move(hooks)), thread_([this] { run(); }) {}

GateLink::~GateLink() {
    leave();
    thread_.join();
}

GateLink::Status GateLink::status() const {
    const std::lock_guard lock(mutex_);
    return status_;
}

http::Outbound GateLink::request(const std::string& path, const std::string& ticket) const {
    const GateAddress& gate = setup_.gate;
    http::Outbound request{
        .method = "POST",
        .url = fmt::format("https://{}:{}{}", url_host(gate.host), gate.link_port, path),
        .body = ticket,
        .dialled_address = http::to_string(gate.address),
        .pinned_key = gate.key_sha256};
    request.headers.add("User-Agent", user_agent("berth-agent"));
    request.headers.add("Content-Type", "application/json");
    setup_.signer.sign(request);
    return request;
}

void GateLink::run() {
    try {
        http::Outbound asked = request("/v1/link", setup_.ticket);
        asked.total_max = setup_.silence_max;
        asked.take = [this](std::string_view bytes) { take(bytes); };
        asked.is_over = [this] { return is_left_.load(); };
        asked.fresh_connection = true;
        const http::Response answer = setup_.client.send(asked);
        const bool was_link = answer.status / 100 == 2;
        end(was_link ? 0 : answer.status,
            was_link ? "the gate ended it" : fmt::format("the gate answered {}", answer.status));
    } catch (const std::exception& error) {
        end(0, is_left_ ? "it was left" : error.what());
    }
}

void GateLink::end(int refused, const std::string& why) {
    {
        const std::lock_guard lock(mutex_);
        status_.is_over = true;
        status_.refused = refused;
        if (status_.why.empty()) status_.why = why;
    }
    hooks_.on_change();
}

// What it says after we have left, or after something that no gate says, is let go unread.
void GateLink::take(std::string_view bytes) {
    if (is_left_) return;
    if (lines_.feed(bytes, [this](std::string_view line) { take_line(line); })) return;
    const std::lock_guard lock(mutex_);
    status_.why = "the gate sent a line that is too long";
    leave();
}

void GateLink::take_line(std::string_view text) {
    if (is_left_) return;
    const auto line = agent_protocol::read_line(text);
    bool is_news = false;
    bool is_call = false;
    {
        const std::lock_guard lock(mutex_);
        if (!line) {
            if (++not_understood_ <= not_understood_max) return;
            status_.why = "the gate does not speak as gates do";
            return leave();
        }
        if (line->kind == LineKind::hello && !status_.id) {
            status_.id = line->link_id;
            status_.opened_at = std::chrono::steady_clock::now();
            is_news = true;
        }
        if (line->kind == LineKind::bye && !status_.has_bye) {
            status_.has_bye = true;
            status_.bye = line->reason;
            is_news = true;
        }
        is_call = line->kind == LineKind::call && status_.id;
    }
    if (is_call) hooks_.on_call(setup_.gate, *line);
    if (is_news) hooks_.on_change();
}

bool GateLink::renew(const std::string& ticket) {
    const Status now = status();
    if (!now.is_open()) return false;
    try {
        const auto answer = setup_.client.send(
            request(fmt::format("/v1/links/{}/ticket", to_string(*now.id)), ticket));
        if (answer.status == 204) return true;
        log(Level::warn, "gate_ticket_refused", {{"status", answer.status}});
    } catch (const http::TransportError& error) {
        log(Level::warn, "gate_ticket_unsent", {{"why", error.what()}});
    }
    return false;
}

}  // namespace berth::host_agent
