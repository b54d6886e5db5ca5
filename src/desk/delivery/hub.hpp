// All open streams of events of a process, and the one thread that serves them. It hears of news by
// the wakes of this process at once, of what other processes told by one look a second, and
// compares the heads of all streams now and then, so that nothing that committed late is lost. An
// account is read once for all its streams that are equally far; who reads slowly has no more than
// one piece under way and is served from the table when it has room again.
//
// Streams end when their credential does: accounts whose access changed are looked at twice a
// second, every credential once a minute.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "accounts/credentials.hpp"
#include "base/log_limiter.hpp"
#include "db/db.hpp"
#include "events/reading.hpp"
#include "http/loop.hpp"

namespace berth::delivery {

class EventStream;

// Why a stream is ended by the server.
enum class StreamEnd { credential_ended, server_stops, events_expired };
BOOST_DESCRIBE_ENUM(StreamEnd, credential_ended, server_stops, events_expired)

class Hub {
    using SteadyClock = std::chrono::steady_clock;

public:
    static constexpr std::chrono::milliseconds tick{500};
    // News that come so soon after others are told together with what follows until then: one look
    // at the database and one turn of each I/O thread for all of them. What comes alone is told at
    // once.
    static constexpr std::chrono::milliseconds gathered_for{20};
    static constexpr std::chrono::seconds look_every{1};
    static constexpr std::chrono::seconds heads_every{15};
    static constexpr std::chrono::seconds sign_of_life_every{15};
    static constexpr std::chrono::seconds credentials_every{60};
    static constexpr std::chrono::seconds told_lately{10};
    static constexpr std::size_t piece_bytes_max = 8 * 1024;  // but for one event that is longer

    ~Hub() { stop(); }

    void connect(db::Database& database, const Clock& clock) {  // before any stream
        database_ = &database;
        clock_ = &clock;
    }
    void start();
    void end_all();  // all that are open, and all that come from now on
    void stop();

    // A stream that is counted, from before it begins until it is gone.
    class Place {
    public:
        ~Place() { hub_.leave(account_); }
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;

    private:
        friend class Hub;
        Place(Hub& hub, AccountId account) : hub_(hub), account_(account) {}

        Hub& hub_;
        const AccountId account_;
    };
    struct Limits {
        std::int64_t per_account = 0;
        std::int64_t in_all = 0;
    };
    // Throws a Problem, 429 or 503, when there are as many as may be.
    std::unique_ptr<Place> enter(AccountId account, const Limits& limits);
    std::size_t open() const;

    // What a stream reads, for whom, and how far it is.
    struct Listener {
        AccountId owner;   // of the credential
        AccountId stream;  // the owner's, or the operators'
        accounts::HeldCredential credential;
        std::optional<Time> ends_at;  // the credential, by itself
        events::Filter filter;
        std::int64_t through = 0;
    };
    // From its loop. Its number; 0 when it must end at once.
    std::uint64_t attach(Listener listener, std::shared_ptr<http::Loop> loop,
                         std::weak_ptr<EventStream> stream);
    void detach(std::uint64_t id);
    void has_room(std::span<const std::uint64_t> ids);

    // Soon, and not only when its minute is over.
    void identify_all();

private:
    struct Entry {
        Listener listener;
        std::string filter_key;  // equal for filters that let the same through
        std::shared_ptr<http::Loop> loop;
        std::weak_ptr<EventStream> stream;
        bool busy = false;    // a piece is under way, or there is no room
        bool behind = false;  // there was news meanwhile
        // Its credential was not looked at since it came, and may have ended on the way.
        bool is_new = true;
        SteadyClock::time_point written_at{};
        SteadyClock::time_point identified_at{};
    };
    struct Room {
        std::set<std::uint64_t> streams;
        SteadyClock::time_point head_seen_at{};
    };
    // What one stream is to be sent; an empty text only moves its place.
    struct Piece {
        std::uint64_t id = 0;
        std::shared_ptr<const std::string> text;
        std::int64_t through = 0;
        bool more = false;
        bool expired = false;
    };
    struct Reader {
        std::uint64_t id = 0;
        events::Filter filter;
        std::string filter_key;
    };
    // Those of an account that are equally far: one reading is for all of them.
    struct Group {
        AccountId account;
        std::int64_t through = 0;
        std::vector<Reader> readers;
    };
    class Chapter;
    struct Posted {
        std::uint64_t id = 0;
        std::weak_ptr<EventStream> stream;
        std::shared_ptr<const std::string> text;
    };
    using ByLoop = std::map<std::shared_ptr<http::Loop>, std::vector<Posted>>;

    void leave(AccountId account);
    void wake(const WakeKey& key);
    void run();
    void gather(std::unique_lock<std::mutex>& lock);
    void serve(std::set<AccountId>& accounts, SteadyClock::time_point until);
    void add_readers(AccountId account, std::vector<Group>& groups);
    static void read_groups(db::Transaction& tx, std::span<const Group> groups,
                            std::vector<Piece>& pieces);
    static void add_pieces(Chapter& chapter, const Group& group, std::vector<Piece>& pieces);
    static void find_expired(db::Transaction& tx, const std::vector<const Group*>& groups,
                             std::vector<Piece>& pieces);
    void send(const std::vector<Piece>& pieces);
    void post(ByLoop by_loop);
    void look(SteadyClock::time_point now);
    void look_at_other_processes();
    void look_at_heads(SteadyClock::time_point now);
    void look_at_credentials(SteadyClock::time_point now);
    void give_signs_of_life(SteadyClock::time_point now);
    void note_news(AccountId account, std::int64_t newest);
    void end_streams(const std::vector<std::uint64_t>& ids, StreamEnd why);

    db::Database* database_ = nullptr;
    const Clock* clock_ = nullptr;
    db::Wakes::Listening listening_;

    mutable std::mutex mutex_;  // guards what follows, never held over a look at the database
    std::condition_variable changed_;
    std::unordered_map<std::uint64_t, Entry> entries_;
    std::unordered_map<AccountId, Room> rooms_;
    std::unordered_map<AccountId, std::int64_t> open_by_account_;
    std::size_t open_ = 0;
    std::set<AccountId> news_;
    bool access_changed_ = false;
    bool gathers_ = false;     // it looks for news by itself, soon
    bool catches_up_ = false;  // a stream that is behind is not to wait for that
    std::uint64_t ids_ = 0;
    bool ending_ = false;
    bool stopping_ = false;

    // Of the thread alone.
    AccountId served_last_;
    std::optional<std::int64_t> access_epoch_;  // none: nobody was looked after since
    SteadyClock::time_point looked_at_{};
    SteadyClock::time_point served_at_{};
    LogLimiter failed_looks_{std::chrono::seconds(10)};
    std::thread thread_;
};

}  // namespace berth::delivery
