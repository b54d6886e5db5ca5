#include "api/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "api/csv.hpp"
#include "api/envelope.hpp"
#include "api/exchange.hpp"
#include "api/idempotency.hpp"
#include "api/target.hpp"
#include "base/log.hpp"
#include "crypto/hash.hpp"
#include "http/text.hpp"

namespace berth::api {
namespace {

bool is_json(const http::Request& request) {
    std::string type(request.headers.find("Content-Type").value_or(""));
    std::erase(type, ' ');
    std::transform(type.begin(), type.end(), type.begin(), to_lower);
    return type == "application/json" || type == "application/json;charset=utf-8";
}

constexpr std::size_t read_at_once_bytes_max = 64 * 1024;  // by the I/O thread
constexpr std::size_t compressed_bytes_min = 1024;
constexpr std::size_t usual_fields = 6;  // of an answer
// Whatever is in an answer that is no page of ours, a browser draws and runs nothing of it.
constexpr const char* data_policy = "default-src 'none'; sandbox; frame-ancestors 'none'";
// Who waited longer for a thread to write with has given up, or will try again.
constexpr std::chrono::seconds write_queued_max{10};
// A writer that is at something for longer makes who comes next wait for an unknown time.
constexpr std::chrono::milliseconds write_soon{100};

// By browsers.
bool is_kept(Cache cache) { return cache == Cache::checked || cache == Cache::forever; }

const char* cache_control(Cache cache, int status) {
    if (is_kept(cache) && status < 400)
        return cache == Cache::checked ? "no-cache" : "public, max-age=31536000, immutable";
    return cache == Cache::personal ? "private, no-store" : "no-store";
}

// Pictures and fonts are compressed in themselves.
bool is_compressible(const Entry& entry, const http::Response& response) {
    const std::string& type = response.content_type;
    return entry.route.cache != Cache::personal && !response.source &&
           (!entry.file || type.starts_with("text/") || type == "image/svg+xml");
}

// Large public answers are compressed for those who ask.
bool is_compressed_for(const http::Request& request, http::Response& response) {
    const std::string& body = response.shared_body ? *response.shared_body : response.body;
    if (body.size() < compressed_bytes_min) return false;
    response.headers.add("Vary", "Accept-Encoding");
    return http::accepts_gzip(request);
}

// Takes time in proportion to the body, unless it is a text of many answers.
void compress(http::Response& response, http::GzipCache& shared_texts) {
    response.headers.add("Content-Encoding", "gzip");
    // A text that nobody else holds was made for this answer, and will not be asked for again.
    if (response.shared_body.use_count() > 1) {
        response.shared_body = shared_texts.compressed(response.shared_body);
    } else {
        const std::string& body = response.shared_body ? *response.shared_body : response.body;
        response.shared_body = std::make_shared<const std::string>(http::gzip(body));
    }
}

void make_table(const Entry& entry, http::Response& response) {
    CsvText table = to_csv(*entry.result, entry.route.csv, response.body);
    response.body = std::move(table.text);
    response.content_type = "text/csv; charset=utf-8";
    response.headers.add("Content-Disposition",
                         fmt::format("attachment; filename=\"{}.csv\"", entry.route.name));
    if (table.next_cursor) response.headers.add("Berth-Next-Cursor", *table.next_cursor);
}

// A route whose query has a member dry_run can be asked what it would do. It then does nothing, so
// that there is nothing to repeat.
bool is_dry_run(const Entry& entry, const Input& input) {
    const bool can = entry.query != nullptr &&
                     std::any_of(entry.query->members.begin(), entry.query->members.end(),
                                 [](const auto& member) { return member.name == "dry_run"; });
    return can && std::any_of(input.query.begin(), input.query.end(), [](const auto& each) {
               return each.first == "dry_run" && each.second == "true";
           });
}

}  // namespace

Service::Service(const Parts& parts)
    : parts_(parts),
      cursors_(parts.cursor_secret, parts.other_cursor_secrets),
      notifier_(parts.database, parts.topics),
      listening_(
          parts.database.wakes().listen([this](const WakeKey& key) { notifier_.wake(key); })) {
    for (const auto& entry : parts_.router.entries())
        check(entry->route.access == Access::anyone ||
                  parts_.authenticators.of(entry->route.access) != nullptr,
              "a route that asks who calls has an authenticator");
}

std::size_t Service::body_bytes_max(const http::Request& head) {
    const Entry* const entry = parts_.router.find(head.method, head.path()).entry;
    if (entry == nullptr) return 0;
    const bool open = entry->route.access == Access::anyone;
    if (!open && !parts_.authenticators.of(entry->route.access)->may_identify(head)) return 0;
    return entry->route.body_limit();
}

std::shared_ptr<http::BodySink> Service::body_sink(const http::Request& head) {
    const Entry* const entry = parts_.router.find(head.method, head.path()).entry;
    return entry != nullptr && entry->route.body_sink ? entry->route.body_sink() : nullptr;
}

http::BodyCare Service::body_care(const http::Request& head) {
    const Entry* const entry = parts_.router.find(head.method, head.path()).entry;
    if (entry == nullptr || entry->route.access == Access::anyone) return {};
    return {.unjudged_bytes_max = unverified_body_bytes_max,
            .goes_first = is_signed(entry->route.access)};
}

void Service::handle(http::Request request, http::Reply reply) {
    Router::Match match = parts_.router.find(request.method, request.path());
    const bool quick = match.entry == nullptr || match.entry->route.work == Work::memory ||
                       request.unread == http::Unread::no_room ||
                       request.unread == http::Unread::over_share;
    if (pool_ == nullptr) return reply(answer(request));
    if (quick) return answer_at_once(request, reply);
    const Time now = parts_.clock.now();
    const char* const target = request.target.data();
    const auto visit = std::make_shared<Visit>(std::move(request), std::move(reply), now,
                                               RequestId::make(now, parts_.random));
    // The parameters stand in the target, which may have moved.
    for (std::string_view& each : match.parameters)
        each = std::string_view(visit->request.target)
                   .substr(static_cast<std::size_t>(each.data() - target), each.size());
    visit->exchange.match = std::move(match);
    if (is_refusing()) return visit->reply(refuse_now(visit->exchange));
    if (visit->exchange.route().work == Work::remembered)
        if (auto response = answer_from_memory(visit->exchange))
            return visit->reply(std::move(*response));
    if (!pool_->post([this, visit] { proceed(visit); }, visit->lane()))
        refuse_for_queue(visit->exchange, visit->reply);
}

// On the I/O thread. An answer that has yet to be compressed is, on the pool, or goes out as it is
// when the pool has no time for that.
void Service::answer_at_once(const http::Request& request, const http::Reply& reply) {
    const Time now = parts_.clock.now();
    Exchange exchange{request, now, RequestId::make(now, parts_.random)};
    exchange.match = parts_.router.find(request.method, request.path());
    exchange.on_io_thread = true;
    const auto response = std::make_shared<http::Response>(attempt(exchange));
    const auto compress_first = [&texts = compressed_of(exchange), response, reply] {
        compress(*response, texts);
        reply(std::move(*response));
    };
    if (!exchange.to_compress || !pool_->post(compress_first)) reply(std::move(*response));
}

http::Response Service::refuse_now(const Exchange& exchange) const {
    const char* why = refusing_;
    return refuse(exchange, Problem(Code::unavailable, why != nullptr ? why : "try again"));
}

// It may come thousands of times a second: counted each time, logged once a second.
void Service::refuse_for_queue(const Exchange& exchange, const http::Reply& reply) {
    ++refused_for_queue_;
    note_refusal(exchange);
    parts_.metrics.count_request(exchange.route().name, code_status(Code::unavailable), {});
    if (const std::int64_t times = queue_full_.note())
        log(Level::warn, "request_queue_full", {{"times", times}});
    reply(refuse(exchange, Problem(Code::unavailable, "the server is busy; try again later")));
}

void Service::note_refusal(const Exchange& exchange) {
    if (is_signed(exchange.route().access)) ++refused_to_machines_;
}

void Service::set_pool(http::Pool* pool) {
    pool_ = pool;
    notifier_.start();
}

// Carries the request out, again and again while it only finds that there is nothing yet. In
// between it is the notifier's.
void Service::proceed(const std::shared_ptr<Visit>& visit) {
    Exchange& exchange = visit->exchange;
    const bool is_late = visit->lane() == http::Pool::Lane::writes &&
                         Exchange::SteadyClock::now() - exchange.came > write_queued_max;
    if (!std::exchange(visit->begun, true) && is_late)
        return refuse_for_queue(exchange, visit->reply);
    while (true) {
        if (is_refusing()) return visit->reply(refuse_now(exchange));
        exchange.now = parts_.clock.now();
        exchange.moment = notifier_.moment();
        exchange.may_wait = notifier_.open() && !visit->request.client.expired();
        try {
            visit->reply(attempt(exchange));
            return;
        } catch (const NothingYet& yet) {
            // A credential may end while its request waits, so that it is identified again. A
            // machine signs for one look alone, and its handler finds out whether it has left.
            if (!is_signed(exchange.route().access))
                exchange.admitted = exchange.identified = false;
            Notifier::Waiter waiter{yet.key, exchange.moment, exchange.came + yet.at_most,
                                    visit->request.client, [this, visit](Notifier::Turn turn) {
                                        return pool_->post([this, visit, turn] { proceed(visit); },
                                                           visit->lane());
                                    }};
            if (notifier_.add(std::move(waiter))) return;
        }
    }
}

// The answer to a request of which memory tells all that matters. A long body is not looked at on
// the I/O thread.
std::optional<http::Response> Service::answer_from_memory(Exchange& exchange) {
    const http::Request& request = exchange.request;
    const bool is_head = request.unread == http::Unread::not_yet;
    if ((request.unread != http::Unread::nothing && !is_head) ||
        request.body.size() > read_at_once_bytes_max || request.headers.count("Authorization") != 1)
        return std::nullopt;
    auto caller = known_callers_.find(key_hash(request), parts_.database.changes(), exchange.now);
    if (!caller) return std::nullopt;
    exchange.caller = std::move(*caller);
    if (is_head) return go_on(exchange);
    exchange.identified = exchange.from_memory = exchange.on_io_thread = true;
    try {
        return attempt(exchange);
    } catch (const NotRemembered&) {
        exchange.identified = exchange.from_memory = exchange.on_io_thread = false;
        exchange.admitted = false;
        exchange.input = {};
        return std::nullopt;
    }
}

http::Response Service::answer(const http::Request& request) {
    const Time now = parts_.clock.now();
    Exchange exchange{request, now, RequestId::make(now, parts_.random)};
    exchange.match = parts_.router.find(request.method, request.path());
    return attempt(exchange);
}

// One run of a request, counted and logged; throws NothingYet, neither counted nor logged, when it
// has to wait.
http::Response Service::attempt(Exchange& exchange) {
    const http::Request& request = exchange.request;
    const auto began = Exchange::SteadyClock::now();
    const LogScope scope(to_string(exchange.id));
    const auto note_time = [&] {
        exchange.took += std::chrono::duration_cast<Duration>(Exchange::SteadyClock::now() - began);
    };
    exchange.settings = parts_.settings.now();
    http::Response response;
    try {
        response = carry_out(exchange);
    } catch (const NothingYet&) {
        note_time();
        throw;
    }
    if (response.status == http::go_on_status) return response;
    if (exchange.caller.use_is_stale) note_use(exchange);
    note_time();

    const bool known = exchange.match.entry != nullptr;
    const std::string operation = known ? exchange.route().name : "unknown";
    parts_.metrics.count_request(operation, response.status, exchange.took);
    // What machines send by the thousand is told only when it was refused.
    const bool quiet = known && (exchange.route().work == Work::memory ||
                                 (is_signed(exchange.route().access) && response.status < 400));
    const Level level = quiet ? Level::debug : Level::info;
    if (!is_logged(level)) return response;
    log(level, "request",
        {{"operation", operation},
         {"method", known ? exchange.route().method : "…"},
         {"path", known ? loggable_path(exchange.route().path, exchange.match.parameters) : "…"},
         {"status", response.status},
         {"micros", exchange.took.count()},
         {"client", request.client_address}});
    return response;
}

// Every way a request can end comes together here.
http::Response Service::carry_out(Exchange& exchange) {
    try {
        if (exchange.match.entry == nullptr) throw Problem(Code::not_found, "no such route");
        if (exchange.request.unread == http::Unread::over_share) throw Problem::rate_limited();
        if (exchange.request.unread == http::Unread::no_room) {
            note_refusal(exchange);
            throw Problem(Code::unavailable, "the server holds too many requests; try again later");
        }
        return run(exchange);
    } catch (const Problem& problem) {
        return refuse(exchange, problem);
    } catch (const db::Unavailable& unavailable) {
        note_refusal(exchange);
        log(Level::warn, "database_unavailable", {{"why", unavailable.what()}});
        return refuse(exchange, Problem(Code::unavailable,
                                        "the service cannot reach its records; try again later"));
    } catch (const std::exception& error) {
        log(Level::error, "request_failed", {{"why", error.what()}});
        return respond(exchange, 500, internal_error(exchange.id));
    }
}

// Once in a while for a credential; a request does not fail because this did, and none waits for
// a writer that stands still: a read is answered while nobody can write.
void Service::note_use(const Exchange& exchange) {
    const auto note = [this, caller = exchange.caller, now = exchange.now,
                       authenticator = parts_.authenticators.of(exchange.route().access)] {
        try {
            parts_.database.write(
                [&](db::Transaction& tx) { authenticator->note_use(caller, tx, now); });
        } catch (const std::exception& error) {
            log(Level::warn, "use_not_noted", {{"why", error.what()}});
        }
    };
    if (pool_ == nullptr || parts_.database.writing_for() < write_soon) return note();
    if (!pool_->post(note, http::Pool::Lane::writes))
        log(Level::warn, "use_not_noted", {{"why", "too many want to write"}});
}

http::Response Service::run(Exchange& exchange) {
    http::Response response = run_handler(exchange);
    if (exchange.notes.empty()) return response;
    require(exchange.route().work != Work::write && !exchange.on_io_thread,
            "what is kept before an answer is kept by a read, where one may wait");
    parts_.database.write([&](db::Transaction& tx) {
        for (const Call::Note& note : exchange.notes) note({tx, parts_.random, exchange.now});
    });
    return response;
}

http::Response Service::run_handler(Exchange& exchange) {
    if (exchange.from_memory) {
        admit(exchange, nullptr);
        return invoke(exchange, nullptr);
    }
    if (!exchange.admitted) exchange.identified = recognise(exchange);
    if (exchange.request.unread == http::Unread::not_yet) return judge_head(exchange);
    switch (exchange.route().work) {
        case Work::memory:
        case Work::blocking:
            if (exchange.identified)
                admit(exchange, nullptr);
            else
                parts_.database.read([&](db::Transaction& tx) { admit(exchange, &tx); });
            return invoke(exchange, nullptr);
        case Work::read:
        case Work::remembered:
            if (exchange.match.entry->prepare) {
                ask(exchange, parts_.database.read([&](db::Transaction& tx) {
                    admit(exchange, &tx);
                    return prepare(exchange, tx);
                }));
                return parts_.database.read(
                    [&](db::Transaction& tx) { return invoke(exchange, &tx); });
            }
            return parts_.database.read([&](db::Transaction& tx) {
                admit(exchange, &tx);
                return invoke(exchange, &tx);
            });
        case Work::write:
        case Work::rehearse:
            if (exchange.identified && !exchange.match.entry->prepare)
                admit(exchange, nullptr);
            else
                ask(exchange, parts_.database.read([&](db::Transaction& tx) {
                    admit(exchange, &tx);
                    return prepare(exchange, tx);
                }));
            return exchange.route().work == Work::write ? write(exchange) : rehearse(exchange);
    }
    throw std::logic_error("a route has one of six kinds of work");
}

// Everything that the head tells; the body is read for those who may send it.
http::Response Service::judge_head(Exchange& exchange) {
    if (exchange.identified)
        admit_caller(exchange, nullptr);
    else
        parts_.database.read([&](db::Transaction& tx) { admit_caller(exchange, &tx); });
    if (exchange.match.entry->body == nullptr) decode(exchange);
    return go_on(exchange);
}

http::Response Service::go_on(const Exchange& exchange) const {
    http::Response response;
    response.status = http::go_on_status;
    response.verdict = std::make_shared<Judged>(exchange.caller, exchange.counted);
    return response;
}

void Service::decode(Exchange& exchange) {
    const Entry& entry = *exchange.match.entry;
    const http::Request& request = exchange.request;
    if (request.unread == http::Unread::too_large)
        throw Problem::too_large(
            fmt::format("body: is larger than {} bytes", entry.route.body_limit()));

    wire::Errors errors;
    exchange.input.query = parse_query(request.query(), errors);
    exchange.keyed = entry.route.idempotent && !is_dry_run(entry, exchange.input);
    if (exchange.keyed) {
        const auto header = request.headers.find("Idempotency-Key");
        const auto key = header ? parse_uuid(*header) : std::nullopt;
        if (!key || request.headers.count("Idempotency-Key") != 1)
            errors.add("header.Idempotency-Key", "must be given once, as a UUID");
        else
            exchange.key.key = *key;
    }
    exchange.input.path = path_fields(entry, exchange.match.parameters, errors);
    exchange.input.body = request.body;
    if (entry.body != nullptr && !is_json(request))
        errors.add("header.Content-Type", "must be application/json");
    exchange.arguments = entry.decode(exchange.input, errors);
    errors.raise();

    if (exchange.keyed) {
        exchange.key.account = exchange.caller.account;
        exchange.key.route = entry.route.method + " " + entry.route.path;
        exchange.key.request_hash = crypto::sha256(entry.fingerprint(exchange.arguments.get()));
    }
}

// What the route has to ask of the outside; nothing when it asks nothing, or when its answer is
// stored already.
Inquiry Service::prepare(Exchange& exchange, db::Transaction& tx) {
    const Entry& entry = *exchange.match.entry;
    if (!entry.prepare || (exchange.keyed && find_answer(tx, exchange.key))) return {};
    Call call({exchange.caller, exchange.now, parts_.random, cursors_, entry.route.step_up,
               exchange.request, exchange.id, *exchange.settings, &tx});
    return entry.prepare(call, exchange.arguments.get());
}

void Service::ask(Exchange& exchange, const Inquiry& inquiry) {
    if (!inquiry) return;
    exchange.facts = inquiry();
    exchange.now = parts_.clock.now();  // what follows from the answer happens now, not then
}

http::Response Service::invoke(Exchange& exchange, db::Transaction* tx) {
    const Route& route = exchange.route();
    if (exchange.match.entry->prepare && !exchange.facts)
        throw Problem(Code::unavailable, "the stored answer has just been removed; try again");
    std::optional<Duration> waited;
    if (exchange.may_wait && !route.writes())
        waited = std::chrono::duration_cast<Duration>(Exchange::SteadyClock::now() - exchange.came);
    Call call({exchange.caller, exchange.now, parts_.random, cursors_, route.step_up,
               exchange.request, exchange.id, *exchange.settings, tx, waited});
    Answer answer;
    try {
        answer = exchange.match.entry->invoke(call, exchange.arguments.get(), exchange.facts.get());
    } catch (const CommittedProblem& problem) {
        if (exchange.keyed) release_key(*tx, exchange.key);
        return refuse(exchange, problem);
    } catch (const Deferred& later) {
        require(route.deferral.type != nullptr, "a route declares that it may wait for somebody");
        require(call.step_up_checked(), "a handler asks for the step-up before it waits");
        if (exchange.keyed) store_answer(*tx, exchange.key, {Deferred::status, later.body});
        return respond(exchange, Deferred::status, later.body);
    }
    exchange.notes = call.notes();
    require(call.step_up_checked(), "a handler asks for the step-up that its route declares");
    const int status = call.status() != 0 ? call.status() : route.status;
    if (exchange.keyed && call.stored())
        store_answer(*tx, exchange.key, {status, std::move(answer.stored)});
    else if (exchange.keyed)
        release_key(*tx, exchange.key);
    http::Response response = respond(exchange, status, std::move(answer.body),
                                      exchange.match.entry->html ? Kind::page : Kind::data);
    response.shared_body = std::move(answer.shared_body);
    response.source = std::move(answer.source);
    if (exchange.match.entry->html) response.content_type = "text/html; charset=utf-8";
    if (exchange.match.entry->file) response.content_type = std::move(answer.type);
    if (status == http::not_modified_status) response.shared_body = nullptr;
    if (is_compressible(*exchange.match.entry, response)) offer_compressed(exchange, response);
    if (!route.csv.empty() && wants_csv(exchange.request))
        make_table(*exchange.match.entry, response);
    for (const auto& field : call.headers()) response.headers.add(field.name, field.value);
    require(response.headers.find("Content-Security-Policy").has_value(),
            "a page says what a browser may do with it");
    return response;
}

http::GzipCache& Service::compressed_of(const Exchange& exchange) {
    const bool stays = exchange.match.entry != nullptr && is_kept(exchange.route().cache);
    return stays ? compressed_files_ : compressed_;
}

void Service::offer_compressed(Exchange& exchange, http::Response& response) {
    if (!is_compressed_for(exchange.request, response)) return;
    http::GzipCache& texts = compressed_of(exchange);
    if (!exchange.on_io_thread) return compress(response, texts);
    const auto known = response.shared_body ? texts.find(response.shared_body) : nullptr;
    exchange.to_compress = known == nullptr;
    if (!known) return;
    response.headers.add("Content-Encoding", "gzip");
    response.shared_body = known;
}

http::Response Service::write(Exchange& exchange) {
    try {
        return parts_.database.write([&](db::Transaction& tx) { return write_once(exchange, tx); });
    } catch (const db::OutcomeUnknown&) {
        return settle_unknown(exchange);
    }
}

// Nothing that the handler did is kept, and nobody is woken for it.
http::Response Service::rehearse(Exchange& exchange) {
    struct Undo {};
    std::optional<http::Response> response;
    try {
        parts_.database.write([&](db::Transaction& tx) {
            response = invoke(exchange, &tx);
            tx.run("SELECT 1");  // what is under way has been answered by then
            throw Undo{};
        });
    } catch (const Undo&) {
    }
    return std::move(response).value();
}

http::Response Service::write_once(Exchange& exchange, db::Transaction& tx) {
    if (exchange.keyed)
        if (auto stored = claim_key(tx, exchange.key, exchange.now))
            return respond(exchange, stored->status, std::move(stored->body));
    return invoke(exchange, &tx);
}

// The commit may have happened. If the answer is there it did; if not, the caller tries again with
// the same key, and the key decides then. The handler is never run again here.
http::Response Service::settle_unknown(Exchange& exchange) {
    log(Level::warn, "commit_outcome_unknown");
    if (exchange.keyed) {
        const auto stored = parts_.database.read(
            [&](db::Transaction& tx) { return find_answer(tx, exchange.key); });
        if (stored) return respond(exchange, stored->status, stored->body);
    }
    throw Problem(Code::unavailable,
                  "the service lost its records while saving; try again with the same key");
}

http::Response Service::refuse(const Exchange& exchange, const Problem& problem) const {
    http::Response response = respond(exchange, problem.status, error_body(problem, exchange.id));
    if (problem.status == 401) response.headers.add("WWW-Authenticate", "Bearer");
    if (const auto* missing = dynamic_cast<const StepUpMissing*>(&problem))
        response.headers.add(step_up_header, std::string(step_up_name(missing->purpose)));
    // Clients of streamed routes repeat conflicts by themselves, which helps nobody.
    if (problem.status == 409 && exchange.match.entry != nullptr && exchange.match.entry->streamed)
        response.headers.add("x-should-retry", "false");
    return response;
}

http::Response Service::respond(const Exchange& exchange, int status, std::string body,
                                Kind kind) const {
    const Cache cache = exchange.match.entry != nullptr ? exchange.route().cache : Cache::personal;
    http::Response response;
    response.status = status;
    response.body = std::move(body);
    response.headers.reserve(usual_fields);
    response.headers.add("X-Request-Id", to_string(exchange.id));
    response.headers.add("Cache-Control", cache_control(cache, status));
    response.headers.add("X-Content-Type-Options", "nosniff");
    if (kind == Kind::data) response.headers.add("Content-Security-Policy", data_policy);
    if (parts_.https) response.headers.add("Strict-Transport-Security", "max-age=31536000");
    return response;
}

}  // namespace berth::api
