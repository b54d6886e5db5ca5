// What operators may set about events and their readers.
#pragma once

#include "settings/registry.hpp"

namespace berth::delivery {

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Whole events_kept_days{
        30,
        {1, 3650},
        {.label = "Events kept",
         .help = "Readers of events who were away for longer find that some are gone.",
         .unit = "days"}};
    settings::Whole event_streams_per_account{
        20,
        {1, 10'000},
        {.label = "Streams of events of an account",
         .help = "Streams of events that one account may have open at a server.",
         .unit = "streams"}};
    settings::Whole event_streams_max{10'000,
                                      {1, 1'000'000},
                                      {.label = "Streams of events at a time",
                                       .help = "Streams of events that one server holds open.",
                                       .unit = "streams"}};
    settings::Whole webhooks_per_account{10,
                                         {0, 1000},
                                         {.label = "Webhooks of an account",
                                          .help = "Webhooks that one account may have.",
                                          .unit = "webhooks"}};
    settings::Whole webhook_deliveries_kept_days{
        7,
        {1, 365},
        {.label = "Deliveries of webhooks kept",
         .help = "How long owners can read what was sent to their webhooks, and what came back.",
         .unit = "days"}};
    settings::Flag allow_private_webhooks{
        false,
        {.label = "Private webhooks",
         .help = "Webhooks may lead to private addresses, and over plain http (development).",
         .pinned = settings::root_of_trust}};
    settings::List own_hosts{
        "",
        settings::comma_list,
        {.label = "Own hosts",
         .help = "Names and addresses beside that of --base-url and those of the gates by which "
                 "this service is reached, separated by commas: no webhook may lead there.",
         .pinned = settings::read_at_start}};
    settings::Text webhook_ca_file{"",
                                   settings::any_text,
                                   {.label = "Webhooks' authority",
                                    .help = "PEM file of whom to trust as the target of a "
                                            "webhook; empty: the system's.",
                                    .pinned = settings::read_at_start}};
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (events_kept_days, event_streams_per_account, event_streams_max,
                       webhooks_per_account, webhook_deliveries_kept_days, allow_private_webhooks,
                       own_hosts, webhook_ca_file))

}  // namespace berth::delivery
