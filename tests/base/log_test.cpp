#include "base/log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <regex>
#include <thread>

#include "base/log_queue.hpp"
#include "base/redaction.hpp"

namespace berth {
namespace {

// The log goes into a pipe while one lives.
class CapturedLog {
public:
    explicit CapturedLog(Level level = Level::info) {
        EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0);
        set_log(level, ends_[1]);
    }
    ~CapturedLog() {
        set_log(Level::info);
        if (reading_.joinable()) static_cast<void>(take());
        close(ends_[0]);
        if (ends_[1] >= 0) close(ends_[1]);
    }
    CapturedLog(const CapturedLog&) = delete;
    CapturedLog& operator=(const CapturedLog&) = delete;

    // Everything written so far; nothing can be written afterwards.
    std::string take() {
        set_log(Level::info);
        close(ends_[1]);
        ends_[1] = -1;
        if (reading_.joinable())
            reading_.join();
        else
            read_all();
        return std::move(out_);
    }
    // From now on it is read all the time; a pipe takes only so much.
    void read_on() {
        reading_ = std::thread([this] { read_all(); });
    }

private:
    void read_all() {
        char buffer[4096];
        for (ssize_t got = 0; (got = read(ends_[0], buffer, sizeof buffer)) > 0;)
            out_.append(buffer, static_cast<std::size_t>(got));
    }

    int ends_[2] = {-1, -1};
    std::string out_;
    std::thread reading_;
};

TEST(Log, WritesOneJsonObjectPerLine) {
    CapturedLog captured;
    log(Level::warn, "job_stopped",
        {{"job", "a\"b\n"}, {"count", 3}, {"ok", true}, {"text", std::string("x")}});
    const std::string line = captured.take();
    const std::regex shape(
        R"(\{"at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}(\d{3})?)?Z","level":"warn",)"
        R"("event":"job_stopped","job":"a\\"b\\n","count":3,"ok":true,"text":"x"\}\n)");
    EXPECT_TRUE(std::regex_match(line, shape)) << line;
}

TEST(Log, DropsLinesUnderItsLevel) {
    CapturedLog captured(Level::warn);
    log(Level::debug, "a");
    log(Level::info, "b");
    log(Level::warn, "c");
    log(Level::error, "d");
    const std::string lines = captured.take();
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
    EXPECT_NE(lines.find("\"level\":\"error\",\"event\":\"d\""), std::string::npos);
}

TEST(Log, CarriesTheRequestIdOfTheInnermostScope) {
    CapturedLog captured;
    {
        const LogScope outer("r1");
        log(Level::info, "a");
        {
            const LogScope inner("r2");
            log(Level::info, "b");
        }
        log(Level::info, "c");
        std::thread([] { log(Level::info, "elsewhere"); }).join();
    }
    log(Level::info, "d");
    const std::string lines = captured.take();
    for (const std::string part :
         {R"("event":"a","request_id":"r1"})", R"("event":"b","request_id":"r2"})",
          R"("event":"c","request_id":"r1"})", R"("event":"elsewhere"})", R"("event":"d"})"})
        EXPECT_NE(lines.find(part), std::string::npos) << part;
}

TEST(Log, RedactsEveryText) {
    CapturedLog captured;
    log(Level::info, "sign_in", {{"header", "Bearer abc.def"}, {"key", "ark_0123456789abcdef"}});
    const std::string line = captured.take();
    EXPECT_EQ(line.find("abc"), std::string::npos) << line;
}

TEST(Log, BoundsEveryText) {
    CapturedLog captured;
    log(Level::info, "long", {{"why", std::string(100'000, 'a')}});
    EXPECT_LT(captured.take().size(), 5000U);
}

TEST(Log, KeepsLinesOfManyThreadsApart) {
    CapturedLog captured;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([i] {
            for (int j = 0; j < 50; ++j) log(Level::info, "line", {{"thread", i}, {"number", j}});
        });
    for (std::thread& thread : threads) thread.join();
    const std::string lines = captured.take();
    std::size_t count = 0;
    for (std::size_t begin = 0; begin < lines.size(); ++count) {
        const std::size_t end = lines.find('\n', begin);
        ASSERT_NE(end, std::string::npos);
        EXPECT_EQ(lines[begin], '{');
        EXPECT_EQ(lines[end - 1], '}');
        begin = end + 1;
    }
    EXPECT_EQ(count, 200U);
}

// A reader on a busy machine may take longer than one flush waits; one with nothing to do is done
// at once.
void flush_patiently() {
    for (int i = 0; i < 60; ++i) LogQueue::flush();
}

TEST(LogQueue, WritesEveryLineBeforeItEnds) {
    CapturedLog captured;
    {
        const LogQueue queue;
        for (int i = 0; i < 100; ++i) log(Level::info, "line", {{"number", i}});
    }
    log(Level::info, "afterwards");
    const std::string lines = captured.take();
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 101);
    EXPECT_LT(lines.find("\"number\":98}"), lines.find("\"number\":99}"));
    EXPECT_LT(lines.find("\"number\":99}"), lines.find("afterwards"));
}

TEST(LogQueue, NobodyWaitsForAReaderThatStandsStillAndWhatIsLostIsCountedAndTold) {
    CapturedLog captured;
    const std::uint64_t dropped_before = LogQueue::dropped();
    const std::string text(3000, 'x');
    constexpr int lines_max = LogQueue::queued_bytes_max / 3000 + 100;  // more than it holds
    {
        const LogQueue queue;
        for (int i = 0; i < lines_max; ++i) log(Level::info, "long", {{"text", text}});
        const std::uint64_t dropped = LogQueue::dropped() - dropped_before;
        EXPECT_GT(dropped, 0U);
        EXPECT_LT(dropped, 1000U);

        captured.read_on();  // the reader is back
        flush_patiently();
        log(Level::info, "one more");
        flush_patiently();
    }
    const std::string lines = captured.take();
    EXPECT_NE(lines.find("\"event\":\"log_lines_dropped\",\"count\":"), std::string::npos);
    EXPECT_NE(lines.find("one more"), std::string::npos);
    for (std::size_t begin = 0; begin < lines.size();) {
        const std::size_t end = lines.find('\n', begin);
        ASSERT_NE(end, std::string::npos);
        ASSERT_EQ(lines[begin], '{');
        ASSERT_EQ(lines[end - 1], '}');
        begin = end + 1;
    }
}

TEST(LogQueue, EndsAlthoughNobodyReads) {
    CapturedLog captured;
    const LogQueue queue;
    for (int i = 0; i < 1000; ++i) log(Level::info, "line", {{"text", std::string(200, 'x')}});
}

TEST(Redact, HidesEverySecretThatWeIssue) {
    for (const std::string_view prefix : {"ark_", "brs_", "brl_", "brc_", "bre_", "bek_", "bet_"}) {
        const std::string secret = std::string(prefix) + "4eC39HqLyjWDarjtT1zdp7dc0123456789abcdef";
        for (const std::string& text :
             {secret, "key=" + secret + ";", "\"" + secret + "\"", "https://h/#" + secret}) {
            EXPECT_EQ(redact(text).find("4eC39"), std::string::npos) << text;
            EXPECT_EQ(without_secrets(text, {}).find("4eC39"), std::string::npos) << text;
        }
    }
}

TEST(Redact, HidesEverySecretShape) {
    const std::vector<std::pair<std::string, std::string>> rows{
        {"ark_0123456789abcdef", "ark_…"},
        {"key=ark_0123456789abcdef, next", "key=ark_…, next"},
        {"\"brs_aaaaaaaa-_AZ09\"", "\"brs_…\""},
        {"brl_12345678", "brl_…"},
        {"brc_12345678", "brc_…"},
        {"#bre_12345678", "#bre_…"},
        {"hf_abcdefghijkl", "hf_…"},
        {"whsec_C2FV+b5sSYsp/b7oD0k= is it", "whsec_… is it"},
        {"ark_12345678 ark_87654321", "ark_… ark_…"},
        {"Authorization: Bearer eyJhbGciOi.x.y\r\nHost: a", "Authorization: Bearer …\r\nHost: a"},
        {"authorization: bearer eyJhbGciOi", "authorization: bearer …"},
        {"postgres://user:p@ss:word@host/db", "postgres://user:…@host/db"},
        {"postgres://user:p/s?w#d@host/db", "postgres://user:…@host/db"},
        {"smtp://user:secret@mail.example:587", "smtp://user:…@mail.example:587"},
        {"see https://a:b@c/x and https://d:e@f", "see https://a:…@c/x and https://d:…@f"},
        {"https://ark_0123456789abcdef:x@host", "https://ark_…:…@host"},
        {"https://password=a:b@host", "https://password=…:…@host"},
        {"https://:only@host", "https://:…@host"}};
    for (const auto& [text, redacted] : rows) EXPECT_EQ(redact(text), redacted);
}

TEST(Redact, LeavesOrdinaryTextAlone) {
    for (const std::string text :
         {"", "plain text", "https://host:8080/path", "https://host/a@b:c", "user@example.com",
          "benchmark_of_everything", "ark_short", "ark_", "embark_0123456789", "a:b@c",
          "2026-11-15T03:06:41Z", "Bear", "é€😀", "://", "x://"})
        EXPECT_EQ(redact(text), text);
}

TEST(Redact, IsDoneOnce) {
    for (const std::string text : {"ark_0123456789abcdef", "a://b:c@d", "Bearer abc",
                                   "a://:password=b/c&d@e", "a://b,Bearer c/d,:e@f"})
        EXPECT_EQ(redact(redact(text)), redact(text));
}

}  // namespace
}  // namespace berth
