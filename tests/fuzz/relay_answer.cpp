// Arbitrary bytes as an engine's answer on its way through the relay: head, framing, events, usage.
// The pieces in which it comes change nothing, an event that tells an error stands alone, and no
// more is kept than the bounds say.
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "http/parse.hpp"
#include "relay/event_stream.hpp"
#include "relay/relayed_request.hpp"
#include "relay/usage_finder.hpp"

namespace {

using namespace berth;
using namespace berth::http;

struct Page final : Outlet {
    void begin(Response) override {}
    bool write(std::string_view bytes) override {
        text += bytes;
        return true;
    }
    void end() override {}
    void abort() override {}
    Upstream& upstream() override { std::abort(); }
    const std::shared_ptr<Loop>& loop() override { std::abort(); }

    std::string text;
};

std::optional<relay::TokenUsage> pass(std::string_view body, std::size_t piece_bytes) {
    relay::UsageFinder finder;
    relay::EventStream whole;
    relay::EventStream broken;
    Page page;
    Page other;
    for (std::size_t at = 0; at < body.size(); at += piece_bytes) {
        const std::string_view piece = body.substr(at, piece_bytes);
        finder.feed(piece);
        check(whole.pass(piece, page), "the page has room");
        check(broken.pass(piece, other), "the page has room");
        const std::size_t come = std::min(body.size(), at + piece_bytes);
        check(page.text.size() + relay::EventStream::kept_bytes_max >= come, "little is kept");
    }
    whole.finish(page);
    check(page.text == body, "nothing is lost, added or moved");
    broken.break_off("{}", other);
    check(other.text.ends_with("\ndata: {}\n\n"), "the last event stands alone");
    return finder.found();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    HeadScanner scanner;
    if (scanner.scan(bytes) != HeadScanner::Status::complete) return 0;
    const AnswerHead head = parse_answer_head(bytes.substr(0, scanner.head_size()), AnswerTo::any);
    if (!head.good) return 0;
    const auto type = relay::relayed_type(head.headers.find("Content-Type").value_or(""));
    check(type == "application/json" || type == "text/event-stream" ||
              type == "text/plain; charset=utf-8" || type == "application/octet-stream",
          "no page comes through");
    std::string_view rest = bytes.substr(scanner.head_size());
    std::string body(rest);
    if (head.body == AnswerHead::Body::chunked) {
        ChunkDecoder decoder({.body_bytes_max = 1 << 20, .trailer_bytes_max = 8 * 1024});
        body.clear();
        decoder.feed(rest, body);
    }
    const auto at_once = pass(body, std::max<std::size_t>(body.size(), 1));
    const auto in_pieces = pass(body, 1 + size % 7);
    check(at_once.has_value() == in_pieces.has_value(), "one usage");
    if (at_once)
        check(at_once->prompt == in_pieces->prompt && at_once->completion == in_pieces->completion,
              "the same usage");
    return 0;
}
