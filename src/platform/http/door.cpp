#include "http/door.hpp"

#include "base/ids.hpp"
#include "base/log.hpp"

namespace berth::http {
namespace {

AddressBlocks with_loopback(AddressBlocks blocks) {
    for (const char* text : {"127.0.0.0/8", "::1"}) blocks.push_back(*AddressBlock::parse(text));
    return blocks;
}

}  // namespace

Door::Door(std::size_t per_address_max, AddressBlocks proxies)
    : per_address_max_(per_address_max), uncounted_(with_loopback(std::move(proxies))) {}

bool Door::is_counted(const Address& peer) const { return !contains(uncounted_, peer); }

std::string Door::counted_as(const Address& client) const {
    return is_counted(client) ? subscriber(client) : std::string();
}

bool Door::enter(const Address& peer) {
    if (!is_counted(peer)) return true;
    const std::lock_guard lock(mutex_);
    std::size_t& count = by_address_[subscriber(peer)];
    if (count >= per_address_max_) return false;
    ++count;
    return true;
}

void Door::leave(const Address& peer) {
    if (!is_counted(peer)) return;
    const std::lock_guard lock(mutex_);
    const auto found = by_address_.find(subscriber(peer));
    if (--found->second == 0) by_address_.erase(found);
}

void Door::refuse_connection(std::string_view why) {
    ++connections_refused_;
    if (const std::int64_t times = tell_connection_.note())
        log(Level::warn, "connection_refused", {{"why", why}, {"times", times}});
}

std::string Door::refuse_request(int status, std::string_view peer) {
    ++requests_refused_;
    std::string id = to_string(make_uuid(SystemClock{}.now(), random_));
    if (const std::int64_t times = tell_request_.note()) {
        const LogScope scope(id);
        log(Level::info, "request_not_understood",
            {{"status", status}, {"client", peer}, {"times", times}});
    }
    return id;
}

}  // namespace berth::http
