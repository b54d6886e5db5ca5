// What a newcomer types and forgets in the first hour, and what the answer says.
#include <algorithm>
#include <filesystem>

#include "base/json_text.hpp"
#include "catalog/catalog.hpp"
#include "cli/reading.hpp"
#include "cli/renting.hpp"
#include "cli/special.hpp"
#include "crypto/hash.hpp"
#include "machines/machine.hpp"

namespace berth::test {
namespace {

#define EXPECT_SAYS(text, words) EXPECT_NE((text).find(words), std::string::npos) << (text)
#define EXPECT_SAYS_NOT(text, words) EXPECT_EQ((text).find(words), std::string::npos) << (text)

class FirstHour : public RentingByCommand {
protected:
    FirstHour() { town.harness.app->catalog().refresh(database(), now()); }

    JobId running() {
        const JobId job = rented();
        accept(job);
        EXPECT_EQ(tell(job, agent_protocol::JobEventKind::ready, ready_with(talkative.port())),
                  "RUNNING");
        return job;
    }
    void show_log(JobId job, const std::string& tail) {
        tell(job, agent_protocol::JobEventKind::usage,
             fmt::format(R"({{"container_id":"c1","boot_id":"boot-1","runtime_ms":"1",)"
                         R"("log_tail":{}}})",
                         json_quoted(tail)));
    }
};

TEST_F(FirstHour, IdsMayBeShortened) {
    // First the offer: once it is rented it is no longer among those that are looked through.
    const std::string offer = to_string(machine.offer_id);
    EXPECT_EQ(member(shell.run({"offers", "show", offer.substr(0, 20)}).out, "offer_id"), offer);
    const Printed quote =
        shell.run({"rentals", "create", "--offer", offer.substr(0, 20), "--template", model,
                   "--budget", "1", "--dry-run", "-o", "table"});
    EXPECT_SAYS_NOT(quote.err, "none of the offers");
    const std::string id = to_string(rented());
    EXPECT_EQ(member(shell.run({"rentals", "show", id.substr(0, 13)}).out, "job_id"), id);
    const Printed none = shell.run({"rentals", "show", "ffffff00", "-o", "table"});
    EXPECT_EQ(none.status, 4);
    EXPECT_SAYS(none.err, "none of the rentals begins with ffffff00; see berth rentals list");
    const std::string word = shell.run({"complete", "--", "rentals", "show", id.substr(0, 9)}).out;
    EXPECT_EQ(word, id + "\n");
    shell.environment["BERTH_SERVER"] = "http://127.0.0.1:1";
    EXPECT_EQ(shell.run({"complete", "--", "rentals", "show", ""}).out, "") << "and nobody waits";
}

TEST_F(FirstHour, SeveralThatBeginSoAreNamed) {
    const auto other = put_up();
    town.harness.app->catalog().refresh(database(), now());
    const std::string one = to_string(machine.offer_id);
    const std::string two = to_string(other.offer_id);
    const auto end = std::mismatch(one.begin(), one.end(), two.begin(), two.end());
    const std::string common(one.begin(), end.first);
    ASSERT_GE(common.size(), 6U) << "made at one time";
    const Printed both = shell.run({"offers", "show", common, "-o", "table"});
    EXPECT_EQ(both.status, 2);
    EXPECT_SAYS(both.err, one);
    EXPECT_SAYS(both.err, two);
}

TEST_F(FirstHour, OffersShowWhetherATemplateFits) {
    const cli::Reading templates(shell.run({"templates", "list"}).out);
    const std::string slug = templates.text("template_id", templates.rows().at(0));
    const Printed list = shell.run_on_terminal({"offers", "list", "--template", slug});
    EXPECT_EQ(list.status, 0) << list.out;
    EXPECT_SAYS(list.out, "FITS");
    const Printed wrong = shell.run({"offers", "list", "--template", slug + "x", "-o", "table"});
    EXPECT_EQ(wrong.status, 4) << wrong.err;
    EXPECT_SAYS(wrong.err, "did you mean '" + slug + "'?");
    EXPECT_SAYS_NOT(shell.run_on_terminal({"offers", "list"}).out, "FITS");
}

TEST_F(FirstHour, AnEmptyListSaysHowToGoOn) {
    const Printed none = shell.run_on_terminal({"offers", "list", "--max-rate", "0.01"});
    EXPECT_SAYS(none.out, "nothing there: berth offers explain --max-rate 0.01");
    const Printed why = shell.run_on_terminal({"offers", "explain", "--max-rate", "0.01"});
    EXPECT_SAYS(why.out, to_string(machine.offer_id));
    EXPECT_SAYS(why.out, "3.6000 USDC/h");
    EXPECT_SAYS(why.out, "--max-rate");
    EXPECT_SAYS(shell.run_on_terminal({"offers", "list", "--min-vram", "24GB"}).out,
                to_string(machine.offer_id));
    EXPECT_SAYS(shell.run_on_terminal({"offers", "list", "--min-vram", "80GB"}).out,
                "offers explain --min-vram 80GB");
}

TEST_F(FirstHour, TheBudgetIsNoMoreThanTheDurationCanCost) {
    auto words = create({"--dry-run", "-o", "table"});
    *std::find(words.begin(), words.end(), "1") = "9";
    const Printed dry = shell.run(words);
    EXPECT_EQ(dry.status, 0) << dry.err;
    EXPECT_SAYS(dry.err,
                "1h can cost no more than 3.6000 USDC: that is the budget, and not 9.0000");
    EXPECT_SAYS(dry.out, "at most   3.6000 USDC (3.6000 for 1h)");
    words = create({"--yes", "--idempotency-key", "0191e7a0-0000-7000-8000-000000000002"});
    *std::find(words.begin(), words.end(), "1") = "9";
    const Printed made = shell.run(words);
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(member(shell.run({"rentals", "show"}).out, "budget_micro"), "3600000");
    EXPECT_EQ(shell.run(words).out, made.out) << "and repeated it is the same";
}

TEST_F(FirstHour, AQuoteThatRanOutAtThePromptIsQuotedAgain) {
    const Printed made =
        shell.run_on_terminal(create({}), {{"reserve it? [y/N]: ", [&] {
                                                town.harness.clock.advance(std::chrono::minutes(2));
                                                hear(town.harness, machine.machine_id);
                                                return "y";
                                            }}});
    EXPECT_EQ(made.status, 0) << made.out;
    EXPECT_SAYS(made.out, "the quote ran out meanwhile: here is another");
    EXPECT_EQ(rentals().size(), 37U) << "one rental, and no second question for the same terms";
}

// Between `berth` and the server: passes on what is asked, but of the first change at one path
// nobody hears what became of it. Of a reservation it says before that its quote ran out.
class LosingLine {
public:
    LosingLine(std::uint16_t port, std::string path) : port_(port), path_(std::move(path)) {}
    std::string address() const { return "http://127.0.0.1:" + std::to_string(line_.port()); }
    std::vector<std::string> keys;  // of the changes

private:
    void pass_on(RawSocket& from) {
        const std::string asked = from.receive_until("\r\n\r\n");
        const http::Headers said = headers_of(asked);
        const auto size = std::stoul(std::string(said.find("Content-Length").value_or("0")));
        std::string body;
        while (body.size() < size) body += from.receive_until("}");
        if (!asked.starts_with("POST " + path_ + " ")) return from.send(answer_to(asked + body));
        keys.emplace_back(said.find("Idempotency-Key").value_or(""));
        const std::size_t expired = path_ == "/api/v1/jobs" ? 1 : 0;
        if (keys.size() <= expired)
            return from.send(json_answer(
                R"({"error":{"code":"QUOTE_EXPIRED","message":"it ran out","retryable":false,)"
                R"("request_id":"x"}})",
                "409 Conflict\r\nConnection: close"));
        const std::string answer = answer_to(asked + body);
        from.send(keys.size() > expired + 1 ? answer
                                            : json_answer("{}",
                                                          "502 Bad Gateway\r\nConnection: close\r\n"
                                                          "x-should-retry: false"));
    }
    static http::Headers headers_of(const std::string& head) {
        http::Headers headers;
        std::istringstream lines(head);
        for (std::string line; std::getline(lines, line);)
            if (const std::size_t end = line.find(": "); end != std::string::npos)
                headers.add(line.substr(0, end), line.substr(end + 2, line.size() - end - 3));
        return headers;
    }
    std::string answer_to(const std::string& asked) const {
        RawSocket server(port_);
        server.send(asked);
        const http::Response answer = server.receive();
        return json_answer(answer.body,
                           fmt::format("{} Passed On\r\nConnection: close", answer.status));
    }

    std::uint16_t port_;
    std::string path_;
    http::RawUpstream line_{[this](RawSocket& socket) { pass_on(socket); }};
};

TEST_F(FirstHour, AReservationWhoseAnswerWasLostIsRepeatedWithTheKeyOfItsOwnQuote) {
    LosingLine line(town.harness.app->port(), "/api/v1/jobs");
    shell.environment["BERTH_SERVER"] = line.address();
    const Printed lost = shell.run(create({"--yes", "-o", "json"}));
    ASSERT_EQ(line.keys.size(), 2U) << lost.err;
    EXPECT_NE(lost.status, 0);
    EXPECT_SAYS(lost.err, "\"idempotency_key\":\"" + line.keys.at(1) + "\"");
    const Printed again = shell.run(create({"--yes", "--idempotency-key", line.keys.at(1)}));
    EXPECT_EQ(line.keys.size(), 3U);
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(rentals(), member(again.out, "job_id") + "\n") << "one rental, and not two";
}

// The version that was looked up is another one by then, so it is told with the key.
TEST_F(FirstHour, ABudgetWhoseRaiseWasLostIsRaisedOnce) {
    const std::string id = to_string(rented());
    LosingLine line(town.harness.app->port(), "/api/v1/jobs/" + id + "/budget");
    shell.environment["BERTH_SERVER"] = line.address();
    const std::vector<std::string> words{"rentals", "budget", id, "--add", "1"};
    auto again = words;
    const Printed lost = shell.run([&] {
        auto as_table = words;
        as_table.insert(as_table.end(), {"-o", "table"});
        return as_table;
    }());
    const std::string mark = "; repeat it with ";
    const std::size_t begin = lost.err.find(mark);
    ASSERT_NE(begin, std::string::npos) << lost.err;
    EXPECT_SAYS(lost.err, "--idempotency-key " + line.keys.at(0));
    std::istringstream flags(lost.err.substr(begin + mark.size()));
    for (std::string word; flags >> word;) again.push_back(word);
    const Printed repeated = shell.run(again);
    EXPECT_EQ(repeated.status, 0) << repeated.err;
    EXPECT_EQ(member(shell.run({"rentals", "show", id}).out, "budget_micro"), "2000000");
    // Without what was looked up it is another request, and says that it may be this one.
    auto other = words;
    other.insert(other.end(), {"--idempotency-key", line.keys.at(0), "-o", "table"});
    const Printed refused = shell.run(other);
    EXPECT_EQ(refused.status, 5);
    EXPECT_SAYS(refused.err, "something was done under this key before");
}

TEST_F(FirstHour, ASwitchThatIsNotUnderstoodDoesNothing) {
    for (const char* const word : {"--dry-run=1", "--explain=yes", "--curl=True"}) {
        const Printed refused = shell.run(create({"--yes", word, "-o", "table"}));
        EXPECT_EQ(refused.status, 2) << word;
        EXPECT_SAYS(refused.err, "must be true or false");
    }
    EXPECT_EQ(rentals(), "");
}

TEST_F(FirstHour, TooLittleMoneySaysHowMuchAndWhatBringsIt) {
    auto words = create({"--yes", "-o", "table", "--duration=100h"});
    words.erase(std::find(words.begin(), words.end(), "--duration"),
                std::find(words.begin(), words.end(), "--budget"));
    *std::find(words.begin(), words.end(), "1") = "200";
    const Printed poor = shell.run(words);
    EXPECT_EQ(poor.status, 5);
    EXPECT_SAYS(poor.err, "190.0000 USDC are missing: berth funding create --amount 190.0000");
    rented();
    const Printed more = shell.run({"rentals", "budget", "--add", "50", "-o", "table"});
    EXPECT_SAYS(more.err, "41.0000 USDC are missing: berth funding create --amount 41.0000");
}

TEST_F(FirstHour, MessagesUseTheWordsOfTheCommandLine) {
    const Printed budget =
        shell.run({"rentals", "create", "--offer", to_string(machine.offer_id), "--template", model,
                   "--duration", "1s", "--budget", "1", "--yes", "-o", "table"});
    EXPECT_SAYS(budget.err, "--duration: ");
    EXPECT_SAYS_NOT(budget.err, "body.");
    const Printed quote =
        shell.run({"quotes", "create", "--offer", to_string(machine.offer_id), "--template", model,
                   "--duration", "1s", "--budget", "1", "-o", "table"});
    EXPECT_SAYS(quote.err, "--duration: ");
    const Printed path = shell.run({"rentals", "show", "nonsense", "-o", "table"});
    EXPECT_SAYS(path.err, "RENTAL: ");
    EXPECT_SAYS_NOT(path.err, "path.");
    const Printed own = shell.run({"quotes", "create", "--from", "-", "-o", "table"}, "{}");
    EXPECT_SAYS(own.err, "body.offer_id: ");
}

TEST_F(FirstHour, ALogIsFollowedToItsEnd) {
    const JobId job = running();
    show_log(job, "loading\nserving");
    const Printed followed = shell.run_on_terminal(
        {"rentals", "logs", "-f"}, {{"serving",
                                     [&] {
                                         show_log(job, "loading\nserving\nasked once");
                                         return "";
                                     }},
                                    {"asked once", [&] {
                                         shell.run({"rentals", "stop"});
                                         end(job);
                                         return "";
                                     }}});
    EXPECT_EQ(followed.status, 0) << followed.out;
    EXPECT_EQ(followed.out.find("loading"), followed.out.rfind("loading")) << followed.out;
    EXPECT_EQ(cli::added_to_log("a\nb\n", "a\nb\nc\n"), "c\n");
    EXPECT_EQ(cli::added_to_log("a\nb\n", "b\nc\n"), "c\n");
    EXPECT_EQ(cli::added_to_log("a\nb\n", "x\ny\n"), "x\ny\n");
    EXPECT_EQ(cli::added_to_log("", "a\n"), "a\n");
}

class TakenBack : public FirstHour {
protected:
    TakenBack() {
        town.harness.set("operations.availability_classes_released", "true");
        machine = put_up(R"(,"availability_class":"interruptible","preemption_notice_s":120)",
                         machines::HostMode::idle);
        hear(town.harness, machine.machine_id);
    }
    void give_notice(JobId job) {
        EXPECT_EQ(tell(job, agent_protocol::JobEventKind::preempt_notice, R"({"reason":"wanted"})"),
                  "RUNNING");
    }
    const std::string words = "the host takes its machine back";
};

TEST_F(TakenBack, IsToldInAListAWaitAndATalk) {
    give_notice(running());
    EXPECT_SAYS(shell.run_on_terminal({"rentals", "list"}).out, "TAKEN_BACK");
    EXPECT_SAYS(shell.run({"rentals", "wait", "-o", "table"}).err, words);
    const Printed said = shell.run({"rentals", "chat", "hello", "-o", "table"});
    EXPECT_EQ(said.out, "Good day\n");
    EXPECT_SAYS(said.err, words);
    const Printed talk =
        shell.run_on_terminal({"rentals", "chat"}, {{"you: ", [] { return "hello"; }},
                                                    {words, [] { return "again"; }},
                                                    {"Good day", [] { return ""; }}});
    EXPECT_EQ(talk.out.find(words), talk.out.rfind(words)) << "once: " << talk.out;
}

TEST_F(TakenBack, IsToldOnTheTerminalOfAShell) {
    std::string fingerprint = to_base64(crypto::sha256("key!"));
    while (fingerprint.ends_with('=')) fingerprint.pop_back();
    const JobId job = rent(ben, machine);
    accept(job);
    ASSERT_EQ(tell(job, agent_protocol::JobEventKind::ready,
                   fmt::format(R"({{"container_id":"c1","boot_id":"boot-1","endpoints":[{}],)"
                               R"("ssh_host_key_fingerprint":"SHA256:{}"}})",
                               promised_endpoints(job), fingerprint)),
              "RUNNING");
    const auto fake = [&](const std::string& name, const std::string& script) {
        std::filesystem::permissions(shell.file(name, "#!/bin/sh\n" + script + "\n"),
                                     std::filesystem::perms::owner_all);
    };
    shell.environment["PATH"] = shell.folder() + ":" + shell.environment["PATH"];
    fake("ssh-keyscan", "echo \"[$5]:$4 ssh-ed25519 " + to_base64("key!") + "\"");
    fake("ssh", "echo inside; read line; echo left");
    const Printed shown =
        shell.run_on_terminal({"rentals", "ssh", to_string(job)}, {{"inside", [&] {
                                                                        give_notice(job);
                                                                        return "";
                                                                    }}});
    EXPECT_EQ(shown.status, 0) << shown.out;
    EXPECT_SAYS(shown.out, "left");
    fake("ssh", "echo inside; while read line; do test \"$line\" != bye || exit 7; done");
    const Printed told =
        shell.run_on_terminal({"rentals", "ssh", to_string(job)}, {{words, [] { return "bye"; }}});
    EXPECT_SAYS(told.out, words);
    EXPECT_EQ(told.status, 7) << "as ssh ends";
}

TEST_F(FirstHour, AWaitThatIsBrokenOffSaysThatTheMeterRuns) {
    const JobId job = running();
    const Printed left =
        shell.run_on_terminal({"rentals", "wait", "--for", "closed"},
                              {{"RUNNING", nullptr, [](const std::string&) { return "\x03"; }}});
    EXPECT_SAYS(left.out,
                "the wait has ended, the rental has not: its meter runs; "
                "berth rentals stop " +
                    to_string(job));
    EXPECT_EQ(left.status, 128 + 2);
    EXPECT_EQ(member(shell.run({"rentals", "show"}).out, "state"), "RUNNING");
}

TEST_F(FirstHour, ARentalIsSeenAtAGlance) {
    const JobId job = running();
    EXPECT_SAYS(shell.run({"rentals", "top", "-o", "table"}).out, "has told nothing of it yet");
    town.harness.clock.advance(std::chrono::seconds(1));
    database().write([&](db::Transaction& tx) {
        machines::note_heard(
            tx, {machine.machine_id, now(), "boot-1",
                 R"({"gpus":[{"util_pct":87,"memory_used_bytes":"12884901888",)"
                 R"("memory_total_bytes":"25769803776","temperature_c":61,"power_w":310}]})",
                 now()});
    });
    const Printed once = shell.run({"rentals", "top", "-o", "table"});
    EXPECT_EQ(once.status, 0) << once.err;
    EXPECT_SAYS(once.out, "gpu 0       87 %  12.0 GiB of 24.0 GiB    61 °C   310 W\n");
    EXPECT_SAYS(once.out, "of 1.0000 USDC at 3.6000 USDC/h");
    EXPECT_SAYS(once.out, "relay     0 requests, 0 errors");
    EXPECT_EQ(member(shell.run({"rentals", "top"}).out, "job.job_id"), to_string(job));
    const Printed live =
        shell.run_on_terminal({"rentals", "top"}, {{"relay", [&] {
                                                        shell.run({"rentals", "stop"});
                                                        end(job);
                                                        return "";
                                                    }}});
    EXPECT_EQ(live.status, 0) << live.out;
    EXPECT_SAYS(live.out, "STOPPED");
    EXPECT_SAYS_NOT(shell.run({"rentals", "show"}).out, "\"cards\"");
}

TEST_F(FirstHour, TheStatusSaysWhatIsNotConfigured) {
    const Printed status = shell.run({"status", "-o", "table"});
    EXPECT_EQ(status.status, 0);
    EXPECT_EQ(status.err, "chain and payments: not configured on this server\n");
    EXPECT_SAYS_NOT(shell.run({"status"}).out, "payments");
}

}  // namespace
}  // namespace berth::test
