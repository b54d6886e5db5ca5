// How the engine of a job is reached. Today its endpoint is dialled; a connection that the host's
// agent keeps open could carry the same conversation.
#pragma once

#include <memory>

#include "http/source.hpp"
#include "http/upstream.hpp"

namespace berth::relay {

// A request on its way to the engine, and its answer. It ends with this object, at once.
class Conversation {
public:
    virtual ~Conversation() = default;
    virtual void resume() = 0;  // after the reader said that it has no room
};

class Dialler {
public:
    virtual ~Dialler() = default;
    // On the loop of the outlet, where the reader, which outlives the conversation, is called too.
    virtual std::unique_ptr<Conversation> dial(http::Outlet& outlet, http::UpstreamRequest request,
                                               http::UpstreamReader& reader) = 0;
};

// Dials the address in the request.
class DirectDialler final : public Dialler {
public:
    std::unique_ptr<Conversation> dial(http::Outlet& outlet, http::UpstreamRequest request,
                                       http::UpstreamReader& reader) override;
};

}  // namespace berth::relay
