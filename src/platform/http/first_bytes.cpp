#include "http/first_bytes.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "http/watch.hpp"

namespace berth::http {
namespace {

constexpr std::size_t first_bytes_max = 8;
constexpr std::string_view ssh_mark = "SSH-";

// A record of a handshake, of any version of TLS, with a ClientHello in it.
FirstBytes tls_or_other(std::string_view bytes) {
    constexpr std::size_t needed = 6;
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    constexpr unsigned char handshake_record = 22;
    constexpr unsigned char major_version = 3;
    constexpr unsigned char minor_version_max = 4;
    constexpr unsigned char client_hello = 1;
    if (at(0) != handshake_record || (bytes.size() > 1 && at(1) != major_version) ||
        (bytes.size() > 2 && at(2) > minor_version_max))
        return FirstBytes::other;
    if (bytes.size() < needed) return FirstBytes::unclear;
    return at(5) == client_hello ? FirstBytes::tls : FirstBytes::other;
}

// One connection whose first bytes are waited for. The loop's handlers keep it alive.
class Looking : public std::enable_shared_from_this<Looking> {
public:
    Looking(const std::shared_ptr<Loop>& loop, Carrier carrier, std::function<void(FirstSeen)> done)
        : loop_(loop), carrier_(std::move(carrier)), done_(std::move(done)) {}

    void start(Duration silence_max) {
        watch_ = std::make_unique<Watch>(loop_->io());
        seen_ = carrier_.take_ahead();
        if (!carrier_.is_open() || !watch_->start(carrier_.socket())) return end({});
        loop_->after(silence_max, [self = weak_from_this()] {
            if (const auto open = self.lock()) open->end(std::move(open->carrier_));
        });
        look();
    }

private:
    auto again() {
        return [self = shared_from_this()](const boost::system::error_code& error) {
            if (self->over_) return;
            if (error) return self->end({});
            self->look();
        };
    }

    void look() {
        if (over_) return;
        while (first_bytes_of(seen_) == FirstBytes::unclear && seen_.size() < first_bytes_max) {
            std::array<char, TlsSession::record_bytes_max> into;
            // A record of TLS is read whole; of a plain socket no more than is looked at.
            const std::size_t bytes_max =
                carrier_.is_tls() ? into.size() : first_bytes_max - seen_.size();
            const Transfer in = carrier_.read({into.data(), bytes_max});
            switch (in.status) {
                case Transfer::Status::done: seen_.append(into.data(), in.bytes); break;
                case Transfer::Status::wants_read: return watch_->await_input(again());
                case Transfer::Status::wants_write: return watch_->await_room(again());
                case Transfer::Status::finished: return end(std::move(carrier_));
                case Transfer::Status::closed: return end({});
            }
        }
        end(std::move(carrier_));
    }

    void end(Carrier carrier) {
        if (std::exchange(over_, true)) return;
        watch_->stop();
        const FirstBytes first = first_bytes_of(seen_);
        carrier.put_back(seen_);
        carrier_.close();
        std::exchange(done_, nullptr)({std::move(carrier), first});
    }

    const std::shared_ptr<Loop> loop_;
    Carrier carrier_;
    std::function<void(FirstSeen)> done_;
    std::unique_ptr<Watch> watch_;
    std::string seen_;
    bool over_ = false;
};

}  // namespace

FirstBytes first_bytes_of(std::string_view bytes) {
    if (bytes.empty()) return FirstBytes::unclear;
    if (bytes[0] != ssh_mark[0]) return tls_or_other(bytes);
    const std::size_t count = std::min(bytes.size(), ssh_mark.size());
    if (bytes.substr(0, count) != ssh_mark.substr(0, count)) return FirstBytes::other;
    return count == ssh_mark.size() ? FirstBytes::ssh : FirstBytes::unclear;
}

void await_first_bytes(const std::shared_ptr<Loop>& loop, Carrier carrier, Duration silence_max,
                       std::function<void(FirstSeen)> done) {
    auto looking = std::make_shared<Looking>(loop, std::move(carrier), std::move(done));
    loop->post([looking = std::move(looking), silence_max] { looking->start(silence_max); });
}

}  // namespace berth::http
