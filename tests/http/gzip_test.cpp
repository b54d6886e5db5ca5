// Compressed answers: who asked for one, and that it can be read back.
#include <gtest/gtest.h>
#include <zlib.h>

#include "http/gzip.hpp"

namespace berth::http {
namespace {

std::string unpack(std::string packed, std::size_t bytes_max) {
    z_stream stream{};
    EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
    std::string out(bytes_max, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    inflateEnd(&stream);
    return out;
}

TEST(Gzip, IsReadBackAsItWas) {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += "line " + std::to_string(i * 7919) + "\n";
    for (const std::string& original : {std::string(), std::string("x"), text}) {
        const std::string packed = gzip(original);
        EXPECT_EQ(unpack(packed, original.size() + 1), original);
    }
    EXPECT_LT(gzip(text).size(), text.size() / 2);
}

TEST(Gzip, ASharedTextIsCompressedOnce) {
    GzipCache cache;
    const auto text = std::make_shared<const std::string>(5000, 'x');
    const auto packed = cache.compressed(text);
    EXPECT_EQ(unpack(*packed, 6000), *text);
    EXPECT_EQ(cache.compressed(text), packed);
    for (int i = 0; i < 100; ++i)
        cache.compressed(std::make_shared<const std::string>(std::to_string(i)));
    EXPECT_EQ(unpack(*cache.compressed(text), 6000), *text) << "also when it was forgotten";
}

TEST(Gzip, WhatIsFoundWasCompressedBefore) {
    GzipCache cache;
    const auto text = std::make_shared<const std::string>(5000, 'x');
    EXPECT_EQ(cache.find(text), nullptr);
    const auto packed = cache.compressed(text);
    EXPECT_EQ(cache.find(text), packed);
    EXPECT_EQ(cache.find(std::make_shared<const std::string>(5000, 'x')), nullptr);
}

TEST(Gzip, IsTakenByThoseWhoSaySo) {
    const auto takes = [](const char* value) {
        Request request;
        if (value != nullptr) request.headers.add("accept-encoding", value);
        return accepts_gzip(request);
    };
    for (const char* yes : {"gzip", "GZIP", "deflate, gzip;q=0.5", "br,gzip", "*", "*;q=0.1",
                            "identity;q=0, gzip", "gzip ; q=1.0"})
        EXPECT_TRUE(takes(yes)) << yes;
    for (const char* no :
         {"", "br", "gzip;q=0", "gzip; q=0.000", "*;q=0", "gzip;q=0, *", "gzipped", "x-gzip"})
        EXPECT_FALSE(takes(no)) << no;
    EXPECT_FALSE(takes(nullptr));
}

}  // namespace
}  // namespace berth::http
