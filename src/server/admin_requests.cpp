#include "server/admin_requests.hpp"

#include <poll.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/log.hpp"

namespace berth::server {
namespace {

namespace fs = std::filesystem;

constexpr int wait_tries_max = 100;
constexpr int wait_try_ms = 100;
constexpr std::string_view request_suffix = ".request";
constexpr std::string_view answer_suffix = ".answer";

fs::path requests_folder(const std::string& secrets_folder) {
    return fs::path(secrets_folder) / "admin-requests";
}

// Whole or not there: written under another name first.
void write_whole(const fs::path& path, const std::string& text) {
    fs::path draft = path;
    draft += ".draft";
    std::ofstream(draft) << text << '\n';
    fs::rename(draft, path);
}

std::string first_line(const fs::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

using MakeAdmin = std::function<AccountId(const std::string&)>;

void answer(const fs::path& request, const MakeAdmin& make_admin) {
    std::string line;
    try {
        line = to_string(make_admin(first_line(request)));
        log(Level::info, "admin_created", {{"account", line}});
    } catch (const std::exception& error) {
        line = error.what();
    }
    fs::path reply = request;
    write_whole(reply.replace_extension(answer_suffix), line);
    fs::remove(request);
}

}  // namespace

std::string ask_server_for_admin(const std::string& secrets_folder, int process,
                                 const std::string& email, Random& random) {
    const fs::path folder = requests_folder(secrets_folder);
    fs::create_directories(folder);
    fs::permissions(folder, fs::perms::owner_all);
    const std::string name = to_hex(random.bytes(8));
    const fs::path request = folder / (name + std::string(request_suffix));
    const fs::path answer = folder / (name + std::string(answer_suffix));
    write_whole(request, email);
    if (process <= 0 || ::kill(process, SIGUSR1) != 0) {
        fs::remove(request);
        throw std::runtime_error("the server that holds the database cannot be woken; run this as "
                                 "its own user, with its --secrets");
    }
    for (int i = 0; i < wait_tries_max && !fs::exists(answer); ++i)
        ::poll(nullptr, 0, wait_try_ms);
    if (!fs::exists(answer)) {
        fs::remove(request);
        throw std::runtime_error("the server did not answer; does it have the same --secrets?");
    }
    const std::string line = first_line(answer);
    fs::remove(answer);
    if (!parse_uuid(line)) throw std::runtime_error(line);
    return line;
}

void carry_out_admin_requests(const std::string& secrets_folder,
                              const std::function<AccountId(const std::string&)>& make_admin) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(requests_folder(secrets_folder), none)) {
        if (entry.path().extension() != request_suffix) continue;
        try {
            answer(entry.path(), make_admin);
        } catch (const std::exception& error) {
            log(Level::error, "admin_request_not_answered", {{"why", error.what()}});
        }
    }
}

}  // namespace berth::server
