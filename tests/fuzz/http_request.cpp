// Arbitrary bytes to the reader of requests. Whatever it accepts, Beast's parser must accept too
// and read the same: a request that two readers understand differently is how smuggling works.
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <iterator>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "http/parse.hpp"
#include "http/text.hpp"

namespace {

using namespace berth;
using namespace berth::http;
namespace beast = boost::beast::http;

constexpr std::size_t body_bytes_max = 4096;

// Beast keeps fields of one name together, so they are compared name by name.
void compare_fields(const Headers& ours, const beast::fields& theirs) {
    std::size_t fields = 0;
    for (const Headers::Field& field : ours) {
        ++fields;
        check(ours.count(field.name) == theirs.count(field.name), "as many of the name");
        auto other = theirs.equal_range(field.name).first;
        for (const Headers::Field& earlier : ours) {
            if (!equal_without_case(earlier.name, field.name)) continue;
            check(other->value() == earlier.value, "one value");
            ++other;
        }
    }
    const auto their_fields = std::distance(theirs.begin(), theirs.end());
    check(static_cast<std::size_t>(their_fields) == fields, "as many fields");
}

void compare_heads(const ParsedHead& ours, std::string_view head) {
    beast::request_parser<beast::string_body> theirs;
    theirs.header_limit(1 << 20);
    theirs.body_limit(boost::none);
    boost::system::error_code error;
    theirs.put(boost::asio::buffer(head.data(), head.size()), error);
    check(!error || error == beast::error::need_more, "Beast accepts the head");
    check(theirs.is_header_done(), "Beast sees the end of the head");
    const auto& message = theirs.get();
    check(message.method_string() == ours.request.method, "one method");
    check(message.target() == ours.request.target, "one target");
    check((message.version() == 10) == ours.framing.version_1_0, "one version");
    check(theirs.chunked() == ours.framing.chunked, "one framing");
    check(theirs.content_length().value_or(0) == ours.framing.content_length, "one length");
    compare_fields(ours.request.headers, message);
}

struct Decoded {
    ChunkDecoder::Status status;
    std::string body;
    std::size_t taken;
};

Decoded decode(std::string_view bytes, std::size_t step) {
    ChunkDecoder decoder({.body_bytes_max = body_bytes_max, .trailer_bytes_max = 512});
    Decoded decoded{ChunkDecoder::Status::more, {}, 0};
    while (decoded.status == ChunkDecoder::Status::more && decoded.taken < bytes.size()) {
        std::string_view piece = bytes.substr(decoded.taken, step);
        const std::size_t given = piece.size();
        decoded.status = decoder.feed(piece, decoded.body);
        decoded.taken += given - piece.size();
    }
    check(decoded.body.size() <= body_bytes_max, "the body is bounded");
    return decoded;
}

// However the network cuts the bytes, the outcome is the same.
void decode_in_pieces(std::string_view bytes) {
    const Decoded whole = decode(bytes, bytes.size());
    const Decoded pieces = decode(bytes, 1);
    if (whole.status == ChunkDecoder::Status::done) {
        check(pieces.status == whole.status && pieces.taken == whole.taken, "one end");
        check(pieces.body == whole.body, "one body");
    } else {
        check(pieces.status == whole.status, "one verdict");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    HeadScanner whole;
    const HeadScanner::Status status = whole.scan(bytes);

    HeadScanner pieces;
    HeadScanner::Status status_of_pieces = HeadScanner::Status::incomplete;
    for (std::size_t end = 1; end <= size; ++end) {
        status_of_pieces = pieces.scan(bytes.substr(0, end));
        if (status_of_pieces != HeadScanner::Status::incomplete) break;
    }
    check(status == status_of_pieces, "one end of the head");

    if (status == HeadScanner::Status::complete) {
        const std::string_view head = bytes.substr(0, whole.head_size());
        const ParsedHead parsed = parse_head(head);
        if (parsed.refusal == 0) compare_heads(parsed, head);
        decode_in_pieces(bytes.substr(whole.head_size()));
    }
    decode_in_pieces(bytes);
    return 0;
}
