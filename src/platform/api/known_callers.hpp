// Callers that were identified a moment ago, by the hash of their API key. Only those that the
// database found good are here, for as long as db::Reading says.
#pragma once

#include <mutex>
#include <unordered_map>

#include "api/caller.hpp"

namespace berth::api {

class KnownCallers {
public:
    static constexpr std::size_t callers_max = 4096;

    // Keeps API keys: a session says more about a request than who it is from. One whose use is to
    // be noted is not kept either.
    void keep(std::string_view key_hash, const Caller& caller, const db::Reading& reading);
    // Nothing when the database has to tell. `changes` are those of the database.
    std::optional<Caller> find(std::string_view key_hash, std::uint64_t changes, Time now);

private:
    struct Known {
        Caller caller;
        db::Reading reading;
    };

    std::mutex mutex_;
    std::unordered_map<Bytes, Known> by_hash_;  // a hash spreads by itself, and is no secret
};

}  // namespace berth::api
