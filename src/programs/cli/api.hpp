// Requests to the server: which credential goes where, which failures are tried again, and what an
// error means. A key is sent to the origin it was made for and to nobody else.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/ids.hpp"
#include "base/random.hpp"
#include "cli/console.hpp"
#include "cli/exit.hpp"
#include "cli/profile.hpp"
#include "http/client.hpp"

namespace berth::cli {

enum class Access { anyone, key, session };

struct Request {
    std::string method = "GET";
    std::string path{};  // with its query
    std::string body{};  // JSON; empty: none
    Access access = Access::key;
    std::optional<Uuid> idempotency_key{};         // of a change; one is made where there is none
    std::function<void(std::string_view)> take{};  // gets the body of a good answer as it comes
    std::function<bool()> is_over{};  // no more is wanted of that: true gives the rest up
    bool as_csv = false;
    bool is_patient = true;    // tried again where that helps, and long waited for
    bool may_be_page = false;  // for browsers
};

// To the model of a rental: the relay passes it on once, and knows no Idempotency-Key.
bool is_relayed(const Request& request);

struct Answer {
    int status = 0;
    std::string body;
    std::string next_cursor = {};  // of CSV, which has no place for it
};

struct Target {
    std::string origin;
    std::string api_key;     // empty: none
    std::string key_is_for;  // where it may go
    std::string ca_file;
    bool key_is_given = false;  // by BERTH_API_KEY
};

class Api {
public:
    struct Parts {
        http::Client& client;
        Console& console;
        const Profiles& profiles;
        Random& random;
        std::function<void(Duration)> sleep;
    };
    Api(Target target, Parts parts) : target_(std::move(target)), parts_(std::move(parts)) {}

    const Target& target() const { return target_; }
    void set_target(Target target) { target_ = std::move(target); }

    // A good answer, or a Failure. 429, 503 and broken connections are tried again, with the same
    // key, unless the server says x-should-retry. What may have been done and has no key is not:
    // signing in, and requests to models, whose relay knows none.
    Answer send(const Request& request);
    Answer get(std::string path, Access access = Access::key) {
        return send({.path = std::move(path), .access = access});
    }

    // The session in the place of the kept one: while signing in.
    std::optional<KeptSession> session;
    // Saves it with the profile, now and whenever it is renewed.
    void keep_session();
    // Gives the fresh proof for a purpose that the server misses, and then the request is sent
    // again; where it cannot be given, says what to do instead.
    std::function<std::string(Access access, std::string_view purpose)> prove;
    Uuid make_key();
    // Without a key what may be done by one is done in the kept session, where there is one.
    Access access_for(Access wanted);

    static constexpr int attempts_max = 6;
    static constexpr Duration first_delay = std::chrono::milliseconds(250);
    static constexpr Duration delay_max = std::chrono::seconds(8);

private:
    http::Headers headers_of(const Request& request);
    Failure explained(Failure failure, Access access) const;
    void load_session();
    void renew_session(const http::Response& response);
    void get_proof(const Request& request, const http::Response& refusal, std::string_view purpose);
    void wait_before(int attempt, std::string_view why);
    Failure key_of_another() const;
    Failure no_answer(const http::TransportError& error, bool to_model) const;
    Failure too_large() const;
    Failure answered_by_page() const;

    Target target_;
    Parts parts_;
    bool session_is_kept_ = false;
};

// Which server, and with what: --server, then $BERTH_SERVER, then the profile. $BERTH_API_KEY goes
// before the profile's key, and is for $BERTH_SERVER, else for the profile's server; --server
// alone says whose it is only where there is no other.
Target choose_target(const Profiles& profiles, const std::string& server_flag);

// Whether a text can be an API key, or another secret that is sent: a word, and not the file of
// something else or a wallet's private key that was taken for it.
bool can_be_token(std::string_view key);
std::string percent_encode(std::string_view text);

}  // namespace berth::cli
