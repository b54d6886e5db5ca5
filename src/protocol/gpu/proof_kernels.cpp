#include "gpu/proof_kernels.hpp"

#include <array>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace berth::gpu {
namespace {

constexpr std::string_view proof_header = R"(
.version 6.4
.target {}
.address_size 64
)";
constexpr std::string_view tensor_proof_header = R"(
.version 7.0
.target {}
.address_size 64
)";

// mix() of card_proof/lanes.hpp.
std::string mixed(std::string_view x) {
    return fmt::format(R"(
    shr.u64         %t, {0}, 30;
    xor.b64         {0}, {0}, %t;
    mul.lo.u64      {0}, {0}, 0xBF58476D1CE4E5B9;
    shr.u64         %t, {0}, 27;
    xor.b64         {0}, {0}, %t;
    mul.lo.u64      {0}, {0}, 0x94D049BB133111EB;
    shr.u64         %t, {0}, 31;
    xor.b64         {0}, {0}, %t;)",
                       x);
}

// The words at two places that `random` chooses among the first %i.
std::string two_words(std::string_view random, std::string_view first, std::string_view second) {
    return fmt::format(R"(
    mul.hi.u64      %p, {0}, %i;
    mul.lo.u64      %q, {0}, 0xD6E8FEB86659FD93;
    mul.hi.u64      %q, %q, %i;
    shl.b64         %p, %p, 3;
    shl.b64         %q, %q, 3;
    add.u64         %p, %p, %words;
    add.u64         %q, %q, %words;
    ld.global.u64   {1}, [%p];
    ld.global.u64   {2}, [%q];)",
                       random, first, second);
}

std::string rotated(std::string_view word, int left) {
    return fmt::format(R"(
    shl.b64         %t, {0}, {1};
    shr.u64         {0}, {0}, {2};
    or.b64          {0}, {0}, %t;)",
                       word, left, 64 - left);
}

// ---- SHA-256

constexpr std::array<std::uint32_t, 64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
constexpr std::array<std::uint32_t, 8> first_state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

// `into` is `of` rotated right by three counts, or by two and shifted by the third, put together.
std::string sigma(std::string_view into, std::string_view of, int a, int b, int c, bool shifts) {
    return fmt::format(R"(
    shf.r.wrap.b32  {0}, {1}, {1}, {2};
    shf.r.wrap.b32  %u, {1}, {1}, {3};
    {5}
    lop3.b32        {0}, {0}, %u, %v, 0x96;)",
                       into, of, a, b, c,
                       shifts ? fmt::format("shr.u32         %v, {}, {};", of, c)
                              : fmt::format("shf.r.wrap.b32  %v, {0}, {0}, {1};", of, c));
}

// The next of the sixteen words that the message is spread over: its place is that of the oldest.
std::string spread(int round) {
    const auto word = [&](int back) { return fmt::format("%w{}", (round - back) & 15); };
    return sigma("%x", word(15), 7, 18, 3, true) + sigma("%y", word(2), 17, 19, 10, true) +
           fmt::format(R"(
    add.u32         {0}, {0}, %x;
    add.u32         {0}, {0}, {1};
    add.u32         {0}, {0}, %y;)",
                       word(16), word(7));
}

// One round. Instead of moving the eight registers on, their names move.
std::string round_of(int round) {
    const auto name = [&](int place) { return fmt::format("%s{}", (place - round) & 7); };
    return sigma("%x", name(4), 6, 11, 25, false) +
           fmt::format(R"(
    lop3.b32        %y, {4}, {5}, {6}, 0xCA;
    add.u32         %x, %x, %y;
    add.u32         %x, %x, {7};
    add.u32         %x, %x, 0x{8:08x};
    add.u32         %x, %x, %w{9};
    add.u32         {3}, {3}, %x;)",
                       name(0), name(1), name(2), name(3), name(4), name(5), name(6), name(7),
                       round_constants[static_cast<std::size_t>(round)], round & 15) +
           sigma("%y", name(0), 2, 13, 22, false) +
           fmt::format(R"(
    lop3.b32        %u, {0}, {1}, {2}, 0xE8;
    add.u32         %y, %y, %u;
    add.u32         {3}, %x, %y;)",
                       name(0), name(1), name(2), name(7));
}

// The words of the chunk at %at, most significant byte first; behind the last chunk the end of
// every message, which is a bit and its length.
std::string read_chunk() {
    std::string text;
    for (int i = 0; i < 16; i += 4)
        text += fmt::format("\n    @%more ld.global.v4.u32 {{%w{}, %w{}, %w{}, %w{}}}, [%at+{}];",
                            i, i + 1, i + 2, i + 3, 4 * i);
    for (int i = 0; i < 16; ++i) {
        text += fmt::format("\n    @%more prmt.b32 %w{0}, %w{0}, 0, 0x0123;", i);
        if (i < 15)
            text += fmt::format("\n    @!%more mov.u32 %w{}, {};", i, i == 0 ? "0x80000000" : "0");
    }
    return text + "\n    @!%more shl.b32 %w15, %chunks, 9;\n";
}

// ---- The product

constexpr int tile_rows = 4;     // of 16, that a warp makes
constexpr int tile_columns = 8;  // of 8

constexpr std::string_view begin_multiply = R"(
.visible .entry multiply(.param .u64 a, .param .u64 b, .param .u64 c,
                         .param .u32 columns, .param .u32 depth)
{
    .reg .pred      %again;
    .reg .b32       %lane, %warp, %row, %column, %columns, %depth, %k, %n, %g;
    .reg .b64       %a, %b, %c, %t, %step;
    ld.param.u64    %a, [a];
    ld.param.u64    %b, [b];
    ld.param.u64    %c, [c];
    ld.param.u32    %columns, [columns];
    ld.param.u32    %depth, [depth];
    cvta.to.global.u64 %a, %a;
    cvta.to.global.u64 %b, %b;
    cvta.to.global.u64 %c, %c;
    // Blocks of threads are numbered along the columns first.
    mov.u32         %n, %ctaid.x;
    shr.u32         %g, %columns, 7;
    div.u32         %row, %n, %g;
    rem.u32         %column, %n, %g;
    shl.b32         %row, %row, 7;
    shl.b32         %column, %column, 7;
    mov.u32         %lane, %tid.x;
    shr.u32         %warp, %lane, 5;
    and.b32         %lane, %lane, 31;
)";
constexpr std::string_view next_depth = R"(
    sub.u32         %k, %k, 64;
    setp.ne.u32     %again, %k, 0;
    @%again bra     next;
)";

std::string accumulator(int row, int column) {
    const int first = 4 * (row * tile_columns + column);
    return fmt::format("{{%s{}, %s{}, %s{}, %s{}}}", first, first + 1, first + 2, first + 3);
}

// A warp makes 64 rows and columns. Which bytes of the depth meet in one instruction does not
// matter as long as they are the same of both sides, so each thread reads 16 at once.
std::string tensor_body() {
    std::string text = R"(
    and.b32         %n, %warp, 1;
    shl.b32         %n, %n, 6;
    add.u32         %column, %column, %n;
    shr.u32         %n, %warp, 1;
    shl.b32         %n, %n, 6;
    add.u32         %row, %row, %n;
    shr.u32         %g, %lane, 2;
    and.b32         %lane, %lane, 3;
    .reg .b32       %s<128>, %x<32>, %y<32>;
    .reg .b64       %pa<8>, %pb<8>;
)";
    for (int i = 0; i < 128; ++i) text += fmt::format("    mov.u32 %s{}, 0;\n", i);
    for (int i = 0; i < 8; ++i)
        for (const char side : {'a', 'b'})
            text += fmt::format(R"(
    add.u32         %n, {1}, %g;
    add.u32         %n, %n, {2};
    mul.wide.u32    %p{0}{3}, %n, %depth;
    mul.wide.u32    %t, %lane, 16;
    add.u64         %p{0}{3}, %p{0}{3}, %t;
    add.u64         %p{0}{3}, %p{0}{3}, %{0};)",
                                side, side == 'a' ? "%row" : "%column", 8 * i, i);
    text += "\n    mov.u32 %k, %depth;\nnext:\n";
    for (int i = 0; i < 8; ++i)
        for (const char side : {'a', 'b'})
            text += fmt::format(
                "    ld.global.v4.u32 {{%{0}{1}, %{0}{2}, %{0}{3}, %{0}{4}}}, [%p{5}{6}];\n"
                "    add.u64 %p{5}{6}, %p{5}{6}, 64;\n",
                side == 'a' ? 'x' : 'y', 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3, side, i);
    for (int half = 0; half < 4; half += 2)
        for (int row = 0; row < tile_rows; ++row)
            for (int column = 0; column < tile_columns; ++column)
                text += fmt::format(
                    "    mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {0}, "
                    "{{%x{1}, %x{2}, %x{3}, %x{4}}}, {{%y{5}, %y{6}}}, {0};\n",
                    accumulator(row, column), 8 * row + half, 8 * row + 4 + half,
                    8 * row + half + 1, 8 * row + 4 + half + 1, 4 * column + half,
                    4 * column + half + 1);
    return text;
}

std::string write_tensor() {
    std::string text = R"(
    add.u32         %row, %row, %g;
    shl.b32         %lane, %lane, 1;
    add.u32         %column, %column, %lane;
    mul.wide.u32    %t, %row, %columns;
    cvt.u64.u32     %step, %column;
    add.u64         %t, %t, %step;
    shl.b64         %t, %t, 2;
    add.u64         %c, %c, %t;
    mul.wide.u32    %step, %columns, 32;
)";
    for (int row = 0; row < 2 * tile_rows; ++row) {
        for (int column = 0; column < tile_columns; ++column) {
            const int first = 4 * (row / 2 * tile_columns + column) + 2 * (row % 2);
            text += fmt::format("    st.global.v2.u32 [%c+{}], {{%s{}, %s{}}};\n", 32 * column,
                                first, first + 1);
        }
        text += "    add.u64 %c, %c, %step;\n";
    }
    return text + "    ret;\n}\n";
}

// Without tensor cores: a thread makes 16 rows of 8 columns, four bytes at a time.
std::string plain_body() {
    std::string text = R"(
    mov.u32         %lane, %tid.x;
    and.b32         %n, %lane, 15;
    shl.b32         %n, %n, 3;
    add.u32         %column, %column, %n;
    shr.u32         %n, %lane, 4;
    shl.b32         %n, %n, 4;
    add.u32         %row, %row, %n;
    .reg .b32       %s<128>, %x<4>, %y<32>;
    .reg .b64       %pa, %pb, %at;
    cvt.u64.u32     %step, %depth;
    mul.wide.u32    %pa, %row, %depth;
    add.u64         %pa, %pa, %a;
    mul.wide.u32    %pb, %column, %depth;
    add.u64         %pb, %pb, %b;
)";
    for (int i = 0; i < 128; ++i) text += fmt::format("    mov.u32 %s{}, 0;\n", i);
    text += "    mov.u32 %k, %depth;\nnext:\n    mov.u64 %at, %pb;\n";
    for (int column = 0; column < 8; ++column)
        text += fmt::format(
            "    ld.global.v4.u32 {{%y{}, %y{}, %y{}, %y{}}}, [%at];\n"
            "    add.u64 %at, %at, %step;\n",
            4 * column, 4 * column + 1, 4 * column + 2, 4 * column + 3);
    text += "    mov.u64 %at, %pa;\n";
    for (int row = 0; row < 16; ++row) {
        text += "    ld.global.v4.u32 {%x0, %x1, %x2, %x3}, [%at];\n    add.u64 %at, %at, %step;\n";
        for (int column = 0; column < 8; ++column)
            for (int i = 0; i < 4; ++i)
                text += fmt::format("    dp4a.s32.s32 %s{0}, %x{1}, %y{2}, %s{0};\n",
                                    8 * row + column, i, 4 * column + i);
    }
    return text + R"(
    add.u64         %pa, %pa, 16;
    add.u64         %pb, %pb, 16;
    sub.u32         %k, %k, 16;
    setp.ne.u32     %again, %k, 0;
    @%again bra     next;
)";
}

std::string write_plain() {
    std::string text = R"(
    mul.wide.u32    %t, %row, %columns;
    cvt.u64.u32     %step, %column;
    add.u64         %t, %t, %step;
    shl.b64         %t, %t, 2;
    add.u64         %c, %c, %t;
    mul.wide.u32    %step, %columns, 4;
)";
    for (int row = 0; row < 16; ++row) {
        for (int column = 0; column < 8; ++column)
            text += fmt::format("    st.global.u32 [%c+{}], %s{};\n", 4 * column, 8 * row + column);
        text += "    add.u64 %c, %c, %step;\n";
    }
    return text + "    ret;\n}\n";
}

}  // namespace

// make_lane() of card_proof/lanes.cpp, from where an earlier launch stopped.
std::string lane_kernels() {
    return fmt::format(proof_header, "sm_60") + R"(
.visible .entry make_lanes(.param .u64 lanes, .param .u64 seeds, .param .u64 count,
                           .param .u64 from, .param .u64 to)
{
    .reg .pred      %done;
    .reg .b32       %thread, %size, %block;
    .reg .b64       %lanes, %seeds, %count, %i, %to, %words, %seed, %at, %t, %p, %q;
    .reg .b64       %lane, %x, %m, %a, %b, %y, %c, %d;
    ld.param.u64    %lanes, [lanes];
    ld.param.u64    %seeds, [seeds];
    ld.param.u64    %count, [count];
    ld.param.u64    %i, [from];
    ld.param.u64    %to, [to];
    cvta.to.global.u64 %lanes, %lanes;
    cvta.to.global.u64 %seeds, %seeds;
    mov.u32         %thread, %tid.x;
    mov.u32         %size, %ntid.x;
    mov.u32         %block, %ctaid.x;
    mul.wide.u32    %lane, %block, %size;
    cvt.u64.u32     %t, %thread;
    add.u64         %lane, %lane, %t;
    setp.ge.u64     %done, %lane, %count;
    @%done bra      finished;
    shl.b64         %lane, %lane, 3;
    add.u64         %lanes, %lanes, %lane;
    add.u64         %seeds, %seeds, %lane;
    ld.global.u64   %words, [%lanes];
    cvta.to.global.u64 %words, %words;
    ld.global.u64   %seed, [%seeds];
    setp.ne.u64     %done, %i, 0;
    @%done bra      onward;
    mov.u64         %x, %seed;)" +
           mixed("%x") + R"(
    st.global.u64   [%words], %x;
    mov.u64         %i, 1;
onward:
    shl.b64         %at, %i, 3;
    add.u64         %at, %at, %words;
    ld.global.u64   %x, [%at+-8];
next:
    setp.ge.u64     %done, %i, %to;
    @%done bra      finished;
    mul.lo.u64      %m, %i, 0x9E3779B97F4A7C15;
    add.u64         %m, %m, %seed;
    add.u64         %m, %m, %x;)" +
           mixed("%m") + two_words("%m", "%a", "%b") + rotated("%b", 32) + R"(
    xor.b64         %y, %x, %a;
    xor.b64         %y, %y, %b;)" +
           mixed("%y") + two_words("%y", "%c", "%d") + rotated("%d", 17) + R"(
    add.u64         %x, %y, %c;
    xor.b64         %x, %x, %d;)" +
           mixed("%x") + R"(
    st.global.u64   [%at], %x;
    add.u64         %at, %at, 8;
    add.u64         %i, %i, 1;
    bra             next;
finished:
    ret;
}
)";
}

std::string sha256_kernels() {
    std::string text = fmt::format(proof_header, "sm_60") + R"(
.visible .entry sha256(.param .u64 in, .param .u64 out, .param .u64 count, .param .u32 chunks)
{
    .reg .pred      %done, %more;
    .reg .b32       %thread, %size, %block, %chunks, %left, %u, %v, %x, %y;
    .reg .b32       %w<16>, %s<8>, %h<8>;
    .reg .b64       %at, %out, %count, %n, %t;
    ld.param.u64    %at, [in];
    ld.param.u64    %out, [out];
    ld.param.u64    %count, [count];
    ld.param.u32    %chunks, [chunks];
    cvta.to.global.u64 %at, %at;
    cvta.to.global.u64 %out, %out;
    mov.u32         %thread, %tid.x;
    mov.u32         %size, %ntid.x;
    mov.u32         %block, %ctaid.x;
    mul.wide.u32    %n, %block, %size;
    cvt.u64.u32     %t, %thread;
    add.u64         %n, %n, %t;
    setp.ge.u64     %done, %n, %count;
    @%done bra      finished;
    mul.wide.u32    %t, %chunks, 64;
    mul.lo.u64      %t, %t, %n;
    add.u64         %at, %at, %t;
    shl.b64         %n, %n, 5;
    add.u64         %out, %out, %n;
    mov.u32         %left, %chunks;
)";
    for (std::size_t i = 0; i < first_state.size(); ++i)
        text += fmt::format("    mov.u32 %h{}, 0x{:08x};\n", i, first_state[i]);
    text += "next:\n    setp.ne.u32 %more, %left, 0;" + read_chunk();
    for (int i = 0; i < 8; ++i) text += fmt::format("    mov.u32 %s{0}, %h{0};\n", i);
    for (int round = 0; round < 64; ++round)
        text += (round < 16 ? "" : spread(round)) + round_of(round);
    for (int i = 0; i < 8; ++i) text += fmt::format("\n    add.u32 %h{0}, %h{0}, %s{0};", i);
    text += R"(
    add.u64         %at, %at, 64;
    setp.eq.u32     %done, %left, 0;
    sub.u32         %left, %left, 1;
    @!%done bra     next;
)";
    for (int i = 0; i < 8; ++i)
        text += fmt::format(
            "    prmt.b32 %h{0}, %h{0}, 0, 0x0123;\n    st.global.u32 [%out+{1}], %h{0};\n", i,
            4 * i);
    return text + "finished:\n    ret;\n}\n";
}

std::string tensor_multiply_kernels() {
    return fmt::format(tensor_proof_header, "sm_80") + std::string(begin_multiply) + tensor_body() +
           std::string(next_depth) + write_tensor();
}

std::string plain_multiply_kernels() {
    return fmt::format(proof_header, "sm_61") + std::string(begin_multiply) + plain_body() +
           write_plain();
}

}  // namespace berth::gpu
