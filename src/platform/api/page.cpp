#include "api/page.hpp"

#include <algorithm>

#include "base/problem.hpp"
#include "crypto/hash.hpp"

namespace berth::api {
namespace {

constexpr char cursor_version = 1;
constexpr std::size_t signature_bytes = 16;

// Each part with its length before it, so that no two lists of parts share one text.
void append_part(std::string& out, std::string_view part) {
    append_big_endian(out, part.size());
    out += part;
}

}  // namespace

Bytes Cursors::signature(const Bytes& secret, const Scope& scope, std::string_view last_key) {
    std::string text(1, cursor_version);
    append_part(text, scope.list);
    append_part(text, scope.filters);
    append_part(text, last_key);
    return crypto::hmac_sha256(secret, text).substr(0, signature_bytes);
}

std::string Cursors::seal(const Scope& scope, std::string_view last_key) const {
    std::string raw(1, cursor_version);
    raw += signature(secret_, scope, last_key);
    raw += last_key;
    return to_base64url(raw);
}

std::string Cursors::open(const Scope& scope, std::string_view cursor) const {
    const auto raw = from_base64url(cursor);
    if (raw && raw->size() >= 1 + signature_bytes && raw->front() == cursor_version) {
        const std::string_view view = *raw;
        std::string last_key(view.substr(1 + signature_bytes));
        const auto is_of = [&](const Bytes& secret) {
            return crypto::equal_in_constant_time(view.substr(1, signature_bytes),
                                                  signature(secret, scope, last_key));
        };
        if (is_of(secret_) || std::any_of(others_.begin(), others_.end(), is_of)) return last_key;
    }
    throw Problem(Code::invalid_input, "query.cursor: is not a cursor of this list");
}

}  // namespace berth::api
