#include "liabilities/verify.hpp"

#include "liabilities/tree.hpp"
#include "liabilities/types.hpp"
#include "wire/wire.hpp"

namespace berth::liabilities {

Verdict verify(const std::string& json) {
    const auto proof = wire::decode<Proof>(json, "proof");
    const auto bytes_of = [](const wire::Sha256Hash& hash) {
        return from_hex(std::string_view(hash.value).substr(7)).value();
    };
    const auto salt = from_hex(proof.salt);
    if (!salt || salt->size() != salt_bytes)
        throw Problem(Code::invalid_input, "proof.salt: must be 32 bytes in hex");
    std::vector<Step> path;
    for (const PathStep& step : proof.path)
        path.push_back({step.side, {bytes_of(step.hash), step.sum_micro}});
    const Node root = climb(node_of({proof.account_id, *salt, proof.balance_micro}), path);
    if (root.hash != bytes_of(proof.root))
        return {false, "NOT GOOD: the path does not lead to the root"};
    if (root.sum != proof.total_micro)
        return {false, "NOT GOOD: the path does not add up to the total"};
    return {true, "good: " + to_string(proof.balance_micro) + " micro-" +
                      std::string(ledger::name(proof.asset)) + " of account " +
                      to_string(proof.account_id) + " are in the total of " +
                      to_string(proof.total_micro) + " under root " + proof.root.value +
                      "; compare both with what everybody is shown"};
}

}  // namespace berth::liabilities
