// Who is told of what was committed: transactions collect keys (Transaction::wake_after_commit),
// and every listener of their database hears of them after the commit, on the thread that made it.
// A commit whose outcome is unknown is told as well: who is woken looks for himself.
#pragma once

#include <list>
#include <memory>
#include <shared_mutex>
#include <span>

#include "base/wake.hpp"

namespace berth::db {

class Wakes {
public:
    // Told until the handle is gone, which must be before the database is. A listener neither
    // blocks nor uses the database.
    using Listening = std::shared_ptr<void>;
    [[nodiscard]] Listening listen(Wake wake);

    void tell(std::span<const WakeKey> keys) const;

private:
    mutable std::shared_mutex mutex_;
    std::list<Wake> listeners_;
};

}  // namespace berth::db
