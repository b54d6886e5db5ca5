#include "server/kept_mail.hpp"

#include "http/text.hpp"

namespace berth::server {
namespace {

class KeepingTransport final : public mail::Transport {
public:
    KeepingTransport(std::unique_ptr<mail::Transport> next, KeptMail& kept, const Clock& clock)
        : next_(std::move(next)), kept_(kept), clock_(clock) {}

    void deliver(const mail::Envelope& envelope) override {
        next_->deliver(envelope);
        kept_.keep({envelope.to, envelope.subject, envelope.text, clock_.now()});
    }

private:
    std::unique_ptr<mail::Transport> next_;
    KeptMail& kept_;
    const Clock& clock_;
};

}  // namespace

void KeptMail::keep(Mail mail) {
    const std::lock_guard lock(mutex_);
    if (mails_.size() == kept_max) mails_.pop_front();
    mails_.push_back(std::move(mail));
}

std::vector<KeptMail::Mail> KeptMail::find(std::string_view to, std::size_t mails_max) const {
    const std::lock_guard lock(mutex_);
    std::vector<Mail> found;
    for (auto mail = mails_.rbegin(); mail != mails_.rend() && found.size() < mails_max; ++mail)
        if (http::equal_without_case(mail->to, to)) found.push_back(*mail);
    return found;
}

std::unique_ptr<mail::Transport> keeping_transport(std::unique_ptr<mail::Transport> next,
                                                   KeptMail& kept, const Clock& clock) {
    return std::make_unique<KeepingTransport>(std::move(next), kept, clock);
}

}  // namespace berth::server
