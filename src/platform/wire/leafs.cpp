// The leafs of the wire: for each, one row with its reader, its rule in words, its writer, its
// schema and an example. Readers take JSON values and path or query parameters alike.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <limits>

#include "base/json_text.hpp"
#include "base/letters.hpp"
#include "wire/number.hpp"
#include "wire/type.hpp"

namespace berth::wire::leafs {
namespace {

template <class T>
T& as(void* out) {
    return *static_cast<T*>(out);
}
template <class T>
const T& as(const void* value) {
    return *static_cast<const T*>(value);
}

template <bool (*Fits)(char)>
bool all_of(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return Fits(c); });
}
bool is_image_letter(char c) { return c > ' ' && c < 0x7F && c != '@'; }

template <bool (*Fits)(char), std::size_t Count>
bool is_prefixed(std::string_view text, std::string_view prefix) {
    return text.size() == prefix.size() + Count && text.starts_with(prefix) &&
           all_of<Fits>(text.substr(prefix.size()));
}

bool is_evm_address(std::string_view text) { return is_prefixed<is_hex_digit, 40>(text, "0x"); }
bool is_transaction_hash(std::string_view text) {
    return is_prefixed<is_hex_digit, 64>(text, "0x");
}
bool is_sha256_hash(std::string_view text) {
    return is_prefixed<is_lower_hex, 64>(text, "sha256:");
}
bool is_six_digits(std::string_view text) { return is_prefixed<is_digit, 6>(text, ""); }
bool is_image_digest(std::string_view text) {
    const std::size_t sign = text.find('@');
    return sign != std::string_view::npos && sign > 0 &&
           all_of<is_image_letter>(text.substr(0, sign)) && is_sha256_hash(text.substr(sign + 1));
}

template <bool (*Fits)(std::string_view)>
bool read_if(const Type&, const Scalar& input, void* out) {
    if (!input.is_text() || !Fits(input.text)) return false;
    as<std::string>(out) = input.text;
    return true;
}

void write_string(const Type&, const void* value, std::string& out) {
    append_json_string(out, as<std::string>(value));
}

void write_quoted(std::string_view plain, std::string& out) {
    out.append(1, '"').append(plain).append(1, '"');
}

// The input was valid UTF-8, so a code point is every byte that does not continue another.
std::int64_t code_points(std::string_view text) {
    return std::count_if(text.begin(), text.end(),
                         [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

bool read_bounded_text(const Type& type, const Scalar& input, void* out) {
    if (!input.is_text()) return false;
    const std::int64_t count = code_points(input.text);
    if (count < type.low || count > type.high) return false;
    as<std::string>(out) = input.text;
    return true;
}

std::string bounded_text_rule(const Type& type, const Scalar& input) {
    if (!input.is_text()) return "must be a string";
    if (type.low == type.high) return fmt::format("must have {} characters", type.low);
    if (type.low == 0) return fmt::format("must have at most {} characters", type.high);
    return fmt::format("must have {} to {} characters", type.low, type.high);
}

void constrain_text(const Type& type, boost::json::object& schema) {
    schema["minLength"] = type.low;
    schema["maxLength"] = type.high;
}

std::string bounded_text_example(const Type& type) {
    constexpr std::string_view word = "example";
    const std::int64_t usual = std::min(static_cast<std::int64_t>(word.size()), type.high);
    const auto count = static_cast<std::size_t>(std::max(usual, type.low));
    std::string out;
    while (out.size() < count) out += word.substr(0, count - out.size());
    return out;
}

bool read_integer(const Type& type, const Scalar& input, void* out) {
    if (input.shape != Shape::number && input.shape != Shape::text) return false;
    const auto value = parse_integer(input.text);
    if (!value || *value < type.low || *value > type.high) return false;
    as<std::int64_t>(out) = *value;
    return true;
}

std::string integer_rule(const Type& type, const Scalar&) {
    return fmt::format("must be an integer from {} to {}", type.low, type.high);
}

constexpr std::int64_t no_low = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t no_high = std::numeric_limits<std::int64_t>::max();

void constrain_integer(const Type& type, boost::json::object& schema) {
    if (type.low != no_low) schema["minimum"] = type.low;
    if (type.high != no_high) schema["maximum"] = type.high;
}

// A Constant holds nothing: its value is in the type.
bool read_constant(const Type& type, const Scalar& input, void*) {
    return (input.shape == Shape::number || input.shape == Shape::text) &&
           parse_integer(input.text) == type.low;
}

// A Literal likewise.
bool read_literal(const Type& type, const Scalar& input, void*) {
    return input.is_text() && input.text == type.name;
}

bool read_decimal(const Type& type, const Scalar& input, void* out) {
    const auto value = input.is_text() ? parse_decimal(input.text) : std::nullopt;
    if (!value || *value < type.low || *value > type.high) return false;
    as<std::int64_t>(out) = *value;
    return true;
}

bool read_signed_decimal(const Type&, const Scalar& input, void* out) {
    const auto value = input.is_text() ? parse_integer(input.text) : std::nullopt;
    if (value) as<std::int64_t>(out) = *value;
    return value.has_value();
}

std::string decimal_rule(const Type& type, const Scalar& input) {
    const std::string_view text = input.is_text() ? input.text : "";
    const bool plain = !text.empty() && all_of<is_digit>(text) && (text == "0" || text[0] != '0');
    if (!plain) return "must be a base-10 integer string";
    const auto value = parse_decimal(text);
    if (value && *value < type.low) return fmt::format("must be at least {}", type.low);
    return fmt::format("must be at most {}", type.high);
}

// JSON Schema cannot bound a number that is spelled as a string beyond its length and first digit.
void constrain_amount(const Type& type, boost::json::object& schema) {
    schema["pattern"] = type.low > 0 ? "^[1-9][0-9]{0,18}$" : "^(0|[1-9][0-9]{0,18})$";
    if (type.low > 0) schema["x-minimum"] = std::to_string(type.low);
    if (type.high == no_high) return;
    schema["maxLength"] = std::to_string(type.high).size();
    schema["x-maximum"] = std::to_string(type.high);
}

std::string amount_example(const Type& type) {
    return std::to_string(std::clamp(std::int64_t{5'000'000}, type.low, type.high));
}

void write_decimal(const Type&, const void* value, std::string& out) {
    write_quoted(fmt::format_int(as<std::int64_t>(value)).c_str(), out);
}

bool read_boolean(const Type&, const Scalar& input, void* out) {
    if (input.shape != Shape::boolean && input.shape != Shape::text) return false;
    if (input.text != "true" && input.text != "false") return false;
    as<bool>(out) = input.text == "true";
    return true;
}

bool read_number(const Type&, const Scalar& input, void* out) {
    if (input.shape != Shape::number && input.shape != Shape::text) return false;
    const auto value = parse_number(input.text);
    if (value) as<double>(out) = *value;
    return value.has_value();
}

bool read_time(const Type&, const Scalar& input, void* out) {
    const auto value = input.is_text() ? parse_rfc3339(input.text) : std::nullopt;
    if (value) as<Time>(out) = *value;
    return value.has_value();
}

bool read_uuid(const Type&, const Scalar& input, void* out) {
    const auto value = input.is_text() ? parse_uuid(input.text) : std::nullopt;
    if (value) as<Uuid>(out) = *value;
    return value.has_value();
}

bool any_text(std::string_view) { return true; }

}  // namespace

const Leaf boolean{
    .read = read_boolean,
    .write = [](const Type&, const void* value,
                std::string& out) { out += as<bool>(value) ? "true" : "false"; },
    .json_type = "boolean",
    .example = "true",
    .rule = "must be true or false",
};

const Leaf number{
    .read = read_number,
    .write = [](const Type&, const void* value,
                std::string& out) { append_number(out, as<double>(value)); },
    .json_type = "number",
    .example = "1.5",
    .rule = "must be a finite number",
};

const Leaf string{
    .read = read_if<any_text>,
    .write = write_string,
    .json_type = "string",
    .example = "example",
    .rule = "must be a string",
};

const Leaf bounded_text{
    .read = read_bounded_text,
    .write = write_string,
    .json_type = "string",
    .constrain = constrain_text,
    .example_for = bounded_text_example,
    .rule_for = bounded_text_rule,
};

const Leaf integer{
    .read = read_integer,
    .write = [](const Type&, const void* value,
                std::string& out) { out += fmt::format_int(as<std::int64_t>(value)).c_str(); },
    .json_type = "integer",
    .constrain = constrain_integer,
    .example_for =
        [](const Type& type) {
            return std::to_string(std::clamp(std::int64_t{1}, type.low, type.high));
        },
    .rule_for = integer_rule,
};

const Leaf constant{
    .read = read_constant,
    .write = [](const Type& type, const void*,
                std::string& out) { out += fmt::format_int(type.low).c_str(); },
    .json_type = "integer",
    .constrain = [](const Type& type, boost::json::object& schema) { schema["const"] = type.low; },
    .example_for = [](const Type& type) { return std::to_string(type.low); },
    .rule_for = [](const Type& type, const Scalar&) { return fmt::format("must be {}", type.low); },
};

const Leaf literal{
    .read = read_literal,
    .write = [](const Type& type, const void*,
                std::string& out) { append_json_string(out, type.name); },
    .json_type = "string",
    .constrain = [](const Type& type, boost::json::object& schema) { schema["const"] = type.name; },
    .example_for = [](const Type& type) { return std::string(type.name); },
    .rule_for = [](const Type& type,
                   const Scalar&) { return fmt::format("must be {}", type.name); },
};

const Leaf decimal{
    .read = read_decimal,
    .write = write_decimal,
    .json_type = "string",
    .pattern = "^(0|[1-9][0-9]{0,18})$",
    .example = "5000000",
    .rule_for = decimal_rule,
};

const Leaf amount{
    .read = read_decimal,
    .write = write_decimal,
    .json_type = "string",
    .constrain = constrain_amount,
    .example_for = amount_example,
    .rule_for = decimal_rule,
};

const Leaf signed_decimal{
    .read = read_signed_decimal,
    .write = write_decimal,
    .json_type = "string",
    .pattern = "^(0|-?[1-9][0-9]{0,18})$",
    .example = "-5000000",
    .rule = "must be a base-10 integer string of 64 bits, with a minus sign if it is negative",
};

const Leaf time{
    .read = read_time,
    .write = [](const Type&, const void* value,
                std::string& out) { write_quoted(to_rfc3339(as<Time>(value)), out); },
    .json_type = "string",
    .format = "date-time",
    .pattern = "Z$",
    .example = "2026-01-15T12:00:00Z",
    .rule = "must be an RFC 3339 time in UTC that ends in Z",
};

const Leaf uuid{
    .read = read_uuid,
    .write = [](const Type&, const void* value,
                std::string& out) { write_quoted(to_string(as<Uuid>(value)), out); },
    .json_type = "string",
    .format = "uuid",
    .example = "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57",
    .rule = "must be a UUID",
};

const Leaf evm_address{
    .read = read_if<is_evm_address>,
    .write = write_string,
    .json_type = "string",
    .pattern = "^0x[0-9a-fA-F]{40}$",
    .example = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    .rule = "must be 0x and 40 hexadecimal digits",
};

const Leaf sha256_hash{
    .read = read_if<is_sha256_hash>,
    .write = write_string,
    .json_type = "string",
    .pattern = "^sha256:[0-9a-f]{64}$",
    .example = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    .rule = "must be sha256: and 64 lower-case hexadecimal digits",
};

const Leaf image_digest{
    .read = read_if<is_image_digest>,
    .write = write_string,
    .json_type = "string",
    .pattern = "^[!-?A-~]+@sha256:[0-9a-f]{64}$",
    .example =
        "docker.io/library/busybox@sha256:"
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    .rule = "must be repository@sha256: and 64 lower-case hexadecimal digits",
};

const Leaf transaction_hash{
    .read = read_if<is_transaction_hash>,
    .write = write_string,
    .json_type = "string",
    .pattern = "^0x[0-9a-fA-F]{64}$",
    .example = "0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b",
    .rule = "must be 0x and 64 hexadecimal digits",
};

const Leaf six_digits{
    .read = read_if<is_six_digits>,
    .write = write_string,
    .json_type = "string",
    .pattern = "^[0-9]{6}$",
    .example = "123456",
    .rule = "must be six digits",
};

}  // namespace berth::wire::leafs
