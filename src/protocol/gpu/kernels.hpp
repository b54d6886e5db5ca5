// What runs on a card, as PTX text that its driver compiles. Names and parameters:
//   fill(memory, pairs, first, seed, mask, base)            writes words of 8 bytes, two at a time
//   count_wrong(memory, pairs, first, seed, mask, base, n)  adds to *n how many are not as written
//   multiply_add(results)                                   FP32: 8 chains of multiply_add_rounds
//   tensor(results)                                         FP16 tiles into FP32: tensor_rounds
// A word is (pattern_word(seed, first + its place) & mask) ^ base.
#pragma once

#include <string>

namespace berth::gpu {

inline constexpr int multiply_add_rounds = 4096;
inline constexpr int multiply_add_chains = 8;
inline constexpr int multiply_add_kinds = 64;  // threads that compute different results
inline constexpr float multiply_add_factor = 0.75f;
inline constexpr int tensor_rounds = 2048;
inline constexpr int tensor_chains = 8;

std::string memory_kernels();
std::string arithmetic_kernels();
std::string tensor_kernels();  // compute capability 8.0 or newer

// What the threads of the two must find.
float multiply_add_result(int thread);
float tensor_result(int thread);

}  // namespace berth::gpu
