// What a command has in hand while it runs. What it does not use is not made: `berth version` opens
// nothing.
#pragma once

#include <memory>

#include "cli/api.hpp"
#include "cli/arguments.hpp"
#include "cli/reading.hpp"

namespace berth::cli {

enum class Output { table, json, ids, csv };

class Context {
public:
    Context(const CommandLine& line, Console& console);

    const Command& command() const { return *line_.command; }
    const std::vector<Flag>& flags() const { return line_.flags; }
    const Arguments& arguments() const { return line_.arguments; }
    Console& console() { return console_; }
    Output output() const { return output_; }
    Profiles& profiles();
    Api& api();
    Random& random() { return random_; }
    Time now();  // of the server: in the marketplace in a box time may have been let pass

    // Prints an answer as --output says: JSON as it came, or a table of these columns.
    void print(const std::string& body, std::string_view columns);
    // Something this program says itself, as JSON or as text for people.
    void print_own(const std::string& json, const std::string& text);

    // The rental that the operand names, or the last one that was made with this profile.
    std::string rental(std::size_t operand);
    void remember_rental(const std::string& id);

    // --explain and --curl: says what would be sent, and that nothing is.
    bool is_rehearsal() const;
    void rehearse(const Request& request);
    // The same for a command of many requests: names them, and is true when that was all to do.
    bool rehearse_all();

    // The key of --idempotency-key, if there is one.
    std::optional<Uuid> given_key() const;

private:
    std::string advice_on_nothing() const;

    const CommandLine& line_;
    Console& console_;
    Output output_;
    SystemRandom random_;
    http::CurlClient client_;
    std::unique_ptr<Profiles> profiles_;
    std::unique_ptr<Api> api_;
};

Output choose_output(std::string_view wanted, const Console& console);

// Carries out a row of the tables: makes the request from the flags, sends it, prints the answer.
int run_row(Context& context);

// Gives a fresh proof of who is calling for a purpose: a code, or the wallet's signature. Where it
// cannot, what to do instead.
std::string give_proof(Context& context, Access access, std::string_view purpose);

// What --explain and --curl show in the place of a secret, as JSON.
inline constexpr std::string_view hidden_secret = "\"…\"";
// The body of a request with its secrets hidden; a Failure where it is no JSON.
std::string without_secrets(const std::string& body);
// The equivalent command of curl, with the key as $BERTH_API_KEY.
std::string curl_text(const Request& request, const std::string& origin);

// Runs a command line; the exit status of the program.
int run(const Words& words);

}  // namespace berth::cli
