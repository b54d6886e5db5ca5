// Requests and responses of wallets.
#pragma once

#include <boost/describe.hpp>

#include "wire/rules.hpp"

namespace berth::wallets {

inline constexpr std::int64_t base_chain_id = 8453;

using BindingId = Id<struct BindingTag>;

struct WalletNonce {
    std::string nonce;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(WalletNonce, (), (nonce, expires_at))

struct LinkWallet {
    wire::Constant<base_chain_id> chain_id;
    wire::EvmAddress address;
    wire::Text<1, 8192> siwe_message;
    wire::Text<1, 8192> signature;
};
BOOST_DESCRIBE_STRUCT(LinkWallet, (), (chain_id, address, siwe_message, signature))

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

struct WalletBindings {
    std::vector<WalletBinding> items;
};
BOOST_DESCRIBE_STRUCT(WalletBindings, (), (items))

struct BindingPath {
    BindingId binding_id;
};
BOOST_DESCRIBE_STRUCT(BindingPath, (), (binding_id))

}  // namespace berth::wallets
