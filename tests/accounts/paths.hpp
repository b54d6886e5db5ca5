// Where one signs in.
#pragma once
#include <string>

namespace berth::test {

inline const std::string start = "/api/v1/auth/email/start";
inline const std::string verify = "/api/v1/auth/email/verify";
inline const std::string session = "/api/v1/auth/session";

}  // namespace berth::test
