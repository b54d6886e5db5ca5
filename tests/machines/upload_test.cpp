// Who may send a long body is found out before it comes: everything of a signature but the digest
// is judged by the head.
#include <gtest/gtest.h>

#include "machines/machine.hpp"
#include "support/machine_agent.hpp"
#include "support/raw_socket.hpp"

namespace berth::test {
namespace {

constexpr std::string_view target = "/api/v1/host-agent/speed-test?bytes=8";

class Uploads : public ::testing::Test {
protected:
    Uploads() {
        const AccountId owner = AccountId::make(harness.clock.now(), harness.random);
        EXPECT_EQ(agent.enroll(MachineAgent::token_for(harness, owner)).status, 201);
        harness.app->database().write([&](db::Transaction& tx) {
            auto row = machines::hold(tx, agent.machine).value();
            row.qualify_state = machines::QualifyState::testing;
            row.qualify_run_id = machines::RunId::make(harness.clock.now(), harness.random);
            machines::save({tx, harness.random, harness.clock.now()}, row);
        });
        harness.app->serve();
    }

    using Spoil = std::function<void(http::Headers&)>;
    http::Request signed_upload(const Spoil& spoil = {}, std::optional<Time> created = {}) {
        return agent.request({.target = std::string(target),
                              .body = "12345678",
                              .spoil = spoil,
                              .created = created});
    }
    // The head, and so much of the body.
    http::Response send(const http::Request& request, std::string_view body) {
        support::RawSocket socket(harness.app->port());
        std::string text = "POST " + request.target + " HTTP/1.1\r\nContent-Length: 8\r\n";
        for (const auto& field : request.headers)
            if (field.name != "Content-Length") text += field.name + ": " + field.value + "\r\n";
        socket.send(text + "\r\n");
        socket.send(body);
        return socket.receive();
    }

    Harness harness{{.real_accounts = true}};
    MachineAgent agent{harness};
};

TEST_F(Uploads, AreRefusedBeforeTheyAreSentWhenTheSignatureIsWrong) {
    const auto spoiled = [&](const std::string& field, const std::string& from,
                             const std::string& to) {
        const Spoil spoil = [&](http::Headers& headers) {
            http::Headers others;
            for (const auto& each : headers) {
                std::string value = each.value;
                if (each.name == field) {
                    const std::size_t at = value.find(from);
                    ASSERT_NE(at, value.npos) << value;
                    value.replace(at, from.size(), to);
                }
                others.add(each.name, value);
            }
            headers = others;
        };
        return send(signed_upload(spoil), "");
    };
    EXPECT_EQ(spoiled("Content-Digest", "sha-256=:", "sha-256=:AAAA").status, 401);
    EXPECT_EQ(spoiled("Signature-Input", ";created=", ";created=1").status, 401);
    EXPECT_EQ(spoiled("Signature-Input", to_string(agent.machine), harness.new_id()).status, 401);
    const Time long_ago = harness.clock.now() - std::chrono::minutes(5);
    EXPECT_EQ(send(signed_upload({}, long_ago), "").status, 401);
    MachineAgent other(harness, "GPU-2");
    other.machine = agent.machine;
    const MachineAgent::Message message{.target = std::string(target), .body = "12345678"};
    EXPECT_EQ(send(other.request(message), "").status, 401) << "another key";
}

TEST_F(Uploads, OfAMachineAreReadAndJudgedByWhatCame) {
    EXPECT_EQ(send(signed_upload(), "12345678").body, R"({"bytes":8})");
    EXPECT_EQ(send(signed_upload(), "87654321").status, 401);
    const http::Request once = signed_upload();
    EXPECT_EQ(send(once, "12345678").status, 200);
    EXPECT_EQ(send(once, "").status, 401) << "the nonce was used";
}

}  // namespace
}  // namespace berth::test
