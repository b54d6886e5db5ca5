// Thirty-two secret bytes that are wiped when they go away. Every private key here is one.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/random.hpp"

namespace berth::crypto {

class Secret {
public:
    static constexpr std::size_t size = 32;

    explicit Secret(std::string_view bytes);  // exactly 32
    static Secret make(Random& random);
    ~Secret();
    Secret(Secret&& other) noexcept;
    Secret& operator=(Secret&& other) noexcept;

    std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

private:
    Secret() = default;

    std::array<char, size> bytes_{};
};

}  // namespace berth::crypto
