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

// Texts that are shared by many answers, each compressed once.
class GzipCache {
public:
    std::shared_ptr<const std::string> compressed(const std::shared_ptr<const std::string>& text);

private:
    static constexpr std::size_t texts_max = 32;
    struct Entry {
        std::shared_ptr<const std::string> text;  // kept, so that its address stays its own
        std::shared_ptr<const std::string> gzip;
    };

    std::mutex mutex_;
    std::deque<Entry> entries_;  // the newest last
};

// Whether Accept-Encoding takes gzip, by name or by the star, with a weight above zero.
bool accepts_gzip(const Request& request);

}  // namespace berth::http
