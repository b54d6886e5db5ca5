// How the chain is reached, and which addresses on it are ours.
#pragma once

#include <optional>

#include "crypto/evm.hpp"
#include "settings/registry.hpp"

namespace berth::chain {

std::vector<std::string> parse_providers(const std::string& text);
std::vector<std::string> parse_unsafe(const std::string& text);
crypto::Address parse_token(const std::string& text);
std::optional<crypto::Address> parse_treasury(const std::string& text);  // none when empty
std::vector<crypto::Address> parse_addresses(const std::string& text);

struct Settings {
    static constexpr auto category = settings::Category::chain_access;

    settings::List chain_rpc{"",
                             parse_providers,
                             {.label = "Providers",
                              .help = "JSON-RPC addresses of Base, separated by commas; empty: no "
                                      "chain.",
                              .pinned = settings::root_of_trust,
                              .secret = true}};
    settings::Whole chain_quorum{
        0,
        {0, 100},
        {.label = "Quorum",
         .help = "How many of the providers must say the same; 0: more than half.",
         .pinned = settings::root_of_trust}};
    settings::List allow_unsafe{
        "",
        parse_unsafe,
        {.label = "Checks passed over",
         .help = "Checks of money to pass over: plain-http, few-providers, same-provider, "
                 "same-token, decimals, undurable-db.",
         .pinned = settings::root_of_trust}};
    settings::Whole chain_confirmations{
        0,
        {0, 10'000},
        {.label = "Confirmations",
         .help = "Blocks wanted on top of a final one; 0 trusts finality alone.",
         .pinned = settings::read_at_start}};
    settings::Whole chain_poll_ms{2000,
                                  {10, 3'600'000},
                                  {.label = "Polling",
                                   .help = "How often the chain is looked at.",
                                   .unit = "ms",
                                   .pinned = settings::read_at_start}};
    settings::Parsed<std::optional<crypto::Address>> treasury{
        "",
        parse_treasury,
        {.label = "Treasury",
         .help = "Address that deposits go to; empty: that of treasury.key in "
                 "--secrets.",
         .pinned = settings::root_of_trust}};
    settings::Parsed<std::vector<crypto::Address>> cold_addresses{
        "",
        parse_addresses,
        {.label = "Cold storage",
         .help = "Addresses, separated by commas, that are cold storage: what they hold on the "
                 "chain covers what is owed, and what went anywhere else is not booked as put "
                 "there.",
         .pinned = settings::root_of_trust}};
    settings::Parsed<std::vector<crypto::Address>> gas_addresses{
        "",
        parse_addresses,
        {.label = "Gas",
         .help = "Addresses, separated by commas, where gas is bought with tokens of the treasury: "
                 "what went anywhere else is not booked as gas.",
         .pinned = settings::root_of_trust}};
    settings::Parsed<std::optional<crypto::Address>> fee_address{
        "",
        parse_treasury,
        {.label = "Fee income",
         .help = "The only address that fee income is taken out to; empty: any.",
         .pinned = settings::root_of_trust}};
    settings::Parsed<crypto::Address> token_usdc{
        "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        parse_token,
        {.label = "USDC", .help = "Contract of USDC on Base.", .pinned = settings::root_of_trust}};
    settings::Parsed<crypto::Address> token_usdt{
        "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2",
        parse_token,
        {.label = "USDT", .help = "Contract of USDT on Base.", .pinned = settings::root_of_trust}};
    settings::Text explorer_url{
        "https://basescan.org",
        settings::web_page,
        {.label = "Explorer", .help = "Where people look at transactions."}};
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (chain_rpc, chain_quorum, allow_unsafe, chain_confirmations, chain_poll_ms,
                       treasury, cold_addresses, gas_addresses, fee_address, token_usdc, token_usdt,
                       explorer_url))

// The host of an address, without its port.
std::string provider_host(const std::string& url);

// Whether this check is passed over: by its name, or, for few-providers and decimals, because every
// provider is on this machine: then it is the operator's own node, or a chain for development.
bool allows(const Settings& settings, std::string_view check);

}  // namespace berth::chain
