#include "server/local_requests.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "accounts/accounts.hpp"
#include "accounts/settings.hpp"
#include "audit/audit.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "four_eyes/four_eyes.hpp"
#include "server/gate_commands.hpp"
#include "server/secret_commands.hpp"
#include "server/secrets.hpp"
#include "server/settings.hpp"
#include "settings/changes.hpp"

namespace berth::server {
namespace {

namespace fs = std::filesystem;

constexpr int wait_tries_max = 100;
constexpr int wait_try_ms = 100;
constexpr std::string_view request_suffix = ".request";
constexpr std::string_view answer_suffix = ".answer";
constexpr std::string_view done_word = "done";

fs::path requests_folder(const std::string& database_url) {
    constexpr std::string_view scheme = "sqlite:";
    check(database_url.starts_with(scheme), "only a SQLite file is held by one process");
    return database_url.substr(scheme.size()) + ".requests";
}

// Whoever could write into it could make themselves an admin.
bool is_ours_alone(const fs::path& folder) {
    struct stat facts {};
    return ::lstat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
           facts.st_uid == ::geteuid() && (facts.st_mode & 077) == 0;
}

// Whole or not there: written under another name first. A word is a line of its own in base64url,
// so that it may hold anything.
void write_words(const fs::path& path, const Words& words) {
    fs::path draft = path;
    draft += ".draft";
    std::ofstream file(draft);
    for (const std::string& word : words) file << to_base64url(word) << '\n';
    file.close();
    fs::rename(draft, path);
}

Words read_words(const fs::path& path) {
    std::ifstream file(path);
    Words words;
    for (std::string line; std::getline(file, line);)
        words.push_back(from_base64url(line).value_or(""));
    return words;
}

void answer(const fs::path& request,
            const std::function<std::string(const Words&)>& carry_out_words) {
    Words words;
    try {
        words = {std::string(done_word), carry_out_words(read_words(request))};
    } catch (const std::exception& error) {
        words = {"refused", error.what()};
    }
    fs::path reply = request;
    write_words(reply.replace_extension(answer_suffix), words);
    fs::remove(request);
}

std::string make_admin(const std::string& email, db::Database& database, const Clock& clock,
                       Random& random) {
    const Time now = clock.now();
    const AccountId account = database.write([&](db::Transaction& tx) {
        const db::Context context{tx, random, now};
        const AccountId id = accounts::make_admin(context, email);
        audit::record(context, {.actor = audit::Actor::local_operator(),
                                .action = "make_admin",
                                .target = {"account", to_string(id)},
                                .changes = {{"role", std::nullopt, "admin"}}});
        return id;
    });
    return fmt::format("{} is an admin (account {}); sign in and enroll an authenticator", email,
                       to_string(account));
}

// The keys are named by their folder: the mail is sealed with them.
struct FourEyesOff {
    std::string reason;
    std::string secrets_folder;
    std::string from;
};
std::string four_eyes_off(const FourEyesOff& wish, db::Database& database, const Clock& clock,
                          Random& random) {
    if (wish.reason.empty()) throw std::invalid_argument("--reason: must be given");
    const Secrets secrets = load_secrets(wish.secrets_folder, random);
    check_fingerprints(database, secrets, wish.secrets_folder);
    const crypto::Sealer sealer = sealer_of(secrets);
    const mail::Outbox outbox(sealer, wish.from);
    const Time now = clock.now();
    const auto off = database.write([&](db::Transaction& tx) {
        const auto stored = settings::read_stored(tx);
        const std::string brand = *registry().snapshot({}, stored)->get<accounts::Branding>().name;
        return four_eyes::turn_off({tx, random, now}, outbox, brand, wish.reason);
    });
    const std::string told = fmt::format("told: {}", fmt::join(off.told, ", "));
    return off.still_on ? "the 72 hours are over, but the server was started with --four-eyes on "
                          "and goes on asking for a second admin; " +
                              told
                        : "one admin may act alone again; " + told;
}

std::string change_setting(const settings::Change& change, db::Database& database,
                           const Clock& clock, Random& random) {
    if (change.reason.empty()) throw std::invalid_argument("--reason: must be given");
    const settings::Stored now = database.write([&](db::Transaction& tx) {
        return settings::change(registry(), {tx, random, clock.now()}, change);
    });
    return now.value ? fmt::format("{} is now {} (version {})", change.key, *now.value, now.version)
                     : fmt::format("{} is back to what the server was started with (version {})",
                                   change.key, now.version);
}

}  // namespace

std::string carry_out(const Words& request, db::Database& database, const Clock& clock,
                      Random& random) {
    const auto actor = audit::Actor::local_operator();
    if (request.size() == 2 && request[0] == make_admin_word)
        return make_admin(request[1], database, clock, random);
    if (request.size() == 4 && request[0] == set_setting_word)
        return change_setting(
            {.key = request[1], .value = request[2], .actor = actor, .reason = request[3]},
            database, clock, random);
    if (request.size() == 3 && request[0] == reset_setting_word)
        return change_setting(
            {.key = request[1], .value = std::nullopt, .actor = actor, .reason = request[2]},
            database, clock, random);
    if (request.size() == 4 && request[0] == four_eyes_off_word)
        return four_eyes_off({request[1], request[2], request[3]}, database, clock, random);
    if (request.size() == 2 && request[0] == reseal_word)
        return reseal(request[1], database, clock, random);
    if (const auto order = parse_gate_order(request))
        return carry_out(*order, database, clock, random);
    throw std::runtime_error("the server does not know this request; is it of the same version?");
}

std::string ask_server(const std::string& database_url, int process, const Words& request,
                       Random& random) {
    const fs::path folder = requests_folder(database_url);
    ::mkdir(folder.c_str(), 0700);
    if (!is_ours_alone(folder))
        throw std::runtime_error(folder.string() + ": must be a folder of yours alone (chmod 700)");
    const std::string name = to_hex(random.bytes(8));
    const fs::path asked = folder / (name + std::string(request_suffix));
    const fs::path replied = folder / (name + std::string(answer_suffix));
    write_words(asked, request);
    if (process <= 0 || ::kill(process, SIGUSR1) != 0) {
        fs::remove(asked);
        throw std::runtime_error(
            "the server that holds the database cannot be woken; run this as "
            "its own user");
    }
    for (int i = 0; i < wait_tries_max && !fs::exists(replied); ++i)
        ::poll(nullptr, 0, wait_try_ms);
    if (!fs::exists(replied)) {
        fs::remove(asked);
        throw std::runtime_error("the server that holds the database did not answer");
    }
    const Words words = read_words(replied);
    fs::remove(replied);
    if (words.size() != 2 || words[0] != done_word)
        throw std::runtime_error(words.empty() ? "the server did not answer" : words.back());
    return words[1];
}

void answer_requests(const std::string& database_url,
                     const std::function<std::string(const Words&)>& carry_out_words) {
    if (!database_url.starts_with(sqlite_scheme)) return;
    const fs::path folder = requests_folder(database_url);
    if (!fs::exists(fs::symlink_status(folder))) return;
    if (!is_ours_alone(folder)) {
        log(Level::error, "local_requests_refused", {{"folder", folder.string()}});
        return;
    }
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
        if (entry.path().extension() != request_suffix) continue;
        try {
            answer(entry.path(), carry_out_words);
        } catch (const std::exception& error) {
            log(Level::error, "local_request_not_answered", {{"why", error.what()}});
        }
    }
}

}  // namespace berth::server
