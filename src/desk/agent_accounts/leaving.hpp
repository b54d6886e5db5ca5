// What an agent said of itself, for its export and when it leaves.
#pragma once

#include <optional>
#include <string>

#include "db/db.hpp"

namespace berth::agent_accounts {

struct KnownProfile {
    std::string name;
    std::string vendor;
    std::optional<std::string> model = {};
    std::optional<std::string> operator_contact = {};
    std::optional<std::string> homepage = {};
};
BOOST_DESCRIBE_STRUCT(KnownProfile, (), (name, vendor, model, operator_contact, homepage))

std::optional<KnownProfile> find_profile(db::Transaction& tx, AccountId account);
void forget_profile(db::Transaction& tx, AccountId account);

}  // namespace berth::agent_accounts
