// Requests and responses of wallets.
#pragma once

#include <boost/describe.hpp>

#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::wallets {

inline constexpr std::int64_t base_chain_id = 8453;

using BindingId = Id<struct BindingTag>;

struct WalletNonce {
    std::string nonce;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(WalletNonce, (), (nonce, expires_at))
constexpr auto wire_docs(const WalletNonce*) {
    return std::to_array<wire::Doc>({
        {"nonce", "To be put into one EIP-4361 message within five minutes.", "k5Zr8uQ2xW0v"},
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
        {"siwe_message",
         "The EIP-4361 text that was signed, exactly.",
         "berth.example wants you to sign in with your Ethereum account: …"},
        {"signature", "Of the wallet over that text (personal_sign), as hex.", "0x…1b"},
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
BOOST_DESCRIBE_STRUCT(WalletBinding, (), (binding_id, chain_id, address, version, linked_at,
                                          unlinked_at))
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

}  // namespace berth::wallets
