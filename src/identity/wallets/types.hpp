// Requests and responses of wallets.
#pragma once

#include <boost/describe.hpp>

#include "accounts/types.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::wallets {

inline constexpr std::int64_t base_chain_id = 8453;

using BindingId = Id<struct BindingTag>;

struct NonceQuery {
    std::optional<wire::EvmAddress> address;
};
BOOST_DESCRIBE_STRUCT(NonceQuery, (), (address))
constexpr auto wire_docs(const NonceQuery*) {
    return std::to_array<wire::Doc>({
        {"address", "The wallet to be linked: then the whole message to sign is written for it.",
         "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
    });
}

struct WalletNonce {
    std::string nonce;
    Time expires_at;
    std::optional<std::string> message;
};
BOOST_DESCRIBE_STRUCT(WalletNonce, (), (nonce, expires_at, message))
constexpr auto wire_docs(const WalletNonce*) {
    return std::to_array<wire::Doc>({
        {"nonce", "To be put into one EIP-4361 message within five minutes.", "k5Zr8uQ2xW0v"},
        {"message", "The EIP-4361 text for the wallet that was named, to be signed exactly.",
         "berth.example wants you to sign in with your Ethereum account: …"},
    });
}

struct LinkWallet {
    wire::Constant<base_chain_id> chain_id;
    wire::EvmAddress address;
    wire::Text<1, 8192> siwe_message;
    wire::Text<1, 8192> signature;
};
BOOST_DESCRIBE_STRUCT(LinkWallet, (), (chain_id, address, siwe_message, signature))
constexpr auto wire_docs(const LinkWallet*) {
    return std::to_array<wire::Doc>({
        {"siwe_message", "The EIP-4361 text that was signed, exactly.",
         "berth.example wants you to sign in with your Ethereum account: …"},
        {"signature",
         "Of the wallet over that text (personal_sign), as hex. Of a contract that is deployed: "
         "whatever its isValidSignature takes.",
         "0x…1b"},
    });
}

struct WalletBinding {
    BindingId binding_id;
    wire::Constant<base_chain_id> chain_id;
    wire::EvmAddress address;
    wire::Decimal version;
    Time linked_at;
    wire::Nullable<Time> unlinked_at;
};
BOOST_DESCRIBE_STRUCT(WalletBinding, (),
                      (binding_id, chain_id, address, version, linked_at, unlinked_at))
constexpr auto wire_docs(const WalletBinding*) {
    return std::to_array<wire::Doc>({
        {"version", "Grows when the same address is linked again.", "1"},
        {"unlinked_at", "Null while the wallet is linked.", "null"},
    });
}

struct WalletBindings {
    std::vector<WalletBinding> items;
};
BOOST_DESCRIBE_STRUCT(WalletBindings, (), (items))

struct BindingPath {
    BindingId binding_id;
};
BOOST_DESCRIBE_STRUCT(BindingPath, (), (binding_id))

// Step-up

struct AskStepUpChallenge {
    accounts::Purpose purpose = accounts::Purpose::account_sensitive;
};
BOOST_DESCRIBE_STRUCT(AskStepUpChallenge, (), (purpose))
constexpr auto wire_docs(const AskStepUpChallenge*) {
    return std::to_array<wire::Doc>({
        {"purpose", "What is to be done afterwards."},
    });
}

struct StepUpChallenge {
    std::string message;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(StepUpChallenge, (), (message, expires_at))
constexpr auto wire_docs(const StepUpChallenge*) {
    return std::to_array<wire::Doc>({
        {"message", "The EIP-4361 text to sign, bound to this key and purpose.",
         "berth.example wants you to sign in with your Ethereum account: …"},
    });
}

// Of a person: by mail, of the authenticator, or a recovery code.
struct StepUpByCode {
    accounts::Purpose purpose = accounts::Purpose::account_sensitive;
    wire::Text<6, 20> code;
};
BOOST_DESCRIBE_STRUCT(StepUpByCode, (), (purpose, code))
constexpr auto wire_docs(const StepUpByCode*) {
    return std::to_array<wire::Doc>({
        {"purpose", "What is to be done afterwards."},
        {"code",
         "Of the authenticator, or of the mail for an account that has "
         "none.",
         "123456"},
    });
}

// Of an agent.
struct StepUpByWallet {
    accounts::Purpose purpose = accounts::Purpose::account_sensitive;
    wire::Text<1, 8192> message;
    wire::Text<1, 8192> signature;
};
BOOST_DESCRIBE_STRUCT(StepUpByWallet, (), (purpose, message, signature))
constexpr auto wire_docs(const StepUpByWallet*) {
    return std::to_array<wire::Doc>({
        {"purpose", "The one the challenge was asked for."},
        {"message", "The text of the challenge, exactly.",
         "berth.example wants you to sign in with your Ethereum account: …"},
        {"signature", "Of the wallet over that text, as hex.", "0x…1b"},
    });
}

using AskStepUp = wire::OneOf<StepUpByCode, StepUpByWallet>;

}  // namespace berth::wallets
