// What an API key costs: one route that reads a row, called with a key out of a million and called
// without authentication, over HTTP and in turns.
#include <fmt/format.h>

#include <fstream>

#include "accounts/store.hpp"
#include "bench/service.hpp"
#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "server/app.hpp"

namespace {

using namespace berth;

constexpr int keys_total = 1'000'000;
constexpr int keys_used = 1'000;
constexpr int keys_per_write = 20'000;
constexpr int rounds = 5;

struct Shown {
    AccountId account_id;
    bool host_capability = false;
};
BOOST_DESCRIBE_STRUCT(Shown, (), (account_id, host_capability))

// The same work on both routes; only who may call differs.
void add_route(api::Router& router, const char* path, api::Access access, AccountId account) {
    router.add({.method = "GET",
                .path = path,
                .name = path,
                .group = "bench",
                .summary = "Reads one row.",
                .access = access},
               [account](api::Call& call) {
                   const auto row = accounts::find_account(call.tx(), account);
                   return Shown{row->id, row->host_capability};
               });
}

// Fills the table; gives the secrets of some of the keys.
std::vector<std::string> make_keys(db::Database& database, AccountId account, Time now) {
    SystemRandom random;
    std::vector<std::string> secrets;
    for (int done = 0; done < keys_total; done += keys_per_write)
        database.write([&](db::Transaction& tx) {
            for (int i = 0; i < keys_per_write; ++i) {
                const bool used = done == 0 && i < keys_used;
                const std::string secret = used ? crypto::make_token("ark_", random) : "";
                if (used) secrets.push_back(secret);
                accounts::KeyRow row;
                row.id = accounts::KeyId::make(now, random);
                row.key_hash = used ? crypto::sha256(secret) : random.bytes(32);
                row.account = account;
                row.name = "bench";
                row.prefix = secret.substr(0, 12);
                row.renter = true;
                row.created_at = now;
                accounts::add_key(tx, row);
            }
        });
    return secrets;
}

void write_script(const std::string& path, const std::vector<std::string>& secrets) {
    std::ofstream script(path);
    script << "local keys = {";
    for (const std::string& secret : secrets) script << '"' << secret << "\",";
    script << "}\nlocal n = 0\nrequest = function()\n"
              "  n = n % #keys + 1\n"
              "  return wrk.format(nil, nil, {Authorization = 'Bearer ' .. keys[n]})\nend\n";
}

void measure() {
    const bench::Folder folder;
    const SystemClock clock;
    SystemRandom random;
    const auto account = AccountId::make(clock.now(), random);
    server::Overrides overrides;
    overrides.routes = [&](api::Router& router) {
        add_route(router, "/bench/key", api::Access::renter, account);
        add_route(router, "/bench/open", api::Access::anyone, account);
    };
    server::App app(server::load_settings(
                        bench::service_sources(folder, {{"rate-account-per-minute", "1000000000"},
                                                        {"rate-public-per-minute", "1000000000"}})),
                    clock, random, std::move(overrides));
    app.database().write(
        [&](db::Transaction& tx) { accounts::add_agent(tx, account, clock.now()); });
    const std::string script = folder.path + "/keys.lua";
    write_script(script, make_keys(app.database(), account, clock.now()));
    app.serve();

    const std::string load = fmt::format("-t1 -c32 -d2s http://127.0.0.1:{}", app.port());
    const std::string with_key = load + "/bench/key -s " + script;
    // The baseline sends the same header, so that both requests are the same bytes on the wire.
    const std::string without = load + "/bench/open -s " + script;
    bench::wrk_rate(with_key);  // notes the keys' first use
    std::vector<double> ours;
    std::vector<double> open;
    for (int i = 0; i < rounds; ++i) {
        ours.push_back(bench::wrk_rate(with_key));
        open.push_back(bench::wrk_rate(without));
    }
    bench::print("auth_key", ours, "no-authentication", open);
}

}  // namespace

int main() { return bench::run("auth_key", measure); }
