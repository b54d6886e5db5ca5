// Which images are on this host, how large each is and when it was last used: what decides which of
// them go when there is no room. It removes nothing itself; podman does.
#pragma once

#include <boost/describe.hpp>
#include <mutex>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::host_agent {

struct KeptImage {
    std::string image;    // registry/repository@sha256:…
    wire::Decimal bytes;  // unpacked, with what it shares with others
    Time used_at;
};
BOOST_DESCRIBE_STRUCT(KeptImage, (), (image, bytes, used_at))

class ImageStore {
public:
    // Kept in the file; one that is damaged is begun anew, since images can be fetched again.
    ImageStore(std::string file, std::int64_t bytes_max);

    void note(const KeptImage& image);  // also when it is known already
    void touch(const std::string& image, Time now);
    void forget(const std::string& image);
    bool has(const std::string& image) const;
    std::vector<KeptImage> all() const;  // the least recently used first

    // The ones to remove, the least recently used first, so that the others take no more than the
    // bound allows. What is `needed` is never among them.
    std::vector<std::string> too_many(const std::vector<std::string>& needed) const;

private:
    void save() const;

    const std::string file_;
    const std::int64_t bytes_max_;
    mutable std::mutex mutex_;
    std::vector<KeptImage> images_;
};

}  // namespace berth::host_agent
