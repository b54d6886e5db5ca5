#include "http/gzip.hpp"

#include <zlib.h>

#include <algorithm>

#include "base/check.hpp"
#include "http/text.hpp"

namespace berth::http {
namespace {

// The weight of a list item such as "gzip;q=0.5" is zero.
bool is_refused(std::string_view parameters) {
    std::string text(parameters);
    std::erase_if(text, [](char c) { return c == ' ' || c == '\t'; });
    std::transform(text.begin(), text.end(), text.begin(), to_lower);
    return text.starts_with("q=0") && text.find_first_not_of("0.", 2) == text.npos;
}

}  // namespace

std::string gzip(std::string_view text) {
    constexpr int window_bits_with_gzip_head = 15 + 16;
    constexpr int memory_level = 8;
    z_stream stream{};
    const int begun = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                                   window_bits_with_gzip_head, memory_level, Z_DEFAULT_STRATEGY);
    check(begun == Z_OK, "there is memory to compress in");
    std::string out(deflateBound(&stream, text.size()), '\0');
    std::string in(text);  // zlib takes what it does not change as changeable
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int ended = deflate(&stream, Z_FINISH);
    check(ended == Z_STREAM_END, "the bound of the compressed size holds");
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

GzipCache::Text GzipCache::find(const Text& text) {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_)
        if (entry.text == text) return entry.gzip;
    return nullptr;
}

GzipCache::Text GzipCache::compressed(const Text& text) {
    const std::lock_guard one_at_a_time(compressing_);
    if (Text known = find(text)) return known;
    const auto packed = std::make_shared<const std::string>(gzip(*text));
    const std::lock_guard lock(mutex_);
    if (entries_.size() == texts_max_) entries_.pop_front();
    entries_.push_back({text, packed});
    return packed;
}

bool accepts_gzip(const Request& request) {
    bool by_star = false;
    for (const Headers::Field& field : request.headers) {
        if (!equal_without_case(field.name, "Accept-Encoding")) continue;
        for (std::string_view rest = field.value; !rest.empty();) {
            const std::size_t end = std::min(rest.find(','), rest.size());
            const std::string_view item = rest.substr(0, end);
            rest.remove_prefix(std::min(end + 1, rest.size()));
            const std::size_t mark = std::min(item.find(';'), item.size());
            const std::string_view coding = trim(item.substr(0, mark));
            const bool refused = is_refused(item.substr(std::min(mark + 1, item.size())));
            if (equal_without_case(coding, "gzip")) return !refused;
            if (coding == "*") by_star = !refused;
        }
    }
    return by_star;
}

}  // namespace berth::http
