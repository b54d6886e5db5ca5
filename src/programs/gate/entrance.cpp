#include "gate/entrance.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/log_limiter.hpp"

namespace berth::gate {
namespace {

constexpr std::string_view protocol = "berth-stream";
constexpr Pace misses_pace{5, 50};
constexpr std::size_t asking_threads = 2;
constexpr std::size_t asking_max = 64;

http::Response refuse_with(int status, std::string_view code, std::string_view message) {
    http::Response response;
    response.status = status;
    response.body = fmt::format(R"({{"error":{{"code":"{}","message":"{}"}}}})", code, message);
    return response;
}

std::string_view code_for(int status) {
    switch (status) {
        case 401: return "UNAUTHENTICATED";
        case 403: return "FORBIDDEN";
        case 404: return "NOT_FOUND";
        case 409: return "STALE_FENCE";
        case 429:
        case 503: return "UNAVAILABLE";
        default: return "INVALID_INPUT";
    }
}

http::Response refuse(const Refusal& refusal) {
    static LogLimiter limiter{std::chrono::seconds(10)};
    if (const std::int64_t count = limiter.note(); count > 0)
        log(Level::warn, "link_refused", {{"reason", refusal.message}, {"count", count}});
    return refuse_with(refusal.status, code_for(refusal.status), refusal.message);
}

http::Response stale() {
    return refuse_with(409, "STALE_FENCE",
                       "the ticket is older than one that was shown: ask for doors again");
}

http::Response unknown_call() {
    return refuse_with(404, "NOT_FOUND", "there is no such call, or no more");
}

http::Response upgrade_required() {
    http::Response response =
        refuse_with(426, "INVALID_INPUT", "ask with Connection: Upgrade and Upgrade: berth-stream");
    response.headers.add("Upgrade", std::string(protocol));
    return response;
}

http::Response switched(std::function<void(http::HandedOver&)> hand_over) {
    http::Response response;
    response.status = http::switching_status;
    response.headers.add("Upgrade", std::string(protocol));
    response.hand_over = std::move(hand_over);
    return response;
}

// The word between two parts of a path; empty when it does not have them.
std::string_view between(std::string_view path, std::string_view before, std::string_view after) {
    if (path.size() <= before.size() + after.size() || !path.starts_with(before) ||
        !path.ends_with(after))
        return {};
    path.remove_prefix(before.size());
    path.remove_suffix(after.size());
    return path;
}

}  // namespace

Hall::Hall(EntranceParts parts)
    : parts_(std::move(parts)), misses_(misses_pace), pool_(asking_threads, asking_max) {}

void Hall::open_link(const http::Request& request, const http::Reply& reply) {
    auto checked = parts_.tickets.check(request);
    if (const auto* refusal = std::get_if<Refusal>(&checked)) {
        parts_.tally.count(refusal->why);
        return reply(refuse(*refusal));
    }
    parts_.board->loop()->post([board = parts_.board, &tally = parts_.tally, reply,
                                ticket = std::get<agent_protocol::Ticket>(std::move(checked))] {
        const Board::Admitted admitted = board->admit(ticket);
        if (admitted.refused) {
            tally.count(*admitted.refused);
            return reply(*admitted.refused == Refused::stale
                             ? stale()
                             : refuse_with(403, "FORBIDDEN", "the ticket has no door any more"));
        }
        http::Response response;
        response.source = Link::as_answer(admitted.link);
        reply(std::move(response));
    });
}

void Hall::renew(const LinkId& link, const http::Request& request, const http::Reply& reply) {
    auto checked = parts_.tickets.check(request);
    if (const auto* refusal = std::get_if<Refusal>(&checked)) {
        parts_.tally.count(refusal->why);
        return reply(refuse(*refusal));
    }
    parts_.board->loop()->post([board = parts_.board, &tally = parts_.tally, link, reply,
                                ticket = std::get<agent_protocol::Ticket>(std::move(checked))] {
        http::Response response;
        response.status = 204;
        switch (board->renew(link, ticket)) {
            case Board::Renewal::done: break;
            case Board::Renewal::no_link:
                response = refuse_with(404, "NOT_FOUND", "this machine has no such link here");
                break;
            case Board::Renewal::stale:
                tally.count(Refused::stale);
                response = stale();
                break;
        }
        reply(std::move(response));
    });
}

void Hall::take_call(const CallId& call, const http::Request& request, const http::Reply& reply) {
    if (request.switch_to != protocol) return reply(upgrade_required());
    const http::Address source =
        http::parse_address(request.client_address).value_or(http::Address{});
    parts_.board->loop()->post([this, call, source, reply] {
        if (const auto answered = parts_.board->answer(call))
            return reply(switched([answered](http::HandedOver& handed) {
                answered->join(std::move(handed.carrier));
            }));
        ask_siblings(call, source, reply);
    });
}

// Whoever guesses is not worth asking others for.
void Hall::ask_siblings(const CallId& call, const http::Address& source, const http::Reply& reply) {
    const Time now{
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())
            .count()};
    const auto ask = [this, call, reply] {
        auto found = std::make_shared<http::Carrier>(parts_.siblings.ask(call));
        if (!*found) {
            parts_.tally.count(Refused::unknown_call);
            return reply(unknown_call());
        }
        reply(switched(
            [found, count = passed_on_, loop = parts_.stream_loop](http::HandedOver& handed) {
                handed.carrier.set_up_as_stream();
                http::PumpOptions options;
                ++*count;
                options.on_end = [count](http::PumpEnd) { --*count; };
                http::join(loop, std::move(handed.carrier), std::move(*found), std::move(options));
            }));
    };
    if (misses_.take(source, now) && pool_.post(ask)) return;
    parts_.tally.count(Refused::unknown_call);
    reply(unknown_call());
}

void Hall::echo(const http::Request& request, const http::Reply& reply) {
    if (request.switch_to != protocol) return reply(upgrade_required());
    http::Response response;
    response.source = Echo::make(echoes_);
    if (!response.source) {
        parts_.tally.count(Refused::echoes);
        response = refuse_with(503, "UNAVAILABLE", "too many at once; ask again");
    }
    reply(std::move(response));
}

void Hall::tell_health(const http::Reply& reply) {
    parts_.board->loop()->post([board = parts_.board, reply] {
        http::Response response;
        response.body =
            board->present().draining ? R"({"status":"draining"})" : R"({"status":"ok"})";
        reply(std::move(response));
    });
}

std::size_t Entrance::body_bytes_max(const http::Request& head) {
    const bool shows_ticket = head.method == "POST" && head.path().starts_with("/v1/link");
    return takes_links_ && shows_ticket ? agent_protocol::ticket_bytes_max : 0;
}

void Entrance::handle(http::Request request, http::Reply reply) {
    if (request.unread != http::Unread::nothing) {
        http::Response response = refuse_with(request.unread == http::Unread::too_large ? 413 : 503,
                                              "INVALID_INPUT", "the body is too large");
        response.close = true;
        return reply(std::move(response));
    }
    const std::string_view path = request.path();
    if (takes_links_ && request.method == "POST") {
        if (path == "/v1/link") return hall_.open_link(request, reply);
        if (const auto link = parse_uuid(between(path, "/v1/links/", "/ticket")))
            return hall_.renew(LinkId{*link}, request, reply);
    }
    if (request.method == "GET") {
        if (const auto call = parse_uuid(between(path, "/v1/calls/", "")))
            return hall_.take_call(CallId{*call}, request, reply);
        if (path == "/v1/echo") return hall_.echo(request, reply);
        if (path == "/v1/health") return hall_.tell_health(reply);
    }
    reply(refuse_with(404, "NOT_FOUND", "a gate has nothing of that kind"));
}

}  // namespace berth::gate
