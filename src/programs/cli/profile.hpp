// What the command line keeps: profiles, each with a server and the key that was made for it, and
// sessions. Files of mode 0600 in a folder of mode 0700: $BERTH_HOME, else berth in the user's
// configuration folder.
#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace berth::cli {

// scheme://host[:port] in one spelling. https, or http to this machine alone; throws a Failure for
// anything else.
std::string parse_origin(std::string_view text);
std::string host_of(std::string_view origin);  // with the port, where there is one

struct Profile {
    std::string server;
    std::optional<std::string> api_key{};
    // The desktop's secret service has it. With no `api_key` beside it the service did not give
    // it out, perhaps because it is locked.
    std::optional<bool> key_elsewhere{};
    std::optional<std::string> key_id{};
    std::optional<Time> expires_at{};
    std::optional<std::string> account{};      // whose key it is, for people
    std::optional<std::string> wallet{};       // file of the keystore
    std::optional<std::string> last_rental{};  // what commands mean that name none
};
BOOST_DESCRIBE_STRUCT(Profile, (),
                      (server, api_key, key_elsewhere, key_id, expires_at, account, wallet,
                       last_rental))

struct KeptSession {
    std::string server;
    std::string cookie;  // name=value
    std::string csrf_token;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(KeptSession, (), (server, cookie, csrf_token, expires_at))

class Profiles {
public:
    // `name` is --profile; empty: $BERTH_PROFILE, else the one that was chosen, else "default".
    explicit Profiles(std::string name);

    const std::string& name() const { return name_; }
    const std::string& folder() const { return folder_; }
    std::string command() const;  // "berth", as it is typed to use this profile
    std::string file() const;     // of the profile
    bool exists() const;

    // With its key, wherever that is. Where the desktop has a secret service (and secret-tool), it
    // keeps the key in the place of the file.
    std::optional<Profile> load() const;
    // Without `api_key` and `key_elsewhere` the key is forgotten, by the service, too: a Failure
    // when it still has it, and then the file stays as it was.
    void save(const Profile& profile) const;
    std::optional<KeptSession> load_session() const;
    void save_session(const KeptSession& session) const;
    void forget_session() const;

    std::vector<std::string> list() const;
    void choose() const;  // what later commands use
    // The profile and its session. A secret that the desktop keeps may be left with it.
    enum class Secret { clear, leave };
    void remove(Secret secret = Secret::clear) const;

private:
    std::string session_file() const;

    std::string folder_;
    std::string name_;
};

// Puts a file of mode 0600 in place, whole or not at all. With `replace` false a file that is there
// stays, and it is a Failure.
void write_private(const std::string& file, std::string_view text, bool replace = true);

}  // namespace berth::cli
