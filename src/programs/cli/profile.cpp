#include "cli/profile.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/letters.hpp"
#include "base/program.hpp"
#include "cli/console.hpp"
#include "cli/exit.hpp"
#include "wire/open.hpp"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
    const char* const value = ::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

std::string home_folder() {
    if (std::string own = variable("BERTH_HOME"); !own.empty()) return own;
    if (std::string base = variable("XDG_CONFIG_HOME"); !base.empty()) return base + "/berth";
    if (std::string home = variable("HOME"); !home.empty()) return home + "/.config/berth";
    throw Failure(Exit::usage, "there is no place for profiles: set BERTH_HOME");
}

void check_name(std::string_view name) {
    const bool is_good = !name.empty() && name.size() <= 40 && name[0] != '.' &&
                         std::all_of(name.begin(), name.end(), [](char c) {
                             return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
                         });
    if (!is_good)
        throw Failure(Exit::usage, "a profile's name is 1 to 40 letters, digits, '-', '_' or '.'");
}

bool is_loopback(std::string_view host) {
    if (host == "localhost" || host == "[::1]") return true;
    return host.starts_with("127.") &&
           std::all_of(host.begin(), host.end(), [](char c) { return is_digit(c) || c == '.'; });
}

// A folder that cannot be read is not one without profiles.
void check_home(const std::string& folder) {
    std::error_code fault;
    const fs::directory_iterator look(folder, fault);
    if (fault && fault != std::errc::no_such_file_or_directory)
        throw Failure(Exit::usage, fmt::format("the folder of profiles {} cannot be read: {}; "
                                               "BERTH_HOME names another",
                                               folder, fault.message()));
}

// A file that others may read keeps no secret.
template <class T>
std::optional<T> read_private(const std::string& file) {
    struct stat about {};
    if (::stat(file.c_str(), &about) != 0) {
        if (errno == ENOENT) return std::nullopt;
        throw Failure(Exit::usage, fmt::format("{} cannot be read: {}", file,
                                               std::generic_category().message(errno)));
    }
    if ((about.st_mode & 077) != 0)
        throw Failure(Exit::refused,
                      fmt::format("{} may be read by others: chmod 600 {}", file, file));
    try {
        return wire::decode_known<T>(read_input(file, "profile"), file);
    } catch (const Problem& problem) {
        throw Failure(Exit::usage, problem.message);
    }
}

// Empty where there is no such service. A secret goes there by standard input.
std::optional<std::string> call_secret_service(const std::string& verb, const Profiles& profiles,
                                               const std::string& secret = "") {
    if (variable("DBUS_SESSION_BUS_ADDRESS").empty()) return std::nullopt;
    ProgramCall call{.arguments = {"secret-tool", verb}, .input = secret};
    if (verb == "store") call.arguments.push_back("--label=Berth API key");
    for (const std::string& word :
         {std::string("service"), std::string("berth"), std::string("profile"), profiles.file()})
        call.arguments.push_back(word);
    ProgramEnd end = run_program(call);
    if (!end.ok()) return std::nullopt;
    while (end.output.ends_with('\n')) end.output.pop_back();
    return std::move(end.output);
}

// `clear` leaves a locked secret, without a word: only a secret that was found before and is not
// found after it is gone.
void clear_secret(const Profiles& profiles) {
    const bool is_gone = call_secret_service("lookup", profiles) &&
                         call_secret_service("clear", profiles) &&
                         !call_secret_service("lookup", profiles);
    if (!is_gone)
        throw Failure(Exit::unexpected,
                      fmt::format("the key is with the desktop's secret service, which does not "
                                  "give it out: unlock it and try again, or forget the profile "
                                  "with `berth profiles remove {}`",
                                  profiles.name()));
}

// With those above it that are missing: all of them for their owner alone.
void make_private_folder(const fs::path& folder) {
    std::error_code unknown;
    if (folder.empty() || fs::exists(folder, unknown)) return;
    make_private_folder(folder.parent_path());
    ::mkdir(folder.c_str(), S_IRWXU);
}

}  // namespace

std::string parse_origin(std::string_view text) {
    const auto refuse = [&](std::string_view why) -> Failure {
        return {Exit::usage, fmt::format("--server {}: {}", printable(text), why)};
    };
    std::string origin(text);
    std::transform(origin.begin(), origin.end(), origin.begin(), to_lower);
    while (origin.ends_with('/')) origin.pop_back();
    const bool is_secure = origin.starts_with("https://");
    if (!is_secure && !origin.starts_with("http://"))
        throw refuse("must begin with https://, or http:// for this machine");
    const std::size_t begin = is_secure ? 8 : 7;
    const std::string_view authority = std::string_view(origin).substr(begin);
    const std::size_t colon = authority.rfind(':');
    const bool has_port =
        colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
    const std::string_view host = has_port ? authority.substr(0, colon) : authority;
    const std::string_view port = has_port ? authority.substr(colon + 1) : std::string_view();
    const bool is_host = !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
        return is_alphanumeric(c) || c == '-' || c == '.' || c == ':' || c == '[' || c == ']';
    });
    const bool is_port = !has_port || (!port.empty() && port.size() <= 5 &&
                                       std::all_of(port.begin(), port.end(), is_digit));
    if (!is_host || !is_port) throw refuse("must be a host and perhaps a port, and nothing else");
    if (!is_secure && !is_loopback(host)) throw refuse("http is for this machine alone; use https");
    if (port == (is_secure ? "443" : "80")) origin.resize(begin + host.size());
    return origin;
}

std::string host_of(std::string_view origin) {
    return std::string(origin.substr(origin.find("//") + 2));
}

Profiles::Profiles(std::string name) : folder_(home_folder()), name_(std::move(name)) {
    check_home(folder_);
    if (name_.empty()) name_ = variable("BERTH_PROFILE");
    if (name_.empty() && fs::exists(folder_ + "/current"))
        name_ = read_secret(folder_ + "/current", "the chosen profile");
    if (name_.empty()) name_ = "default";
    check_name(name_);
}

std::string Profiles::file() const { return folder_ + "/profiles/" + name_ + ".json"; }
std::string Profiles::command() const {
    return name_ == "default" ? "berth" : "berth --profile " + name_;
}
bool Profiles::exists() const { return fs::exists(file()); }
std::string Profiles::session_file() const { return folder_ + "/sessions/" + name_ + ".json"; }

std::optional<Profile> Profiles::load() const {
    auto profile = read_private<Profile>(file());
    if (profile && profile->key_elsewhere)
        if (const auto found = call_secret_service("lookup", *this)) profile->api_key = *found;
    return profile;
}

void Profiles::save(const Profile& profile) const {
    Profile kept = profile;
    if (kept.api_key) {
        kept.key_elsewhere.reset();
        if (call_secret_service("store", *this, *kept.api_key)) {
            kept.key_elsewhere = true;
            kept.api_key.reset();
        }
    } else if (!kept.key_elsewhere) {
        const auto before = read_private<Profile>(file());
        if (before && before->key_elsewhere) clear_secret(*this);
    }
    write_private(file(), wire::encode(kept));
}

std::optional<KeptSession> Profiles::load_session() const {
    return read_private<KeptSession>(session_file());
}
void Profiles::save_session(const KeptSession& session) const {
    write_private(session_file(), wire::encode(session));
}
void Profiles::forget_session() const { fs::remove(session_file()); }

std::vector<std::string> Profiles::list() const {
    std::vector<std::string> names;
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_ + "/profiles", none))
        if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

void Profiles::choose() const { write_private(folder_ + "/current", name_ + "\n"); }

void Profiles::remove(Secret secret) const {
    if (secret == Secret::clear) call_secret_service("clear", *this);
    forget_session();
    fs::remove(file());
}

void write_private(const std::string& file, std::string_view text, bool replace) {
    make_private_folder(fs::path(file).parent_path());
    std::string draft = file + ".XXXXXX";
    const int made = ::mkstemp(draft.data());  // of mode 0600
    const auto give_up = [&] {
        const int why = errno;
        ::unlink(draft.c_str());
        return Failure(Exit::unexpected, fmt::format("{} cannot be written: {}", file,
                                                     std::generic_category().message(why)));
    };
    if (made < 0) throw give_up();
    errno = ENOSPC;  // what a short write means
    const bool is_written =
        ::write(made, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        ::fsync(made) == 0;
    const int why = errno;
    ::close(made);
    errno = why;
    if (!is_written) throw give_up();
    if (replace ? ::rename(draft.c_str(), file.c_str()) != 0
                : ::link(draft.c_str(), file.c_str()) != 0) {
        throw give_up();
    }
    if (!replace) ::unlink(draft.c_str());
}

}  // namespace berth::cli
