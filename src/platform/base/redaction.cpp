#include "base/redaction.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/letters.hpp"
#include "base/log.hpp"

namespace berth {
namespace {

constexpr std::string_view mark = "[redacted]";

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = to_lower(c);
    return out;
}

// Copies a text and leaves pieces of it out; pieces come in order.
class Cutter {
public:
    explicit Cutter(std::string_view text) : text_(text) {}

    void cut(std::size_t begin, std::size_t end) {
        if (begin < done_ || begin >= end) return;
        out_.append(text_.substr(done_, begin - done_)).append(mark);
        done_ = end;
    }
    std::string finish() {
        out_.append(text_.substr(done_));
        return std::move(out_);
    }

private:
    std::string_view text_;
    std::size_t done_ = 0;
    std::string out_;
};

std::size_t line_end(std::string_view text, std::size_t at) {
    return std::min(text.find_first_of("\r\n", at), text.size());
}

bool is_base64(char c) { return is_alphanumeric(c) || c == '+' || c == '/' || c == '='; }

bool is_base64_line(std::string_view line) {
    return !line.empty() && std::all_of(line.begin(), line.end(), is_base64);
}

struct BlockMarks {
    std::string_view begin;
    std::string_view end;
    std::string_view dashes;  // that end either
};
constexpr BlockMarks pem_marks{"-----BEGIN ", "-----END ", "-----"};
constexpr BlockMarks ssh2_marks{"---- BEGIN ", "---- END ", "----"};

// Where the lines of base64 begin that end before `at`.
std::size_t base64_begin(std::string_view text, std::size_t at) {
    std::size_t begin = at;
    while (begin > 0) {
        std::size_t end = begin;
        while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == '\r')) --end;
        std::size_t first = end;
        while (first > 0 && (is_base64(text[first - 1]) || text[first - 1] == '\\')) --first;
        const bool whole_line = first == 0 || text[first - 1] == '\n' || text[first - 1] == '\r';
        if (first == end || (!whole_line && begin != at)) break;
        begin = first;
        if (!whole_line) break;
    }
    return begin;
}

// A block that has no end, as when a part of it was pasted, ends with the text; one that has no
// beginning begins with its first line of base64.
std::string without_blocks(std::string_view text, const BlockMarks& marks) {
    Cutter cutter(text);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = text.find(marks.begin, at);
        std::size_t end = text.find(marks.end, at);
        if (begin == text.npos && end == text.npos) break;
        const bool headless = begin == text.npos || end < begin;
        const std::size_t from = headless ? base64_begin(text, end) : begin;
        if (end != text.npos) end = text.find(marks.dashes, end + marks.end.size());
        end = end == text.npos ? text.size() : end + marks.dashes.size();
        cutter.cut(std::max(from, at), end);
        at = end;
    }
    return cutter.finish();
}

// A key of PuTTY: its private half is as many lines as it says.
std::string without_putty_keys(std::string_view text) {
    constexpr std::string_view name = "private-lines:";
    const std::string small = lower(text);
    Cutter cutter(text);
    for (std::size_t at = small.find(name); at != small.npos; at = small.find(name, at + 1)) {
        const std::size_t begin = at + name.size();
        std::size_t end = line_end(text, begin);
        for (std::size_t line = end; line < text.size();) {
            line = std::min(text.find_first_not_of("\r\n", line), text.size());
            const std::size_t after = line_end(text, line);
            if (!is_base64_line(text.substr(line, after - line))) break;
            line = end = after;
        }
        cutter.cut(begin, end);
    }
    return cutter.finish();
}

// 32 or 64 numbers of a byte each in brackets: how some wallets write a key.
std::string without_byte_lists(std::string_view text) {
    Cutter cutter(text);
    for (std::size_t at = text.find('['); at != text.npos; at = text.find('[', at + 1)) {
        std::size_t numbers = 0;
        std::size_t end = at + 1;
        bool bytes = true;
        while (bytes && end < text.size() && text[end] != ']') {
            if (text[end] == ',' || text[end] == ' ' || text[end] == '\n' || text[end] == '\r') {
                ++end;
                continue;
            }
            std::size_t digits = end;
            int value = 0;
            for (; digits < text.size() && is_digit(text[digits]) && value < 256; ++digits)
                value = value * 10 + (text[digits] - '0');
            bytes = digits > end && value < 256;
            ++numbers;
            end = digits;
        }
        if (bytes && (numbers == 32 || numbers == 64)) cutter.cut(at + 1, end);
        at = std::max(at, end - 1);
    }
    return cutter.finish();
}

const std::unordered_set<std::string_view>& seed_word_set() {
    static const auto words = [] {
        std::unordered_set<std::string_view> all;
        for (std::size_t at = 0; at < seed_words.size();) {
            const std::size_t space = seed_words.find(' ', at);
            all.insert(seed_words.substr(at, space - at));
            at = space + 1;
        }
        return all;
    }();
    return words;
}

// Twelve words of the list in a row. English alone does not have them: "the", "is" and "a" are not
// on it. Numbers, commas and new lines may stand between the words.
std::string without_seed_phrases(std::string_view text) {
    constexpr std::size_t words_min = 12;
    constexpr std::size_t gap_max = 12;
    constexpr std::size_t letters_max = 8;  // of a word of the list
    Cutter cutter(text);
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t words = 0;
    const auto end_run = [&] {
        if (words >= words_min) cutter.cut(begin, end);
        words = 0;
    };
    for (std::size_t at = 0; at < text.size();) {
        if (!is_letter(text[at])) {
            ++at;
            continue;
        }
        std::size_t after = at;
        while (after < text.size() && is_letter(text[after])) ++after;
        const bool listed = after - at <= letters_max &&
                            seed_word_set().contains(lower(text.substr(at, after - at)));
        if (!listed || (words > 0 && at - end > gap_max)) end_run();
        if (listed) {
            if (words++ == 0) begin = at;
            end = after;
        }
        at = after;
    }
    end_run();
    return cutter.finish();
}

// A value in quotes ends with the quote that began it.
std::size_t quoted_end(std::string_view text, std::size_t at) {
    const char quote = text[at];
    for (std::size_t i = at + 1; i < text.size(); ++i)
        if (text[i] == quote && text[i - 1] != '\\') return i;
    return text.size();
}

bool is_quote(char c) { return c == '"' || c == '\''; }

// Header lines are credentials to their end; as members of JSON, to the end of the value.
std::string without_headers(std::string_view text) {
    constexpr std::array<std::string_view, 4> names{"cookie", "authorization", "x-api-key",
                                                    "x-csrf-token"};
    const std::string small = lower(text);
    Cutter cutter(text);
    for (std::size_t colon = small.find(':'); colon != small.npos;
         colon = small.find(':', colon + 1)) {
        std::string_view before = std::string_view(small).substr(0, colon);
        while (before.ends_with(' ')) before.remove_suffix(1);
        if (!before.empty() && is_quote(before.back())) before.remove_suffix(1);
        if (before.ends_with('\\')) before.remove_suffix(1);
        const bool header = std::any_of(names.begin(), names.end(), [&](std::string_view name) {
            return before.ends_with(name);
        });
        if (!header) continue;
        const std::size_t value = text.find_first_not_of(" ", colon + 1);
        if (value != text.npos && is_quote(text[value]))
            cutter.cut(value + 1, quoted_end(text, value));
        else
            cutter.cut(colon + 1, line_end(text, colon));
    }
    return cutter.finish();
}

struct SecretName {
    std::string_view name;
    std::size_t value_min;    // a shorter value is a word of a sentence
    bool by_is = false;       // also "password is …"
    bool whole_line = false;  // its value is several words
};
constexpr std::array<SecretName, 28> secret_names{{
    {"password", 1, true},
    {"passwd", 1, true},
    {"passphrase", 1, true},
    {"pwd", 1, true},
    {"pass phrase", 1, true},
    {"secret", 6},
    {"secret key", 6, true},
    {"secret_key", 6},
    {"token", 6},
    {"api key", 6, true},
    {"api_key", 6, true},
    {"api-key", 6, true},
    {"apikey", 6, true},
    {"private key", 6, true},
    {"private_key", 6, true},
    {"privatekey", 6, true},
    {"session", 6},
    {"session_id", 6},
    {"sessionid", 6},
    {"csrf", 6},
    {"access key", 6, true},
    {"access_key", 6, true},
    {"access-key", 6, true},
    {"accesskey", 6, true},
    {"mnemonic", 6, false, true},
    {"seed phrase", 6, false, true},
    {"seed_phrase", 6, false, true},
    {"recovery phrase", 6, false, true},
}};

const SecretName* name_before(std::string_view small, std::size_t at) {
    constexpr std::size_t spaces_max = 3;
    std::size_t end = at;
    for (std::size_t i = 0; i < spaces_max && end > 0 && small[end - 1] == ' '; ++i) --end;
    if (end > 0 && (small[end - 1] == '"' || small[end - 1] == '\'')) --end;
    const std::string_view before = small.substr(0, end);
    for (const SecretName& one : secret_names)
        if (before.ends_with(one.name)) return &one;
    return nullptr;
}

// Where a value that begins behind `at` begins and ends.
struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
};
Span value_after(std::string_view text, std::size_t at) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '=' || text[at] == '>')) ++at;
    if (at < text.size() && is_quote(text[at]))
        return {at + 1, std::min(quoted_end(text, at), line_end(text, at))};
    return {at, std::min(text.find_first_of(" \t\r\n,;&\"'<>", at), text.size())};
}

// "password: hunter2", "api_key=…", "\"token\": \"…\"", "my password is …".
std::string without_named(std::string_view text) {
    constexpr std::string_view is = " is ";
    const std::string small = lower(text);
    Cutter cutter(text);
    for (std::size_t at = 0; at < small.size(); ++at) {
        const bool sign = small[at] == ':' || small[at] == '=';
        const bool verb = std::string_view(small).substr(at).starts_with(is);
        if (!sign && !verb) continue;
        const SecretName* name = name_before(small, at);
        if (name == nullptr || (verb && !name->by_is)) continue;
        Span value = value_after(text, at + (sign ? 1 : is.size()));
        if (name->whole_line && !is_quote(text[value.begin - 1]))
            value.end = line_end(text, value.begin);
        const bool cut_before = text.substr(value.begin).starts_with(mark);
        if (!cut_before && value.end >= value.begin + name->value_min)
            cutter.cut(value.begin, value.end);
    }
    return cutter.finish();
}

// What curl is told to send: "-b 'sid=…'", "--cookie …", "-u name:password".
std::string without_curl_credentials(std::string_view text) {
    constexpr std::array<std::string_view, 4> flags{" --cookie", " -b", " --user", " -u"};
    const std::string small = lower(text);
    Cutter cutter(text);
    for (std::size_t curl = small.find("curl"); curl != small.npos;) {
        std::size_t end = line_end(text, curl);
        while (end < text.size() && text[end - 1] == '\\')  // it goes on
            end = line_end(text, std::min(text.find_first_not_of("\r\n", end), text.size()));
        for (std::size_t at = curl; at < end; ++at) {
            if (text[at] != ' ') continue;
            for (const std::string_view flag : flags) {
                const std::size_t after = at + flag.size();
                if (!text.substr(at).starts_with(flag) || after >= end) continue;
                if (text[after] != ' ' && text[after] != '=' && !is_quote(text[after])) continue;
                const Span value = value_after(text, after);
                // Else it is the name of a file, or of a person.
                const std::string_view given = text.substr(value.begin, value.end - value.begin);
                if (given.find_first_of("=:") != given.npos) cutter.cut(value.begin, value.end);
            }
        }
        curl = small.find("curl", end);
    }
    return cutter.finish();
}

// Keys of other services, by how they begin, and how many letters follow at least.
struct Prefix {
    std::string_view text;
    std::size_t letters_min;
};
constexpr std::array<Prefix, 23> prefixes{{
    {"sk-", 16},     {"sk_live_", 8},
    {"sk_test_", 8}, {"rk_live_", 8},
    {"ghp_", 16},    {"gho_", 16},
    {"ghu_", 16},    {"ghs_", 16},
    {"ghr_", 16},    {"github_pat_", 16},
    {"glpat-", 8},   {"xoxb-", 8},
    {"xoxp-", 8},    {"xapp-", 8},
    {"AKIA", 16},    {"ASIA", 16},
    {"AIza", 20},    {"npm_", 16},
    {"xprv", 50},    {"tprv", 50},
    {"nsec1", 20},   {"AGE-SECRET-KEY-1", 20},
    {"whsec_", 16},
}};

bool is_base58(char c) {
    return is_alphanumeric(c) && c != '0' && c != 'O' && c != 'I' && c != 'l';
}

// A Bitcoin key for import, or a Solana key pair.
bool is_base58_key(std::string_view word) {
    if (!std::all_of(word.begin(), word.end(), is_base58)) return false;
    const bool wif = (word.size() == 51 && word[0] == '5') ||
                     (word.size() == 52 && (word[0] == 'K' || word[0] == 'L' || word[0] == 'c'));
    return wif || (word.size() >= 86 && word.size() <= 90);
}

bool is_web_token(std::string_view word) {
    return word.starts_with("eyJ") && word.size() >= 20 &&
           std::count(word.begin(), word.end(), '.') >= 2;
}

// 32 or 64 bytes in base64: how many tools write a private key.
bool is_base64_key(std::string_view word) {
    const std::size_t letters = std::min(word.find('='), word.size());
    const bool whole = (word.size() == 44 && letters == 43) || (word.size() == 88 && letters == 86);
    return whole && is_base64_line(word);
}

bool starts_as_key(std::string_view word) {
    for (const Prefix& prefix : prefixes)
        if (word.starts_with(prefix.text) && word.size() >= prefix.text.size() + prefix.letters_min)
            return true;
    return is_base58_key(word);
}

// Cuts the words that are keys. A word is made of letters, digits and `also`.
std::string without_words(std::string_view text, std::string_view also,
                          bool (*is_key)(std::string_view)) {
    const auto in_word = [&](char c) { return is_alphanumeric(c) || also.find(c) != also.npos; };
    Cutter cutter(text);
    for (std::size_t at = 0; at < text.size();) {
        if (!in_word(text[at])) {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && in_word(text[end])) ++end;
        std::string_view word = text.substr(at, end - at);
        while (word.ends_with('.')) word.remove_suffix(1);  // of a sentence
        if (is_key(word)) cutter.cut(at, at + word.size());
        at = end;
    }
    return cutter.finish();
}

std::string without_keys(std::string_view text) {
    std::string out = without_words(text, "_-", starts_as_key);
    out = without_words(out, "_-.", is_web_token);
    return without_words(out, "+/=", is_base64_key);
}

// "tx 0x…", "sha256:…", "transaction hash is …", "https://…/tx/0x…".
bool is_named_hash(std::string_view before) {
    constexpr std::array<std::string_view, 17> names{
        "tx",      "txid",     "txn",        "tx_hash", "txhash",        "transaction",
        "hash",    "sha256",   "digest",     "block",   "evidence_hash", "deposit",
        "payment", "transfer", "withdrawal", "payout",  "return"};
    constexpr std::array<std::string_view, 4> fillers{"is", "was", "id", "no"};
    if (before.ends_with("0x")) before.remove_suffix(2);
    for (int words = 0; words < 2; ++words) {
        const auto in_word = [](char c) { return is_alphanumeric(c) || c == '_'; };
        std::size_t end = before.size();
        while (end > 0 && !in_word(before[end - 1])) --end;
        std::size_t begin = end;
        while (begin > 0 && in_word(before[begin - 1])) --begin;
        const std::string word = lower(before.substr(begin, end - begin));
        if (std::find(names.begin(), names.end(), word) != names.end()) return true;
        if (std::find(fillers.begin(), fillers.end(), word) == fillers.end()) return false;
        before = before.substr(0, begin);
    }
    return false;
}

// What of 64 hex digits stays.
struct Kept {
    const IsKnownTransaction& is_known;
    bool named = false;
};

// 32 bytes in hex are a transaction that is known, or else may be a private key; so may more.
std::string without_hex(std::string_view text, const Kept& kept) {
    constexpr std::size_t digits = 64;
    int asked = 0;
    Cutter cutter(text);
    for (std::size_t at = 0; at < text.size();) {
        if (!is_hex_digit(text[at])) {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && is_hex_digit(text[end])) ++end;
        const bool known =
            end - at == digits && ((kept.named && is_named_hash(text.substr(0, at))) ||
                                   (kept.is_known && asked++ < known_transactions_max &&
                                    kept.is_known("0x" + lower(text.substr(at, digits)))));
        if (end - at >= digits && !known) cutter.cut(at, end);
        at = end;
    }
    return cutter.finish();
}

std::string cleaned(std::string_view text, const Kept& kept) {
    std::string out = without_blocks(text, pem_marks);
    out = without_blocks(out, ssh2_marks);
    out = without_putty_keys(out);
    out = without_byte_lists(out);
    out = without_seed_phrases(out);
    out = without_headers(out);
    out = without_named(out);
    out = without_curl_credentials(out);
    out = without_keys(out);
    out = without_hex(out, kept);
    return redact(out);
}

}  // namespace

std::string without_secrets(std::string_view text, const IsKnownTransaction& is_known) {
    return cleaned(text, {is_known});
}

std::string without_unnamed_secrets(std::string_view text, const IsKnownTransaction& is_known) {
    return cleaned(text, {is_known, true});
}

}  // namespace berth
