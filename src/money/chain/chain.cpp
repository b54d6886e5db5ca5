#include "chain/chain.hpp"

#include <algorithm>

namespace berth::chain {

std::optional<Hash> parse_hash(std::string_view text) {
    Hash hash;
    if (text.size() != 2 + 2 * hash.bytes.size() || !text.starts_with("0x")) return std::nullopt;
    const auto bytes = from_hex(text.substr(2));
    if (!bytes) return std::nullopt;
    std::ranges::copy(*bytes, hash.bytes.begin());
    return hash;
}

std::string to_string(const Hash& hash) { return "0x" + to_hex(hash.view()); }

std::string column_text(const Hash& hash) { return to_string(hash); }

bool read_column(std::string_view text, Hash& hash) {
    const auto parsed = parse_hash(text);
    if (parsed) hash = *parsed;
    return parsed.has_value();
}

Outcome Chain::outcome(const Hash& transaction) {
    Outcome outcome = outcomes({transaction}).front();
    if (outcome.status == Outcome::Status::disputed)
        throw ProviderError("The providers contradict each other about " + to_string(transaction) +
                            ".");
    return outcome;
}

}  // namespace berth::chain
