// Which failures are tried again, with which key, and where a key may go.
#include "cli/api.hpp"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <deque>
#include <fstream>

#include "cli/context.hpp"
#include "support/fakes.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using cli::Access;
using cli::Exit;
using cli::Failure;

// Answers what the test says, one after the other; a negative status is a lost connection.
class ScriptedClient final : public http::Client {
public:
    explicit ScriptedClient(std::deque<int> statuses) : statuses_(std::move(statuses)) {}

    http::Response send(const http::Outbound& request) override {
        sent.push_back(request);
        const int status = statuses_.empty() ? 200 : statuses_.front();
        if (!statuses_.empty()) statuses_.pop_front();
        if (status < 0) throw http::TransportError("the connection was lost", was_sent);
        http::Response response;
        response.status = status;
        if (status >= 300 && !should_retry.empty())
            response.headers.add("x-should-retry", should_retry);
        for (const std::string& each : cookies) response.headers.add("Set-Cookie", each);
        if (status == too_large) throw http::AnswerTooLarge();
        if (status == 403 && !missing_proof.empty())
            response.headers.add("Berth-Step-Up", missing_proof);
        response.body = !fault.empty() && status >= 300 ? fault
                        : status < 300
                            ? R"({"good":true})"
                            : R"({"error":{"code":"NEW_CODE","message":"no","retryable":)"
                              R"(false,"request_id":"x"}})";
        return response;
    }

    std::vector<http::Outbound> sent;
    std::string should_retry;   // of every answer that is none
    std::string fault;          // its body
    std::string missing_proof;  // of every 403
    bool was_sent = true;       // what was lost
    std::vector<std::string> cookies;
    static constexpr int too_large = 1;  // in the place of a status

private:
    std::deque<int> statuses_;
};

class CallingTheApi : public ::testing::Test {
protected:
    CallingTheApi() {
        ::setenv("BERTH_HOME", folder.path().c_str(), 1);
        console.set_quiet(true);
    }

    Exit exit_of(std::deque<int> statuses, const cli::Request& request) {
        client = std::make_unique<ScriptedClient>(std::move(statuses));
        client->should_retry = should_retry;
        client->fault = fault;
        client->was_sent = was_sent;
        slept.clear();
        cli::Api api(target, {*client, console, profiles, random,
                              [this](Duration span) { slept.push_back(span); }});
        try {
            api.send(request);
            return Exit::ok;
        } catch (const Failure& failure) {
            last = failure.message;
            last_body = failure.body;
            return failure.exit;
        }
    }
    std::string key(std::size_t attempt) const {
        return std::string(client->sent.at(attempt).headers.find("Idempotency-Key").value_or(""));
    }

    TemporaryFolder folder;
    cli::Console console;
    cli::Profiles profiles{"test"};
    SeededRandom random;
    cli::Target target{"https://berth.example", "ark_secret", "https://berth.example", ""};
    std::unique_ptr<ScriptedClient> client;
    std::vector<Duration> slept;
    std::string last;
    std::string last_body;
    std::string should_retry;
    std::string fault;
    bool was_sent = true;
};

const cli::Request change{.method = "POST", .path = "/x", .body = "{}"};

TEST_F(CallingTheApi, RepeatsWhatMayPassWithTheSameKey) {
    EXPECT_EQ(exit_of({429, 503, -1, 200}, change), Exit::ok);
    ASSERT_EQ(client->sent.size(), 4U);
    EXPECT_EQ(key(0).size(), 36U);
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(key(i), key(0));
}

TEST_F(CallingTheApi, SendsAgainWithTheSameKeyOnceAProofWasGiven) {
    ScriptedClient asking({403, 200});
    asking.missing_proof = "account-sensitive";
    cli::Api api(target, {asking, console, profiles, random, [](Duration) {}});
    std::vector<std::string> asked;
    api.prove = [&](Access access, std::string_view purpose) {
        EXPECT_EQ(access, Access::key);
        asked.emplace_back(purpose);
        return std::string();
    };
    EXPECT_EQ(api.send(change).status, 200);
    EXPECT_EQ(asked, std::vector<std::string>{"account-sensitive"});
    ASSERT_EQ(asking.sent.size(), 2U);
    EXPECT_EQ(asking.sent[0].headers.find("Idempotency-Key"),
              asking.sent[1].headers.find("Idempotency-Key"));
}

TEST_F(CallingTheApi, GivesAProofOnceToAServerThatIsNeverSatisfied) {
    ScriptedClient asking({403, 403, 403, 403});
    asking.missing_proof = "wallet";
    cli::Api api(target, {asking, console, profiles, random, [](Duration) {}});
    int times = 0;
    api.prove = [&](Access, std::string_view) { return ++times, std::string(); };
    EXPECT_THROW(api.send(change), Failure);
    EXPECT_EQ(times, 1);
    api.prove = [](Access, std::string_view) { return std::string("type this instead"); };
    try {
        api.send(change);
        ADD_FAILURE() << "it was refused";
    } catch (const Failure& failure) {
        EXPECT_NE(failure.message.find("type this instead"), std::string::npos) << failure.message;
    }
}

TEST_F(CallingTheApi, WaitsLongerEachTimeAndNeverBeyondItsBound) {
    EXPECT_EQ(exit_of({503, 503, 503, 503, 503, 503}, change), Exit::retryable);
    ASSERT_EQ(slept.size(), 5U);
    for (std::size_t i = 0; i < slept.size(); ++i)
        EXPECT_LE(slept[i], cli::Api::first_delay * (1 << i)) << i;
    EXPECT_NE(slept[0], slept[1]) << "without jitter, all clients come back together";
    EXPECT_EQ(exit_of({-1, -1, -1, -1, -1, -1}, change), Exit::network);
}

TEST_F(CallingTheApi, DoesNotRepeatWhatHasNoKeyAndMayHaveBeenDone) {
    cli::Request sign_in = change;
    sign_in.access = Access::anyone;
    EXPECT_EQ(exit_of({-1, 200}, sign_in), Exit::network);
    EXPECT_EQ(client->sent.size(), 1U);
    EXPECT_EQ(exit_of({429, 200}, sign_in), Exit::ok) << "nothing was done: it may";
}

// The relay knows no Idempotency-Key: what has reached a model is not sent again.
TEST_F(CallingTheApi, SendsToAModelOnceAndWaitsAsLongAsTheRelay) {
    cli::Request ask = change;
    ask.path = "/api/v1/jobs/01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57/openai/v1/completions";
    EXPECT_EQ(exit_of({-1, 200}, ask), Exit::network);
    ASSERT_EQ(client->sent.size(), 1U);
    EXPECT_GT(client->sent[0].total_max, std::chrono::seconds(600));
    EXPECT_TRUE(client->sent[0].fresh_connection);
    EXPECT_NE(last.find("not sent again"), std::string::npos) << last;
    EXPECT_EQ(exit_of({503, 429, 200}, ask), Exit::ok) << "nothing of it reached the model";
    was_sent = false;
    EXPECT_EQ(exit_of({-1, 200}, ask), Exit::ok) << "no connection: nothing reached the model";

    was_sent = true;
    cli::Request look = ask;
    look.method = "GET";
    EXPECT_EQ(exit_of({-1, 200}, look), Exit::ok);
    EXPECT_EQ(exit_of({}, change), Exit::ok);
    EXPECT_LE(client->sent[0].total_max, std::chrono::seconds(60));
    EXPECT_FALSE(client->sent[0].fresh_connection);
}

TEST_F(CallingTheApi, ObeysWhatTheServerSaysAboutAnotherTry) {
    should_retry = "false";
    EXPECT_EQ(exit_of({503, 200}, change), Exit::retryable);
    EXPECT_EQ(client->sent.size(), 1U);
    EXPECT_EQ(exit_of({429, 200}, change), Exit::retryable);
    EXPECT_EQ(client->sent.size(), 1U);
    should_retry = "true";
    EXPECT_EQ(exit_of({409, 500, 200}, change), Exit::ok);
    should_retry = "perhaps";
    EXPECT_EQ(exit_of({503, 409}, change), Exit::conflict);
    EXPECT_EQ(client->sent.size(), 2U);
}

TEST_F(CallingTheApi, JudgesUnknownCodesByTheirStatus) {
    for (const auto& [status, exit] :
         std::initializer_list<std::pair<int, Exit>>{{400, Exit::invalid},
                                                     {401, Exit::refused},
                                                     {403, Exit::refused},
                                                     {404, Exit::not_found},
                                                     {409, Exit::conflict},
                                                     {410, Exit::conflict},
                                                     {413, Exit::invalid},
                                                     {422, Exit::invalid},
                                                     {418, Exit::invalid},
                                                     {500, Exit::unexpected},
                                                     {502, Exit::unexpected},
                                                     {302, Exit::unexpected}}) {
        EXPECT_EQ(exit_of({status}, change), exit) << status;
        EXPECT_EQ(client->sent.size(), 1U) << status;
    }
    exit_of({302}, change);
    EXPECT_NE(last.find("redirect"), std::string::npos) << last;
}

TEST_F(CallingTheApi, PassesOnWhatAnEngineSaysInOneLine) {
    fault = "{\n  \"error\": {\"message\": \"no such model\", \"code\": null}\n}\n";
    EXPECT_EQ(exit_of({400}, change), Exit::invalid);
    EXPECT_EQ(last, "no such model");
    EXPECT_EQ(last_body, R"({"error":{"message":"no such model","code":null}})");
}

TEST_F(CallingTheApi, KeepsTheSessionsCookieAndNoOther) {
    profiles.save_session({target.origin, "__Host-session=one", "token", Time{}});
    ScriptedClient balanced({200, 200});
    balanced.cookies = {"__cf_bm=theirs; Path=/", "AWSALB=theirs"};
    cli::Api api(target, {balanced, console, profiles, random, [](Duration) {}});
    cli::Request look{.path = "/x", .access = Access::session};
    api.send(look);
    EXPECT_EQ(profiles.load_session()->cookie, "__Host-session=one");
    balanced.cookies = {"__cf_bm=theirs; Path=/", "__Host-session=two; Path=/; HttpOnly"};
    api.send(look);
    EXPECT_EQ(profiles.load_session()->cookie, "__Host-session=two");
    EXPECT_EQ(balanced.sent.at(1).headers.find("Cookie"), "__Host-session=one");
    look.access = Access::key;
    balanced.cookies = {"__cf_bm=theirs; Path=/"};
    cli::Api fresh(target, {balanced, console, profiles, random, [](Duration) {}});
    fresh.send(look);
    EXPECT_FALSE(fresh.session) << "what a balancer gives opens nothing";
}

TEST_F(CallingTheApi, AsksOnceForAnAnswerThatIsTooLarge) {
    EXPECT_EQ(exit_of({ScriptedClient::too_large, 200}, change), Exit::unexpected);
    EXPECT_EQ(client->sent.size(), 1U);
    EXPECT_EQ(last,
              "the answer of https://berth.example is larger than 64 MiB, and was not read to "
              "its end");
    EXPECT_EQ(exit_of({}, change), Exit::ok);
    EXPECT_EQ(client->sent.at(0).response_bytes_max, std::size_t{64} << 20);
}

TEST_F(CallingTheApi, SendsAKeyToItsOwnOriginAlone) {
    target.origin = "https://other.example";
    EXPECT_EQ(exit_of({}, change), Exit::refused);
    EXPECT_TRUE(client->sent.empty());
    EXPECT_EQ(exit_of({}, {.path = "/api/v1/offers", .access = Access::anyone}), Exit::ok);
    EXPECT_FALSE(client->sent.at(0).headers.find("Authorization"));
}

// Whether the key of the environment goes to the server that is chosen.
bool goes_there(const cli::Profiles& profiles, const std::string& server_flag) {
    const cli::Target target = cli::choose_target(profiles, server_flag);
    EXPECT_EQ(target.api_key, "ark_given");
    return target.key_is_for == target.origin;
}

TEST_F(CallingTheApi, SendsTheKeyOfTheEnvironmentToTheServerItIsFor) {
    const std::string here = "https://berth.example";
    const std::string there = "https://other.example";
    ::setenv("BERTH_API_KEY", "ark_given", 1);
    ::unsetenv("BERTH_SERVER");
    EXPECT_TRUE(goes_there(profiles, "")) << "the server of this machine";
    EXPECT_TRUE(goes_there(profiles, there)) << "no other server is known";
    profiles.save({.server = here});
    EXPECT_TRUE(goes_there(profiles, ""));
    EXPECT_TRUE(goes_there(profiles, "https://Berth.Example/"));
    EXPECT_FALSE(goes_there(profiles, there));
    ::setenv("BERTH_SERVER", there.c_str(), 1);
    EXPECT_TRUE(goes_there(profiles, there));
    EXPECT_TRUE(goes_there(profiles, ""));
    EXPECT_FALSE(goes_there(profiles, here));
    target = cli::choose_target(profiles, here);
    EXPECT_EQ(exit_of({}, change), Exit::refused);
    EXPECT_TRUE(client->sent.empty());
    EXPECT_NE(last.find("set BERTH_SERVER"), std::string::npos) << last;
    ::unsetenv("BERTH_SERVER");
    ::unsetenv("BERTH_API_KEY");
}

TEST_F(CallingTheApi, WritesCurlWithoutTheSecret) {
    cli::Request request = change;
    request.body = R"({"note":"it's"})";
    const std::string text = cli::curl_text(request, target.origin);
    EXPECT_EQ(text,
              "curl -sS -X POST -H \"Authorization: Bearer $BERTH_API_KEY\" "
              "-H 'Content-Type: application/json' -d '{\"note\":\"it'\\''s\"}' "
              "'https://berth.example/x'");
}

TEST(Origins, AreHttpsOrThisMachine) {
    EXPECT_EQ(cli::parse_origin("HTTPS://Berth.Example:443/"), "https://berth.example");
    EXPECT_EQ(cli::parse_origin("http://127.0.0.1:8080"), "http://127.0.0.1:8080");
    EXPECT_EQ(cli::parse_origin("http://[::1]:80"), "http://[::1]");
    EXPECT_EQ(cli::parse_origin("http://localhost"), "http://localhost");
    for (const char* bad : {"http://berth.example", "http://127.evil.example", "ftp://x", "x", "",
                            "https://user@berth.example", "https://berth.example/path",
                            "https://berth.example:", "https://berth.example?x",
                            "http://127.0.0.1.evil.example", "https://a\nb"})
        EXPECT_THROW(cli::parse_origin(bad), Failure) << bad;
}

TEST(Profiles, AreFilesThatOnlyTheirOwnerReads) {
    const TemporaryFolder folder;
    ::setenv("BERTH_HOME", folder.path().c_str(), 1);
    const cli::Profiles profiles("work");
    profiles.save({.server = "https://berth.example", .api_key = "ark_x"});
    EXPECT_EQ(std::filesystem::status(profiles.file()).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    EXPECT_EQ(profiles.load()->api_key, "ark_x");
    std::filesystem::permissions(profiles.file(), std::filesystem::perms::others_read,
                                 std::filesystem::perm_options::add);
    EXPECT_THROW(profiles.load(), Failure);
    EXPECT_THROW(cli::Profiles("../x"), Failure);
}

// Stands in for the desktop's own: keeps what it is given in a file.
constexpr std::string_view secret_tool =
    "#!/bin/sh\n"
    "[ -e \"$KEPT.locked\" ] && [ $1 != clear ] && exit 1\n"
    "[ -e \"$KEPT.locked\" ] && exit 0\n"
    "case $1 in\n"
    "store) cat > \"$KEPT\" ;;\n"
    "lookup) cat \"$KEPT\" ;;\n"
    "clear) rm -f \"$KEPT\" ;;\n"
    "esac\n";

class ProfilesOfADesktop : public ::testing::Test {
protected:
    ProfilesOfADesktop() {
        const std::string tool = folder.path() + "/secret-tool";
        std::ofstream(tool) << secret_tool;
        std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
        ::setenv("BERTH_HOME", folder.path().c_str(), 1);
        ::setenv("KEPT", kept.c_str(), 1);
        ::setenv("PATH", (folder.path() + ":" + path).c_str(), 1);
        ::setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere", 1);
    }
    ~ProfilesOfADesktop() override {
        ::unsetenv("DBUS_SESSION_BUS_ADDRESS");
        ::setenv("PATH", path.c_str(), 1);
    }
    void lock() const { std::ofstream(kept + ".locked") << "yes"; }
    void unlock() const { std::filesystem::remove(kept + ".locked"); }

    const TemporaryFolder folder;
    const std::string kept = folder.path() + "/kept";
    const std::string path = ::getenv("PATH");
};

TEST_F(ProfilesOfADesktop, LeaveTheKeyToItWhereItKeepsSecrets) {
    const cli::Profiles profiles("work");
    profiles.save({.server = "https://berth.example", .api_key = "ark_x"});
    EXPECT_EQ(read_text(profiles.file()).find("ark_x"), std::string::npos);
    EXPECT_EQ(profiles.load()->api_key, "ark_x");
    profiles.remove();
    EXPECT_FALSE(std::filesystem::exists(kept));
}

TEST_F(ProfilesOfADesktop, ForgetTheKeyThereToo) {
    const cli::Profiles profiles("work");
    profiles.save({.server = "https://berth.example", .api_key = "ark_x"});
    lock();
    EXPECT_THROW(profiles.save({.server = "https://berth.example"}), Failure)
        << "nobody can know whether it is gone";
    unlock();
    EXPECT_EQ(profiles.load()->api_key, "ark_x");
    profiles.save({.server = "https://berth.example"});
    EXPECT_FALSE(std::filesystem::exists(kept));
    EXPECT_FALSE(profiles.load()->key_elsewhere);
}

TEST_F(ProfilesOfADesktop, FindTheKeyAgainThatWasLockedWhileTheyWereSaved) {
    const cli::Profiles profiles("work");
    profiles.save({.server = "https://berth.example", .api_key = "ark_x"});
    lock();
    auto profile = profiles.load();
    EXPECT_FALSE(profile->api_key);
    profile->last_rental = "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57";
    profiles.save(*profile);
    unlock();
    EXPECT_EQ(profiles.load()->api_key, "ark_x");
    EXPECT_TRUE(profiles.load()->last_rental);
}

}  // namespace
}  // namespace berth::test
