// Verifies the proof of an agent's registration from its text (reading, checks, hashes, recovery),
// against libsecp256k1's recovery of the public key alone. Both are measured in turns on one core
// in the same run; the medians are compared.
#include <fmt/format.h>
#include <secp256k1_recovery.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

#include "base/check.hpp"
#include "bench/measure.hpp"
#include "crypto/secp256k1.hpp"
#include "crypto/siwe.hpp"

namespace berth {
namespace {

using namespace std::chrono_literals;

constexpr int rounds = 41;
constexpr int verifications_per_round = 200;

const Time now{1'800'000'000'000'000};

struct Proof {
    std::string text;
    crypto::SiweMessage message;
    Bytes hash;
    Bytes signature;
    std::string signature_text;
};

Proof make_proof() {
    SystemRandom random;
    const auto key = crypto::SigningKey::make(random);
    Proof proof;
    proof.message.domain = "berth.example";
    proof.message.address = key.address();
    proof.message.statement =
        "Register an agent with Berth and accept the terms at https://berth.example/terms.";
    proof.message.uri = "https://berth.example/api/v1/agents/accounts";
    proof.message.chain_id = 8453;
    proof.message.nonce = "q8Zx0Lm2Vb7RkT4s";
    proof.message.issued_at = crypto::SiweTime::of(now);
    proof.message.expiration_time = crypto::SiweTime::of(now + 5min);
    proof.text = crypto::write_siwe(proof.message).value();
    proof.hash = crypto::personal_message_hash(proof.text);
    proof.signature = key.sign(proof.hash).bytes();
    proof.signature_text = "0x" + to_hex(proof.signature);
    return proof;
}

void verify_ours(const Proof& proof) {
    const auto fault =
        crypto::verify_siwe({proof.text, proof.signature_text}, {.domain = proof.message.domain,
                                                                 .uri = proof.message.uri,
                                                                 .chain_id = proof.message.chain_id,
                                                                 .nonce = proof.message.nonce,
                                                                 .address = proof.message.address,
                                                                 .now = now + 20s});
    check(!fault, "the proof holds");
}

void recover_baseline(const Proof& proof) {
    static const secp256k1_context* const context =
        secp256k1_context_create(SECP256K1_CONTEXT_NONE);
    const auto* bytes = reinterpret_cast<const unsigned char*>(proof.signature.data());
    const auto* hash = reinterpret_cast<const unsigned char*>(proof.hash.data());
    secp256k1_ecdsa_recoverable_signature signature;
    secp256k1_pubkey key;
    unsigned char point[65];
    std::size_t length = sizeof point;
    check(secp256k1_ecdsa_recoverable_signature_parse_compact(context, &signature, bytes,
                                                              bytes[64] - 27) == 1 &&
              secp256k1_ecdsa_recover(context, &key, &signature, hash) == 1 &&
              secp256k1_ec_pubkey_serialize(context, point, &length, &key,
                                            SECP256K1_EC_UNCOMPRESSED) == 1,
          "the signature recovers");
}

// By processor time, so that whatever else runs on the machine does not count.
double per_second(void (*work)(const Proof&), const Proof& proof) {
    const std::clock_t begin = std::clock();
    for (int i = 0; i < verifications_per_round; ++i) work(proof);
    return verifications_per_round * static_cast<double>(CLOCKS_PER_SEC) /
           static_cast<double>(std::clock() - begin);
}

}  // namespace
}  // namespace berth

int main() {
    using namespace berth;
    const Proof proof = make_proof();
    std::vector<double> ours;
    std::vector<double> baseline;
    for (int i = 0; i < rounds; ++i) {
        ours.push_back(per_second(verify_ours, proof));
        baseline.push_back(per_second(recover_baseline, proof));
    }
    bench::print("siwe_verify", ours, "secp256k1_recover", baseline);
}
