// How the secrets that the service hands out begin. This is the one list of them: tokens are made
// with no other prefix, and every text that is kept or logged is searched for all of these.
#pragma once

#include <array>
#include <string_view>

namespace berth::issued {

inline constexpr std::string_view api_key = "ark_";
inline constexpr std::string_view session = "brs_";
inline constexpr std::string_view sign_in_link = "brl_";
inline constexpr std::string_view confirmation = "brc_";
inline constexpr std::string_view objection = "bro_";  // against a recovery
inline constexpr std::string_view enrollment = "bre_";
inline constexpr std::string_view endpoint_key = "bek_";    // of a job, for its renter
inline constexpr std::string_view endpoint_token = "bet_";  // of a machine test

inline constexpr std::string_view webhook_secret = "whsec_";  // as Standard Webhooks has it

inline constexpr std::array<std::string_view, 9> prefixes{
    api_key,    session,      sign_in_link,   confirmation,  objection,
    enrollment, endpoint_key, endpoint_token, webhook_secret};

}  // namespace berth::issued
