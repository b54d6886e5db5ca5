// Lists: the query members, the response shape and the opaque cursor. A cursor carries the last key
// of the page before, bound by an HMAC to the list, its order and its filters; an edited cursor, or
// one of another list, is refused.
#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::api {

inline constexpr std::int64_t page_items_max = 100;
inline constexpr std::int64_t page_items_default = 20;

using PageLimit = wire::Integer<1, page_items_max>;

// The query of a list without filters. A list with filters has these two members among its own.
struct PageQuery {
    std::optional<std::string> cursor;
    std::optional<PageLimit> limit;
};
BOOST_DESCRIBE_STRUCT(PageQuery, (), (cursor, limit))
constexpr auto wire_docs(const PageQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
    });
}

template <class Item>
struct Page {
    std::vector<Item> items;
    wire::Nullable<std::string> next_cursor;
    BOOST_DESCRIBE_CLASS(Page, (), (items, next_cursor), (), ())
};

template <class Item>
constexpr auto wire_docs(const Page<Item>*) {
    return std::to_array<wire::Doc>(
        {{"next_cursor", "Where the next page begins; null on the last one.", "null"}});
}

class Cursors {
public:
    // Signs with `secret`; what one of the others has signed is good, too, while keys are
    // exchanged.
    explicit Cursors(Bytes secret, std::vector<Bytes> others = {})
        : secret_(std::move(secret)), others_(std::move(others)) {}

    // `list` names the list and its order, `filters` is any text that tells its filters apart.
    struct Scope {
        std::string list;
        std::string filters;
    };
    std::string seal(const Scope& scope, std::string_view last_key) const;
    // The key that was sealed; throws a Problem that names query.cursor.
    std::string open(const Scope& scope, std::string_view cursor) const;

private:
    static Bytes signature(const Bytes& secret, const Scope& scope, std::string_view last_key);

    Bytes secret_;
    std::vector<Bytes> others_;
};

// One request for a page: where to go on, how many rows to read, and the page made of them.
class Pager {
public:
    template <class Query>
    Pager(const Cursors& cursors, Cursors::Scope scope, const Query& query)
        : cursors_(cursors),
          scope_(std::move(scope)),
          limit_(query.limit ? query.limit->value : page_items_default) {
        if (query.cursor) after_ = cursors_.open(scope_, *query.cursor);
    }

    const std::optional<std::string>& after() const { return after_; }  // key of the last row seen
    // The same for a list whose keys are ids.
    template <class SomeId>
    std::optional<SomeId> after_id() const {
        return after_ ? std::optional(SomeId{parse_uuid(*after_).value()}) : std::nullopt;
    }
    // One more than a page holds tells whether there is a next one.
    std::int64_t rows_wanted() const { return limit_ + 1; }

    // `key_of` gives what a later after() returns for a row, as text or an id; `show` makes an item
    // of a row.
    template <class Row, class KeyOf, class Show>
    auto page(const std::vector<Row>& rows, KeyOf key_of, Show show) const {
        Page<std::invoke_result_t<Show&, const Row&>> page;
        const std::size_t count = std::min(rows.size(), static_cast<std::size_t>(limit_));
        page.items.reserve(count);
        for (std::size_t i = 0; i < count; ++i) page.items.push_back(std::invoke(show, rows[i]));
        if (rows.size() > count)
            page.next_cursor = cursors_.seal(scope_, text_of(std::invoke(key_of, rows[count - 1])));
        return page;
    }

private:
    static std::string text_of(std::string key) { return key; }
    template <class Tag>
    static std::string text_of(const Id<Tag>& key) {
        return to_string(key);
    }

    const Cursors& cursors_;
    Cursors::Scope scope_;
    std::int64_t limit_;
    std::optional<std::string> after_;
};

}  // namespace berth::api
