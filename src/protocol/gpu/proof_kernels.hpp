// What runs on a card to prove it (see card_proof), as PTX text. Names and parameters:
//   make_lanes(lanes, seeds, count, from, to)  words from..to of count lanes, a thread a lane;
//   lanes
//                                              and seeds are arrays of 8 bytes each on the card
//   sha256(in, out, count, chunks)             of count messages of chunks times 64 bytes
//   multiply(a, b, c, columns, depth)          c = a times b of 8-bit whole numbers into 32 bits; a
//                                              has rows, b columns of depth bytes each
#pragma once

#include <string>

namespace berth::gpu {

inline constexpr unsigned sha256_threads = 128;
inline constexpr unsigned multiply_threads = 128;
inline constexpr unsigned multiply_tile = 128;  // rows and columns that a block of threads makes
inline constexpr unsigned multiply_depth = 64;  // a depth is a whole number of these

std::string lane_kernels();
std::string sha256_kernels();
std::string tensor_multiply_kernels();  // compute capability 8.0 or newer
std::string plain_multiply_kernels();   // 6.1 or newer

}  // namespace berth::gpu
