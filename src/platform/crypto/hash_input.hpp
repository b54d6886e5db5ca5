// Bytes to hash, put together so that no two different records give the same ones: every text has
// its length before it, and an absent value differs from an empty one.
#pragma once

#include <optional>

#include "base/ids.hpp"
#include "crypto/hash.hpp"

namespace berth::crypto {

class HashInput {
public:
    explicit HashInput(std::size_t bytes_expected) { bytes_.reserve(bytes_expected); }

    HashInput& text(std::string_view text) {
        append_big_endian(bytes_, text.size());
        bytes_ += text;
        return *this;
    }
    HashInput& number(std::int64_t value) {
        append_big_endian(bytes_, static_cast<std::uint64_t>(value));
        return *this;
    }
    template <class Tag>
    HashInput& id(const Id<Tag>& id) {
        bytes_ += id.uuid.view();
        return *this;
    }
    template <class Tag>
    HashInput& id(const std::optional<Id<Tag>>& id) {
        return text(id ? id->uuid.view() : std::string_view{});
    }
    HashInput& optional_text(const std::optional<std::string>& value) {
        number(value ? 1 : 0);
        return text(value ? std::string_view(*value) : std::string_view{});
    }

    Bytes sha256() const { return crypto::sha256(bytes_); }

private:
    Bytes bytes_;
};

}  // namespace berth::crypto
