// A process that has no more descriptors to give.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "base/log.hpp"

namespace berth::http {

// Takes every descriptor the process may have, except for a few, until it is destroyed.
class FewDescriptors {
public:
    explicit FewDescriptors(std::size_t left) {
        // UndefinedBehaviorSanitizer needs a descriptor for the first call of its kind.
        log(Level::info, "few_descriptors", {});
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int next = ::fcntl(0, F_DUPFD, 0);
        ::close(next);
        rlimit low = before_;
        low.rlim_cur = static_cast<rlim_t>(next) + 64;
        ::setrlimit(RLIMIT_NOFILE, &low);
        for (int taken = 0; (taken = ::fcntl(0, F_DUPFD, 0)) >= 0;) hoard_.push_back(taken);
        for (std::size_t i = 0; i < left; ++i) {
            ::close(hoard_.back());
            hoard_.pop_back();
        }
    }
    ~FewDescriptors() {
        for (const int taken : hoard_) ::close(taken);
        ::setrlimit(RLIMIT_NOFILE, &before_);
    }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

private:
    rlimit before_{};
    std::vector<int> hoard_;
};

}  // namespace berth::http
