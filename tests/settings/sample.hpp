// A small program's settings, for the tests of the registry.
#pragma once

#include "settings/changes.hpp"
#include "settings/live.hpp"
#include "settings/show.hpp"

namespace berth::test {

inline std::string colour(const std::string& text) {
    if (text != "red" && text != "blue") throw settings::BadValue("must be red or blue");
    return text;
}

struct Shop {
    static constexpr auto category = settings::Category::money;

    settings::Whole discount_bps{
        500,
        {0, 10'000},
        {.label = "Discount", .help = "What regulars are let off.", .unit = "basis points"}};
    settings::Flag closed{false, {.label = "Closed", .help = "Nothing is sold."}};
    settings::Amount smallest_micro{
        Micro{10}, {1, 1000}, {.label = "Smallest sale", .help = "Less is not sold."}};
    settings::Text vault{
        "0x0",
        settings::any_text,
        {.label = "Vault", .help = "Where the money goes.", .pinned = settings::root_of_trust}};
};
BOOST_DESCRIBE_STRUCT(Shop, (), (discount_bps, closed, smallest_micro, vault))

struct Sign {
    static constexpr auto category = settings::Category::branding;

    settings::Text name{"Shop",
                        settings::some_text,
                        {.label = "Name", .help = "Above the door.", .flag = "shop-name"}};
    settings::Text paint{"red", colour, {.label = "Paint", .help = "Its colour."}};
    settings::Text password{"",
                            settings::any_text,
                            {.label = "Password",
                             .help = "Of the light.",
                             .pinned = settings::read_at_start,
                             .secret = true}};
    settings::List doors{
        "",
        settings::comma_list,
        {.label = "Doors", .help = "Which are open.", .pinned = settings::read_at_start}};
};
BOOST_DESCRIBE_STRUCT(Sign, (), (name, paint, password, doors))

inline const settings::Registry& shop_registry() {
    static const settings::Registry registry = settings::Registry().add<Shop>().add<Sign>();
    return registry;
}

}  // namespace berth::test
