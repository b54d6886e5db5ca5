// One struct that holds every rule of the wire, for tests and fuzz targets.
#pragma once

#include <string>

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
};
BOOST_DESCRIBE_STRUCT(Everything, (),
                      (flag, ratio, any_text, short_text, count, wide, chain_id, version,
                       amount_micro, change_micro, at, raw_id, thing_id, address, hash, image,
                       transaction, code, secret, value, object, category, inner, nothing, tree,
                       note, choice, ended_at, maybe_inner, maybe_category, inners, decimals,
                       balances, page, operator_))

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

}  // namespace berth::sample
