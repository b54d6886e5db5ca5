#include "gpu/kernels.hpp"

#include <cmath>

#include <fmt/format.h>

namespace berth::gpu {
namespace {

constexpr std::string_view header = R"(
.version 6.4
.target sm_60
.address_size 64
)";
constexpr std::string_view tensor_header = R"(
.version 7.0
.target sm_80
.address_size 64
)";

// pattern_word() of pattern.hpp, then mask and base: from %index into `word`.
std::string pattern_of(std::string_view word, int offset) {
    return fmt::format(R"(
    add.u64         {0}, %index, {1};
    mul.lo.u64      {0}, {0}, 0x9E3779B97F4A7C15;
    xor.b64         {0}, {0}, %seed;
    shr.u64         %t, {0}, 29;
    xor.b64         {0}, {0}, %t;
    mul.lo.u64      {0}, {0}, 0xBF58476D1CE4E5B9;
    shr.u64         %t, {0}, 32;
    xor.b64         {0}, {0}, %t;
    and.b64         {0}, {0}, %mask;
    xor.b64         {0}, {0}, %base;)",
                       word, offset + 1);
}

// A loop over all pairs of words; each thread takes every so-many-th. `body` finds the pair's place
// in %at and the number of its first word in %index.
std::string over_pairs(std::string_view name, std::string_view more_parameters,
                       std::string_view before, std::string_view body, std::string_view after) {
    return fmt::format(R"(
.visible .entry {0}(.param .u64 memory, .param .u64 pairs, .param .u64 first,
                    .param .u64 seed, .param .u64 mask, .param .u64 base{1})
{{
    .reg .pred      %done, %same;
    .reg .b32       %lane, %size, %block, %blocks, %wrong;
    .reg .b64       %memory, %pairs, %first, %seed, %mask, %base, %wrongs;
    .reg .b64       %i, %step, %at, %index, %t, %a, %b, %x, %y, %n;
    ld.param.u64    %memory, [memory];
    ld.param.u64    %pairs, [pairs];
    ld.param.u64    %first, [first];
    ld.param.u64    %seed, [seed];
    ld.param.u64    %mask, [mask];
    ld.param.u64    %base, [base];
    cvta.to.global.u64 %memory, %memory;
    mov.u32         %lane, %tid.x;
    mov.u32         %size, %ntid.x;
    mov.u32         %block, %ctaid.x;
    mov.u32         %blocks, %nctaid.x;
    mul.wide.u32    %i, %block, %size;
    cvt.u64.u32     %t, %lane;
    add.u64         %i, %i, %t;
    mul.wide.u32    %step, %blocks, %size;
    {2}
next:
    setp.ge.u64     %done, %i, %pairs;
    @%done bra      finished;
    shl.b64         %at, %i, 4;
    add.u64         %at, %memory, %at;
    shl.b64         %index, %i, 1;
    add.u64         %index, %index, %first;
    {3}
    add.u64         %i, %i, %step;
    bra             next;
finished:
    {4}
    ret;
}}
)",
                       name, more_parameters, before, body, after);
}

constexpr std::string_view begin_arithmetic = R"(
.visible .entry {}(.param .u64 results)
{{
    .reg .pred      %again;
    .reg .b32       %lane, %size, %block, %thread, %kind, %round;
    .reg .b64       %results, %offset;
    .reg .f32       %sum;
    mov.u32         %lane, %tid.x;
    mov.u32         %size, %ntid.x;
    mov.u32         %block, %ctaid.x;
    mad.lo.u32      %thread, %block, %size, %lane;
    ld.param.u64    %results, [results];
    cvta.to.global.u64 %results, %results;
    mul.wide.u32    %offset, %thread, 4;
    add.u64         %results, %results, %offset;
    mov.u32         %round, {};
)";
constexpr std::string_view end_arithmetic = R"(
    st.global.f32   [%results], %sum;
    ret;
}
)";
// Around the body of a loop.
constexpr std::string_view again = R"(
    sub.u32         %round, %round, 1;
    setp.ne.u32     %again, %round, 0;
    @%again bra     next;
)";

}  // namespace

std::string memory_kernels() {
    const std::string words = pattern_of("%a", 0) + pattern_of("%b", 1);
    std::string text(header);
    text += over_pairs("fill", "", "", words + "\n    st.global.v2.u64 [%at], {%a, %b};", "");
    text += over_pairs("count_wrong", ", .param .u64 wrongs",
                       R"(ld.param.u64    %wrongs, [wrongs];
    cvta.to.global.u64 %wrongs, %wrongs;
    mov.u32         %wrong, 0;)",
                       "ld.global.v2.u64 {%x, %y}, [%at];" + words + R"(
    setp.eq.u64     %same, %x, %a;
    @!%same add.u32 %wrong, %wrong, 1;
    setp.eq.u64     %same, %y, %b;
    @!%same add.u32 %wrong, %wrong, 1;)",
                       R"(setp.eq.u32     %same, %wrong, 0;
    cvt.u64.u32     %n, %wrong;
    @!%same red.global.add.u64 [%wrongs], %n;)");
    return text;
}

std::string arithmetic_kernels() {
    std::string text(header);
    text += fmt::format(begin_arithmetic, "multiply_add", multiply_add_rounds);
    text += fmt::format(R"(
    .reg .f32       %c<{0}>, %factor, %kindf;
    and.b32         %kind, %thread, {1};
    cvt.rn.f32.u32  %kindf, %kind;
    mov.f32         %factor, {2:.2f};
    mov.f32         %sum, 0.0;
)",
                        multiply_add_chains, multiply_add_kinds - 1, multiply_add_factor);
    for (int chain = 0; chain < multiply_add_chains; ++chain)
        text += fmt::format("    mov.f32 %c{0}, {0}.0;\n", chain);
    text += "next:\n";
    for (int chain = 0; chain < multiply_add_chains; ++chain)
        text += fmt::format("    fma.rn.f32 %c{0}, %c{0}, %factor, %kindf;\n", chain);
    text += again;
    for (int chain = 0; chain < multiply_add_chains; ++chain)
        text += fmt::format("    add.rn.f32 %sum, %sum, %c{};\n", chain);
    text += end_arithmetic;
    return text;
}

// All of A is 1, and column n of B is n + 1, so every product is exact in FP32: each round adds
// 16 (n + 1). A thread keeps columns 2 (lane % 4) and the one after it of its tile.
std::string tensor_kernels() {
    std::string text(tensor_header);
    text += fmt::format(begin_arithmetic, "tensor", tensor_rounds);
    text += fmt::format(R"(
    .reg .b32       %one, %column;
    .reg .b16       %half;
    .reg .f32       %c<{}>, %columnf;
    mov.b32         %one, 0x3C003C00;
    and.b32         %kind, %lane, 31;
    shr.u32         %kind, %kind, 2;
    add.u32         %kind, %kind, 1;
    cvt.rn.f32.u32  %columnf, %kind;
    cvt.rn.f16.f32  %half, %columnf;
    mov.b32         %column, {{%half, %half}};
    mov.f32         %sum, 0.0;
)",
                        4 * tensor_chains);
    for (int i = 0; i < 4 * tensor_chains; ++i) text += fmt::format("    mov.f32 %c{}, 0.0;\n", i);
    text += "next:\n";
    for (int chain = 0; chain < tensor_chains; ++chain) {
        const std::string c = fmt::format("{{%c{}, %c{}, %c{}, %c{}}}", 4 * chain, 4 * chain + 1,
                                          4 * chain + 2, 4 * chain + 3);
        text += fmt::format(
            "    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {0}, "
            "{{%one, %one, %one, %one}}, {{%column, %column}}, {0};\n",
            c);
    }
    text += again;
    for (int i = 0; i < 4 * tensor_chains; ++i)
        text += fmt::format("    add.rn.f32 %sum, %sum, %c{};\n", i);
    text += end_arithmetic;
    return text;
}

float multiply_add_result(int thread) {
    const auto kind = static_cast<float>(thread % multiply_add_kinds);
    float sum = 0;
    for (int chain = 0; chain < multiply_add_chains; ++chain) {
        auto value = static_cast<float>(chain);
        for (int round = 0; round < multiply_add_rounds; ++round)
            value = std::fma(value, multiply_add_factor, kind);
        sum += value;
    }
    return sum;
}

float tensor_result(int thread) {
    const int columns = 2 * (thread % 4) + 1 + 2 * (thread % 4) + 2;
    return static_cast<float>(2 * columns * 16 * tensor_rounds * tensor_chains);
}

}  // namespace berth::gpu
