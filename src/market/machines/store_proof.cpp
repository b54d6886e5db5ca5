#include "machines/proof.hpp"

namespace berth::machines {
namespace {

const db::Query<Proof> add_proof_sql("INSERT INTO machine_proofs ({}) VALUES ({$})");
const db::Query<Proof> save_proof_sql("UPDATE machine_proofs SET {=} WHERE run_id = $1");
const db::Query<Proof> find_proof_sql("SELECT {} FROM machine_proofs WHERE run_id = $1");
constexpr std::string_view delete_proof_sql = "DELETE FROM machine_proofs WHERE run_id = $1";

}  // namespace

void add_proof(db::Transaction& tx, const Proof& proof) { tx.insert(add_proof_sql, proof); }
void save_proof(db::Transaction& tx, const Proof& proof) { tx.insert(save_proof_sql, proof); }

std::optional<Proof> find_proof(db::Transaction& tx, RunId run) {
    return tx.fetch_one(find_proof_sql, run);
}

void delete_proof(db::Transaction& tx, RunId run) { tx.run(delete_proof_sql, run); }

}  // namespace berth::machines
