// Email addresses. Only the plain form is taken: dots and RFC 5321 "atext" before one @, a host
// name after it; no quotes, no comments, no address literals, ASCII only. Every address that is
// accepted can be put into a header and an SMTP command as it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::mail {

inline constexpr std::size_t address_bytes_max = 254;
inline constexpr std::size_t local_part_bytes_max = 64;
inline constexpr std::size_t label_bytes_max = 63;

bool is_email(std::string_view text);

// The address as the key of an account: all of it in lower case, because no mail provider that
// people use tells A@x.org from a@x.org. Empty when `text` is no address.
std::optional<std::string> normalized_email(std::string_view text);

// What follows the @ of an address.
std::string_view domain_of(std::string_view address);

}  // namespace berth::mail
