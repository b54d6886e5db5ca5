// Bytes by which an agent measures how fast its machine is connected, in both directions.
#pragma once

#include <memory>
#include <optional>

#include "base/bytes.hpp"
#include "crypto/running_hash.hpp"
#include "http/message.hpp"
#include "http/source.hpp"

namespace berth::machines {

// Sends so many bytes that cannot be compressed, as fast as the client takes them.
std::shared_ptr<http::Source> noise(std::int64_t bytes, std::uint64_t seed);

// Counts and hashes what a machine sends, and keeps none of it.
class Upload final : public http::BodySink {
public:
    void take(std::string_view bytes) override;
    std::int64_t bytes() const { return bytes_; }
    const Bytes& sha256();  // of all that came

private:
    crypto::RunningSha256 hash_;
    std::optional<Bytes> sha256_;
    std::int64_t bytes_ = 0;
};

}  // namespace berth::machines
