// Reads the bytes of a request, and refuses every spelling that two readers could understand in two
// ways: one strict grammar, no repairs. Works on bytes alone, so that it can be fuzzed.
//
// Refused with 400: bare line feeds, folded lines, space before a colon, control bytes, targets not
// in origin form, versions other than 1.0 and 1.1, no Host or two, any second or non-decimal
// Content-Length, any Transfer-Encoding but exactly "chunked", that beside a Content-Length or in
// HTTP/1.0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/message.hpp"

namespace berth::http {

inline constexpr std::size_t fields_max = 100;
inline constexpr std::size_t method_bytes_max = 32;
inline constexpr std::size_t chunk_line_bytes_max = 256;

// Looks for the end of the head in bytes that come piece by piece, each byte once.
class HeadScanner {
public:
    enum class Status { incomplete, complete, bad };

    // `bytes` starts at the request line and only grows from call to call until reset().
    Status scan(std::string_view bytes);
    std::size_t head_size() const { return line_start_; }  // of a complete head
    void reset() { *this = {}; }

private:
    std::size_t scanned_ = 0;
    std::size_t line_start_ = 0;
};

// How the body comes and what happens to the connection afterwards.
struct Framing {
    std::uint64_t content_length = 0;
    bool chunked = false;
    bool expects_continue = false;
    bool keep_alive = false;
    bool version_1_0 = false;
};

struct ParsedHead {
    int refusal = 0;  // the status to refuse with; 0 when the head is good
    Request request;
    Framing framing;
};

// `head` is what the scanner found: the request line, the fields and the empty line.
ParsedHead parse_head(std::string_view head);

// The head of an answer, read as strictly: besides what is said above, a status that is not three
// digits from 100 to 599 is refused, and 101 to a request that did not ask to switch.
struct AnswerHead {
    enum class Body { none, length, chunked, until_close };

    bool good = false;
    int status = 0;
    Headers headers;
    Body body = Body::none;
    std::uint64_t content_length = 0;
    bool keep_alive = false;
};

enum class AnswerTo { any, head_request, upgrade };
AnswerHead parse_answer_head(std::string_view head, AnswerTo request);

// Takes a chunked body apart, piece by piece. Extensions and trailers are checked, bounded and
// dropped.
class ChunkDecoder {
public:
    enum class Status { more, done, bad, too_large };

    struct Limits {
        std::size_t body_bytes_max;
        std::size_t trailer_bytes_max;
    };

    explicit ChunkDecoder(Limits limits) : limits_(limits) {}

    // Takes what belongs to the body off the front of `input` and appends its data to `body`.
    Status feed(std::string_view& input, std::string& body);

private:
    enum class Part { size_line, data, data_end, trailer_line, done };

    bool take_line(std::string_view& input, std::size_t bytes_max, bool& bad);
    Status end_of_size_line(const std::string& body);

    Limits limits_;
    Part part_ = Part::size_line;
    std::uint64_t chunk_left_ = 0;
    std::size_t trailer_bytes_ = 0;
    std::string line_;  // the line in progress
};

}  // namespace berth::http
