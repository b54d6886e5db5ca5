// Addresses that the operator does no business with: nothing is credited that came from one, and
// nothing is paid to one. The list is a table that every process asks; its rows come from the
// operator's file and from operators by name.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/evm.hpp"
#include "db/migrate.hpp"
#include "worker/worker.hpp"

namespace berth::block_list {

enum class Source { file, operator_ };
BOOST_DESCRIBE_ENUM(Source, file, operator_)

struct Blocked {
    crypto::Address address;
    Source source{};
    std::string reason;
    std::optional<AccountId> blocked_by = {};
    Time blocked_at;
};
BOOST_DESCRIBE_STRUCT(Blocked, (), (address, source, reason, blocked_by, blocked_at))

bool is_blocked(db::Transaction& tx, const crypto::Address& address);
bool is_empty(db::Transaction& tx);
// Throws FORBIDDEN with this sentence's beginning: "body.address", "the sender of this transfer".
void require_not_blocked(db::Transaction& tx, const crypto::Address& address,
                         std::string_view what);

std::vector<Blocked> find(db::Transaction& tx, const crypto::Address& address);
// In the order of addresses.
struct Place {
    std::string address;
    std::string source;
};
std::vector<Blocked> list(db::Transaction& tx, const std::optional<Place>& after,
                          std::int64_t rows_max);
// False when an operator has blocked it already.
bool block(db::Transaction& tx, const Blocked& blocked);
// True for the one caller that takes this row away.
bool unblock(db::Transaction& tx, const crypto::Address& address, Source source);

// The operator's file: an address on each line, and why after a space or comma; what follows # is
// for people. Throws std::invalid_argument with one sentence, which names the line.
inline constexpr std::size_t file_bytes_max = 16 << 20;
inline constexpr std::size_t file_addresses_max = 100'000;
struct Line {
    crypto::Address address;
    std::string reason;
};
std::vector<Line> parse_file(std::string_view text);
std::vector<Line> read_file(const std::string& path);

// What the file names is blocked at once. What it does not name any more goes when no reading, by
// whichever server, has named it for this long: a file that is being written looks like a shorter
// one, and servers may have different files while a new one is brought out.
inline constexpr Duration file_forgets_after = std::chrono::hours(1);
// The first line of a file that names nobody, and means it. Without it such a file takes nobody
// off.
inline constexpr std::string_view empty_on_purpose = "# empty on purpose";

// Brings the rows of the file towards what it says now, and records what changed.
struct Synced {
    std::int64_t added = 0;
    std::int64_t removed = 0;
};
// Runs before an address is blocked, in the same transaction: whoever pays just now has committed
// by then, or finds it blocked.
using BeforeBlocking = std::function<void(db::Transaction&)>;
Synced sync(db::Context context, const std::vector<Line>& lines,
            const BeforeBlocking& before_blocking = {});
bool is_current(db::Transaction& tx, const std::vector<Line>& lines, Time now);

// The task that reads the file.
struct ReadingParts {
    std::string path;
    db::Database& database;
    const Clock& clock;
    Random& random;
    BeforeBlocking before_blocking;
};
worker::Kind read_block_list_kind(const ReadingParts& parts);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::block_list
