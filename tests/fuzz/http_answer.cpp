// Arbitrary bytes to the reader of an upstream's answer. Whatever it accepts, Beast's parser must
// accept too and read the same: where the two part, a client behind us could be lied to.
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <iterator>
#include <string_view>

#include "base/check.hpp"
#include "http/parse.hpp"

namespace {

using namespace berth;
using namespace berth::http;
namespace beast = boost::beast::http;

void compare(const AnswerHead& ours, std::string_view head) {
    const std::size_t line_end = head.find('\r');
    constexpr std::size_t shortest_line = 12;
    if (line_end == shortest_line) return;  // Beast wants the space before a reason that is empty
    beast::response_parser<beast::string_body> theirs;
    theirs.header_limit(1 << 20);
    theirs.body_limit(boost::none);
    boost::system::error_code error;
    theirs.put(boost::asio::buffer(head.data(), head.size()), error);
    check(!error || error == beast::error::need_more, "Beast accepts the head");
    check(theirs.is_header_done(), "Beast sees the end of the head");
    const auto& message = theirs.get();
    check(message.result_int() == static_cast<unsigned>(ours.status), "one status");
    const auto fields = std::distance(ours.headers.begin(), ours.headers.end());
    check(std::distance(message.begin(), message.end()) == fields, "as many fields");
    for (const Headers::Field& field : ours.headers)
        check(message.count(field.name) == ours.headers.count(field.name), "as many of the name");
    if (ours.body == AnswerHead::Body::none) return;  // a status of its own rules
    check(theirs.chunked() == (ours.body == AnswerHead::Body::chunked), "one framing");
    check(theirs.content_length().has_value() == (ours.body == AnswerHead::Body::length),
          "a length for both");
    check(theirs.content_length().value_or(0) == ours.content_length, "one length");
    if (ours.keep_alive) check(theirs.keep_alive() || theirs.need_eof(), "one end");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    HeadScanner scanner;
    if (scanner.scan(bytes) != HeadScanner::Status::complete) return 0;
    const std::string_view head = bytes.substr(0, scanner.head_size());
    const AnswerHead answer = parse_answer_head(head, AnswerTo::any);
    const AnswerHead to_head = parse_answer_head(head, AnswerTo::head_request);
    check(answer.good == to_head.good && answer.status == to_head.status, "one verdict");
    check(!to_head.good || to_head.body == AnswerHead::Body::none, "a HEAD has no body");
    // Who asked to switch reads every other answer as anybody does.
    const AnswerHead switching = parse_answer_head(head, AnswerTo::upgrade);
    const bool switches = switching.good && switching.status == switching_status;
    check(switches || switching.good == answer.good, "only a switch is judged otherwise");
    check(!switches || (!answer.good && switching.body == AnswerHead::Body::until_close),
          "a switch has no end of its own");
    if (answer.good) compare(answer, head);
    return 0;
}
