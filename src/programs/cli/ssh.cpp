// A shell in a rental. The machine is a stranger's: its host key must be the one that the service
// was told, and the keys of one rental are nothing to the next.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/letters.hpp"
#include "base/program.hpp"
#include "cli/special.hpp"
#include "cli/ssh_key.hpp"
#include "crypto/hash.hpp"

namespace berth::cli {
namespace {

// A host and a port go to a command line; a login, too.
void check_word(std::string_view word, std::string_view what) {
    const bool is_good =
        !word.empty() && word[0] != '-' && std::all_of(word.begin(), word.end(), [](char c) {
            return is_alphanumeric(c) || c == '.' || c == '-' || c == ':' || c == '_';
        });
    if (!is_good)
        throw Failure(Exit::unexpected, fmt::format("the server names a {} that is none", what));
}

// The line of known_hosts whose key has this fingerprint.
std::string known_host(std::string_view lines, std::string_view fingerprint) {
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        const std::string line(lines.substr(0, end));
        lines.remove_prefix(std::min(end + 1, lines.size()));
        const std::size_t key = line.rfind(' ');
        if (line.starts_with('#') || key == std::string::npos) continue;
        const auto bytes = from_base64(line.substr(key + 1));
        if (!bytes) continue;
        std::string own = to_base64(crypto::sha256(*bytes));
        while (own.ends_with('=')) own.pop_back();
        if (fingerprint == "SHA256:" + own) return line + "\n";
    }
    return "";
}

}  // namespace

int open_shell(Context& context) {
    const std::string rental = context.rental(0);
    const Request ask{.path = "/api/v1/jobs/" + percent_encode(rental) + "/access"};
    if (context.is_rehearsal()) {
        context.rehearse(ask);
        return 0;
    }
    const Reading access(context.api().send(ask).body);
    std::string host;
    std::string port;
    if (const auto endpoints = access.find("endpoints")) {
        for (const Reading::Place each : access.items(*endpoints)) {
            if (access.text("kind", each) != "ssh") continue;
            host = access.text("external_host", each);
            port = access.text("external_port", each);
        }
    }
    const std::string command = access.text("ssh_command");
    const std::size_t at = command.rfind('@');
    if (host.empty() || at == std::string::npos)
        throw Failure(Exit::conflict, "this rental has no shell; see berth rentals access");
    const std::size_t before = command.rfind(' ', at);
    const std::string login = command.substr(before + 1, at - before - 1);
    check_word(host, "host");
    check_word(port, "port");
    check_word(login, "login");
    const ProgramEnd shown =
        run_program({.arguments = {"ssh-keyscan", "-T", "10", "-p", port, host}});
    const std::string known = known_host(shown.output, access.text("ssh_host_key_fingerprint"));
    if (known.empty())
        throw Failure(Exit::network,
                      "the machine cannot be reached by SSH, or shows another host "
                      "key than the service knows; nothing was sent to it");
    const std::string file = context.profiles().folder() + "/known_hosts/" + rental;
    write_private(file, known);
    const std::string known_option = "UserKnownHostsFile=" + file;
    context.console().flush();
    ::execlp("ssh", "ssh", "-p", port.c_str(), "-o", known_option.c_str(), "-o",
             "StrictHostKeyChecking=yes", "-l", login.c_str(), host.c_str(),
             static_cast<char*>(nullptr));
    throw Failure(Exit::unexpected, "ssh cannot be started: is openssh-client installed?");
}

}  // namespace berth::cli
