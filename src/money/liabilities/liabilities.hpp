// The proof of liabilities: every hour a signed record of all that is owed, in which every account
// finds its own balance and nobody else's.
#pragma once

#include "api/router.hpp"
#include "audit/audit.hpp"
#include "chain/chain.hpp"
#include "crypto/ed25519.hpp"
#include "ledger/treasury.hpp"
#include "liabilities/store.hpp"
#include "liabilities/types.hpp"
#include "transfers/evidence.hpp"
#include "worker/worker.hpp"

namespace berth::liabilities {

class Liabilities {
public:
    // `key` signs the records; `chain` may be null: the treasury is not looked at then, and where
    // another process ever looked no record is made here.
    Liabilities(const ledger::Treasury& treasury, chain::Chain* chain, crypto::Ed25519Key key);

    void add_routes(api::Router& router) const;

    PublishedRecords newest(api::Call& call) const;
    api::Page<PublishedRecord> records(api::Call& call, const RecordsQuery& query) const;
    Absence absence(api::Call& call, const ProofQuery& query) const;
    Proof proof(api::Call& call, const ProofQuery& query) const;

    struct Parts {
        db::Database& database;
        const Clock& clock;
        Random& random;
    };
    // Makes a record of each asset when the newest is old enough.
    std::vector<worker::Kind> prove_kinds(const Parts& parts) const;

private:
    // What a look at the chain and the books has found.
    struct Books {
        ledger::Asset asset{};
        std::vector<Leaf> leaves;
        Time as_of;
        std::optional<std::int64_t> block = {};
        std::optional<Micro> treasury = {};
        Bytes salt_key;
        audit::Head audited;
    };
    struct Made {
        RecordRow record;
        Tree tree;
    };
    bool sees_chain() const { return chain_ != nullptr && treasury_.address.has_value(); }
    void prove(worker::Attempt& attempt, const Parts& parts) const;
    std::vector<Books> look(const Parts& parts) const;
    void count_paid(std::vector<transfers::SignedTransfer>& flying, std::int64_t block) const;
    Made make(Books books) const;
    void sign(RecordRow& record, const std::optional<RecordRow>& before) const;
    PublishedRecord shown(const RecordRow& row) const;

    const ledger::Treasury& treasury_;
    chain::Chain* chain_;
    crypto::Ed25519Key key_;
};

// The end of the audit record as the signed records of the newest weeks name it. They stand in the
// same database, so that whoever cuts the end off reaches them: only those count that have their
// hash, follow each other without a gap and are signed, and whose key somebody can compare.
struct AuditMarks {
    std::vector<audit::Mark> marks;
    std::vector<std::string> faults;  // in records that do not count
    std::vector<std::string> newest;  // of each asset: number, hash and key, to be compared
};
AuditMarks audit_marks(db::Transaction& tx);

// Whether the newest record of any asset says that the treasury has less than is owed.
bool is_uncovered(db::Transaction& tx);

}  // namespace berth::liabilities
