#include "tickets/redaction.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/letters.hpp"
#include "base/log.hpp"

namespace berth::tickets {
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

// A block that has no end, as when a part of it was pasted, ends with the text.
std::string without_pem(std::string_view text) {
    constexpr std::string_view begin_mark = "-----BEGIN ";
    constexpr std::string_view end_mark = "-----END ";
    constexpr std::string_view dashes = "-----";
    Cutter cutter(text);
    for (std::size_t at = text.find(begin_mark); at != text.npos;) {
        std::size_t end = text.find(end_mark, at);
        if (end != text.npos) end = text.find(dashes, end + end_mark.size());
        end = end == text.npos ? text.size() : end + dashes.size();
        cutter.cut(at, end);
        at = text.find(begin_mark, end);
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

std::size_t line_end(std::string_view text, std::size_t at) {
    return std::min(text.find_first_of("\r\n", at), text.size());
}

// Header lines are credentials to their end.
std::string without_headers(std::string_view text) {
    constexpr std::array<std::string_view, 4> names{"cookie:", "authorization:", "x-api-key:",
                                                    "x-csrf-token:"};
    const std::string small = lower(text);
    Cutter cutter(text);
    for (std::size_t colon = small.find(':'); colon != small.npos;
         colon = small.find(':', colon + 1)) {
        const std::string_view before = std::string_view(small).substr(0, colon + 1);
        const bool header = std::any_of(names.begin(), names.end(), [&](std::string_view name) {
            return before.ends_with(name);
        });
        if (header) cutter.cut(colon + 1, line_end(text, colon));
    }
    return cutter.finish();
}

struct SecretName {
    std::string_view name;
    std::size_t value_min;  // a shorter value is a word of a sentence
    bool by_is = false;     // also "password is …"
};
constexpr std::array<SecretName, 20> secret_names{{
    {"password", 1, true},   {"passwd", 1, true},     {"passphrase", 1, true}, {"pwd", 1, true},
    {"pass phrase", 1, true}, {"secret", 6},           {"secret key", 6, true}, {"secret_key", 6},
    {"token", 6},            {"api key", 6, true},    {"api_key", 6, true},    {"api-key", 6, true},
    {"apikey", 6, true},     {"private key", 6, true}, {"private_key", 6, true},
    {"privatekey", 6, true}, {"session", 6},          {"session_id", 6},       {"sessionid", 6},
    {"csrf", 6},
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
    if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
        const char quote = text[at];
        const std::size_t close = text.find(quote, at + 1);
        return {at + 1, std::min(close, line_end(text, at))};
    }
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
        const Span value = value_after(text, at + (sign ? 1 : is.size()));
        const bool cut_before = text.substr(value.begin).starts_with(mark);
        if (!cut_before && value.end >= value.begin + name->value_min)
            cutter.cut(value.begin, value.end);
    }
    return cutter.finish();
}

// Keys of other services, by how they begin, and how many letters follow at least.
struct Prefix {
    std::string_view text;
    std::size_t letters_min;
};
constexpr std::array<Prefix, 22> prefixes{{
    {"sk-", 16},      {"sk_live_", 8}, {"sk_test_", 8}, {"rk_live_", 8}, {"ghp_", 16},
    {"gho_", 16},     {"ghu_", 16},    {"ghs_", 16},    {"ghr_", 16},    {"github_pat_", 16},
    {"glpat-", 8},    {"xoxb-", 8},    {"xoxp-", 8},    {"xapp-", 8},    {"AKIA", 16},
    {"ASIA", 16},     {"AIza", 20},    {"npm_", 16},    {"xprv", 50},    {"tprv", 50},
    {"nsec1", 20},    {"AGE-SECRET-KEY-1", 20},
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

// 32 bytes in base64: how many tools write a private key.
bool is_base64_key(std::string_view word) {
    const auto body = word.substr(0, word.size() - 1);
    return word.size() == 44 && word.back() == '=' &&
           std::all_of(body.begin(), body.end(),
                       [](char c) { return is_alphanumeric(c) || c == '+' || c == '/'; });
}

bool is_key(std::string_view word) {
    for (const Prefix& prefix : prefixes)
        if (word.starts_with(prefix.text) && word.size() >= prefix.text.size() + prefix.letters_min)
            return true;
    return is_web_token(word) || is_base58_key(word) || is_base64_key(word);
}

std::string without_keys(std::string_view text) {
    const auto in_word = [](char c) {
        return is_alphanumeric(c) || c == '_' || c == '-' || c == '.' || c == '+' || c == '/';
    };
    Cutter cutter(text);
    for (std::size_t at = 0; at < text.size();) {
        if (!in_word(text[at])) {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && in_word(text[end])) ++end;
        const std::size_t padded = end + (end < text.size() && text[end] == '=' ? 1 : 0);
        std::string_view word = text.substr(at, end - at);
        while (word.ends_with('.')) word.remove_suffix(1);  // of a sentence
        if (is_key(word))
            cutter.cut(at, at + word.size());
        else if (is_key(text.substr(at, padded - at)))
            cutter.cut(at, padded);
        at = padded;
    }
    return cutter.finish();
}

// 32 bytes in hex are a transaction that is known, or else may be a private key; so may more.
std::string without_hex(std::string_view text, const IsKnownTransaction& is_known) {
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
        const bool known = end - at == digits && asked++ < known_transactions_max &&
                           is_known("0x" + lower(text.substr(at, digits)));
        if (end - at >= digits && !known) cutter.cut(at, end);
        at = end;
    }
    return cutter.finish();
}

}  // namespace

std::string without_secrets(std::string_view text, const IsKnownTransaction& is_known) {
    std::string out = without_pem(text);
    out = without_seed_phrases(out);
    out = without_headers(out);
    out = without_named(out);
    out = without_keys(out);
    out = without_hex(out, is_known);
    return redact(out);
}

}  // namespace berth::tickets
