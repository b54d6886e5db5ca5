// Where mail goes and from whom it comes.
#pragma once

#include "settings/registry.hpp"

namespace berth::mail {

std::string parse_transport(const std::string& text);
std::string parse_sender(const std::string& text);

struct Settings {
    static constexpr auto category = settings::Category::mail;

    settings::Text transport{"file:data/mail",
                             parse_transport,
                             {.label = "Mail server",
                              .help = "Where mail goes: file:DIR, smtp://… or smtps://….",
                              .pinned = settings::read_at_start,
                              .secret = true,
                              .flag = "mail"}};
    settings::Text from{"berth@localhost",
                        parse_sender,
                        {.label = "Sender",
                         .help = "The address mail comes from.",
                         .pinned = settings::read_at_start,
                         .flag = "mail-from"}};
    settings::Text ca_file{"",
                           settings::any_text,
                           {.label = "Mail authority",
                            .help = "PEM file of whom to trust as the mail server; empty: the "
                                    "system's.",
                            .pinned = settings::read_at_start,
                            .flag = "mail-ca-file"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (transport, from, ca_file))

}  // namespace berth::mail
