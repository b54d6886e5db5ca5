#include "delivery/hub.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "accounts/access_changes.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "base/problem.hpp"
#include "delivery/event_stream.hpp"
#include "events/events.hpp"

namespace berth::delivery {
namespace {

constexpr std::int64_t rows_at_once = 100;
constexpr std::size_t groups_at_once = 200;       // in one look at the database
constexpr std::size_t groups_under_way_max = 64;  // in one round trip
// Of those that are only looked at because their minute is over: a crowd that came together is
// spread over the next looks.
constexpr std::size_t identified_at_once = 500;
constexpr std::chrono::milliseconds pause_after_failure{250};

std::string key_of(const events::Filter& filter) {
    std::string key = fmt::format("{}{}", filter.hearing.renter, filter.hearing.host);
    for (const std::string& type : filter.types) key += "," + type;
    if (filter.subject_id) key += ";" + *filter.subject_id;
    return key;
}

// Whether what a stream was opened with may still hear the same.
bool may_go_on(const Hub::Listener& listener, const std::optional<accounts::Rights>& rights) {
    if (!rights) return false;
    if (listener.stream == events::operators_stream) return rights->is_operator;
    if (listener.credential.kind != api::Credential::api_key) return true;
    return rights->renter == listener.filter.hearing.renter &&
           rights->host == listener.filter.hearing.host;
}

}  // namespace

// The events of one account after a number, made into text once for all who are as far.
class Hub::Chapter {
public:
    Chapter(std::vector<events::Kept> rows, std::int64_t after)
        : rows_(std::move(rows)), frames_(rows_.size()), after_(after) {}

    bool empty() const { return rows_.empty(); }
    // What follows was deleted before it could be read.
    bool has_gap() const { return rows_.front().event.sequence.value != after_ + 1; }
    bool is_full() const { return std::ssize(rows_) == rows_at_once; }

    struct Part {
        std::shared_ptr<const std::string> text;
        std::int64_t through = 0;
        bool more = false;
    };
    Part part_for(const events::Filter& filter) {
        Part part{.text = nullptr, .through = after_, .more = is_full()};
        std::string text;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (filter.wants(rows_[i])) {
                if (text.size() + frame(i).size() > Hub::piece_bytes_max && !text.empty()) {
                    part.more = true;
                    break;
                }
                text += frame(i);
            }
            part.through = rows_[i].event.sequence.value;
        }
        if (!text.empty()) part.text = std::make_shared<const std::string>(std::move(text));
        return part;
    }

private:
    const std::string& frame(std::size_t i) {
        if (frames_[i].empty()) frames_[i] = frame_of(rows_[i].event);
        return frames_[i];
    }

    std::vector<events::Kept> rows_;
    std::vector<std::string> frames_;  // made when they are first wanted
    std::int64_t after_;
};

void Hub::start() {
    require(database_ != nullptr, "the hub has its database before it starts");
    listening_ = database_->wakes().listen([this](const WakeKey& key) { wake(key); });
    thread_ = std::thread([this] { run(); });
}

void Hub::stop() {
    end_all();
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    listening_.reset();
}

void Hub::end_all() {
    std::vector<std::uint64_t> all;
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        for (const auto& [id, entry] : entries_) all.push_back(id);
    }
    end_streams(all, StreamEnd::server_stops);
}

std::unique_ptr<Hub::Place> Hub::enter(AccountId account, const Limits& limits) {
    const std::lock_guard lock(mutex_);
    if (static_cast<std::int64_t>(open_) >= limits.in_all)
        throw Problem(Code::unavailable,
                      "this server holds as many streams as it can; try again later");
    std::int64_t& open = open_by_account_[account];
    if (open >= limits.per_account) throw Problem::rate_limited();
    std::unique_ptr<Place> place(new Place(*this, account));
    ++open;
    ++open_;
    return place;
}

void Hub::leave(AccountId account) {
    const std::lock_guard lock(mutex_);
    const auto count = open_by_account_.find(account);
    if (--count->second == 0) open_by_account_.erase(count);
    --open_;
}

std::size_t Hub::open() const {
    const std::lock_guard lock(mutex_);
    return open_;
}

std::uint64_t Hub::attach(Listener listener, std::shared_ptr<http::Loop> loop,
                          std::weak_ptr<EventStream> stream) {
    const std::lock_guard lock(mutex_);
    if (ending_) return 0;
    const std::uint64_t id = ++ids_;
    rooms_[listener.stream].streams.insert(id);
    Entry entry;
    entry.filter_key = key_of(listener.filter);
    entry.listener = std::move(listener);
    entry.loop = std::move(loop);
    entry.stream = std::move(stream);
    entry.busy = entry.behind = true;  // until it says that it has room
    entry.written_at = SteadyClock::now();
    entries_.emplace(id, std::move(entry));
    return id;
}

void Hub::detach(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    const auto room = rooms_.find(found->second.listener.stream);
    room->second.streams.erase(id);
    if (room->second.streams.empty()) rooms_.erase(room);
    entries_.erase(found);
}

void Hub::has_room(std::span<const std::uint64_t> ids) {
    const std::lock_guard lock(mutex_);
    bool wake = false;
    for (const std::uint64_t id : ids) {
        const auto found = entries_.find(id);
        if (found == entries_.end()) continue;
        Entry& entry = found->second;
        entry.busy = false;
        entry.written_at = SteadyClock::now();
        if (!std::exchange(entry.behind, false)) continue;
        news_.insert(entry.listener.stream);
        wake = true;
    }
    if (!wake) return;
    catches_up_ = true;
    changed_.notify_all();
}

// On the thread of whoever committed.
void Hub::wake(const WakeKey& key) {
    const auto account = events::account_of(key);
    if (!account && key.topic != accounts::access_topic) return;
    const std::lock_guard lock(mutex_);
    if (account) {
        if (!rooms_.contains(*account)) return;
        news_.insert(*account);
        if (gathers_) return;
    } else {
        if (entries_.empty()) return;
        access_changed_ = true;
    }
    changed_.notify_all();
}

void Hub::run() {
    SteadyClock::time_point next = SteadyClock::now() + tick;
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait_until(lock, next,
                            [this] { return stopping_ || !news_.empty() || access_changed_; });
        if (!news_.empty()) gather(lock);
        if (stopping_) return;
        std::set<AccountId> accounts = std::exchange(news_, {});
        catches_up_ = false;
        const bool access_changed = access_changed_;
        lock.unlock();
        bool failed = false;
        try {
            const bool has_news = !accounts.empty();
            serve(accounts, next);
            const auto now = SteadyClock::now();
            if (has_news) served_at_ = now;
            if (now >= next || access_changed) look(now);
            if (now >= next) next = now + tick;
        } catch (const std::exception& error) {
            failed = true;
            if (const std::int64_t times = failed_looks_.note())
                log(Level::warn, "event_streams_not_served",
                    {{"why", error.what()}, {"times", times}});
        }
        lock.lock();
        catches_up_ = catches_up_ || !accounts.empty();  // what is left does not wait for others
        news_.merge(accounts);
        if (failed) changed_.wait_for(lock, pause_after_failure, [this] { return stopping_; });
    }
}

void Hub::gather(std::unique_lock<std::mutex>& lock) {
    gathers_ = true;
    changed_.wait_until(lock, served_at_ + gathered_for,
                        [this] { return stopping_ || access_changed_ || catches_up_; });
    gathers_ = false;
}

void Hub::identify_all() {
    const std::lock_guard lock(mutex_);
    for (auto& [id, entry] : entries_) entry.is_new = true;
    access_changed_ = true;
    changed_.notify_all();
}

// Reads for some accounts at a time, sends what was found, and takes them off the list. It leaves
// the rest when it is time to look whose credentials have ended: however many streams catch up, a
// key that was revoked hears nothing more. It goes on behind the last one, so that all have a turn.
void Hub::serve(std::set<AccountId>& accounts, SteadyClock::time_point until) {
    while (!accounts.empty()) {
        std::vector<Group> groups;
        auto first = accounts.upper_bound(served_last_);
        if (first == accounts.end()) first = accounts.begin();
        auto end = first;
        while (end != accounts.end() && groups.size() < groups_at_once) add_readers(*end++, groups);
        if (!groups.empty()) {
            std::vector<Piece> pieces;
            database_->read([&](db::Transaction& tx) {
                pieces.clear();
                read_groups(tx, groups, pieces);
            });
            send(pieces);
        }
        served_last_ = *std::prev(end);
        accounts.erase(first, end);
        if (SteadyClock::now() >= until) return;
    }
}

// Those that have room; the others are behind from now on, until they have.
void Hub::add_readers(AccountId account, std::vector<Group>& groups) {
    const std::lock_guard lock(mutex_);
    const auto room = rooms_.find(account);
    if (room == rooms_.end()) return;
    std::map<std::int64_t, std::vector<Reader>> readers;  // by how far they are
    for (const std::uint64_t id : room->second.streams) {
        Entry& entry = entries_.find(id)->second;
        if (entry.busy)
            entry.behind = true;
        else
            readers[entry.listener.through].push_back(
                {id, entry.listener.filter, entry.filter_key});
    }
    for (auto& [through, same] : readers) groups.push_back({account, through, std::move(same)});
}

void Hub::read_groups(db::Transaction& tx, std::span<const Group> groups,
                      std::vector<Piece>& pieces) {
    std::vector<const Group*> without;  // of whom nothing was found
    while (!groups.empty()) {
        const auto some = groups.first(std::min(groups.size(), groups_under_way_max));
        groups = groups.subspan(some.size());
        std::vector<db::Transaction::Ticket> asked;
        for (const Group& group : some)
            asked.push_back(events::start_after(tx, group.account, group.through, rows_at_once));
        for (std::size_t i = 0; i < some.size(); ++i) {
            Chapter chapter(events::finish_after(tx, asked[i]), some[i].through);
            if (chapter.empty())
                without.push_back(&some[i]);
            else
                add_pieces(chapter, some[i], pieces);
        }
    }
    find_expired(tx, without, pieces);
}

// Each with what its filter leaves of the chapter.
void Hub::add_pieces(Chapter& chapter, const Group& group, std::vector<Piece>& pieces) {
    std::map<std::string, Chapter::Part> parts;  // by filter
    for (const Reader& reader : group.readers) {
        if (chapter.has_gap()) {
            pieces.push_back({.id = reader.id, .text = nullptr, .expired = true});
            continue;
        }
        auto part = parts.find(reader.filter_key);
        if (part == parts.end())
            part = parts.emplace(reader.filter_key, chapter.part_for(reader.filter)).first;
        pieces.push_back({.id = reader.id,
                          .text = part->second.text,
                          .through = part->second.through,
                          .more = part->second.more});
    }
}

// Nothing follows their place: because there is nothing new, or because all of it was deleted.
void Hub::find_expired(db::Transaction& tx, const std::vector<const Group*>& groups,
                       std::vector<Piece>& pieces) {
    std::set<AccountId> accounts;
    for (const Group* group : groups) accounts.insert(group->account);
    const std::vector<AccountId> list(accounts.begin(), accounts.end());
    std::map<AccountId, events::Head> heads;
    for (const events::AccountHead& head : events::heads_of(tx, list))
        heads[head.account_id] = {head.oldest, head.newest};
    for (const Group* group : groups)
        if (!heads[group->account].reaches(group->through))
            for (const Reader& reader : group->readers)
                pieces.push_back({.id = reader.id, .text = nullptr, .expired = true});
}

void Hub::send(const std::vector<Piece>& pieces) {
    ByLoop by_loop;
    std::vector<std::uint64_t> expired;
    {
        const std::lock_guard lock(mutex_);
        for (const Piece& piece : pieces) {
            const auto found = entries_.find(piece.id);
            if (found == entries_.end()) continue;
            Entry& entry = found->second;
            if (piece.expired) {
                expired.push_back(piece.id);
                continue;
            }
            entry.listener.through = piece.through;
            if (!piece.text) {
                if (piece.more) news_.insert(entry.listener.stream);
                catches_up_ = catches_up_ || piece.more;
                continue;
            }
            entry.busy = true;
            entry.behind = piece.more;
            by_loop[entry.loop].push_back({piece.id, entry.stream, piece.text});
        }
    }
    post(std::move(by_loop));
    end_streams(expired, StreamEnd::events_expired);
}

// One turn of each loop writes for all of its streams.
void Hub::post(ByLoop by_loop) {
    for (auto& [loop, posted] : by_loop)
        loop->post([this, posted = std::move(posted)] {
            std::vector<std::uint64_t> with_room;
            for (const Posted& each : posted)
                if (const auto stream = each.stream.lock(); stream && stream->write(*each.text))
                    with_room.push_back(each.id);
            has_room(with_room);
        });
}

void Hub::look(SteadyClock::time_point now) {
    {
        const std::lock_guard lock(mutex_);
        access_changed_ = false;
        if (entries_.empty()) {
            access_epoch_.reset();  // whoever comes next is asked in any case
            return;
        }
    }
    look_at_credentials(now);
    if (now < looked_at_ + look_every) return;
    looked_at_ = now;
    // Nobody else writes to a SQLite file.
    if (database_->engine() == db::Engine::postgres) look_at_other_processes();
    look_at_heads(now);
    give_signs_of_life(now);
}

void Hub::look_at_other_processes() {
    const auto told = database_->read(
        [&](db::Transaction& tx) { return events::told_since(tx, clock_->now() - told_lately); });
    for (const events::Told& each : told) note_news(each.account_id, each.newest);
}

void Hub::look_at_heads(SteadyClock::time_point now) {
    std::vector<AccountId> due;
    {
        const std::lock_guard lock(mutex_);
        for (auto& [account, room] : rooms_) {
            if (now < room.head_seen_at + heads_every) continue;
            due.push_back(account);
            room.head_seen_at = now;
        }
    }
    if (due.empty()) return;
    const auto heads =
        database_->read([&](db::Transaction& tx) { return events::heads_of(tx, due); });
    for (const events::AccountHead& head : heads) note_news(head.account_id, head.newest);
}

// Only where a stream has not come so far.
void Hub::note_news(AccountId account, std::int64_t newest) {
    const std::lock_guard lock(mutex_);
    const auto room = rooms_.find(account);
    if (room == rooms_.end()) return;
    const bool is_news = std::any_of(
        room->second.streams.begin(), room->second.streams.end(),
        [&](std::uint64_t id) { return entries_.find(id)->second.listener.through < newest; });
    if (!is_news) return;
    news_.insert(account);
    changed_.notify_all();
}

void Hub::look_at_credentials(SteadyClock::time_point now) {
    const accounts::AccessChanges changes =
        database_->read([&](db::Transaction& tx) -> accounts::AccessChanges {
            if (!access_epoch_) return {accounts::current_access_epoch(tx), {}};
            return accounts::access_changes_since(tx, *access_epoch_);
        });
    const std::set<AccountId> changed(changes.accounts.begin(), changes.accounts.end());
    const Time time = clock_->now();
    std::map<accounts::HeldCredential, std::vector<std::uint64_t>> asked;
    std::vector<std::uint64_t> over;
    std::size_t due = 0;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [id, entry] : entries_) {
            const Listener& listener = entry.listener;
            if (listener.ends_at && *listener.ends_at <= time) {
                over.push_back(id);
            } else if (entry.is_new || changed.contains(listener.owner) ||
                       (now >= entry.identified_at + credentials_every &&
                        due++ < identified_at_once)) {
                asked[listener.credential].push_back(id);
            }
        }
    }
    std::vector<accounts::HeldCredential> held;
    for (const auto& [credential, ids] : asked) held.push_back(credential);
    std::vector<std::optional<accounts::Rights>> rights;
    if (!held.empty())
        rights = database_->read(
            [&](db::Transaction& tx) { return accounts::find_rights(tx, held, time); });
    {
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < held.size(); ++i)
            for (const std::uint64_t id : asked[held[i]]) {
                const auto found = entries_.find(id);
                if (found == entries_.end()) continue;
                found->second.is_new = false;
                found->second.identified_at = now;
                if (!may_go_on(found->second.listener, rights[i])) over.push_back(id);
            }
    }
    access_epoch_ = changes.epoch;
    end_streams(over, StreamEnd::credential_ended);
}

void Hub::give_signs_of_life(SteadyClock::time_point now) {
    ByLoop by_loop;
    {
        const std::lock_guard lock(mutex_);
        for (auto& [id, entry] : entries_) {
            if (entry.busy || now < entry.written_at + sign_of_life_every) continue;
            entry.busy = true;
            by_loop[entry.loop].push_back(
                {id, entry.stream,
                 std::make_shared<const std::string>(frame_of_place(entry.listener.through))});
        }
    }
    post(std::move(by_loop));
}

void Hub::end_streams(const std::vector<std::uint64_t>& ids, StreamEnd why) {
    for (const std::uint64_t id : ids) {
        std::shared_ptr<http::Loop> loop;
        std::weak_ptr<EventStream> stream;
        {
            const std::lock_guard lock(mutex_);
            const auto found = entries_.find(id);
            if (found == entries_.end()) continue;
            found->second.busy = true;  // nothing more is sent to it
            loop = found->second.loop;
            stream = found->second.stream;
        }
        loop->post([stream, why] {
            if (const auto open = stream.lock()) open->end(why);
        });
    }
}

}  // namespace berth::delivery
