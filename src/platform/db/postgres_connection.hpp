// One PostgreSQL connection in libpq's pipeline mode. Commands are queued and travel together;
// their replies come back in the order they were sent. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "db/engine.hpp"

struct pg_conn;
struct pg_result;

namespace berth::db {

struct PostgresSettings {
    std::vector<std::pair<std::string, std::string>> parameters;  // libpq's keywords and values
    Duration reply_max;                                           // for one reply of the server
};

class PostgresConnection {
public:
    // What happens to the reply of a command.
    enum class Use {
        wanted,   // receive() gives it out
        prelude,  // read along; a failure comes out with the next wanted reply
        ignored,  // read along and forgotten
    };
    struct Reply {
        Result result;
        Failure failure;
        std::string tag;       // the name of what was done, such as "COMMIT"
        bool skipped = false;  // the server did not look at it, because of an earlier error
    };

    explicit PostgresConnection(const PostgresSettings& settings);  // throws Unavailable
    ~PostgresConnection();
    PostgresConnection(const PostgresConnection&) = delete;
    PostgresConnection& operator=(const PostgresConnection&) = delete;

    // Queues a command; nothing need be on its way yet. A failure to do so shows in receive().
    void send(std::string_view sql, std::span<const Param> params, Use use);
    // After an error the server skips everything up to the next sync.
    void sync();
    // Sends what is queued. Replies that nobody wants are left for later where that is safe.
    void settle();
    // The next wanted reply.
    Reply receive();
    // From now on nobody wants the replies still to come.
    void ignore_outstanding();
    // Several statements at once, outside the pipeline; no reply may be outstanding.
    Failure script(std::string_view sql);

    bool usable() const { return usable_; }
    // Whether somebody stands between who gives sessions of their own: PostgreSQL tells the process
    // that works for us by another number than the one we were told when we connected.
    bool is_pooled();

private:
    struct Expected {
        enum class Kind { prepare, command, sync } kind;
        Use use;
        bool first_use;   // the statement was prepared just before
        std::string key;  // of the statement to prepare
    };
    void load_params(std::span<const Param> params);
    bool send_statement(std::string_view sql, std::span<const Param> params, bool& first_use);
    bool await_reply(Duration reply_max);
    Reply next_reply(Use& use);
    Reply interpret(pg_result* result, const Expected& expected);
    void drain();
    void lose(Failure::Kind kind, std::string_view reason);

    const Duration reply_max_;
    pg_conn* handle_ = nullptr;
    bool usable_ = true;
    Failure end_;                 // why it is not usable any more
    bool request_flush_ = false;  // commands were queued after the last flush request or sync
    Failure prelude_failure_;
    std::deque<Expected> expected_;
    std::unordered_map<std::string, std::string> statements_;  // their names, by text and types
    int names_ = 0;

    // The parameters of the command being sent, in libpq's shape; kept to save allocations.
    std::string key_;
    std::string integers_;
    std::vector<unsigned> types_;
    std::vector<const char*> values_;
    std::vector<int> lengths_;
    std::vector<int> formats_;
};

}  // namespace berth::db
