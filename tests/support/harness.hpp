// A whole server inside a test: the real App on a fresh database, with the bank's routes, a clock
// and randomness the test controls. Every answer is held against the route's declaration: a status,
// an error code, a member or a header that openapi.json does not promise fails the test.
#pragma once

#include "server/app.hpp"
#include "support/bank.hpp"
#include "support/database.hpp"
#include "support/fakes.hpp"
#include "support/folder.hpp"

namespace berth::test {

struct Ask {
    std::string method = "GET";
    std::string target = {};
    std::string as = {};    // the bearer value; empty for none
    std::string key = {};   // Idempotency-Key; empty for none
    std::string body = {};  // sent as application/json when not empty
    std::vector<http::Headers::Field> headers = {};
    std::string from = "192.0.2.1";  // the network address
};

http::Request make_request(const Ask& ask);

// Fails the test when `response` is not one the route that `request` meets has declared.
void expect_declared(const api::Router& router, const http::Request& request,
                     const http::Response& response);

std::string error_code(const http::Response& response);  // "" when it is not an envelope
std::string error_message(const http::Response& response);

// A key of --secrets, readable by its owner alone.
void write_secret(const std::string& folder, const std::string& name, const std::string& hex);

// With the schema of the program, made once in this process.
const DatabaseTemplate& migrated_database();

class Harness {
public:
    struct Options {
        // Beside those of a test: the flags it is started with, without their dashes.
        std::map<std::string, std::string> flags = {};
        server::Overrides overrides = {};
        std::string db = {};            // another database than the fresh one
        std::string treasury_key = {};  // hex; put into --secrets when not empty
        bool real_accounts = false;     // real credentials instead of the bank's, and no bank
    };

    Harness();
    explicit Harness(Options options);

    // One request through the whole of the service, on this thread.
    http::Response ask(const Ask& request);

    // As an operator would while the service runs; the next request sees it.
    void set(const std::string& key, const std::string& value);
    std::string new_id() { return to_string(make_uuid(clock.now(), random)); }

    ManualClock clock;
    SeededRandom random;
    std::shared_ptr<BankControls> controls = std::make_shared<BankControls>();
    TemporaryFolder folder;
    TestDatabase database{migrated_database()};
    settings::Given given;  // what the app was made with
    std::unique_ptr<server::App> app;

private:
    BankCallers callers_;
};

}  // namespace berth::test
