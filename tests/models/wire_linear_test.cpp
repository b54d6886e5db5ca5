// JSON takes time and memory in proportion to its bytes, whatever it holds.
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "support/linear.hpp"
#include "wire/complaint.hpp"
#include "wire/sample.hpp"

namespace {

// What this thread has allocated and not given back, and the most there was since the last reset.
thread_local std::size_t live_bytes = 0;
thread_local std::size_t most_bytes = 0;

}  // namespace

void* operator new(std::size_t size) {
    void* made = std::malloc(size);
    if (made == nullptr) throw std::bad_alloc();
    live_bytes += malloc_usable_size(made);
    most_bytes = std::max(most_bytes, live_bytes);
    return made;
}
void operator delete(void* gone) noexcept {
    live_bytes -= std::min(live_bytes, malloc_usable_size(gone));
    std::free(gone);
}
void operator delete(void* gone, std::size_t) noexcept { operator delete(gone); }

namespace berth {
namespace {

using namespace wire;
using test::expect_linear;
using test::repeated;

constexpr std::size_t body_bytes_max = 1 << 20;  // the largest body of any route

struct Shape {
    const char* name;
    std::string (*make)(std::size_t bytes);
};

std::string listed(std::string_view item, std::size_t bytes) {
    return "[" + repeated(std::string(item) + ",", bytes) + std::string(item) + "]";
}

std::string members(std::size_t bytes, std::string_view value, bool same) {
    std::string out = "{";
    for (std::size_t i = 0; out.size() < bytes; ++i)
        out.append(i == 0 ? "\"" : ",\"")
            .append(same ? "k" : std::to_string(i))
            .append("\":")
            .append(value);
    return out + "}";
}

// Inputs that are hard on a reader, each in its own way.
const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all{
        {"numbers", [](std::size_t n) { return listed("1", n); }},
        {"empty arrays", [](std::size_t n) { return listed("[]", n); }},
        {"empty objects", [](std::size_t n) { return listed("{}", n); }},
        {"empty strings", [](std::size_t n) { return listed("\"\"", n); }},
        {"escapes", [](std::size_t n) { return listed("\"\\n\"", n); }},
        {"one long string", [](std::size_t n) { return "\"" + repeated("a", n) + "\""; }},
        {"one long escaped string",
         [](std::size_t n) { return "\"" + repeated("\\u00e9", n) + "\""; }},
        {"one long number",
         [](std::size_t n) { return repeated("1", n) + "e-" + std::to_string(n); }},
        {"many members", [](std::size_t n) { return members(n, "1", false); }},
        {"one member again and again", [](std::size_t n) { return members(n, "1", true); }},
        {"nested members", [](std::size_t n) { return members(n, R"({"a":{"b":1}})", false); }},
        {"long keys alike",
         [](std::size_t n) {
             std::string out = "{";
             for (std::size_t i = 0; out.size() < n; ++i)
                 out +=
                     (i == 0 ? "\"" : ",\"") + std::string(500, 'k') + std::to_string(i) + "\":1";
             return out + "}";
         }},
        {"commas", [](std::size_t n) { return repeated(",", n); }},
        {"brackets", [](std::size_t n) { return repeated("[", n); }},
        {"white space", [](std::size_t n) { return repeated(" ", n) + "1"; }},
        {"quotes", [](std::size_t n) { return repeated("\"", n); }},
    };
    return all;
}

TEST(WireLinear, TimeGrowsWithTheText) {
    for (const Shape& shape : shapes()) {
        expect_linear(shape.name, body_bytes_max, shape.make,
                      [](const std::string& json) { return complaint<Json>(json); });
        expect_linear(shape.name, body_bytes_max, shape.make,
                      [](const std::string& json) { return canonical(json); });
        expect_linear(shape.name, body_bytes_max, shape.make,
                      [](const std::string& json) { return complaint<sample::Everything>(json); });
        expect_linear(shape.name, body_bytes_max, shape.make,
                      [](const std::string& json) { return complaint<sample::Proof>(json); });
    }
}

// Body, decoded value and all that is needed on the way.
template <class T>
void expect_small(const Shape& shape, const std::string& json) {
    constexpr std::size_t times_max = 8;
    const std::size_t before = live_bytes;
    most_bytes = before;
    {
        T value{};
        Errors errors;
        decode(type_of<T>(), json, &value, "body", errors);
    }
    EXPECT_LE(most_bytes - before, json.size() * times_max) << shape.name;
}

TEST(WireMemory, DecodingTakesAtMostEightTimesTheText) {
    for (const std::size_t bytes : {std::size_t{64} << 10, body_bytes_max})
        for (const Shape& shape : shapes()) {
            const std::string json = shape.make(bytes);
            expect_small<Json>(shape, json);
            expect_small<sample::Everything>(shape, json);
            expect_small<sample::Proof>(shape, json);
            expect_small<List<Uuid, 0, 100>>(shape, json);
        }
}

}  // namespace
}  // namespace berth
