// How the C libraries see our bytes. For the sources of this folder only.
#pragma once

#include <string_view>

#include "base/bytes.hpp"

namespace berth::crypto {

// Never null: OpenSSL takes a null key for "the key of last time".
inline const unsigned char* raw(std::string_view data) {
    return reinterpret_cast<const unsigned char*>(data.empty() ? "" : data.data());
}
inline unsigned char* raw(Bytes& data) { return reinterpret_cast<unsigned char*>(data.data()); }

}  // namespace berth::crypto
