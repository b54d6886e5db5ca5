#include "wallets/wallets.hpp"

#include "crypto/secp256k1.hpp"

namespace berth::wallets {
namespace {

constexpr std::string_view wallet_purpose = "wallet";

WalletBinding shown(const Binding& binding) {
    return {.binding_id = binding.binding_id,
            .chain_id = {},
            .address = {crypto::checksummed(binding.address)},
            .version = {binding.version},
            .linked_at = binding.linked_at,
            .unlinked_at = binding.unlinked_at};
}

std::string sentence(const crypto::Address& address) {
    return "Its address is " + crypto::checksummed(address) + ".";
}

Challenges::Scope scope_of(const api::Call& call) {
    return {wallet_purpose, to_string(call.caller.credential_id)};
}

crypto::Address address_in(const LinkWallet& request) {
    const auto address = crypto::parse_address(request.address.value);
    if (!address) throw Problem(Code::invalid_input, "body.address: has a wrong checksum");
    return *address;
}

// What a contract could be shown: hex of whatever length it likes. A contract that is not deployed
// yet (ERC-6492) cannot be asked.
std::optional<Bytes> contract_signature(std::string_view text) {
    constexpr std::string_view prefix = "0x";
    if (!text.starts_with(prefix) || crypto::is_undeployed_signature(text)) return std::nullopt;
    return from_hex(text.substr(prefix.size()));
}

}  // namespace

WalletNonce Wallets::make_nonce(api::Call& call, const NonceQuery& query) const {
    std::optional<crypto::Address> address;
    if (query.address) {
        address = crypto::parse_address(query.address->value);
        if (!address) throw Problem(Code::invalid_input, "query.address: has a wrong checksum");
    }
    call.require_step_up();
    const auto issued = challenges_.issue_nonce(call, scope_of(call));
    WalletNonce made{issued.nonce, issued.expires_at, {}};
    if (address)
        made.message = challenges_.text_of(issued, {*address, "Link this wallet to my account."});
    return made;
}

// Only for a text that could be redeemed, so that strangers' words make nobody ask the chain.
std::function<Wallets::LinkFacts()> Wallets::prepare_link(api::Call& call,
                                                          const LinkWallet& request) const {
    const crypto::Address address = address_in(request);
    call.require_step_up();
    const auto ask_nobody = [] { return LinkFacts::not_asked; };
    const auto message = crypto::parse_siwe(request.siwe_message.value);
    const auto signature = contract_signature(request.signature.value);
    if (contracts_ == nullptr || !message || !signature || message->address != address ||
        !challenges_.is_open(call, scope_of(call), *message))
        return ask_nobody;
    const Bytes hash = crypto::personal_message_hash(request.siwe_message.value);
    if (crypto::recover(hash, *signature) == address) return ask_nobody;
    return [contracts = contracts_,
            question = ContractWallets::Question{call.caller.account, address, hash, *signature}] {
        return contracts->vouches(question) ? LinkFacts::vouches : LinkFacts::denies;
    };
}

WalletBinding Wallets::link(api::Call& call, LinkFacts facts, const LinkWallet& request) const {
    const crypto::Address address = address_in(request);
    call.require_step_up();
    const auto message = challenges_.redeem_nonce(
        call, scope_of(call), {request.siwe_message.value, request.signature.value}, facts);
    if (message.address != address)
        throw api::CommittedProblem(Code::authorization_invalid,
                                    std::string(crypto::describe(crypto::SiweFault::address)));
    if (reserve_address(call.tx(), address, call.caller.account) != call.caller.account)
        throw api::CommittedProblem(Code::conflict, "this wallet belongs to another account");
    const auto latest = find_latest_binding(call.tx(), address);
    const Binding binding = bind(call, call.caller.account, address);
    if (!latest || latest->binding_id != binding.binding_id)
        notices_.send(call, {.account = call.caller.account,
                             .action = "link_wallet",
                             .what = "a wallet was linked",
                             .detail = sentence(address),
                             .changes = {{"address", std::nullopt, crypto::checksummed(address)}}});
    return shown(binding);
}

Binding bind(api::Call& call, AccountId account, const crypto::Address& address) {
    const auto latest = find_latest_binding(call.tx(), address);
    if (latest && !latest->unlinked_at) return *latest;
    const Binding binding{.binding_id = call.make_id<BindingId>(),
                          .account_id = account,
                          .address = address,
                          .version = latest ? latest->version + 1 : 1,
                          .linked_at = call.now};
    if (add_binding(call.tx(), binding)) return binding;
    // Linked at the same moment by the same account: that one is as good.
    const auto winner = find_latest_binding(call.tx(), address);
    require(winner.has_value(), "a version that is taken has a binding");
    return *winner;
}

WalletBindings Wallets::list(api::Call& call) const {
    WalletBindings out;
    for (const Binding& binding : list_bindings(call.tx(), call.caller.account))
        out.items.push_back(shown(binding));
    return out;
}

void Wallets::remove(api::Call& call, const BindingPath& path) const {
    const auto binding = find_binding(call.tx(), path.binding_id, call.caller.account);
    if (!binding || binding->unlinked_at) throw Problem(Code::not_found, "no such wallet");
    call.require_step_up();
    unlink(call.tx(), binding->binding_id, call.now);
    notices_.send(call,
                  {.account = call.caller.account,
                   .action = "unlink_wallet",
                   .what = "a wallet was unlinked",
                   .detail = sentence(binding->address),
                   .changes = {{"address", crypto::checksummed(binding->address), std::nullopt}}});
}

}  // namespace berth::wallets
