// One struct that holds every rule of the wire, for tests and fuzz targets.
#pragma once

#include <boost/json/serialize.hpp>
#include <string>

#include "wire/schema.hpp"
#include "wire/wire.hpp"

namespace berth::sample {

using ThingId = Id<struct ThingTag>;

enum class Category { branding, auth_providers, default_, MIXED_case };
BOOST_DESCRIBE_ENUM(Category, branding, auth_providers, default_, MIXED_case)
constexpr std::string_view wire_name(Category category) {
    return category == Category::auth_providers ? "auth-providers" : "";
}

struct Nothing {};
BOOST_DESCRIBE_STRUCT(Nothing, (), ())

struct Inner {
    wire::Text<1, 100> name;
    std::optional<wire::Integer<0, 3600>> notice_s;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (name, notice_s))

struct Tree {
    wire::Text<1, 8> label;
    std::vector<Tree> children;
};
BOOST_DESCRIBE_STRUCT(Tree, (), (label, children))

// Told apart by a literal.
struct SetRole {
    wire::Literal<"set_role"> action;
    Category role = Category::branding;
    wire::Text<5, 2000> reason;
};
BOOST_DESCRIBE_STRUCT(SetRole, (), (action, role, reason))
struct ResetMfa {
    wire::Literal<"reset_mfa"> action;
    wire::Text<5, 2000> reason;
};
BOOST_DESCRIBE_STRUCT(ResetMfa, (), (action, reason))
using Command = wire::OneOf<SetRole, ResetMfa>;

// Told apart by what is there.
struct ByCode {
    wire::Text<3, 254> email;
    wire::SixDigits code;
    std::optional<bool> remember;
};
BOOST_DESCRIBE_STRUCT(ByCode, (), (email, code, remember))
struct ByLink {
    wire::Text<1, 100> token;
};
BOOST_DESCRIBE_STRUCT(ByLink, (), (token))
using Proof = wire::OneOf<ByCode, ByLink>;

struct Documented {
    std::optional<wire::Integer<1, 100>> limit;
    wire::Nullable<Category> category;
    std::vector<wire::Text<1, 20>> links;
};
BOOST_DESCRIBE_STRUCT(Documented, (), (limit, category, links))
constexpr auto wire_docs(const Documented*) {
    return std::to_array<wire::Doc>({{"limit", "How many at most.", "50", "20"},
                                     {"category", "None for most.", "null"},
                                     {"links", "Where to look.", "https://a.example"}});
}

struct Closed {
    bool flag = false;
};
BOOST_DESCRIBE_STRUCT(Closed, (), (flag))
constexpr bool wire_closed(const Closed*) { return true; }

template <class Item>
struct Page {
    std::vector<Item> items;
    wire::Nullable<std::string> next_cursor;
    BOOST_DESCRIBE_CLASS(Page, (), (items, next_cursor), (), ())
};

struct Everything {
    bool flag = false;
    double ratio = 0;
    std::string any_text;
    wire::Text<2, 5> short_text;
    wire::Integer<-10, 1000> count;
    wire::Integer<INT64_MIN, INT64_MAX> wide;
    wire::Constant<8453> chain_id;
    wire::Decimal version;
    Micro amount_micro;
    wire::SignedMicro change_micro;
    Time at;
    Uuid raw_id;
    ThingId thing_id;
    wire::EvmAddress address;
    wire::Sha256Hash hash;
    wire::ImageDigest image;
    wire::TransactionHash transaction;
    wire::SixDigits code;
    wire::Secret secret;
    wire::Json value;
    wire::Object object;
    Category category = Category::branding;
    Inner inner;
    Nothing nothing;
    Tree tree;
    std::optional<wire::Text<1, 60>> note;
    std::optional<wire::Nullable<Category>> choice;
    wire::Nullable<Time> ended_at;
    wire::Nullable<Inner> maybe_inner;
    wire::Nullable<Category> maybe_category;
    std::vector<Inner> inners;
    wire::List<wire::Decimal, 1, 3> decimals;
    std::map<std::string, Micro> balances;
    Page<Inner> page;
    std::optional<bool> operator_;
    wire::PositiveMicro price_micro;
    wire::Set<Category, 1, 2> categories;
    Command command;
    Proof proof;
    wire::Rendered<Inner> rendered;
};
BOOST_DESCRIBE_STRUCT(Everything, (),
                      (flag, ratio, any_text, short_text, count, wide, chain_id, version,
                       amount_micro, change_micro, at, raw_id, thing_id, address, hash, image,
                       transaction, code, secret, value, object, category, inner, nothing, tree,
                       note, choice, ended_at, maybe_inner, maybe_category, inners, decimals,
                       balances, page, operator_, price_micro, categories, command, proof,
                       rendered))

// What may stand in a query.
struct Query {
    std::optional<wire::Integer<1, 100>> limit;
    std::optional<bool> all;
    std::optional<double> ratio;
    std::optional<Category> category;
    std::optional<wire::Text<1, 4>> q;
    std::optional<wire::Constant<8453>> chain_id;
    std::optional<Micro> max_micro;
    std::optional<Time> since;
    ThingId id;
};
BOOST_DESCRIBE_STRUCT(Query, (), (limit, all, ratio, category, q, chain_id, max_micro, since, id))

inline std::string example_text(const wire::Type& type) {
    return boost::json::serialize(wire::example(type));
}

}  // namespace berth::sample
