// Requests and responses of agent registration.
#pragma once

#include <boost/describe.hpp>

#include "accounts/types.hpp"

namespace berth::agents {

struct AskChallenge {
    wire::EvmAddress address;
};
BOOST_DESCRIBE_STRUCT(AskChallenge, (), (address))

struct IssuedChallenge {
    std::string message;
    Time expires_at;
    std::string terms_version;
    std::string terms_url;
};
BOOST_DESCRIBE_STRUCT(IssuedChallenge, (), (message, expires_at, terms_version, terms_url))

// Declared by the agent itself; nothing depends on it.
struct AgentProfile {
    wire::Text<1, 100> name;
    wire::Text<1, 64> vendor;
    std::optional<wire::Text<1, 100>> model;
    std::optional<wire::Text<1, 254>> operator_contact;
    std::optional<wire::Text<1, 500>> homepage;
};
BOOST_DESCRIBE_STRUCT(AgentProfile, (), (name, vendor, model, operator_contact, homepage))

struct RegisterAgent {
    wire::Text<1, 8192> message;
    wire::Text<1, 8192> signature;
    AgentProfile agent;
    std::optional<accounts::Scopes> scopes;
};
BOOST_DESCRIBE_STRUCT(RegisterAgent, (), (message, signature, agent, scopes))

struct AgentKey {
    accounts::KeyId key_id;
    wire::Secret secret;
    std::string prefix;
    accounts::Scopes scopes;
};
BOOST_DESCRIBE_STRUCT(AgentKey, (), (key_id, secret, prefix, scopes))

struct NextSteps {
    std::string fund;
    std::string rent;
    std::string mcp;
};
BOOST_DESCRIBE_STRUCT(NextSteps, (), (fund, rent, mcp))

struct RegisteredAgent {
    AccountId account_id;
    accounts::Kind account_kind = accounts::Kind::agent;
    bool created = false;
    wire::EvmAddress address;
    std::string terms_version;
    AgentKey api_key;
    NextSteps next_steps;
};
BOOST_DESCRIBE_STRUCT(RegisteredAgent, (), (account_id, account_kind, created, address,
                                            terms_version, api_key, next_steps))

}  // namespace berth::agents
