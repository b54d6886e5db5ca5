// A library with the names of CUDA's driver interface and a small card in the host's memory. It
// does what our kernels of these names say, and can be broken.
#pragma once

#include <cstdint>

namespace berth::test {

struct FakeCuda {
    std::uint64_t total_bytes = std::uint64_t{30} << 20;
    int create_result = 0;              // of opening the card
    std::uint64_t dead_word_every = 0;  // this many words apart, one keeps nothing; 0: none does
    bool computes_wrong = false;
    std::uint64_t allocated = 0;
};

}  // namespace berth::test

extern "C" berth::test::FakeCuda* fake_cuda();
