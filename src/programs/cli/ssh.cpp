// A shell in a rental. The machine is a stranger's: its host key must be the one that the service
// was told, and the keys of one rental are nothing to the next.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/letters.hpp"
#include "base/money.hpp"
#include "base/program.hpp"
#include "cli/notice.hpp"
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

// The name of a file as ssh reads it in an option: in quotes where it would be taken apart.
std::string option_word(std::string_view file) {
    const auto is_plain = [](char c) {
        return is_alphanumeric(c) || c == '/' || c == '.' || c == '-' || c == '_';
    };
    if (std::all_of(file.begin(), file.end(), is_plain)) return std::string(file);
    std::string out = "\"";
    for (const char c : file) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '%') out += '%';
        out += c;
    }
    return out + "\"";
}

// On this machine: what has a colon would be another host's to scp.
std::string local_word(const std::string& file) {
    const std::size_t colon = file.find(':');
    return colon != file.npos && colon < file.find('/') ? "./" + file : file;
}

// The way into a rental, its host key checked.
struct Way {
    std::string host;
    std::string port;
    std::string login;
    std::string known_hosts;

    // Of ssh and scp, which call the port differently. The machine is a stranger's: whatever a
    // person forwards to all hosts of their own stays here, and no connection that was not checked
    // is used.
    std::vector<std::string> options(std::string_view port_flag) const {
        std::vector<std::string> all{std::string(port_flag), port};
        for (const char* const each : {"StrictHostKeyChecking=yes", "ForwardAgent=no",
                                       "ForwardX11=no", "ControlMaster=no", "ControlPath=none"})
            all.insert(all.end(), {"-o", each});
        all.insert(all.end(), {"-o", "UserKnownHostsFile=" + option_word(known_hosts)});
        return all;
    }
};

Request ask_way(const std::string& rental) {
    return {.path = "/api/v1/jobs/" + percent_encode(rental) + "/access"};
}

Way find_way(Context& context, const std::string& rental) {
    const auto id = parse_uuid(rental);  // which may be a word of the server's, and becomes a file
    if (!id) throw Failure(Exit::usage, fmt::format("{}: is no id of a rental", printable(rental)));
    const Reading access(context.api().send(ask_way(rental)).body);
    Way way;
    if (const auto endpoints = access.find("endpoints")) {
        for (const Reading::Place each : access.items(*endpoints)) {
            if (access.text("kind", each) != "ssh") continue;
            way.host = access.text("external_host", each);
            way.port = access.text("external_port", each);
        }
    }
    const std::string command = access.text("ssh_command");
    const std::size_t at = command.rfind('@');
    if (way.host.empty() || at == std::string::npos)
        throw Failure(Exit::conflict, "this rental has no shell; see berth rentals access");
    const std::size_t before = command.rfind(' ', at);
    way.login = command.substr(before + 1, at - before - 1);
    check_word(way.host, "host");
    check_word(way.port, "port");
    check_word(way.login, "login");
    const ProgramEnd shown =
        run_program({.arguments = {"ssh-keyscan", "-T", "10", "-p", way.port, way.host}});
    const std::string known = known_host(shown.output, access.text("ssh_host_key_fingerprint"));
    if (known.empty())
        throw Failure(Exit::network,
                      "the machine cannot be reached by SSH, or shows another host "
                      "key than the service knows; nothing was sent to it");
    way.known_hosts = context.profiles().folder() + "/known_hosts/" + to_string(*id);
    write_private(way.known_hosts, known);
    return way;
}

[[noreturn]] void become(Context& context, const std::string& program,
                         const std::vector<std::string>& words) {
    context.console().flush();
    std::string name = program;
    std::vector<char*> list{name.data()};
    std::vector<std::string> kept = words;
    for (std::string& word : kept) list.push_back(word.data());
    list.push_back(nullptr);
    ::execvp(list[0], list.data());
    throw Failure(Exit::unexpected, program + " cannot be started: is openssh-client installed?");
}

// The operand that names a rental, where the first one does; the last one that was made otherwise.
std::string leading_rental(Context& context, std::size_t& used) {
    const auto& words = context.arguments().operands;
    used = !words.empty() && parse_uuid(words[0]) ? 1 : 0;
    return used == 1 ? words[0] : context.rental(words.size());
}

// "8888", or "9000:8888" where here it is another.
std::string forwarding(const std::string& text) {
    const std::size_t colon = text.find(':');
    const std::string here = text.substr(0, colon);
    const std::string there = colon == text.npos ? here : text.substr(colon + 1);
    for (const std::string& port : {here, there}) {
        const auto number = parse_decimal(port);
        if (!number || *number < 1 || *number > 65'535)
            throw Failure(Exit::usage,
                          fmt::format("{}: must be a port such as 8888, or 9000:8888 for port 9000 "
                                      "here and 8888 in the rental",
                                      printable(text)));
    }
    return fmt::format("127.0.0.1:{}:localhost:{}", here, there);
}

}  // namespace

int open_shell(Context& context) {
    const std::string rental = context.rental(0);
    if (context.is_rehearsal()) {
        context.rehearse(ask_way(rental));
        return 0;
    }
    const Way way = find_way(context, rental);
    auto words = way.options("-p");
    words.insert(words.end(), {"-l", way.login, way.host});
    watch_beside(context, rental);
    become(context, "ssh", words);
}

int copy_files(Context& context) {
    std::size_t used = 0;
    const std::string rental = leading_rental(context, used);
    if (context.is_rehearsal()) {
        context.rehearse(ask_way(rental));
        return 0;
    }
    const auto& given = context.arguments().operands;
    const auto is_there = [](const std::string& place) { return place.starts_with(':'); };
    if (given.size() < used + 2 ||
        std::none_of(given.begin() + static_cast<std::ptrdiff_t>(used), given.end(), is_there))
        throw Failure(
            Exit::usage,
            "berth rentals cp needs what to copy and where to; what begins with ':' is in "
            "the rental: berth rentals cp :results.csv .");
    const Way way = find_way(context, rental);
    auto words = way.options("-P");
    words.insert(words.end(), {"-r", "--"});
    const bool is_v6 = way.host.find(':') != way.host.npos;
    const std::string place = way.login + "@" + (is_v6 ? "[" + way.host + "]" : way.host);
    for (std::size_t i = used; i < given.size(); ++i)
        words.push_back(is_there(given[i]) ? place + given[i] : local_word(given[i]));
    become(context, "scp", words);
}

int forward_ports(Context& context) {
    std::size_t used = 0;
    const std::string rental = leading_rental(context, used);
    if (context.is_rehearsal()) {
        context.rehearse(ask_way(rental));
        return 0;
    }
    const auto& given = context.arguments().operands;
    if (given.size() == used)
        throw Failure(Exit::usage,
                      "berth rentals forward needs a port of the rental, such as 8888");
    std::vector<std::string> ways;
    for (std::size_t i = used; i < given.size(); ++i) ways.push_back(forwarding(given[i]));
    const Way way = find_way(context, rental);
    auto words = way.options("-p");
    words.insert(words.end(), {"-N", "-o", "ExitOnForwardFailure=yes"});
    for (const std::string& each : ways) {
        words.insert(words.end(), {"-L", each});
        context.console().say(fmt::format("{} until Ctrl-C", each));
    }
    words.insert(words.end(), {"-l", way.login, way.host});
    watch_beside(context, rental);
    become(context, "ssh", words);
}

}  // namespace berth::cli
