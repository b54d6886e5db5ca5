#include "chain/rlp.hpp"

#include <algorithm>

namespace berth::chain::rlp {
namespace {

constexpr unsigned string_base = 0x80;
constexpr unsigned list_base = 0xC0;
constexpr std::size_t short_bytes_max = 55;

std::string_view without_leading_zeros(std::string_view big_endian) {
    return big_endian.substr(std::min(big_endian.find_first_not_of('\0'), big_endian.size()));
}

Bytes big_endian(std::uint64_t number) {
    Bytes eight;
    append_big_endian(eight, number);
    return Bytes(without_leading_zeros(eight));
}

Bytes head(unsigned base, std::size_t length) {
    if (length <= short_bytes_max) return Bytes(1, static_cast<char>(base + length));
    const Bytes digits = big_endian(length);
    return Bytes(1, static_cast<char>(base + short_bytes_max + digits.size())) + digits;
}

bool is_its_own_encoding(std::string_view bytes) {
    return bytes.size() == 1 && static_cast<unsigned char>(bytes[0]) < string_base;
}

// Takes items off the front of what it is given.
class Reader {
public:
    explicit Reader(std::string_view data) : rest_(data) {}

    bool at_end() const { return rest_.empty(); }

    std::optional<Item> item(int depth) {
        if (rest_.empty() || depth > decode_depth_max) return std::nullopt;
        const auto first = static_cast<unsigned char>(rest_[0]);
        if (first < string_base) return Item{false, Bytes(take(1)), {}};
        const bool is_list = first >= list_base;
        rest_.remove_prefix(1);
        const auto length = payload_length(first - (is_list ? list_base : string_base));
        if (!length || *length > rest_.size()) return std::nullopt;
        const std::string_view payload = take(*length);
        if (is_list) return list(payload, depth);
        if (is_its_own_encoding(payload)) return std::nullopt;
        return Item{false, Bytes(payload), {}};
    }

private:
    std::string_view take(std::size_t count) {
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }

    // `kind` is the length itself, or how many more than 55 bytes tell the length.
    std::optional<std::size_t> payload_length(std::size_t kind) {
        if (kind <= short_bytes_max) return kind;
        const std::size_t digits = kind - short_bytes_max;
        if (digits > rest_.size() || rest_[0] == '\0') return std::nullopt;
        std::size_t length = 0;  // at most eight digits
        for (const char digit : take(digits))
            length = length << 8 | static_cast<unsigned char>(digit);
        if (length <= short_bytes_max) return std::nullopt;
        return length;
    }

    static std::optional<Item> list(std::string_view payload, int depth) {
        Item made{true, {}, {}};
        Reader reader(payload);
        while (!reader.at_end()) {
            auto member = reader.item(depth + 1);
            if (!member) return std::nullopt;
            made.items.push_back(std::move(*member));
        }
        return made;
    }

    std::string_view rest_;
};

}  // namespace

Bytes encode_bytes(std::string_view bytes) {
    if (is_its_own_encoding(bytes)) return Bytes(bytes);
    return head(string_base, bytes.size()).append(bytes);
}

Bytes encode_number(std::uint64_t number) { return encode_bytes(big_endian(number)); }

Bytes encode_number(std::string_view big_endian) {
    return encode_bytes(without_leading_zeros(big_endian));
}

Bytes encode_list(std::string_view encoded_items) {
    return head(list_base, encoded_items.size()).append(encoded_items);
}

Bytes encode(const Item& item) {
    if (!item.is_list) return encode_bytes(item.bytes);
    Bytes inside;
    for (const Item& member : item.items) inside += encode(member);
    return encode_list(inside);
}

std::optional<Item> decode(std::string_view data) {
    if (data.size() > decode_bytes_max) return std::nullopt;
    Reader reader(data);
    auto item = reader.item(1);
    if (!item || !reader.at_end()) return std::nullopt;
    return item;
}

}  // namespace berth::chain::rlp
