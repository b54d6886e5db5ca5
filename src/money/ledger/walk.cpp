#include "ledger/walk.hpp"

#include <algorithm>

#include "base/problem.hpp"

namespace berth::ledger {
namespace {

constexpr std::int64_t page_transactions = 500;
constexpr std::size_t accounts_at_once = 64;  // whose pages travel together
constexpr std::size_t postings_at_once = 500;

}  // namespace

// An entry beside its transaction; of one without entries the second half is NULL.
struct Walker::Line {
    TransactionId transaction_id;
    std::int64_t sequence = 0;
    std::string movement;
    std::string reference;
    Time at;
    Bytes previous_hash;
    Bytes hash;
    std::optional<std::int64_t> ordinal;
    std::optional<AccountId> owner_id;
    std::optional<std::string> asset;
    std::optional<std::string> pocket;
    std::optional<std::string> kind;
    std::optional<Micro> amount;
    std::optional<AccountId> party_id;
    std::optional<std::int64_t> day;
    std::optional<JobId> job_id;
    std::optional<MachineId> machine_id;
    std::optional<std::int64_t> place;

    BOOST_DESCRIBE_CLASS(Line, (),
                         (transaction_id, sequence, movement, reference, at, previous_hash, hash,
                          ordinal, owner_id, asset, pocket, kind, amount, party_id, day, job_id,
                          machine_id, place),
                         (), ())
};

namespace {

template <class SomeId>
void note_subject(std::unordered_set<SomeId>& ids, const Posted& posted) {
    if (const auto id = parse_uuid(posted.subject())) ids.insert(SomeId{*id});
}

// What an entry does to the balances and totals of customers.
void change_of(Changes& changes, const Entry& entry) {
    const auto of = [&](AccountId account) -> Balances& { return changes[{account, entry.asset}]; };
    switch (entry.pocket) {
        case Pocket::available: of(entry.owner).available += entry.amount; break;
        case Pocket::held: of(entry.owner).held += entry.amount; break;
        case Pocket::payable: of(entry.owner).payable += entry.amount; break;
        case Pocket::escrow: of(entry.owner).escrow += entry.amount; break;
        case Pocket::reserved: of(entry.owner).reserved += entry.amount; break;
        default: break;
    }
    switch (entry.kind) {
        case Kind::host_earning:
        case Kind::refund_host_reversal: of(entry.owner).earned += entry.amount; break;
        case Kind::platform_fee:
        case Kind::refund_fee_reversal:
            if (entry.party) of(*entry.party).fees += entry.amount;
            break;
        case Kind::payout_settled:
            if (entry.pocket == Pocket::reserved) of(entry.owner).paid -= entry.amount;
            break;
        case Kind::advance:
            if (entry.pocket == Pocket::payable) of(entry.owner).paid -= entry.amount;
            break;
        case Kind::debt_repaid:
        case Kind::debt_covered:
            if (entry.pocket == Pocket::payable) of(entry.owner).repaid += entry.amount;
            break;
        default: break;
    }
}

Posted posted(const Header& header, const std::vector<Entry>& entries) {
    const Micro first = entries.front().amount;
    return {header.id,
            header.movement,
            header.asset,
            header.shard,
            first > Micro{} ? first : -first,
            header.reference};
}

}  // namespace

void add(Balances& to, const Balances& change) {
    to.available += change.available;
    to.held += change.held;
    to.payable += change.payable;
    to.escrow += change.escrow;
    to.reserved += change.reserved;
    to.earned += change.earned;
    to.fees += change.fees;
    to.paid += change.paid;
    to.repaid += change.repaid;
}

void Tally::add(Tally&& other) {
    totals.add(other.totals);
    for (const auto& [key, change] : other.changes) ledger::add(changes[key], change);
    for (const auto& [key, seen] : other.places) {
        Places& all = places[key];
        all.entries += seen.entries;
        all.last = std::max(all.last, seen.last);
    }
    jobs.merge(other.jobs);
    transfers.merge(other.transfers);
    disputes.merge(other.disputes);
    report.add(std::move(other.report));
}

// Where the walk along one account's chain is.
struct Walker::Place {
    const AccountRow* row;
    std::int64_t sequence;
    Bytes head;
    bool over;
    db::Transaction::Ticket ticket;
};

const db::Query<Walker::Line>& Walker::page_query() {
    static const db::Query<Line> query(
        "SELECT {} FROM (SELECT t.transaction_id, t.sequence, t.movement, t.reference, t.at, "
        "t.previous_hash, t.hash, e.ordinal, e.owner_id, e.asset, e.pocket, e.kind, e.amount, "
        "e.party_id, e.day, e.job_id, e.machine_id, e.place FROM ledger_transactions t "
        "LEFT JOIN ledger_entries e ON e.transaction_id = t.transaction_id "
        "WHERE t.account_id = $1 AND t.asset = $2 AND t.sequence > $3 AND t.sequence <= $4) "
        "AS lines ORDER BY sequence, ordinal");
    return query;
}

void Walker::walk(std::span<const AccountRow> accounts, const Verified* verified) {
    notes_ids_ = verified != nullptr;
    std::vector<Place> places;
    for (std::size_t next = 0; next < accounts.size() || !places.empty();) {
        while (next < accounts.size() && places.size() < accounts_at_once) {
            const AccountRow& row = accounts[next++];
            VerifiedAccount from;
            if (verified != nullptr)
                if (const auto known = verified->accounts.find(row.key);
                    known != verified->accounts.end())
                    from = known->second;
            places.push_back({&row, from.sequence, from.head, false, {}});
        }
        for (Place& place : places) {
            place.over = place.sequence >= place.row->sequence;
            if (!place.over)
                place.ticket =
                    tx_.start(page_query().sql(), place.row->key.account, place.row->key.asset,
                              place.sequence,
                              std::min(place.row->sequence, place.sequence + page_transactions));
        }
        for (Place& place : places)
            if (!place.over) read_page(place, page_query().rows(tx_.finish(place.ticket)));
        for (const Place& place : places)
            if (place.over)
                tally_.report.expect(
                    place.sequence == place.row->sequence && place.head == place.row->head,
                    place.row->name() + ": the end of its chain is missing");
        std::erase_if(places, [](const Place& place) { return place.over; });
    }
    ask_witnesses();
}

void Walker::read_page(Place& place, const std::vector<Line>& lines) {
    if (lines.empty()) place.over = true;  // as many transactions as a page has are missing
    for (std::size_t i = 0; i < lines.size();) {
        const Line& first = lines[i];
        Header header;
        header.id = first.transaction_id;
        header.shard = place.row->key.account;
        header.asset = place.row->key.asset;
        header.sequence = first.sequence;
        header.reference = first.reference;
        header.at = first.at;
        ++tally_.totals.transactions;
        std::vector<Entry> entries;
        for (; i < lines.size() && lines[i].transaction_id == header.id; ++i) {
            if (!lines[i].ordinal) continue;  // it has none
            ++tally_.totals.entries;
            if (auto entry = read_entry(header, lines[i])) entries.push_back(std::move(*entry));
        }
        if (const auto movement = parse_movement(first.movement)) {
            header.movement = *movement;
            check_transaction(place, header, first.previous_hash, first.hash, entries);
        } else {
            expect(false, header, ": is no movement that is allowed");
        }
        place.sequence = header.sequence;
        place.head = first.hash;
    }
    if (postings_.size() >= postings_at_once) ask_witnesses();
}

void Walker::expect(bool holds, const Header& header, std::string_view fault) {
    tally_.report.expect(holds, "transaction", header.id, fault);
}

std::optional<Entry> Walker::read_entry(const Header& header, const Line& line) {
    const auto pocket = parse_pocket(line.pocket.value());
    const auto kind = parse_kind(line.kind.value());
    if (!pocket || !kind || line.asset != name(header.asset)) {
        expect(false, header, ": an entry has an unknown pocket, kind or asset");
        return std::nullopt;
    }
    Entry entry;
    entry.transaction = header.id;
    entry.ordinal = line.ordinal.value();
    entry.owner = line.owner_id.value();
    entry.asset = header.asset;
    entry.pocket = *pocket;
    entry.kind = *kind;
    entry.amount = line.amount.value();
    entry.party = line.party_id;
    entry.job = line.job_id;
    entry.machine = line.machine_id;
    entry.place = line.place;
    expect(entry.place.has_value() == (entry.owner != platform), header,
           ": has an entry that statements leave out");
    const auto day = entry.party ? std::optional(day_of(header.at)) : std::nullopt;
    expect(line.day == day, header, ": counts on another day");
    return entry;
}

void Walker::check_transaction(const Place& place, const Header& header, const Bytes& previous,
                               const Bytes& hash, const std::vector<Entry>& entries) {
    expect(header.sequence == place.sequence + 1, header, ": the one before it is missing");
    expect(previous == place.head, header, ": does not follow the one before it");
    expect(hash == chain_hash(place.head, header, entries), header,
           ": its rows are not what was written");
    try {
        check_legs(header, entries);
        count(header, entries);
    } catch (const Problem&) {
        expect(false, header, ": has amounts that nobody can have");
    }
}

// Each entry is one of the movement's legs, in order; legs of amount zero are left out.
void Walker::check_legs(const Header& header, const std::vector<Entry>& entries) {
    const auto plan = legs(header.movement);
    std::size_t next = 0;
    Micro sum;
    for (const Entry& entry : entries) {
        const auto fits = [&](const Leg& leg) {
            return leg.kind == entry.kind && leg.pocket == entry.pocket &&
                   (leg.side == Side::credit) == (entry.amount > Micro{});
        };
        while (next < plan.size() && !fits(plan[next])) ++next;
        expect(next++ < plan.size(), header, ": has an entry that its movement does not allow");
        expect((entry.owner == platform) != of_customer(entry.pocket), header,
               ": a pocket has the wrong owner");
        sum += entry.amount;
    }
    expect(sum == Micro{}, header, ": does not sum to zero");
    expect(!entries.empty(), header, ": has no entries");
}

void Walker::count(const Header& header, const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
        change_of(tally_.changes, entry);
        if (!entry.place) continue;
        Places& seen = tally_.places[{entry.owner, header.asset}];
        ++seen.entries;
        seen.last = std::max(seen.last, *entry.place);
    }
    tally_.totals.add(header, entries);
    if (entries.empty()) return;
    const Posted line = posted(header, entries);
    for (const Witness* witness : witnesses_)
        if (witness->posts(header.movement)) {
            postings_.push_back(line);
            break;
        }
    if (!notes_ids_) return;
    if (entries.front().job) tally_.jobs.insert(*entries.front().job);
    switch (header.movement) {
        case Movement::dispute:
        case Movement::dispute_end: note_subject(tally_.disputes, line); break;
        case Movement::withdrawal_lock:
        case Movement::withdrawal_settle:
        case Movement::withdrawal_return:
        case Movement::payout_lock:
        case Movement::payout_settle:
        case Movement::payout_return:
        case Movement::advance: note_subject(tally_.transfers, line); break;
        default: break;
    }
}

void Walker::ask_witnesses() {
    for (const Witness* witness : witnesses_) {
        std::vector<Posted> its;
        std::copy_if(postings_.begin(), postings_.end(), std::back_inserter(its),
                     [&](const Posted& line) { return witness->posts(line.movement); });
        if (!its.empty()) witness->check_postings(tx_, its, tally_.report);
    }
    postings_.clear();
}

}  // namespace berth::ledger
