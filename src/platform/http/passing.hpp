// One request that is passed on to somebody else, whose answer goes back as it comes, at the pace
// of the slower side. A client that asks to switch to another protocol, as websockets do, is
// switched where the upstream agrees, and then bytes go both ways until one side ends.
#pragma once

#include <functional>
#include <memory>

#include "http/source.hpp"
#include "http/upstream.hpp"

namespace berth::http {

// Adds the fields that are not of one connection alone, nor such as each side of a conversation
// sets for itself. Content-Type is one of the latter.
void pass_fields(const Headers& from, Headers& to);

// The request as it goes on to `endpoint`, with its body, its type and what it wants to switch to.
UpstreamRequest onward(Request request, Endpoint endpoint);

struct Passing {
    UpstreamRequest request{};
    Response unanswered{};  // what the client gets when there is no answer to pass on
    std::function<void(Response& head)>
        edit{};  // changes the head of an answer before it goes back
};
std::shared_ptr<Source> pass_on(Passing passing);

}  // namespace berth::http
