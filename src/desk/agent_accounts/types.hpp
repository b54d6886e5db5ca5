// Requests and responses of agent registration.
#pragma once

#include <boost/describe.hpp>

#include "accounts/types.hpp"

namespace berth::agent_accounts {

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
constexpr auto wire_docs(const IssuedChallenge*) {
    return std::to_array<wire::Doc>({
        {"message", "The EIP-4361 text to sign exactly as it is, with personal_sign.",
         "berth.example wants you to sign in with your Ethereum account: …"},
        {"terms_version", "Of the terms that registering accepts.", "2026-11-01"},
        {"terms_url", "Where those terms are.", "https://berth.example/terms"},
    });
}

// Declared by the agent itself; nothing depends on it.
struct AgentProfile {
    wire::Text<1, 100> name;
    wire::Text<1, 64> vendor;
    std::optional<wire::Text<1, 100>> model;
    std::optional<wire::Text<1, 254>> operator_contact;
    std::optional<wire::Text<1, 500>> homepage;
};
BOOST_DESCRIBE_STRUCT(AgentProfile, (), (name, vendor, model, operator_contact, homepage))
constexpr auto wire_docs(const AgentProfile*) {
    return std::to_array<wire::Doc>({
        {"name", "", "Render Farm Scout"},
        {"vendor", "Who made the agent.", "Example Labs"},
        {"model", "The model behind it.", "scout-2"},
        {"operator_contact", "How to reach whoever runs it.", "ops@example.com"},
        {"homepage", "", "https://example.com/scout"},
    });
}

struct RegisterAgent {
    wire::Text<1, 8192> message;
    wire::Text<1, 8192> signature;
    AgentProfile agent;
    std::optional<accounts::Scopes> scopes;
    std::optional<accounts::KeyPolicy> policy;
    // The keys of earlier registrations end. Not unless asked for: one wallet may run several
    // agents.
    std::optional<bool> revoke_previous;
};
BOOST_DESCRIBE_STRUCT(RegisterAgent, (),
                      (message, signature, agent, scopes, policy, revoke_previous))
constexpr auto wire_docs(const RegisterAgent*) {
    return std::to_array<wire::Doc>({
        {"message", "The text of the challenge, exactly.",
         "berth.example wants you to sign in with your Ethereum account: …"},
        {"signature", "Of the wallet over that text, as hex.", "0x…1b"},
        {"agent", "What the agent says of itself; nothing depends on it."},
        {"scopes", "What the key may do; renter when it is left out."},
        {"policy", "What the key may spend; nothing limits it when it is left out."},
        {"revoke_previous", "Whether the keys of earlier registrations end.", "false", "false"},
    });
}

struct AgentKey {
    accounts::KeyId key_id;
    wire::Secret secret;
    std::string prefix;
    accounts::Scopes scopes;
    wire::Nullable<Time> expires_at;
};
BOOST_DESCRIBE_STRUCT(AgentKey, (), (key_id, secret, prefix, scopes, expires_at))
constexpr auto wire_docs(const AgentKey*) {
    return std::to_array<wire::Doc>({
        {"secret", "The key itself. Shown only here.", "ark_7Hq2mZ0cV4tR8yB1nK5sW3xE6uJ9pL2dF0gA"},
        {"prefix", "The first letters of the secret, to recognise it by.", "ark_7Hq2mZ0c"},
        {"scopes", "What the key may do."},
    });
}

struct NextSteps {
    std::string fund;
    std::string rent;
    std::string mcp;
};
BOOST_DESCRIBE_STRUCT(NextSteps, (), (fund, rent, mcp))
constexpr auto wire_docs(const NextSteps*) {
    return std::to_array<wire::Doc>({
        {"fund", "How to fund the account.", "POST /api/v1/funding-intents"},
        {"rent", "How to rent.", "POST /api/v1/quotes"},
        {"mcp", "Where the MCP server is.", "https://berth.example/mcp"},
    });
}

struct RegisteredAgent {
    AccountId account_id;
    accounts::Kind account_kind = accounts::Kind::agent;
    bool created = false;
    wire::EvmAddress address;
    std::string terms_version;
    AgentKey api_key;
    NextSteps next_steps;
};
BOOST_DESCRIBE_STRUCT(RegisteredAgent, (),
                      (account_id, account_kind, created, address, terms_version, api_key,
                       next_steps))
constexpr auto wire_docs(const RegisteredAgent*) {
    return std::to_array<wire::Doc>({
        {"account_kind", "", "agent"},
        {"created",
         "Whether the account is new; false when its wallet was registered "
         "before.",
         "true"},
        {"terms_version", "Of the terms that were accepted.", "2026-11-01"},
        {"api_key", "A new key for the account."},
        {"next_steps", "What to do now."},
    });
}

}  // namespace berth::agent_accounts
