#include "funding/slots.hpp"

namespace berth::funding {

std::unique_ptr<ClaimSlots::Slot> ClaimSlots::take(AccountId account) {
    return take_within(account, bounds_.wait_max);
}

std::unique_ptr<ClaimSlots::Slot> ClaimSlots::take_at_once(AccountId account) {
    return take_within(account, Duration{});
}

std::unique_ptr<ClaimSlots::Slot> ClaimSlots::take_within(AccountId account, Duration wait_max) {
    std::unique_lock lock(mutex_);
    Share& share = shares_[account];
    const auto free = [&] {
        return running_ < bounds_.running_max && share.running < bounds_.of_account_max;
    };
    bool taken = free();
    if (!taken && wait_max > Duration{} && share.waiting < bounds_.waiting_of_account_max) {
        ++share.waiting;
        taken = changed_.wait_for(lock, wait_max, free);
        --share.waiting;
    }
    if (!taken) {
        forget(account);
        return nullptr;
    }
    ++share.running;
    ++running_;
    return std::make_unique<Slot>(*this, account);
}

void ClaimSlots::give_back(AccountId account) {
    {
        const std::lock_guard lock(mutex_);
        --shares_[account].running;
        --running_;
        forget(account);
    }
    changed_.notify_all();
}

void ClaimSlots::forget(AccountId account) {
    const auto share = shares_.find(account);
    if (share->second.running == 0 && share->second.waiting == 0) shares_.erase(share);
}

}  // namespace berth::funding
