#include "cli/ssh_key.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/program.hpp"
#include "cli/console.hpp"
#include "cli/exit.hpp"
#include "wire/document.hpp"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t key_letters_max = 4096;  // what a reservation takes
constexpr std::size_t key_file_bytes_max = 64 << 10;
constexpr std::chrono::seconds agent_wait_max{5};

// The kinds that hosts let in, and of how many fields each consists, the first being its name.
struct KeyKind {
    std::string_view name;
    std::size_t fields;
    std::string_view curve{};          // the second field
    std::size_t second_field_bytes{};  // 0: any
};
constexpr auto key_kinds = std::to_array<KeyKind>({
    {"ssh-ed25519", 2, {}, 32},
    {"ssh-rsa", 3},
    {"ecdsa-sha2-nistp256", 3, "nistp256"},
    {"ecdsa-sha2-nistp384", 3, "nistp384"},
    {"ecdsa-sha2-nistp521", 3, "nistp521"},
    {"sk-ssh-ed25519@openssh.com", 3, {}, 32},
    {"sk-ecdsa-sha2-nistp256@openssh.com", 4, "nistp256"},
});

// The fields of a key in the format of SSH: each is its length in four bytes, then its bytes. Empty
// when they do not end where the key does.
std::vector<std::string_view> split_fields(std::string_view bytes) {
    std::vector<std::string_view> fields;
    while (!bytes.empty()) {
        if (bytes.size() < 4) return {};
        std::size_t length = 0;
        for (std::size_t i = 0; i < 4; ++i)
            length = length << 8 | static_cast<unsigned char>(bytes[i]);
        bytes.remove_prefix(4);
        if (length == 0 || length > bytes.size()) return {};
        fields.push_back(bytes.substr(0, length));
        bytes.remove_prefix(length);
    }
    return fields;
}

bool is_key_of_kind(const KeyKind& kind, std::string_view bytes) {
    const auto fields = split_fields(bytes);
    return fields.size() == kind.fields && fields[0] == kind.name &&
           (kind.curve.empty() || fields[1] == kind.curve) &&
           (kind.second_field_bytes == 0 || fields[1].size() == kind.second_field_bytes);
}

// Lines with something in them; a comment has a line of its own.
std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first != line.npos && line[first] != '#') lines.emplace_back(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

// Of a file of ours that may not be there.
std::string read_if_there(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::string text(key_file_bytes_max, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
}

std::optional<std::string> first_key_in(std::string_view text) {
    for (const std::string& line : lines_of(text))
        if (auto key = parse_public_key(line)) return key;
    return std::nullopt;
}

// The advice for somebody who named `file`: the public key beside it, or how to get one.
std::string advice_about(const std::string& file, bool is_private) {
    const std::string beside = file + ".pub";
    if (first_key_in(read_if_there(beside)))
        return fmt::format("; the public key is beside it: --ssh-key {}", printable(beside));
    return is_private
               ? fmt::format("; `ssh-keygen -y -f {}` prints its public key", printable(file))
               : "; a public key is a line such as 'ssh-ed25519 … me'";
}

Failure no_public_key(const std::string& file, std::string_view text) {
    const bool is_file = !file.empty() && file != "-";
    const std::string what = is_file ? "--ssh-key " + printable(file) : "--ssh-key";
    if (holds_private_key(text))
        return {Exit::usage,
                fmt::format("{}: this is a private key, which never leaves this machine{}", what,
                            is_file ? advice_about(file, true) : "; give the public one")};
    const auto lines = lines_of(text);
    const bool are_keys =
        lines.size() > 1 && std::all_of(lines.begin(), lines.end(), [](const std::string& line) {
            return parse_public_key(line).has_value();
        });
    if (are_keys)
        return {Exit::usage,
                fmt::format("{}: holds {} keys, and a rental takes one", what, lines.size())};
    return {Exit::usage, fmt::format("{}: is no public key of OpenSSH, and nothing was sent{}",
                                     what, is_file ? advice_about(file, false) : "")};
}

std::optional<OwnPublicKey> find_key_of_agent() {
    const char* const socket = ::getenv("SSH_AUTH_SOCK");
    if (socket == nullptr || *socket == '\0') return std::nullopt;
    const ProgramEnd listed =
        run_program({.arguments = {"ssh-add", "-L"}, .deadline = agent_wait_max});
    if (!listed.ok()) return std::nullopt;
    auto key = first_key_in(listed.output);
    if (!key) return std::nullopt;
    return OwnPublicKey{std::move(*key), "the SSH agent"};
}

// ed25519 first, then by name, so that the same command means the same key again.
std::optional<OwnPublicKey> find_key_of_home() {
    const char* const home = ::getenv("HOME");
    if (home == nullptr || *home == '\0') return std::nullopt;
    std::vector<std::string> files;
    std::error_code none;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(std::string(home) + "/.ssh", none)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("id_") && name.ends_with(".pub") && entry.is_regular_file(none))
            files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end(), [](const std::string& left, const std::string& right) {
        const auto is_usual = [](const std::string& file) {
            return file.ends_with("/id_ed25519.pub");
        };
        return is_usual(left) != is_usual(right) ? is_usual(left) : left < right;
    });
    for (const std::string& file : files)
        if (auto key = first_key_in(read_if_there(file)))
            return OwnPublicKey{std::move(*key), file};
    return std::nullopt;
}

}  // namespace

std::optional<std::string> parse_public_key(std::string_view line) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(begin);
    line = line.substr(0, line.find_last_not_of(" \t\r\n") + 1);
    if (line.find_first_of("\r\n") != line.npos || holds_private_key(line)) return std::nullopt;
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view name = line.substr(0, end);
    std::string_view rest = line.substr(end);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    const std::string text(rest.substr(0, rest.find_first_of(" \t")));
    const auto kind = std::find_if(key_kinds.begin(), key_kinds.end(),
                                   [&](const KeyKind& each) { return each.name == name; });
    if (kind == key_kinds.end()) return std::nullopt;
    const auto bytes = from_base64(text);
    // One spelling alone: the server reads no other.
    if (!bytes || to_base64(*bytes) != text || !is_key_of_kind(*kind, *bytes)) return std::nullopt;
    std::string key = fmt::format("{} {}", name, text);
    if (key.size() > key_letters_max) return std::nullopt;
    return key;
}

bool holds_private_key(std::string_view text) {
    constexpr std::size_t title_letters_max = 40;
    constexpr std::string_view begin = "BEGIN ";
    for (std::size_t at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
        std::string_view title = text.substr(at, title_letters_max);
        title = title.substr(0, title.find('\n'));
        if (title.find("PRIVATE KEY") != title.npos) return true;
    }
    // A file of PuTTY, "openssh-key-v1" in base64 without its frame, a V3 keystore.
    return text.find("PuTTY-User-Key-File-") != text.npos ||
           text.find("b3BlbnNzaC1rZXktdj") != text.npos ||
           (text.find("\"kdfparams\"") != text.npos && text.find("\"ciphertext\"") != text.npos);
}

std::string read_public_key(const std::string& given) {
    if (auto key = parse_public_key(given)) return *key;
    // A text that is no name of a file is not shown again, either.
    const bool is_file = given.find_first_of("\r\n") == given.npos && !holds_private_key(given) &&
                         given.find("-----") == given.npos;
    const std::string text = is_file ? read_input(given, "--ssh-key") : given;
    const auto lines = lines_of(text);
    if (lines.size() == 1 && !holds_private_key(text))
        if (auto key = parse_public_key(lines[0])) return *key;
    throw no_public_key(is_file ? given : "", text);
}

std::optional<OwnPublicKey> find_public_key() {
    if (auto key = find_key_of_agent()) return key;
    return find_key_of_home();
}

void check_body(std::string_view body, bool is_prompt) {
    if (body.empty()) return;
    wire::Document json;
    if (const auto fault = json.parse(body))
        throw Failure(Exit::usage, "the body " + *fault + "; nothing was sent");
    if (is_prompt) return;
    if (holds_private_key(body))
        throw Failure(Exit::usage,
                      "the body holds a private key, which never leaves this machine; nothing was "
                      "sent");
    if (json[0].shape != wire::Shape::object) return;
    for (std::uint32_t at = 1; at < json[0].end; at = json[at + 1].end) {
        if (json[at].text != "ssh_public_key" || json[at + 1].shape == wire::Shape::null) continue;
        if (json[at + 1].shape != wire::Shape::string || !parse_public_key(json[at + 1].text))
            throw Failure(Exit::usage,
                          "body.ssh_public_key: is no public key of OpenSSH; nothing was sent");
    }
}

std::optional<Bytes> from_base64(std::string text) {
    while (text.ends_with('=')) text.pop_back();
    if (text.find_first_of("-_") != text.npos) return std::nullopt;
    for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
    return from_base64url(text);
}

}  // namespace berth::cli
