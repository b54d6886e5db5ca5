// How many claims ask the chain at the same time. A slow provider must not take every thread, and
// one account must not take every place: each has a share, and whoever finds none waits for a
// moment.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/ids.hpp"

namespace berth::funding {

class ClaimSlots {
public:
    struct Bounds {
        int running_max = 8;
        int of_account_max = 2;          // running
        int waiting_of_account_max = 4;  // more are told to come back at once
        Duration wait_max = std::chrono::seconds(2);
    };
    ClaimSlots() : ClaimSlots(Bounds{}) {}
    explicit ClaimSlots(const Bounds& bounds) : bounds_(bounds) {}

    // The place is given back when this ends.
    class Slot {
    public:
        Slot(ClaimSlots& slots, AccountId account) : slots_(slots), account_(account) {}
        ~Slot() { slots_.give_back(account_); }
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;

    private:
        ClaimSlots& slots_;
        AccountId account_;
    };
    // Null when there is no place within the time.
    std::unique_ptr<Slot> take(AccountId account);
    // Null when there is no place at this moment: for what can be told without asking.
    std::unique_ptr<Slot> take_at_once(AccountId account);

private:
    struct Share {
        int running = 0;
        int waiting = 0;
    };

    std::unique_ptr<Slot> take_within(AccountId account, Duration wait_max);
    void give_back(AccountId account);
    void forget(AccountId account);

    const Bounds bounds_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int running_ = 0;
    std::unordered_map<AccountId, Share> shares_;  // of those that run or wait
};

}  // namespace berth::funding
