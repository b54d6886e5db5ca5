#include "liabilities/posts.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/log.hpp"
#include "chain/transaction.hpp"
#include "liabilities/settings.hpp"
#include "transfers/settings.hpp"

namespace berth::liabilities {

namespace {

constexpr Duration post_look_every = std::chrono::minutes(1);
constexpr std::size_t asset_letters = 4;

// Nodes take a replacement only when both fees rise by a tenth or more.
std::int64_t risen(std::int64_t fee) { return fee + fee / 8 + 1; }

// The records that are named in the data of a post.
struct Named {
    ledger::Asset asset{};
    std::int64_t number = 0;
};
std::vector<Named> records_of(std::string_view data) {
    constexpr std::size_t each = asset_letters + 8 + 2 * hash_bytes;
    std::vector<Named> named;
    for (data.remove_prefix(post_mark.size()); data.size() >= each; data.remove_prefix(each))
        for (const ledger::Asset asset : ledger::assets)
            if (data.starts_with(ledger::name(asset)))
                named.push_back({asset, static_cast<std::int64_t>(
                                            load_big_endian(data.data() + asset_letters))});
    return named;
}

}  // namespace

Bytes post_data(std::span<const RecordRow> records) {
    Bytes data(post_mark);
    for (const RecordRow& record : records) {
        const std::string_view name = ledger::name(record.asset);
        require(name.size() == asset_letters, "the name of an asset has four letters");
        data += name;
        append_big_endian(data, static_cast<std::uint64_t>(record.number));
        data += record.root + record.hash;
    }
    return data;
}

// What an earlier key signed is brought to its end, too; it holds up nothing of the present one.
void Poster::run(const Rules& rules) const {
    const auto open_of = [&](const crypto::Address& signer) {
        return parts_.database.read(
            [&](db::Transaction& tx) { return list_open_posts(tx, signer); });
    };
    for (const crypto::Address& signer : parts_.database.read(list_posters))
        if (signer != parts_.key.address()) follow(rules, open_of(signer));
    const auto open = open_of(parts_.key.address());
    if (!open.empty()) return follow(rules, open);
    if (rules.every_hours > 0) begin(rules);
}

void Poster::begin(const Rules& rules) const {
    const Time now = parts_.clock.now();
    std::vector<RecordRow> newest;
    const auto last = parts_.database.read([&](db::Transaction& tx) {
        newest.clear();
        for (const ledger::Asset asset : ledger::assets)
            if (auto row = find_newest(tx, asset)) newest.push_back(std::move(*row));
        return find_last_post(tx);
    });
    const bool all_posted =
        std::ranges::all_of(newest, [](const RecordRow& row) { return row.posted_tx.has_value(); });
    if (all_posted || (last && *last + std::chrono::hours(rules.every_hours) > now)) return;
    const chain::Standing standing = parts_.chain.standing(parts_.key.address(), {});
    PostRow plan;
    // The key signs nothing else, and nothing of it is open.
    plan.nonce = standing.latest_nonce;
    plan.data = post_data(newest);
    if (const auto row = sign(plan, standing, rules)) send(*row);
}

// What has ended is final: one of the attempts was taken, or another transaction has their nonce.
// What has not is sent again, since pools forget; only its own key can sign it at a higher fee.
void Poster::follow(const Rules& rules, const std::vector<PostRow>& open) const {
    if (open.empty()) return;
    using Status = chain::Outcome::Status;
    std::vector<chain::Hash> hashes;
    for (const PostRow& row : open) hashes.push_back(row.tx_hash);
    const std::vector<chain::Outcome> outcomes = parts_.chain.outcomes(hashes);
    for (std::size_t i = 0; i < open.size(); ++i) {
        const Status status = outcomes.at(i).status;
        if (status == Status::succeeded || status == Status::reverted)
            return end(open[i], status == Status::succeeded);
        if (status != Status::unseen) return;
    }
    const PostRow& newest = open.back();
    const chain::Standing standing = parts_.chain.standing(newest.signer, {});
    if (standing.finalized_nonce > newest.nonce) return end(newest, false);
    if (standing.latest_nonce > newest.nonce) return;
    const bool stuck = parts_.clock.now() - newest.created_at >= post_again_after;
    if (!stuck || newest.attempt >= post_attempts_max || newest.signer != parts_.key.address())
        return send(newest);
    PostRow plan = newest;
    plan.attempt = newest.attempt + 1;
    const auto row = sign(plan, standing, rules);
    send(row ? *row : newest);
}

// Keeps: signed bytes are committed before they are sent. Empty when somebody else was quicker, or
// the fees or the gas do not allow it.
std::optional<PostRow> Poster::sign(const PostRow& plan, const chain::Standing& standing,
                                    const Rules& rules) const {
    const std::string address = crypto::checksummed(parts_.key.address());
    const chain::Fees& fees = standing.fees;
    if (fees.base > rules.fee_max || fees.priority > rules.fee_max) {
        log(berth::Level::warn, "liabilities_post_fee_above_cap", {{"address", address}});
        return std::nullopt;
    }
    PostRow row = plan;
    row.signer = parts_.key.address();
    row.priority_fee = std::max(fees.priority, plan.attempt > 1 ? risen(plan.priority_fee) : 0);
    row.fee_max =
        std::max(2 * fees.base + row.priority_fee, plan.attempt > 1 ? risen(plan.fee_max) : 0);
    if (row.fee_max > rules.fee_max) {
        log(berth::Level::warn, "liabilities_post_fee_above_cap", {{"address", address}});
        return std::nullopt;
    }
    if (standing.gas / post_gas_max < row.fee_max) {
        log(berth::Level::error, "liabilities_post_short_of_gas", {{"address", address}});
        return std::nullopt;
    }
    const chain::Signed made = chain::sign({.chain_id = parts_.chain_id,
                                            .nonce = row.nonce,
                                            .priority_fee = row.priority_fee,
                                            .fee_max = row.fee_max,
                                            .gas_max = post_gas_max,
                                            .to = row.signer,
                                            .data = row.data},
                                           parts_.key);
    row.tx_hash = made.hash;
    row.signed_bytes = made.bytes;
    row.created_at = parts_.clock.now();
    const bool ours = parts_.database.write([&](db::Transaction& tx) { return add_post(tx, row); });
    return ours ? std::optional(std::move(row)) : std::nullopt;
}

void Poster::send(const PostRow& row) const {
    const chain::Sent sent = parts_.chain.send({row.signed_bytes}).front();
    if (sent.status != chain::Sent::Status::taken)
        log(berth::Level::warn, "liabilities_post_not_sent", {{"why", sent.why}});
}

void Poster::end(const PostRow& row, bool posted) const {
    const Time now = parts_.clock.now();
    const std::string hash = chain::to_string(row.tx_hash);
    parts_.database.write([&](db::Transaction& tx) {
        end_posts(tx, row, posted, now);
        if (!posted) return;
        for (const Named& one : records_of(row.data)) note_posted(tx, one.asset, one.number, hash);
    });
    log(posted ? berth::Level::info : berth::Level::error,
        posted ? "liabilities_posted" : "liabilities_post_failed", {{"transaction", hash}});
}

worker::Kind post_liabilities_kind(const Poster::Parts& parts) {
    worker::Kind kind;
    kind.name = post_liabilities_kind_name;
    kind.run = [poster = Poster(parts)](worker::Attempt& attempt) {
        constexpr std::int64_t wei_per_gwei = 1'000'000'000;
        poster.run({*attempt.settings<Settings>().liabilities_post_hours,
                    *attempt.settings<transfers::Settings>().gas_fee_max_gwei * wei_per_gwei});
    };
    kind.every = post_look_every;
    return kind;
}

}  // namespace berth::liabilities
