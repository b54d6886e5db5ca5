// The mail that a simulated server sent lately, kept for who plays with it: there is no mailbox to
// look into.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/time.hpp"
#include "mail/transport.hpp"

namespace berth::server {

class KeptMail {
public:
    struct Mail {
        std::string to;
        std::string subject;
        std::string text;
        Time sent_at;
    };

    void keep(Mail mail);
    // The newest first.
    std::vector<Mail> find(std::string_view to, std::size_t mails_max) const;

private:
    static constexpr std::size_t kept_max = 200;

    mutable std::mutex mutex_;
    std::deque<Mail> mails_;  // the newest last
};

// Sends by `next`, and keeps what was sent.
std::unique_ptr<mail::Transport> keeping_transport(std::unique_ptr<mail::Transport> next,
                                                   KeptMail& kept, const Clock& clock);

}  // namespace berth::server
