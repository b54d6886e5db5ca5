// gzip, for answers that are large and public. Compressing what is secret beside what a stranger
// chose would tell the secret by its length, so personal answers are never compressed.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "http/message.hpp"

namespace berth::http {

std::string gzip(std::string_view text);

// Texts that are shared by many answers, each compressed once. Of more than `texts_max` the oldest
// are forgotten.
class GzipCache {
public:
    using Text = std::shared_ptr<const std::string>;

    explicit GzipCache(std::size_t texts_max = 32) : texts_max_(texts_max) {}

    Text compressed(const Text& text);
    // Null when it would have to be compressed first. It waits for nobody who does that.
    Text find(const Text& text);

private:
    struct Entry {
        Text text;  // kept, so that its address stays its own
        Text gzip;
    };

    const std::size_t texts_max_;
    std::mutex compressing_;     // one at a time: who wants the same text waits for it
    std::mutex mutex_;           // guards what follows
    std::deque<Entry> entries_;  // the newest last
};

// Whether Accept-Encoding takes gzip, by name or by the star, with a weight above zero.
bool accepts_gzip(const Request& request);

}  // namespace berth::http
