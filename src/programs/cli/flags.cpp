#include "cli/flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json_text.hpp"
#include "base/letters.hpp"
#include "base/money.hpp"
#include "cli/reading.hpp"
#include "wire/wire.hpp"

namespace berth::cli {
namespace {

using wire::Kind;
using wire::Type;

const Type& unwrapped(const Type& type) {
    const Type* at = &type;
    while (at->kind == Kind::optional || at->kind == Kind::nullable) at = &at->inner();
    return *at;
}

enum class Unit { none, money, rate, bytes, seconds };

struct Suffix {
    std::string_view text;
    Unit unit;
    std::string_view value;
};
// The first that fits counts.
constexpr auto suffixes = std::to_array<Suffix>({
    {"_micro_per_hour", Unit::rate, "AMOUNT/h"},
    {"_micro", Unit::money, "AMOUNT"},
    {"_bytes", Unit::bytes, "SIZE"},
    {"_s", Unit::seconds, "DURATION"},
});

const Suffix* suffix_of(std::string_view member) {
    const auto found = std::find_if(suffixes.begin(), suffixes.end(), [&](const Suffix& suffix) {
        return member.ends_with(suffix.text);
    });
    return found == suffixes.end() ? nullptr : &*found;
}

// Members that have a word of their own on the command line, in quotes and rentals the same. A
// template that is named by its slug is no id.
struct Word {
    std::string_view member;
    std::string_view flag;
};
constexpr auto usual_words = std::to_array<Word>({
    {"offer_id", "offer"},
    {"template_id", "template"},
    {"duration_limit_s", "duration"},
    {"min_vram_gib", "min-vram"},
    {"wallet_binding_id", "wallet"},
});

const Word* word_of(std::string_view member, const Type& type) {
    if (member.ends_with("_id") && type.leaf != &wire::leafs::uuid) return nullptr;
    const auto found = std::find_if(usual_words.begin(), usual_words.end(),
                                    [&](const Word& word) { return word.member == member; });
    return found == usual_words.end() ? nullptr : &*found;
}

std::string flag_name(std::string_view member, const Suffix* suffix) {
    std::string name(member.substr(0, member.size() - (suffix ? suffix->text.size() : 0)));
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

bool is_scalar(const Type& type) {
    return type.kind == Kind::leaf || type.kind == Kind::secret || type.kind == Kind::enumeration;
}

std::string value_word(const Type& type, const Suffix* suffix) {
    if (suffix != nullptr) return std::string(suffix->value);
    if (type.kind == Kind::enumeration) {
        std::string all;
        for (const wire::Enumerator& each : type.enumerators)
            all += (all.empty() ? "" : "|") + std::string(each.name);
        return all;
    }
    if (type.kind == Kind::array && is_scalar(unwrapped(type.inner())))
        return value_word(unwrapped(type.inner()), nullptr) + ",…";
    if (!is_scalar(type)) return "JSON|@FILE";
    if (type.leaf == &wire::leafs::time) return "TIME";
    if (type.leaf == &wire::leafs::uuid) return "ID";
    return type.leaf->json_type == "string" ? "TEXT" : "NUMBER";
}

Flag flag_of(const wire::Member& member, const Type& owner, Place place) {
    const Type& type = member.type();
    const Type& held = unwrapped(type);
    const Suffix* const suffix = suffix_of(member.name);
    Flag flag;
    flag.member = member.name;
    flag.type = &type;
    flag.place = place;
    flag.secret = is_secret(member.name);
    flag.required = type.kind != Kind::optional;
    const Word* const word = word_of(member.name, held);
    flag.name = word != nullptr ? std::string(word->flag) : flag_name(member.name, suffix);
    if (flag.secret) {
        flag.name += "-file";
        flag.value = "FILE";
    } else if (held.leaf != &wire::leafs::boolean) {
        flag.value =
            held.leaf == &wire::leafs::literal ? std::string(held.name) : value_word(held, suffix);
    }
    for (const wire::Doc& doc : owner.docs) {
        if (doc.member != member.name) continue;
        flag.help = doc.text;
        flag.fallback = doc.fallback;
    }
    return flag;
}

// The flags of a choice between shapes: the members of all of them. A member that not every shape
// has may be left out.
void add_flags(std::vector<Flag>& flags, const Type& type, Place place) {
    if (type.kind == Kind::structure) {
        for (const wire::Member& member : type.members)
            flags.push_back(flag_of(member, type, place));
        return;
    }
    if (type.kind != Kind::one_of) return;
    std::map<std::string_view, std::size_t> seen;
    const std::size_t first = flags.size();
    for (const wire::Variant& variant : type.variants) {
        for (const wire::Member& member : variant.type().members) {
            Flag flag = flag_of(member, variant.type(), place);
            const auto same =
                std::find_if(flags.begin() + static_cast<std::ptrdiff_t>(first), flags.end(),
                             [&](const Flag& other) { return other.name == flag.name; });
            ++seen[member.name];
            if (same == flags.end())
                flags.push_back(std::move(flag));
            else if (unwrapped(*flag.type).leaf == &wire::leafs::literal)
                same->value += "|" + flag.value;
        }
    }
    for (std::size_t i = first; i < flags.size(); ++i)
        flags[i].required = seen[flags[i].member] == type.variants.size() && flags[i].required;
}

Failure bad_value(const Flag& flag, std::string_view text, std::string_view rule) {
    return {Exit::usage, fmt::format("--{} {}: {}", flag.name, printable(text), rule)};
}

// Whole numbers are spelled as the type wants them, in quotes or not.
std::string number_json(const Type& type, std::int64_t value) {
    const bool is_text = type.leaf != nullptr && type.leaf->json_type == "string";
    return is_text ? fmt::format("\"{}\"", value) : std::to_string(value);
}

std::string with_unit(const Flag& flag, const Type& type, Unit unit, const std::string& text) {
    std::optional<std::int64_t> value;
    std::string_view rule;
    switch (unit) {
        case Unit::money:
        case Unit::rate:
            value = parse_money(text);
            rule = "must be an amount such as 0.45, with at most six decimals";
            break;
        case Unit::bytes:
            value = parse_bytes(text);
            rule = "must be a size such as 24GiB";
            break;
        case Unit::seconds:
            value = parse_seconds(text);
            rule = "must be a duration such as 90s, 10m, 2h or 7d";
            break;
        case Unit::none: break;
    }
    if (!value) throw bad_value(flag, text, rule);
    return number_json(type, *value);
}

std::string any_json(const Flag& flag, const std::string& text) {
    const std::string json =
        text.starts_with('@') ? read_input(text.substr(1), "--" + flag.name) : text;
    wire::Document document;
    if (!document.parse(json)) return json;
    if (flag.type != nullptr && unwrapped(*flag.type).kind == Kind::json) return json_quoted(text);
    throw bad_value(flag, text, "must be JSON, or @FILE");
}

std::string scalar_json(const Flag& flag, const Type& type, const std::string& text, Time now) {
    if (type.kind == Kind::enumeration) {
        for (const wire::Enumerator& each : type.enumerators)
            if (each.name == text) return json_quoted(text);
        throw bad_value(flag, text, "must be one of " + value_word(type, nullptr));
    }
    if (type.leaf == &wire::leafs::boolean) {
        if (text == "true" || text == "false") return text;
        throw bad_value(flag, text, "must be true or false");
    }
    if (type.leaf == &wire::leafs::time) {
        if (const auto moment = parse_moment(text, now)) return json_quoted(to_rfc3339(*moment));
        throw bad_value(flag, text, "must be a time such as 2026-12-01T00:00:00Z, now, or +2h");
    }
    if (type.leaf != nullptr && type.leaf->json_type == "string") return json_quoted(text);
    if (flag.member.ends_with("_gib"))
        if (const auto size = parse_gib(text)) return std::to_string(*size);
    wire::Document document;
    if (!document.parse(text) && document[0].shape == wire::Shape::number) return text;
    throw bad_value(flag, text, "must be a number");
}

std::string list_json(const Flag& flag, const Type& item, std::string_view text, Time now) {
    std::string out = "[";
    while (true) {
        const std::size_t comma = text.find(',');
        if (out.size() > 1) out += ',';
        out += scalar_json(flag, item, std::string(text.substr(0, comma)), now);
        if (comma == std::string_view::npos) return out + "]";
        text.remove_prefix(comma + 1);
    }
}

// "12m" into 12 and 'm'; the number may be missing its unit.
std::optional<std::pair<std::int64_t, std::string>> split_unit(std::string_view text) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    const auto digits = static_cast<std::size_t>(end - text.begin());
    const auto number = parse_decimal(text.substr(0, digits));
    if (!number) return std::nullopt;
    return std::pair(*number, std::string(text.substr(digits)));
}

std::optional<std::int64_t> times(std::int64_t number, std::int64_t factor) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(number, factor, &product)) return std::nullopt;
    return product;
}

}  // namespace

std::string_view present_name(std::string_view flag) {
    for (const Word& word : usual_words)
        if (flag_name(word.member, suffix_of(word.member)) == flag) return word.flag;
    return flag;
}

bool is_secret(std::string_view member) { return member == "token" || member == "code"; }

std::string flag_of_member(std::string_view member) { return flag_name(member, suffix_of(member)); }

std::string operand_of_path(const Command& command, std::string_view member) {
    std::string name(member);
    std::transform(name.begin(), name.end(), name.begin(), to_upper);
    const auto operands = operands_of(command);
    if (std::find(operands.begin(), operands.end(), name) != operands.end()) return name;
    if (operands.empty()) return "";
    std::string first = operands[0];
    std::erase_if(first, [](char c) { return c == '[' || c == ']'; });
    return first;
}

std::vector<Flag> flags_of(const Command& command) {
    std::vector<Flag> flags;
    for (const OwnFlag& own : command.flags)
        flags.push_back({.name = std::string(own.name),
                         .value = std::string(own.value),
                         .help = std::string(own.help),
                         .fallback = std::string(own.fallback),
                         .required = own.required});
    if (command.query != nullptr) add_flags(flags, command.query(), Place::query);
    if (command.body != nullptr) add_flags(flags, command.body(), Place::body);
    return flags;
}

std::vector<std::string> operands_of(const Command& command) {
    std::vector<std::string> operands;
    std::string_view rest = command.path;
    if (command.run != nullptr) {
        rest = command.operands;
        while (!rest.empty()) {
            const std::size_t space = rest.find(' ');
            operands.emplace_back(rest.substr(0, space));
            rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
        }
        return operands;
    }
    const bool is_rental = command.words.starts_with("rentals ");
    for (std::size_t open = rest.find('{'); open != std::string_view::npos; open = rest.find('{')) {
        const std::size_t close = rest.find('}');
        std::string name(rest.substr(open + 1, close - open - 1));
        std::transform(name.begin(), name.end(), name.begin(), to_upper);
        operands.push_back(is_rental ? "[RENTAL]" : name);
        rest.remove_prefix(close + 1);
    }
    return operands;
}

std::string json_of(const Flag& flag, const std::string& text, Time now) {
    if (flag.type->kind == Kind::nullable && text == "null") return text;
    const Type& type = unwrapped(*flag.type);
    const Suffix* const suffix = suffix_of(flag.member);
    if (flag.secret) return json_quoted(text);
    if (suffix != nullptr) return with_unit(flag, type, suffix->unit, text);
    if (is_scalar(type)) return scalar_json(flag, type, text, now);
    const bool is_list = type.kind == Kind::array && is_scalar(unwrapped(type.inner()));
    if (is_list && !text.starts_with('[') && !text.starts_with('@'))
        return list_json(flag, unwrapped(type.inner()), text, now);
    return any_json(flag, text);
}

std::optional<std::int64_t> parse_money(std::string_view text) {
    constexpr std::size_t decimals = 6;
    const std::size_t dot = text.find('.');
    const std::string_view whole = text.substr(0, dot);
    std::string fraction(dot == std::string_view::npos ? "" : text.substr(dot + 1));
    if (fraction.size() > decimals || (dot != std::string_view::npos && fraction.empty()) ||
        !std::all_of(fraction.begin(), fraction.end(), is_digit))
        return std::nullopt;
    fraction.resize(decimals, '0');
    const auto units = parse_decimal(whole);
    if (!units) return std::nullopt;
    const auto micro = times(*units, 1'000'000);
    std::int64_t sum = 0;
    const std::int64_t rest = std::stoll(fraction);
    if (!micro || __builtin_add_overflow(*micro, rest, &sum)) return std::nullopt;
    return sum;
}

std::optional<std::int64_t> parse_seconds(std::string_view text) {
    const auto parts = split_unit(text);
    if (!parts) return std::nullopt;
    const auto& [number, unit] = *parts;
    if (unit.empty() || unit == "s") return number;
    if (unit == "m") return times(number, 60);
    if (unit == "h") return times(number, 3600);
    if (unit == "d") return times(number, 86'400);
    return std::nullopt;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
    const auto parts = split_unit(text);
    if (!parts) return std::nullopt;
    const auto& [number, unit] = *parts;
    if (unit.empty()) return number;
    if (unit == "GiB" || unit == "G") return times(number, 1 << 30);
    if (unit == "MiB" || unit == "M") return times(number, 1 << 20);
    return std::nullopt;
}

std::optional<std::int64_t> parse_gib(std::string_view text) {
    const auto parts = split_unit(text);
    if (!parts) return std::nullopt;
    const auto& [number, unit] = *parts;
    const bool is_size = unit.empty() || unit == "G" || unit == "GB" || unit == "GiB";
    return is_size ? std::optional(number) : std::nullopt;
}

std::optional<Time> parse_moment(std::string_view text, Time now) {
    if (text == "now") return now;
    if (!text.starts_with('+')) return parse_rfc3339(text);
    const auto seconds = parse_seconds(text.substr(1));
    constexpr std::int64_t seconds_max = 100LL * 366 * 86'400;
    if (!seconds || *seconds > seconds_max) return std::nullopt;
    return now + std::chrono::seconds(*seconds);
}

}  // namespace berth::cli
