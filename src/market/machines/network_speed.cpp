#include "machines/network_speed.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace berth::machines {
namespace {

constexpr std::size_t piece_bytes = 64 * 1024;

// One piece of noise, sent again and again: far longer than any window of a compressor on the way.
std::string make_piece(std::uint64_t seed) {
    std::string piece(piece_bytes, '\0');
    std::uint64_t state = seed | 1;
    for (std::size_t i = 0; i < piece.size(); i += sizeof(state)) {
        // xorshift64*: it only has to look like nothing.
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        const auto bytes =
            std::bit_cast<std::array<char, sizeof(state)>>(state * 0x2545F4914F6CDD1DULL);
        std::copy(bytes.begin(), bytes.end(), piece.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return piece;
}

class Noise final : public http::Source {
public:
    Noise(std::int64_t bytes, std::uint64_t seed) : left_(bytes), piece_(make_piece(seed)) {}

    void start(http::Outlet& outlet) override {
        outlet_ = &outlet;
        http::Response head;
        head.content_type = "application/octet-stream";
        outlet.begin(std::move(head));
        on_room();
    }

    void on_room() override {
        while (outlet_ != nullptr && left_ > 0) {
            const auto size = std::min<std::int64_t>(left_, std::ssize(piece_));
            left_ -= size;
            if (!outlet_->write(std::string_view(piece_).substr(0, static_cast<std::size_t>(size))))
                break;
        }
        if (outlet_ == nullptr || left_ > 0 || ended_) return;
        ended_ = true;
        outlet_->end();
    }

    void on_gone() override { outlet_ = nullptr; }

private:
    std::int64_t left_;
    const std::string piece_;
    http::Outlet* outlet_ = nullptr;
    bool ended_ = false;
};

}  // namespace

void Upload::take(std::string_view bytes) {
    hash_.add(bytes);
    bytes_ += std::ssize(bytes);
}

const Bytes& Upload::sha256() {
    if (!sha256_) sha256_ = hash_.finish();
    return *sha256_;
}

std::shared_ptr<http::Source> noise(std::int64_t bytes, std::uint64_t seed) {
    return std::make_shared<Noise>(bytes, seed);
}

}  // namespace berth::machines
