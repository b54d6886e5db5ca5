#include "wallets/wallets.hpp"

#include "crypto/siwe.hpp"

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

[[noreturn]] void refuse(std::string_view why) {
    throw api::CommittedProblem(Code::authorization_invalid, std::string(why));
}

}  // namespace

std::string make_nonce(Random& random) {
    constexpr std::string_view letters =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    constexpr std::size_t nonce_letters = 24;
    std::string nonce;
    for (std::size_t i = 0; i < nonce_letters; ++i) nonce += letters[random.below(letters.size())];
    return nonce;
}

WalletNonce Wallets::make_nonce(api::Call& call) const {
    call.require_step_up();
    const Challenge challenge{wallets::make_nonce(call.random), std::string(wallet_purpose),
                              to_string(call.caller.credential_id), call.now,
                              call.now + challenge_lifetime};
    add_challenge(call.tx(), challenge);
    return {challenge.nonce, challenge.expires_at};
}

WalletBinding Wallets::link(api::Call& call, const LinkWallet& request) const {
    const auto address = crypto::parse_address(request.address.value);
    if (!address)
        throw Problem(Code::invalid_input, "body.address: has a wrong checksum");
    call.require_step_up();
    check_proof(call, request, *address);
    if (reserve_address(call.tx(), *address, call.caller.account) != call.caller.account)
        throw api::CommittedProblem(Code::conflict, "this wallet belongs to another account");
    const auto latest = find_latest_binding(call.tx(), *address);
    const Binding binding = bind(call, call.caller.account, *address);
    if (!latest || latest->binding_id != binding.binding_id)
        notices_.send(call, {call.caller.account, "a wallet was linked", sentence(*address)});
    return shown(binding);
}

// The nonce is spent whether the proof holds or not: a second try needs a new one.
void Wallets::check_proof(api::Call& call, const LinkWallet& request,
                          const crypto::Address& address) const {
    const auto message = crypto::parse_siwe(request.siwe_message.value);
    if (!message) refuse(crypto::describe(crypto::SiweFault::malformed));
    const auto challenge =
        spend_challenge(call.tx(), wallet_purpose, message->nonce, call.now);
    if (!challenge || challenge->bound_to != to_string(call.caller.credential_id))
        refuse("the nonce is not one of this session, or it is used or expired");
    if (!message->expiration_time || message->expiration_time->time > challenge->expires_at)
        refuse("the message must expire with its nonce");
    if (message->issued_at.time < challenge->issued_at - clock_skew_max)
        refuse("the message is older than its nonce");
    const auto fault = crypto::verify_siwe({request.siwe_message.value, request.signature.value},
                                           {.domain = site_.domain,
                                            .uri = site_.base_url,
                                            .chain_id = base_chain_id,
                                            .nonce = challenge->nonce,
                                            .address = address,
                                            .now = call.now,
                                            .issued_ahead_max = clock_skew_max});
    if (fault) refuse(crypto::describe(*fault));
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
    notices_.send(call, {call.caller.account, "a wallet was unlinked", sentence(binding->address)});
}

}  // namespace berth::wallets
