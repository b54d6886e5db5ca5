#include "block_list/block_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>

#include "audit/audit.hpp"
#include "base/bytes.hpp"
#include "base/log.hpp"
#include "base/problem.hpp"

namespace berth::block_list {
namespace {

constexpr std::string_view is_blocked_sql =
    "SELECT COUNT(*) FROM blocked_addresses WHERE address = $1";
constexpr std::string_view any_sql = "SELECT address FROM blocked_addresses LIMIT 1";
const db::Query<Blocked> find_sql(
    "SELECT {} FROM blocked_addresses WHERE address = $1 ORDER BY source");
const db::Query<Blocked> list_sql(
    "SELECT {} FROM blocked_addresses "
    "WHERE address > $1 OR (address = $1 AND source > $2) OR $1 IS NULL "
    "ORDER BY address, source LIMIT $3");
const db::Query<Blocked> block_sql(
    "INSERT INTO blocked_addresses ({}) VALUES ({$}) ON CONFLICT (address, source) DO NOTHING");
constexpr std::string_view unblock_sql =
    "DELETE FROM blocked_addresses WHERE address = $1 AND source = $2";
struct OfFile {
    crypto::Address address;
    std::string reason;
    std::optional<Time> lacked_since;
};
BOOST_DESCRIBE_STRUCT(OfFile, (), (address, reason, lacked_since))
const db::Query<OfFile> of_file_sql("SELECT {} FROM blocked_addresses WHERE source = 'file'");
constexpr std::string_view set_reason_sql =
    "UPDATE blocked_addresses SET reason = $2 WHERE address = $1 AND source = 'file'";
constexpr std::string_view set_lacked_sql =
    "UPDATE blocked_addresses SET lacked_since = $2 WHERE address = $1 AND source = 'file'";

constexpr db::Migration history[] = {
    {.feature = "block_list",
     .number = 1,
     .sql = "CREATE TABLE blocked_addresses ("
            "  address @text NOT NULL,"
            "  source @text NOT NULL CHECK (source IN ('file', 'operator')),"
            "  reason @text NOT NULL,"
            "  blocked_by @id,"
            "  blocked_at @int NOT NULL,"
            "  PRIMARY KEY (address, source)"
            ") @strict;"},
    // Since when no reading of the file has named it.
    {.feature = "block_list",
     .number = 2,
     .sql = "ALTER TABLE blocked_addresses ADD COLUMN lacked_since @int;"},
};

constexpr std::string_view blanks = " \t\r,;";
constexpr std::size_t reason_bytes_max = 2000;

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

const std::span<const db::Migration> migrations = history;

bool is_blocked(db::Transaction& tx, const crypto::Address& address) {
    return tx.fetch_value<std::int64_t>(is_blocked_sql, address).value() > 0;
}

bool is_empty(db::Transaction& tx) { return tx.run(any_sql).empty(); }

void require_not_blocked(db::Transaction& tx, const crypto::Address& address,
                         std::string_view what) {
    if (is_blocked(tx, address))
        throw Problem(
            Code::forbidden,
            fmt::format("{}: is on the block list of this service; write to support", what));
}

std::vector<Blocked> find(db::Transaction& tx, const crypto::Address& address) {
    return tx.fetch(find_sql, address);
}

std::vector<Blocked> list(db::Transaction& tx, const std::optional<Place>& after,
                          std::int64_t rows_max) {
    const auto address = after ? std::optional(after->address) : std::nullopt;
    const auto source = after ? std::optional(after->source) : std::nullopt;
    return tx.fetch(list_sql, address, source, rows_max);
}

bool block(db::Transaction& tx, const Blocked& blocked) {
    return tx.insert(block_sql, blocked).affected == 1;
}

bool unblock(db::Transaction& tx, const crypto::Address& address, Source source) {
    return tx.run(unblock_sql, address, source).affected == 1;
}

std::vector<Line> parse_file(std::string_view text) {
    if (text.size() > file_bytes_max)
        throw std::invalid_argument(fmt::format("has more than {} bytes", file_bytes_max));
    std::vector<Line> lines;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        line = trimmed(line.substr(0, line.find('#')));
        if (line.empty()) continue;
        const std::string_view word = line.substr(0, line.find_first_of(blanks));
        const auto address = crypto::parse_address(word);
        if (!address)
            throw std::invalid_argument(
                fmt::format("line {}: must begin with an address, of 0x and 40 hex digits in one "
                            "case or with a right checksum",
                            number));
        if (lines.size() == file_addresses_max)
            throw std::invalid_argument(
                fmt::format("line {}: is beyond {} addresses", number, file_addresses_max));
        const std::string_view why = trimmed(line.substr(word.size()));
        if (why.size() > reason_bytes_max || !utf8_length(why))
            throw std::invalid_argument(fmt::format(
                "line {}: the reason must be at most {} bytes of UTF-8", number, reason_bytes_max));
        lines.push_back({*address, std::string(why)});
    }
    return lines;
}

namespace {

std::string text_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::invalid_argument("cannot be read");
    std::string text;
    text.resize(file_bytes_max + 1);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad()) throw std::invalid_argument("cannot be read");
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

using Reasons = std::map<crypto::Address, std::string>;

Reasons reasons_of(const std::vector<Line>& lines) {
    Reasons wanted;
    for (const Line& line : lines) wanted.try_emplace(line.address, line.reason);
    return wanted;
}

// Named by the file before, and in nobody's file for long enough.
bool is_forgotten(const OfFile& known, Time now) {
    return known.lacked_since && *known.lacked_since + file_forgets_after <= now;
}

}  // namespace

std::vector<Line> read_file(const std::string& path) { return parse_file(text_of_file(path)); }

bool is_current(db::Transaction& tx, const std::vector<Line>& lines, Time now) {
    Reasons wanted = reasons_of(lines);
    for (const OfFile& known : tx.fetch(of_file_sql)) {
        const auto named = wanted.find(known.address);
        if (named == wanted.end()) {
            if (!known.lacked_since || is_forgotten(known, now)) return false;
            continue;
        }
        if (known.lacked_since || named->second != known.reason) return false;
        wanted.erase(named);
    }
    return wanted.empty();
}

// Keeps: the list is never shorter than the file for a moment. What is new comes before what is
// gone goes, and all of it is one transaction.
Synced sync(db::Context context, const std::vector<Line>& lines,
            const BeforeBlocking& before_blocking) {
    db::Transaction& tx = context.tx;
    if (before_blocking) before_blocking(tx);
    const std::vector<OfFile> known = tx.fetch(of_file_sql);
    Reasons fresh = reasons_of(lines);
    std::vector<crypto::Address> gone;
    for (const OfFile& one : known) {
        const auto named = fresh.find(one.address);
        if (named == fresh.end()) {
            if (is_forgotten(one, context.now)) gone.push_back(one.address);
            if (!one.lacked_since) tx.run(set_lacked_sql, one.address, context.now);
            continue;
        }
        if (named->second != one.reason) tx.run(set_reason_sql, one.address, named->second);
        if (one.lacked_since) tx.run(set_lacked_sql, one.address, std::optional<Time>());
        fresh.erase(named);
    }
    Synced synced;
    for (const auto& [address, reason] : fresh)
        if (block(tx, {.address = address,
                       .source = Source::file,
                       .reason = reason,
                       .blocked_at = context.now}))
            ++synced.added;
    for (const crypto::Address& address : gone)
        if (unblock(tx, address, Source::file)) ++synced.removed;
    if (synced.added + synced.removed == 0) return synced;
    const auto before = static_cast<std::int64_t>(known.size());
    audit::record(context,
                  {.actor = audit::Actor::system(),
                   .action = "read_block_list",
                   .target = {"block_list", "file"},
                   .changes = {{"addresses", std::to_string(before),
                                std::to_string(before + synced.added - synced.removed)},
                               {"added", std::nullopt, std::to_string(synced.added)},
                               {"removed", std::nullopt, std::to_string(synced.removed)}}});
    return synced;
}

// What cannot be read, or is no list, changes nothing: the addresses that were blocked stay so.
worker::Kind read_block_list_kind(const ReadingParts& parts) {
    worker::Kind kind;
    kind.name = "read_block_list";
    kind.run = [parts](worker::Attempt&) {
        const std::string text = text_of_file(parts.path);
        const std::vector<Line> lines = parse_file(text);
        if (lines.empty() && !text.starts_with(empty_on_purpose))
            throw std::invalid_argument(fmt::format(
                "the file of blocked addresses names nobody, and does not begin with '{}'",
                empty_on_purpose));
        const Time now = parts.clock.now();
        const bool current =
            parts.database.read([&](db::Transaction& tx) { return is_current(tx, lines, now); });
        if (current) return;
        const Synced synced = parts.database.write([&](db::Transaction& tx) {
            return sync({tx, parts.random, now}, lines, parts.before_blocking);
        });
        log(Level::info, "block_list_read", {{"added", synced.added}, {"removed", synced.removed}});
    };
    kind.retry_max = std::chrono::minutes(1);
    kind.every = std::chrono::minutes(1);
    return kind;
}

}  // namespace berth::block_list
