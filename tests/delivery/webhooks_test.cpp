// Webhooks as their owners ask for them: what is taken, what is refused and by which name, and who
// sees whose.
#include <atomic>
#include <future>

#include "agent_protocol/hashes.hpp"
#include "delivery/receiver.hpp"
#include "delivery/signing.hpp"
#include "gates/operate.hpp"
#include "server/restored.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

class WebhookRoutes : public WebhooksTest {
protected:
    Person ada = join();
    Receiver receiver;
};

TEST(WebhookSigning, IsThatOfStandardWebhooks) {
    Bytes secret;
    for (int i = 0; i < 32; ++i) secret += static_cast<char>(i);
    EXPECT_EQ(delivery::shown_secret(secret), "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    const std::vector<Bytes> secrets{secret, Bytes(32, '\xff')};
    // Made with another program's HMAC.
    EXPECT_EQ(delivery::signatures(secrets, {"0198f2a0-7c11-7d52-8a2e-5f0c9b1d3e47",
                                             Time{1'700'000'000'999'999}, R"({"a":1})"}),
              "v1,Zuc4iGAIpQvrIugYzwgoI5KEOfRAP8/F+Fsj+o6BmXs= "
              "v1,MWfd8gQUCoGwq1Ky/yiAbONo3aXOc3vdCSZ6hsHV75E=");
}

TEST_F(WebhookRoutes, ShowTheSecretOnceAndKeepItSealed) {
    const std::string key = town.harness.new_id();
    const auto make = [&] {
        return town.harness.ask({.method = "POST",
                                 .target = "/api/v1/webhooks",
                                 .as = ada.key,
                                 .key = key,
                                 .body = R"({"url":")" + receiver.url() + "\"}"});
    };
    const auto made = make();
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_TRUE(member(made.body, "secret").starts_with("whsec_"));
    EXPECT_EQ(bytes_of_secret(member(made.body, "secret")).size(), 32u);
    const auto again = make();
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(member(again.body, "webhook_id"), member(made.body, "webhook_id"));
    EXPECT_EQ(member(again.body, "secret"), "null");
    const auto shown =
        town.with_key(ada.key, "GET", "/api/v1/webhooks/" + member(made.body, "webhook_id"));
    EXPECT_EQ(shown.status, 200);
    EXPECT_EQ(shown.body.find("whsec_"), std::string::npos);
}

// Numbers that were given since the copy are not given again: readers outside are told so, and
// those within go on where they were.
TEST_F(WebhookRoutes, GoOnAfterARestoreAtNumbersThatNobodyHasRead) {
    tell(ada);
    hook(ada, receiver.url(), R"(,"from":"0")");
    carry();
    ASSERT_EQ(receiver.sequences(), "1 ");
    tell(ada);
    server::quieten(database(), "a copy from before", town.harness.random,
                    town.harness.clock.now());
    const auto refused = page(ada, "after=1");
    EXPECT_EQ(refused.status, 409) << refused.body;
    const std::string newest = member(refused.body, "current.newest");
    EXPECT_GT(newest.size(), 9u);
    carry();
    EXPECT_EQ(receiver.sequences(), "1 " + newest + " ") << "no event is lost or sent twice";
}

TEST_F(WebhookRoutes, RefuseByNameWhatCannotBeOrMayNotBe) {
    const struct {
        const char* url;
        const char* words;
    } bad[] = {
        {"hooks", "body.url"},
        {"ftp://hooks.example.org/", "body.url"},
        {"https://", "body.url"},
        {"https://ada:secret@hooks.example.org/", "user or password"},
        {"https://hooks.example.org/#part", "fragment"},
        {"https://hooks.example.org:22/", "port"},
        {"https://hooks.example.org:65536/", "port"},
        {"https://no-such-name.invalid/", "body.url: the target is refused"},
    };
    for (const auto& [url, words] : bad) {
        const auto refused = ask_for_hook(ada, url);
        EXPECT_EQ(refused.status, 422) << url << refused.body;
        EXPECT_NE(error_message(refused).find(words), std::string::npos) << refused.body;
    }
    for (const auto& [more, words] : {std::pair{R"(,"types":["no.such"])", "body.types"},
                                      std::pair{R"(,"types":["operations"])", "body.types"},
                                      std::pair{R"(,"from":"yesterday")", "body.from"}}) {
        const auto refused = ask_for_hook(ada, receiver.url(), more);
        EXPECT_EQ(refused.status, 422) << refused.body;
        EXPECT_NE(error_message(refused).find(words), std::string::npos) << refused.body;
    }
    const auto ahead = ask_for_hook(ada, receiver.url(), R"(,"from":"1")");
    EXPECT_EQ(ahead.status, 409);
    EXPECT_EQ(error_code(ahead), "EVENTS_EXPIRED");
    EXPECT_EQ(member(ahead.body, "current.newest"), "0");
    // Where this very service answers.
    const auto own = ask_for_hook(ada, fmt::format("http://127.0.0.1:{}/api/v1/tickets", port()));
    EXPECT_EQ(own.status, 422) << own.body;
    EXPECT_NE(error_message(own).find("this service itself"), std::string::npos) << own.body;
}

TEST_F(WebhookRoutes, AreAtMostTenOfAnAccount) {
    for (int i = 0; i < 10; ++i) hook(ada, receiver.url());
    EXPECT_EQ(error_code(ask_for_hook(ada, receiver.url())), "CONFLICT");
    const std::string first = member(town.with_key(ada.key, "GET", "/api/v1/webhooks?limit=1").body,
                                     "items.0.webhook_id");
    EXPECT_EQ(town.with_key(ada.key, "DELETE", "/api/v1/webhooks/" + first).status, 204);
    EXPECT_EQ(town.with_key(ada.key, "GET", "/api/v1/webhooks/" + first).status, 404);
    hook(ada, receiver.url());
}

TEST_F(WebhookRoutes, OfAKeyAreItsOwnAndASessionsAreAll) {
    Browser bob = town.person("bob@example.org");
    const std::string renter = town.key_of(bob);
    const std::string other = town.key_of(bob);
    const Hook made = hook({renter, ""}, receiver.url());
    const std::string place = "/api/v1/webhooks/" + made.id;
    EXPECT_EQ(town.with_key(other, "GET", place).status, 404);
    EXPECT_EQ(town.with_key(other, "PATCH", place, R"({"types":[]})").status, 404);
    EXPECT_EQ(town.with_key(other, "DELETE", place).status, 404);
    EXPECT_EQ(town.with_key(other, "POST", place + "/rotate-secret").status, 404);
    EXPECT_EQ(member(town.with_key(other, "GET", "/api/v1/webhooks").body, "items.0"), "");
    EXPECT_EQ(town.with_key(ada.key, "GET", place).status, 404);
    EXPECT_EQ(bob.send("GET", place).status, 200);
}

TEST_F(WebhookRoutes, OfASessionTakeAFreshProof) {
    Browser bob = town.person("bob@example.org");
    const std::string body = R"({"url":")" + receiver.url() + "\"}";
    advance(std::chrono::minutes(10));
    EXPECT_EQ(bob.send("POST", "/api/v1/webhooks", body, town.harness.new_id()).status, 403);
    ASSERT_EQ(bob.step_up("account-sensitive").status, 200);
    const auto made = bob.send("POST", "/api/v1/webhooks", body, town.harness.new_id());
    ASSERT_EQ(made.status, 201) << made.body;
    const std::string place = "/api/v1/webhooks/" + member(made.body, "webhook_id");
    advance(std::chrono::minutes(10));
    EXPECT_EQ(bob.send("POST", place + "/rotate-secret", "", town.harness.new_id()).status, 403);
    EXPECT_EQ(bob.send("PATCH", place, body, town.harness.new_id()).status, 403)
        << "another address is as good as another webhook";
    EXPECT_EQ(bob.send("PATCH", place, R"({"enabled":false})", town.harness.new_id()).status, 200);
    EXPECT_EQ(member(bob.send("GET", place).body, "enabled"), "false");
}

// Without the flag of development.
class PublicWebhooks : public WebhooksTest {
protected:
    PublicWebhooks() : WebhooksTest(std::map<std::string, std::string>{}) {}
    Person ada = join();
};

TEST_F(PublicWebhooks, GoToPublicAddressesOverTlsAlone) {
    for (const char* url :
         {"https://127.0.0.1:8443/", "https://10.0.0.7/", "https://192.168.1.1/", "https://[::1]/",
          "https://[fd00::1]/", "https://169.254.169.254/latest", "https://[::ffff:10.0.0.1]/",
          "https://[64:ff9b::a00:1]/", "https://0.0.0.0/", "https://2130706433/"}) {
        const auto refused = ask_for_hook(ada, url);
        EXPECT_EQ(refused.status, 422) << url << refused.body;
        EXPECT_NE(error_message(refused).find("body.url"), std::string::npos) << refused.body;
    }
    const auto plain = ask_for_hook(ada, "http://9.9.9.9/");
    EXPECT_EQ(plain.status, 422);
    EXPECT_NE(error_message(plain).find("https://"), std::string::npos);
    EXPECT_EQ(ask_for_hook(ada, "https://9.9.9.9/").status, 201);
    EXPECT_EQ(ask_for_hook(ada, "https://9.9.9.9:8443/hook?a=b").status, 201);
}

class NamedWebhooks : public WebhooksTest {
protected:
    NamedWebhooks()
        : WebhooksTest(std::map<std::string, std::string>{
              {"own-hosts", "www.market.example.org,9.9.9.9,2620:fe::fe"}}) {
        resolve_to("1.1.1.1");
    }
    void resolve_to(const std::string& address) {
        town.harness.app->delivery().resolve_by([address](const std::string&, http::Reach reach) {
            return http::resolve(address, reach);
        });
    }
    void add_gate(const std::string& host, const std::string& address) {
        gates::NewGate gate;
        gate.host = host;
        gate.dial_host = address;
        gate.link_port = 443;
        gate.call_port = 8443;
        gate.public_key = agent_protocol::key_text(
            crypto::Ed25519Key(crypto::Secret(Bytes(32, 'g'))).public_key());
        gate.tls_key_sha256 = std::string(64, 'a');
        database().write([&](db::Transaction& tx) {
            gates::add_gate({tx, town.harness.random, town.harness.clock.now()},
                            audit::Actor::local_operator(), gate);
        });
    }
    Person ada = join();
};

TEST_F(NamedWebhooks, NeverLeadToThisServiceByAnyOfItsNames) {
    add_gate("gate1.example.org", "8.8.8.8");
    for (const char* url :
         {"https://www.market.example.org/", "https://WWW.Market.Example.org.:8443/hook",
          "https://9.9.9.9/", "https://[2620:fe:0::fe]/", "https://gate1.example.org:20004/",
          "https://8.8.8.8:20004/"}) {
        const auto refused = ask_for_hook(ada, url);
        EXPECT_EQ(refused.status, 422) << url << refused.body;
        EXPECT_NE(error_message(refused).find("this service itself"), std::string::npos)
            << refused.body;
    }
    for (const char* own : {"9.9.9.9", "8.8.8.8"}) {
        resolve_to(own);
        EXPECT_EQ(ask_for_hook(ada, "https://hooks.example.org/").status, 422) << own;
    }
    resolve_to("1.1.1.1");
    hook(ada, "https://hooks.example.org/");
}

TEST_F(NamedWebhooks, EndAtAGateThatCameLater) {
    const Hook made = hook(ada, "https://gate1.example.org/");
    add_gate("gate1.example.org", "8.8.8.8");
    tell(ada);
    carry();
    EXPECT_EQ(shown(ada, made, "sent_through"), "0");
    EXPECT_NE(last_delivery(ada, made, "fault").find("this service itself"), std::string::npos)
        << last_delivery(ada, made, "fault");
}

// Names that others are slow to answer for are no fault of this one's: whoever asks again with the
// same key has it.
TEST_F(PublicWebhooks, AreAskedForAgainWhenTheirNamesCannotBeLookedUpNow) {
    bool is_full = true;
    town.harness.app->delivery().resolve_by([&](const std::string&, http::Reach reach) {
        if (is_full)
            return http::Resolved{.reason = "too many names are being looked up", .is_ours = true};
        return http::resolve("9.9.9.9", reach);
    });
    const std::string key = town.harness.new_id();
    const auto make = [&] {
        return town.harness.ask({.method = "POST",
                                 .target = "/api/v1/webhooks",
                                 .as = ada.key,
                                 .key = key,
                                 .body = R"({"url":"https://hooks.example.org/"})"});
    };
    const auto refused = make();
    EXPECT_EQ(refused.status, 503) << refused.body;
    EXPECT_EQ(error_code(refused), "UNAVAILABLE");
    EXPECT_NE(error_message(refused).find("body.url"), std::string::npos) << refused.body;
    EXPECT_EQ(member(refused.body, "error.retryable"), "true");
    is_full = false;
    const auto made = make();
    ASSERT_EQ(made.status, 201) << made.body;
    is_full = true;
    const std::string place = "/api/v1/webhooks/" + member(made.body, "webhook_id");
    EXPECT_EQ(
        town.with_key(ada.key, "PATCH", place, R"({"url":"https://other.example.org/"})").status,
        503);
    EXPECT_EQ(town.with_key(ada.key, "PATCH", place, R"({"types":["ticket.*"]})").status, 200)
        << "nothing is looked up for it";
}

// To look up a name may take seconds, in which its thread carries out nobody's changes.
TEST_F(PublicWebhooks, LetNobodyHoldUpOthersByNamesThatAreSlow) {
    std::promise<void> release;
    const auto released = release.get_future().share();
    std::atomic<int> waiting = 0;
    town.harness.app->delivery().resolve_by([&](const std::string& host, http::Reach reach) {
        if (host == "slow.example.org") {
            ++waiting;
            released.wait();
        }
        return http::resolve("9.9.9.9", reach);
    });
    const Person ben = join();
    const auto ask_slow = [&] { return ask_for_hook(ada, "https://slow.example.org/").status; };
    std::vector<std::future<int>> slow;
    for (int i = 0; i < 2; ++i) slow.push_back(std::async(std::launch::async, ask_slow));
    EXPECT_TRUE(support::eventually([&] { return waiting == 2; }));
    EXPECT_EQ(ask_slow(), 503);
    EXPECT_EQ(ask_for_hook(ben, "https://quick.example.org/").status, 201);
    release.set_value();
    for (auto& each : slow) EXPECT_EQ(each.get(), 201);
    EXPECT_EQ(ask_slow(), 201);
}

TEST_F(PublicWebhooks, AreNotHeldToHaveFailedWhereWeHadNoRoom) {
    bool is_full = false;
    town.harness.app->delivery().resolve_by([&](const std::string&, http::Reach reach) {
        if (is_full)
            return http::Resolved{.reason = "too many names are being looked up", .is_ours = true};
        return http::resolve("9.9.9.9", reach);
    });
    const Hook made = hook(ada, "https://hooks.example.org/");
    is_full = true;
    tell(ada);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(carry(), 1) << "soon again";
        EXPECT_EQ(shown(ada, made, "failing_since"), "null");
        EXPECT_EQ(last_delivery(ada, made, "state"), "");
        advance(std::chrono::seconds(2));
    }
}

TEST_F(PublicWebhooks, AreJudgedAtEveryAttempt) {
    // What the name leads to while it is looked at, and later.
    std::string leads_to = "9.9.9.9";
    std::vector<http::Reach> asked;
    town.harness.app->delivery().resolve_by([&](const std::string& host, http::Reach reach) {
        EXPECT_EQ(host, "rebind.example.org");
        asked.push_back(reach);
        return http::resolve(leads_to, reach);
    });
    const Hook made = hook(ada, "https://rebind.example.org/");
    ASSERT_EQ(asked.size(), 1u);
    leads_to = "127.0.0.1";
    tell(ada);
    carry();
    EXPECT_EQ(asked.size(), 2u);
    EXPECT_EQ(asked.back(), http::Reach::public_only);
    EXPECT_EQ(last_delivery(ada, made, "state"), "retrying");
    EXPECT_EQ(last_delivery(ada, made, "status"), "null");
    EXPECT_NE(last_delivery(ada, made, "fault").find("not dialled"), std::string::npos);
    EXPECT_EQ(shown(ada, made, "sent_through"), "0");
}

}  // namespace
}  // namespace berth::test
