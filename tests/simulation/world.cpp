#include "simulation/world.hpp"

#include <filesystem>

#include "support/fake_transport.hpp"

namespace berth::simulation {

namespace fs = std::filesystem;

namespace {

void listen(test::Harness& harness) {
    harness.app->rentals().host_agent_side().note_listening(harness.app->database(),
                                                            harness.clock.now());
}

// From the morning of the tests to an evening, so that short runs have a midnight too.
constexpr Duration before_opening = std::chrono::hours(14);

}  // namespace

api::Caller Passes::identify(const http::Request& request, db::Transaction&, Time) {
    constexpr std::string_view scheme = "Bearer ";
    const std::string_view value = request.headers.find("Authorization").value_or("");
    const std::size_t space = value.find(' ', scheme.size());
    if (!value.starts_with(scheme) || space == value.npos)
        throw Problem(Code::unauthenticated, "nobody");
    const std::string_view role = value.substr(scheme.size(), space - scheme.size());
    const Uuid id = parse_uuid(value.substr(space + 1)).value();
    api::Caller caller;
    caller.account = {id};
    caller.credential_id = id;
    caller.credential = role == "machine" ? api::Credential::machine
                        : role == "gate"  ? api::Credential::gate
                                          : api::Credential::session;
    caller.renter = role == "renter";
    caller.host = role == "host";
    return caller;
}

World::World() {
    test::Harness::Options options;
    options.real_accounts = true;
    options.overrides = overrides();
    options.flags = {{"rate-public-per-minute", "1000000000"},
                     {"rate-quotes-per-minute", "1000000"},
                     {"rate-heartbeats-per-minute", "1000000"},
                     {"rate-job-events-per-minute", "1000000"},
                     {"starts-open-max", "0"},
                     {"availability-classes-released", "true"}};
    harness_ = std::make_unique<test::Harness>(std::move(options));
    harness_->clock.advance(before_opening);
    deadlines_ = std::make_unique<rentals::DeadlineWorker>(rentals::DeadlineWorker::Parts{
        harness_->app->rentals().lifecycle(), database(), harness_->clock, harness_->random});
}

server::Overrides World::overrides() {
    server::Overrides overrides;
    overrides.authenticators.accounts = &passes_;
    overrides.authenticators.machines = &passes_;
    overrides.authenticators.gates = &passes_;
    overrides.prober = &endpoints_;
    overrides.transport = std::make_unique<test::FakeTransport>();
    overrides.db.writer_thread = false;
    return overrides;
}

http::Response World::ask(const Ask& ask) {
    test::Ask request{.method = ask.method, .target = ask.target, .as = ask.who};
    if (ask.method != "GET") request.body = ask.body;
    request.key = ask.key;
    const http::Request sent = test::make_request(request);
    http::Response response = harness_->app->service().answer(sent);
    if (response.status >= 500)
        throw Difference(ask.method + " " + ask.target + " is answered " +
                         std::to_string(response.status) + ": " + response.body);
    return response;
}

void World::look() {
    listen(*harness_);
    deadlines_->look();
}

void World::work() {
    listen(*harness_);
    constexpr int tasks_max = 10'000;
    for (int i = 0; i < tasks_max; ++i)
        if (!harness_->app->worker().run_one()) return;
    throw Difference("the worker finds no end");
}

void World::go_down() {
    deadlines_.reset();
    harness_->app.reset();
}

void World::come_up() {
    harness_->app = std::make_unique<server::App>(harness_->given, harness_->clock,
                                                  harness_->random, overrides());
    deadlines_ = std::make_unique<rentals::DeadlineWorker>(rentals::DeadlineWorker::Parts{
        harness_->app->rentals().lifecycle(), database(), harness_->clock, harness_->random});
}

std::string World::file(const std::string& name) const {
    const std::string path = harness_->database.url().substr(std::string_view("sqlite:").size());
    return path + name;
}

void World::keep_copy() {
    fs::copy_file(file(""), file(".copy"), fs::copy_options::overwrite_existing);
}

void World::put_back_copy() {
    for (const char* rest : {"-wal", "-shm"}) fs::remove(file(rest));
    fs::copy_file(file(".copy"), file(""), fs::copy_options::overwrite_existing);
}

}  // namespace berth::simulation
