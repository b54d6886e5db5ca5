#include "wallets/challenges.hpp"

#include <fmt/format.h>

#include "crypto/hash.hpp"
#include "wallets/store.hpp"

namespace berth::wallets {
namespace {

[[noreturn]] void refuse(std::string_view why) {
    throw api::CommittedProblem(Code::authorization_invalid,
                                fmt::format("{}; ask for a new challenge", why));
}

// A nonce that nobody can guess: letters and digits alone, as EIP-4361 wants.
std::string make_nonce(Random& random) {
    constexpr std::string_view letters =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    constexpr std::size_t nonce_letters = 24;
    std::string nonce;
    for (std::size_t i = 0; i < nonce_letters; ++i) nonce += letters[random.below(letters.size())];
    return nonce;
}

Challenge new_challenge(api::Call& call, const Challenges::Scope& scope) {
    return {.nonce = make_nonce(call.random),
            .purpose = std::string(scope.purpose),
            .bound_to = scope.owner,
            .issued_at = call.now,
            .expires_at = call.now + challenge_lifetime};
}

// The owner, and the text to the byte.
std::string bound_to(const Challenges::Scope& scope, std::string_view text) {
    return scope.owner + to_hex(crypto::sha256(text));
}

struct Spent {
    crypto::SiweMessage message;
    Challenge challenge;
};

// Spends the challenge that the text names, whatever comes of it.
Spent spend(api::Call& call, std::string_view purpose, std::string_view text) {
    auto message = crypto::parse_siwe(text);
    if (!message) refuse(crypto::describe(crypto::SiweFault::malformed));
    auto challenge = spend_challenge(call.tx(), purpose, message->nonce, call.now);
    if (!challenge) refuse("the challenge is unknown, used or expired");
    return {std::move(*message), std::move(*challenge)};
}

void verify(api::Call& call, const accounts::Site& site, const crypto::SiweProof& proof,
            const Spent& spent, Challenges::Contract contract = Challenges::Contract::not_asked) {
    const crypto::SiweExpected expected{.domain = site.domain,
                                        .uri = site.base_url,
                                        .chain_id = base_chain_id,
                                        .nonce = spent.challenge.nonce,
                                        .address = spent.message.address,
                                        .now = call.now,
                                        .issued_ahead_max = clock_skew_max};
    const auto fault = contract == Challenges::Contract::not_asked
                           ? crypto::verify_siwe(proof, expected)
                           : crypto::verify_siwe_text(proof.text, expected);
    if (fault) refuse(crypto::describe(*fault));
    if (contract == Challenges::Contract::denies)
        refuse(
            "the signature is neither one by the key of this address nor one that a contract "
            "there calls its own (ERC-1271)");
    note_signature(call.tx(), spent.message.address, call.now);
}

}  // namespace

Challenges::Nonce Challenges::issue_nonce(api::Call& call, const Scope& scope) const {
    const Challenge challenge = new_challenge(call, scope);
    add_challenge(call.tx(), challenge);
    return {challenge.nonce, challenge.issued_at, challenge.expires_at};
}

std::string Challenges::text_of(const Nonce& nonce, const Wanted& wanted) const {
    crypto::SiweMessage message;
    message.domain = site_.domain;
    message.address = wanted.address;
    message.statement = wanted.statement;
    message.uri = site_.base_url;
    message.chain_id = base_chain_id;
    message.nonce = nonce.nonce;
    message.issued_at = crypto::SiweTime::of(nonce.issued_at);
    message.expiration_time = crypto::SiweTime::of(nonce.expires_at);
    message.resources = wanted.resources;
    const auto text = crypto::write_siwe(message);
    require(text.has_value(), "a challenge of ours is a well-formed message");
    return *text;
}

Challenges::Text Challenges::issue_text(api::Call& call, const Scope& scope,
                                        const Wanted& wanted) const {
    Challenge challenge = new_challenge(call, scope);
    const std::string text =
        text_of({challenge.nonce, challenge.issued_at, challenge.expires_at}, wanted);
    challenge.bound_to = bound_to(scope, text);
    add_challenge(call.tx(), challenge);
    return {text, challenge.expires_at};
}

bool Challenges::is_open(api::Call& call, const Scope& scope,
                         const crypto::SiweMessage& message) const {
    const auto challenge = find_challenge(call.tx(), scope.purpose, message.nonce);
    return challenge && challenge->bound_to == scope.owner && challenge->expires_at > call.now;
}

crypto::SiweMessage Challenges::redeem_nonce(api::Call& call, const Scope& scope,
                                             const crypto::SiweProof& proof,
                                             Contract contract) const {
    const Spent spent = spend(call, scope.purpose, proof.text);
    const auto& [message, challenge] = spent;
    if (challenge.bound_to != scope.owner)
        refuse("the nonce is not one of this session, or it is used or expired");
    if (!message.expiration_time || message.expiration_time->time > challenge.expires_at)
        refuse("the message must expire with its nonce");
    if (message.issued_at.time < challenge.issued_at - clock_skew_max)
        refuse("the message is older than its nonce");
    verify(call, site_, proof, spent, contract);
    return message;
}

crypto::SiweMessage Challenges::redeem_text(api::Call& call, const Scope& scope,
                                            const crypto::SiweProof& proof) const {
    Spent spent = spend(call, scope.purpose, proof.text);
    if (spent.challenge.bound_to != bound_to(scope, proof.text))
        refuse("the message is not the one that was issued, or not to you");
    verify(call, site_, proof, spent);
    return std::move(spent.message);
}

}  // namespace berth::wallets
