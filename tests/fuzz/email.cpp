// Addresses and letters: whatever the input, an accepted address is safe in a header and a command,
// and a letter has exactly its nine headers and short lines of ASCII.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "mail/address.hpp"
#include "mail/mime.hpp"

using namespace berth;
using namespace berth::mail;

namespace {

constexpr std::size_t header_count = 9;

bool is_printable(char c) { return c >= 0x20 && c < 0x7F; }

void read_address(std::string_view text) {
    const auto key = normalized_email(text);
    check(key.has_value() == is_email(text), "an address has a key");
    if (!key) return;
    check(normalized_email(*key) == key, "a key is its own key");
    check(text.find_first_of(" <>()[],;:\\\"") == std::string_view::npos &&
              std::all_of(text.begin(), text.end(), is_printable),
          "an address is safe as it is");
}

// The number of header lines, without those that go on an earlier one.
std::size_t count_headers(std::string_view head) {
    std::size_t count = 0;
    while (!head.empty()) {
        const std::size_t end = head.find("\r\n");
        if (head.front() != ' ') {
            check(head.substr(0, end).find(": ") != std::string_view::npos, "a header has a name");
            ++count;
        }
        if (end == std::string_view::npos) break;
        head.remove_prefix(end + 2);
    }
    return count;
}

void check_lines(std::string_view message) {
    while (!message.empty()) {
        const std::size_t end = message.find("\r\n");
        check(end != std::string_view::npos, "the last line ends");
        check(end <= 998, "no line is too long");
        for (const char c : message.substr(0, end))
            check(is_printable(c) || c == '\t', "a message is plain ASCII");
        message.remove_prefix(end + 2);
    }
}

// The text of the message, with LF, as a reader of quoted-printable gets it.
std::string decoded(std::string_view body) {
    std::string out;
    for (std::size_t i = 0; i < body.size();) {
        if (body.substr(i).starts_with("=\r\n")) {
            i += 3;
        } else if (body.substr(i).starts_with("\r\n")) {
            out += '\n';
            i += 2;
        } else if (body[i] == '=') {
            out += from_hex(body.substr(i + 1, 2)).value();
            i += 3;
        } else {
            out += body[i++];
        }
    }
    return out;
}

std::string with_single_line_ends(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (!text.substr(i).starts_with("\r\n")) out += text[i];
    if (!out.empty() && out.back() != '\n') out += '\n';
    return out;
}

void write_letter(std::string_view subject, std::string_view text) {
    if (!is_subject(subject) || !is_text(text)) return;
    const Letter letter{.id = "0190a8f0-0000-7000-8000-000000000001",
                        .date = Time{1'794'712'001'000'000},
                        .from = "berth@localhost",
                        .to = "alice@example.com",
                        .subject = std::string(subject),
                        .text = std::string(text)};
    const std::string message = write_message(letter);
    check_lines(message);
    const std::size_t head = message.find("\r\n\r\n");
    check(count_headers(std::string_view(message).substr(0, head)) == header_count,
          "no header came from outside");
    if (message.find("\r\nContent-Transfer-Encoding: quoted-printable\r\n") < head)
        check(decoded(std::string_view(message).substr(head + 4)) == with_single_line_ends(text),
              "a text survives its encoding");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read_address(text);
    const std::size_t end = std::min(text.find('\0'), size);
    write_letter(text.substr(0, end), text.substr(std::min(end + 1, size)));
    return 0;
}
