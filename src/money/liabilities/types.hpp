// What people read of the proof of liabilities.
#pragma once

#include <boost/describe.hpp>

#include "api/page.hpp"
#include "ledger/chart.hpp"
#include "liabilities/tree.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::liabilities {

struct PublishedRecord {
    ledger::Asset asset{};
    wire::Count number;
    wire::Sha256Hash root;
    Micro total_micro;
    wire::Count count;
    Time as_of;
    wire::Nullable<wire::Count> block_number;
    wire::Nullable<Micro> treasury_micro;
    wire::Nullable<bool> covered;
    wire::Nullable<wire::Count> audit_events;
    wire::Nullable<wire::Sha256Hash> audit_head;
    wire::Sha256Hash hash;
    wire::Sha256Hash previous_hash;
    std::string signature;
    std::string public_key;
    std::optional<wire::TransactionHash> posted_tx;
};
BOOST_DESCRIBE_STRUCT(PublishedRecord, (),
                      (asset, number, root, total_micro, count, as_of, block_number, treasury_micro,
                       covered, audit_events, audit_head, hash, previous_hash, signature,
                       public_key, posted_tx))
constexpr auto wire_docs(const PublishedRecord*) {
    return std::to_array<wire::Doc>({
        {"number", "Of the record of this asset: 1, 2, 3 and so on.", "24"},
        {"root", "Of the tree over everything that is owed."},
        {"total_micro", "All that is owed in this asset.", "1250000000"},
        {"count",
         "Leaves of the tree: three for each account, cut at random, and for what nobody has "
         "claimed.",
         "933"},
        {"as_of", "When the books were read for it."},
        {"block_number",
         "The final block that the treasury was looked at in; null without a "
         "chain.",
         "41900000"},
        {"treasury_micro", "What every treasury and cold storage had at the end of that block.",
         "1400000000"},
        {"covered", "Whether that is all that is owed; null when nobody looked.", "true"},
        {"audit_events", "How many events the audit record had then; null in old records.", "51"},
        {"audit_head", "The hash of the last of them; null in old records."},
        {"hash", "Over the record and the hash before it; it is what was signed."},
        {"previous_hash", "Of the record before it; zeros for the first."},
        {"signature", "Ed25519 over the 32 bytes of hash, in base64.",
         "IQj0g6xYwVZ3bq8l5m2pXw0s7r9tC4kN1uE6hD3fB8aGmT5vL2yRzKxJ0oWqPnUc4iHdMvFbSeAt9gY7lX"
         "1QBg=="},
        {"public_key", "The key it was signed with, in base64.",
         "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},
        {"posted_tx",
         "The transaction on chain that has root and hash in its data; left out where none has."},
    });
}

struct PublishedRecords {
    std::vector<PublishedRecord> items;
};
BOOST_DESCRIBE_STRUCT(PublishedRecords, (), (items))
constexpr auto wire_docs(const PublishedRecords*) {
    return std::to_array<wire::Doc>({
        {"items", "The newest of each asset; empty before the first was made."},
    });
}

struct RecordsQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<ledger::Asset> asset;
};
BOOST_DESCRIBE_STRUCT(RecordsQuery, (), (cursor, limit, asset))
constexpr auto wire_docs(const RecordsQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor", "Where to go on: next_cursor of the page before. Left out for the first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"asset", "", "USDC", "USDC"},
    });
}

// That an account has no leaf: beside a receipt of what is owed to it, that is evidence.
struct Absence {
    ledger::Asset asset{};
    AccountId account_id;
    wire::Count number;
    Time as_of;
    wire::Sha256Hash record_hash;
    wire::Sha256Hash hash;
    std::string signature;
    std::string public_key;
};
BOOST_DESCRIBE_STRUCT(Absence, (),
                      (asset, account_id, number, as_of, record_hash, hash, signature, public_key))
constexpr auto wire_docs(const Absence*) {
    return std::to_array<wire::Doc>({
        {"number", "Of the record.", "24"},
        {"record_hash", "Of the record that has no leaf for this account."},
        {"hash", "Over account, asset, number and record_hash; it is what was signed."},
        {"signature", "Ed25519 over the 32 bytes of hash, in base64.",
         "IQj0g6xYwVZ3bq8l5m2pXw0s7r9tC4kN1uE6hD3fB8aGmT5vL2yRzKxJ0oWqPnUc4iHdMvFbSeAt9gY7lX"
         "1QBg=="},
        {"public_key", "The key it was signed with, in base64.",
         "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},
    });
}

struct PathStep {
    Side side{};
    wire::Sha256Hash hash;
    Micro sum_micro;
};
BOOST_DESCRIBE_STRUCT(PathStep, (), (side, hash, sum_micro))
constexpr auto wire_docs(const PathStep*) {
    return std::to_array<wire::Doc>({
        {"side", "On which side of the way up it stands."},
        {"sum_micro", "", "640000000"},
    });
}

struct ProofQuery {
    std::optional<ledger::Asset> asset;
};
BOOST_DESCRIBE_STRUCT(ProofQuery, (), (asset))
constexpr auto wire_docs(const ProofQuery*) {
    return std::to_array<wire::Doc>({
        {"asset", "", "USDC", "USDC"},
    });
}

struct ProvedPart {
    std::string salt;
    Micro amount_micro;
    std::vector<PathStep> path;
};
BOOST_DESCRIBE_STRUCT(ProvedPart, (), (salt, amount_micro, path))
constexpr auto wire_docs(const ProvedPart*) {
    return std::to_array<wire::Doc>({
        {"salt", "Hides the amount in the leaf from others; 32 bytes in hex.",
         "9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b"},
        {"amount_micro", "The part of the balance that this leaf has.", "8000000"},
        {"path", "From the leaf up to the root."},
    });
}

struct Proof {
    ledger::Asset asset{};
    Time as_of;
    wire::Sha256Hash root;
    Micro total_micro;
    AccountId account_id;
    Micro balance_micro;
    std::vector<ProvedPart> parts;
};
BOOST_DESCRIBE_STRUCT(Proof, (),
                      (asset, as_of, root, total_micro, account_id, balance_micro, parts))
constexpr auto wire_docs(const Proof*) {
    return std::to_array<wire::Doc>({
        {"root", "The same that everybody is shown."},
        {"total_micro", "The same that everybody is shown.", "1250000000"},
        {"balance_micro",
         "All that was owed to the account: available, held, on the way out, and earned.",
         "25000000"},
        {"parts", "The leaves that the balance was cut into; they add up to it."},
    });
}

}  // namespace berth::liabilities
