// bankd: the real server with the test bank's routes, as a process that tests can kill. It takes
// the flags of `berthd serve` and a readiness that is the real one.
#include <signal.h>

#include <cstdio>
#include <cstdlib>

#include "base/check.hpp"
#include "server/app.hpp"
#include "support/bank.hpp"

int main(int count, char** arguments) {
    using namespace berth;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);

    settings::Sources sources;
    sources.flags = {{"rate-account-per-minute", "1000000000"}};
    for (int i = 1; i + 1 < count; i += 2) sources.flags[arguments[i] + 2] = arguments[i + 1];

    const SystemClock clock;
    SystemRandom random;
    test::BankCallers callers;
    const auto controls = std::make_shared<test::BankControls>();
    server::Overrides overrides;
    overrides.authenticators = {.accounts = &callers, .machines = &callers, .gates = &callers};
    overrides.migrations = {test::bank_migration()};
    overrides.routes = [&](api::Router& router) { test::add_bank_routes(router, controls); };
    server::App app(server::load_settings(sources), clock, random, std::move(overrides));
    app.serve();
    int number = 0;
    check(sigwait(&set, &number) == 0, "signals can be waited for");
    app.stop();
    return 0;
}
