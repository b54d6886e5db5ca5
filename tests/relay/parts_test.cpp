// The parts of the relay that know no sockets: events in pieces, and usage that passes by.
#include <gtest/gtest.h>

#include "relay/event_stream.hpp"
#include "relay/relayed_request.hpp"
#include "relay/usage_finder.hpp"

namespace berth::relay {
namespace {

struct Page final : http::Outlet {
    void begin(http::Response) override {}
    bool write(std::string_view bytes) override {
        text += bytes;
        return true;
    }
    void end() override {}
    void abort() override {}
    http::Upstream& upstream() override { throw std::logic_error("not here"); }
    const std::shared_ptr<http::Loop>& loop() override { throw std::logic_error("not here"); }

    std::string text;
};

TEST(RelayEvents, AreTheSameHoweverTheyAreCut) {
    const std::string said = "data: {\"a\":1}\n\n: note\r\ndata: two\ndata: [DONE]\n\n";
    for (std::size_t size = 1; size <= said.size(); ++size) {
        Page page;
        EventStream events;
        for (std::size_t at = 0; at < said.size(); at += size)
            EXPECT_TRUE(events.pass(std::string_view(said).substr(at, size), page));
        EXPECT_TRUE(events.is_done());
        events.finish(page);
        EXPECT_EQ(page.text, said) << size;
    }
}

TEST(RelayEvents, EndInAnEventOfTheirOwnWhereverTheyBreakOff) {
    const std::string said = "data: {\"a\":1}\n\ndata: {\"b\":2}\n\n";
    for (std::size_t size = 0; size <= said.size(); ++size) {
        Page page;
        EventStream events;
        if (size > 0) {
            EXPECT_TRUE(events.pass(std::string_view(said).substr(0, size), page));
        }
        events.break_off("{\"error\":1}", page);
        EXPECT_TRUE(page.text.ends_with("\ndata: {\"error\":1}\n\n")) << page.text;
        const std::string before = page.text.substr(0, page.text.find("\ndata: {\"error\""));
        EXPECT_TRUE(before.empty() || before.ends_with("}\n") || before.ends_with("}\n\n"))
            << page.text;
    }
}

TEST(RelayEvents, KeepNoMoreThanABound) {
    Page page;
    EventStream events;
    const std::string piece(1000, 'x');
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(events.pass(piece, page));
    EXPECT_GE(page.text.size() + EventStream::kept_bytes_max, 100'000U);
    events.break_off("{}", page);
    EXPECT_TRUE(page.text.ends_with("x\n\ndata: {}\n\n"));
}

std::optional<TokenUsage> found_in(const std::string& text, std::size_t size) {
    UsageFinder finder;
    for (std::size_t at = 0; at < text.size(); at += size)
        finder.feed(std::string_view(text).substr(at, size));
    return finder.found();
}

TEST(RelayUsage, IsFoundHoweverItIsCut) {
    const std::string text =
        R"({"a":"\"usage\":{\"prompt_tokens\":9}","usage":null,"usagE":{},"x":""usage",)"
        R"("usage" : {"prompt_tokens": 3, "completion_tokens":4,"d":{"s":"}\"{"}}})";
    for (std::size_t size = 1; size <= text.size(); ++size) {
        const auto usage = found_in(text, size);
        ASSERT_TRUE(usage.has_value()) << size;
        EXPECT_EQ(usage->prompt, 3);
        EXPECT_EQ(usage->completion, 4);
    }
}

TEST(RelayUsage, IsTheLastThatCanBeRead) {
    for (const auto& [text, prompt] : std::vector<std::pair<std::string, std::optional<int>>>{
             {R"({"usage":{"prompt_tokens":1}} {"usage":{"prompt_tokens":2}})", 2},
             {R"({"usage":{"prompt_tokens":1,"completion_tokens":null}})", 1},
             {R"({"usage":{"prompt_tokens":1}} {"usage":null})", 1},
             {R"({"usage":{"prompt_tokens":-1}})", {}},
             {R"({"usage":{"prompt_tokens":1e30}})", {}},
             {R"({"usage":{"prompt_tokens":99999999999999999999}})", {}},
             {R"({"usage":{"prompt_tokens":"1"}})", {}},
             {R"({"usage":{}})", {}},
             {R"({"usage":{"prompt_tokens":1)", {}},
             {R"({"usage":{"x":")" + std::string(4000, 'x') + R"(","prompt_tokens":1}})", {}},
             {"", {}}}) {
        const auto usage = found_in(text, 7);
        EXPECT_EQ(usage ? usage->prompt : std::nullopt,
                  prompt ? std::optional<std::int64_t>(*prompt) : std::nullopt)
            << text;
    }
}

// Browsers split a list of types at its commas and take the last one that they know, quotes and
// parameters notwithstanding; so the text of an engine never leaves, whatever it looks like.
TEST(RelayContentTypes, AreFourConstantsWhateverTheEngineSays) {
    struct Case {
        std::string given;
        std::string_view relayed;
    };
    constexpr std::string_view json = "application/json";
    constexpr std::string_view events = "text/event-stream";
    constexpr std::string_view text = "text/plain; charset=utf-8";
    constexpr std::string_view bytes = "application/octet-stream";
    for (const Case& each :
         std::vector<Case>{{"application/json", json},
                           {"Application/JSON ; charset=utf-8", json},
                           {"application/json;a=,text/html", json},
                           {"application/json;a=\",text/html", json},
                           {"application/problem+json; charset=utf-8", json},
                           {"text/event-stream", events},
                           {" Text/Event-Stream;charset=utf-8", events},
                           {"text/event-stream;,text/html", events},
                           {"text/plain", text},
                           {"text/html", text},
                           {"text/html;application/json", text},
                           {"text/xml", text},
                           {"text/javascript", text},
                           {"application/json,text/html", bytes},
                           {"text/html,application/json", bytes},
                           {"application/json text/html", bytes},
                           {"text/ html", bytes},
                           {"text", bytes},
                           {"text/", bytes},
                           {"/json", bytes},
                           {"text/html/json", bytes},
                           {"application/xhtml+xml", bytes},
                           {"application/json+xml", bytes},
                           {"application/javascript", bytes},
                           {"image/svg+xml", bytes},
                           {"image/svg+json", bytes},
                           {"multipart/x-mixed-replace;boundary=x", bytes},
                           {"", bytes},
                           {"a", bytes},
                           {"application/" + std::string(10'000, 'x') + "+json", bytes}})
        EXPECT_EQ(relayed_type(each.given), each.relayed) << each.given;
}

}  // namespace
}  // namespace berth::relay
