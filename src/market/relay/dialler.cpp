#include "relay/dialler.hpp"

namespace berth::relay {
namespace {

class DirectConversation final : public Conversation {
public:
    explicit DirectConversation(std::unique_ptr<http::UpstreamCall> call)
        : call_(std::move(call)) {}
    void resume() override { call_->resume(); }

private:
    std::unique_ptr<http::UpstreamCall> call_;
};

}  // namespace

std::unique_ptr<Conversation> DirectDialler::dial(http::Outlet& outlet,
                                                  http::UpstreamRequest request,
                                                  http::UpstreamReader& reader) {
    return std::make_unique<DirectConversation>(
        outlet.upstream().start(std::move(request), reader));
}

}  // namespace berth::relay
