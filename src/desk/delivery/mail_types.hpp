// Which events an account gets by mail.
#pragma once

#include <boost/describe.hpp>
#include <map>
#include <string>

#include "wire/type.hpp"

namespace berth::delivery {

enum class MailChoice { now, digest, off };
BOOST_DESCRIBE_ENUM(MailChoice, now, digest, off)

using MailChoices = std::map<std::string, MailChoice>;  // by type

struct MailNotices {
    MailChoices types;
};
BOOST_DESCRIBE_STRUCT(MailNotices, (), (types))
constexpr auto wire_docs(const MailNotices*) {
    return std::to_array<wire::Doc>({
        {"types",
         "By type of event: `now` mails it at once, `digest` once a day with others, `off` not at "
         "all. Security notices and answers to tickets are always mailed and are not among them. "
         "Types that are left out are as they are by default.",
         "rental.stopping=digest"},
    });
}

}  // namespace berth::delivery
