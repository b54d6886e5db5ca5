// What the server sees of the endpoints that READY names, over real sockets.
#include "rentals/probe.hpp"

#include <gtest/gtest.h>

#include "http/raw_upstream.hpp"
#include "support/eventually.hpp"
#include "support/fakes.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"
#include "support/ssh_server.hpp"

namespace berth::test {
namespace {

using rentals::EndpointKind;
using rentals::Prober;
using support::eventually;
using support::RawSocket;

class Probe : public ::testing::Test {
protected:
    std::string fault_of(const Prober::Question& question) {
        const auto answers = prober.ask_all({}, {question});
        return answers.fault.value_or("");
    }
    static Prober::Question http_at(std::uint16_t port, const std::string& path) {
        return {.endpoint = {"127.0.0.1", port, {}}, .path = path, .key = "key"};
    }
    static Prober::Question ssh_at(std::uint16_t port, std::optional<std::string> fingerprint) {
        return {.endpoint = {"127.0.0.1", port, {}},
                .kind = EndpointKind::ssh,
                .fingerprint = std::move(fingerprint)};
    }

    http::CurlClient client;
    const Prober prober{client, http::Reach::anywhere};
};

std::string answer_with(const std::string& status, const std::string& body) {
    return "HTTP/1.1 " + status +
           "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
}

TEST_F(Probe, OfAModelWantsItsModelsListedWhateverItsReadinessPathAnswers) {
    struct Case {
        std::string ready, models, fault;
    };
    const std::string list = R"({"object":"list","data":[{"id":"m"}],"more":1})";
    const Case cases[] = {
        {answer_with("200 OK", "fine"), answer_with("200 OK", list), ""},
        {answer_with("404 Not Found", ""), answer_with("200 OK", list), ""},
        {answer_with("500 Oh", ""), answer_with("200 OK", list), "answers 500"},
        {answer_with("200 OK", list), answer_with("404 Not Found", list), "answers 404"},
        {answer_with("200 OK", list), answer_with("401 No", list), "answers 401"},
        {answer_with("200 OK", list), answer_with("200 OK", "{}"), "a list of models"},
        {answer_with("200 OK", list), answer_with("200 OK", R"({"data":{}})"), "a list of models"},
        {answer_with("200 OK", list), answer_with("200 OK", "hello"), "a list of models"},
        {answer_with("200 OK", list), answer_with("200 OK", ""), "a list of models"},
    };
    for (const Case& each : cases) {
        http::RawUpstream engine([&](RawSocket& socket) {
            const std::string head = socket.receive_until("\r\n\r\n");
            socket.send(head.starts_with("GET /v1/models ") ? each.models : each.ready);
        });
        auto question = http_at(engine.port(), "/health");
        question.serves_model = true;
        const std::string fault = fault_of(question);
        EXPECT_EQ(fault.empty(), each.fault.empty()) << fault;
        EXPECT_NE(fault.find(each.fault), std::string::npos) << fault;
        // One that serves no model is asked for nothing but its readiness.
        question.serves_model = false;
        EXPECT_EQ(fault_of(question).empty(), each.ready.find(" 500 ") == std::string::npos);
    }
}

// "256 SHA256:… comment (ED25519)"
std::string shown_fingerprint(const SshServer& server) {
    const TemporaryFolder folder;
    Process shows({"/usr/bin/ssh-keygen", "-lf", server.public_key_file()}, folder.path() + "/out");
    EXPECT_EQ(shows.wait(), 0);
    const std::string line = read_text(shows.log_path());
    const std::size_t begins = line.find("SHA256:");
    return line.substr(begins, line.find(' ', begins) - begins);
}

TEST_F(Probe, OfAnSshEndpointSeesItsHostKey) {
    const std::uint16_t port = free_port();
    const SshServer server(port);
    Prober::Answers seen;
    ASSERT_TRUE(eventually([&] {
        seen = prober.ask_all({}, {ssh_at(port, {})});
        return !seen.fault;
    })) << seen.fault.value_or("");
    EXPECT_EQ(seen.fingerprint, shown_fingerprint(server));
    EXPECT_EQ(seen.addresses, std::vector<std::string>{"127.0.0.1"});
    EXPECT_EQ(fault_of(ssh_at(port, shown_fingerprint(server))), "");
    const std::string other = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";
    EXPECT_NE(fault_of(ssh_at(port, other)).find("not the one that was told"), std::string::npos);
}

TEST_F(Probe, OfAnSshEndpointIsNotFooledByWhatOnlyLooksLikeOne) {
    const auto number = [](std::size_t value) {
        return std::string{'\0', '\0', static_cast<char>(value / 256),
                           static_cast<char>(value % 256)};
    };
    const auto text = [&](const std::string& bytes) { return number(bytes.size()) + bytes; };
    const auto packet = [&](const std::string& payload) {
        return number(payload.size() + 5) + '\4' + payload + std::string(4, '\0');
    };
    const std::string kexinit =
        packet(std::string(1, '\x14') + std::string(16, 'c') + std::string(10 * 4 + 5, '\0'));
    // The public half of somebody else's host key is no secret, and anybody can show it.
    const std::string copied = text("ssh-ed25519") + text(std::string(32, 'k'));
    const std::string reply = packet('\x1f' + text(copied) + text(std::string(31, '\0') + '\x9') +
                                     text(text("ssh-ed25519") + text(std::string(64, 's'))));
    struct Case {
        std::string says, fault;
    };
    const Case cases[] = {
        {"", ""},
        {"SSH-2.0-OpenSSH_9.2\r\n", ""},
        {"HTTP/1.1 400 Bad Request\r\n\r\n", ""},
        {std::string(5000, '\n'), "does not speak SSH"},
        {std::string(5000, 'x'), "does not speak SSH"},
        {"SSH-2.0-x\r\n" + std::string(4, '\xff'), "packets are broken"},
        {"SSH-2.0-x\r\n" + number(2) + "\xff\xff", "packets are broken"},
        {"SSH-2.0-x\r\n" + kexinit + packet("\x1f" + number(60'000)), "packets are broken"},
        {"SSH-2.0-x\r\n" + packet("\1"), "does not exchange keys"},
        {"SSH-2.0-x\r\n" + kexinit + reply, "does not have the host key that it shows"},
    };
    for (const Case& each : cases) {
        http::RawUpstream server([&](RawSocket& socket) {
            socket.receive_until("\r\n");
            socket.send(each.says);
            // The others go away in the middle.
            if (!each.fault.empty()) socket.receive_all();
        });
        const std::string fault = fault_of(ssh_at(server.port(), {}));
        EXPECT_NE(fault, "");
        EXPECT_NE(fault.find(each.fault), std::string::npos) << each.says << ": " << fault;
    }
}

TEST_F(Probe, DialsNoAddressOfOurOwnHouse) {
    const Prober careful(client, http::Reach::public_only);
    for (const char* host : {"127.0.0.1", "10.0.0.1", "::1", "169.254.169.254"})
        for (const EndpointKind kind : {EndpointKind::http, EndpointKind::ssh}) {
            const auto answers =
                careful.ask_all({}, {{.endpoint = {host, 22, {}}, .path = "/", .kind = kind}});
            EXPECT_NE(answers.fault.value_or("").find("cannot be used"), std::string::npos) << host;
        }
}

}  // namespace
}  // namespace berth::test
