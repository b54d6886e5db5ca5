// Which SSH key goes with a rental, and that a private one never leaves the machine: a server that
// writes down every byte that arrives stands in for the real one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>

#include "cli/exit.hpp"
#include "cli/shell.hpp"
#include "cli/ssh_key.hpp"
#include "http/raw_upstream.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

namespace fs = std::filesystem;

const std::string some_id = "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57";

// Quotes, reserves, and knows one template; `heard` is everything that was sent to it.
class RecordingServer {
public:
    explicit RecordingServer(std::string template_kind) : kind_(std::move(template_kind)) {}

    std::uint16_t port() const { return upstream_.port(); }
    std::string heard() {
        const std::scoped_lock lock(guard_);
        return heard_;
    }

private:
    void serve(support::RawSocket& socket) {
        const std::string head = socket.receive_until("\r\n\r\n");
        std::string body;
        if (head.find("Content-Length: ") != head.npos &&
            head.find("Content-Length: 0") == head.npos)
            body = socket.receive_until("}");
        {
            const std::scoped_lock lock(guard_);
            heard_ += head + body + "\n";
        }
        const std::string answer = answer_to(head);
        socket.send(
            fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                        "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
                        answer.size(), answer));
    }
    std::string answer_to(const std::string& head) const {
        if (head.starts_with("GET /api/v1/templates?"))
            return fmt::format(R"({{"items":[{{"id":"{}","template_id":"tiny","kind":"{}"}}],)"
                               R"("next_cursor":null}})",
                               some_id, kind_);
        if (head.starts_with("GET /api/v1/templates/"))
            return fmt::format(R"({{"id":"{}","template_id":"tiny","kind":"{}"}})", some_id, kind_);
        if (head.starts_with("POST /api/v1/quotes"))
            return fmt::format(
                R"({{"quote_id":"{0}","expires_at":"2030-01-01T00:00:00Z","offer_id":"{0}",)"
                R"("offer_version":"1","machine_rate_micro_per_hour":"100",)"
                R"("platform_fee_bps":100,"budget_micro":"1000000","duration_limit_s":3600,)"
                R"("estimated_total_micro":"100","template_id":null,)"
                R"("image_digest":"ghcr.io/berth/tiny@sha256:{1}",)"
                R"("asset":"USDC","availability_class":"dedicated","preemption_notice_s":null}})",
                some_id, std::string(64, 'a'));
        return fmt::format(R"({{"job_id":"{}","state":"RESERVED"}})", some_id);
    }

    std::string kind_;
    std::mutex guard_;
    std::string heard_;
    http::RawUpstream upstream_{[this](support::RawSocket& socket) { serve(socket); }};
};

// Keys as ssh-keygen makes them, in files beside the shell's own.
class SshKeys : public ::testing::Test {
protected:
    SshKeys() {
        shell.environment["BERTH_API_KEY"] = "ark_x";
        shell.environment["HOME"] = shell.folder();
        fs::create_directory(shell.folder() + "/.ssh");
    }

    std::string make_key(const std::string& name, const std::vector<std::string>& more = {}) const {
        const std::string file = shell.folder() + "/" + name;
        std::vector<std::string> words{
            "/usr/bin/ssh-keygen", "-q", "-N", "", "-C", "eva@home", "-f", file};
        const std::vector<std::string> kind{"-t", "ed25519"};
        words.insert(words.end(), more.empty() ? kind.begin() : more.begin(),
                     more.empty() ? kind.end() : more.end());
        const Outcome made = run_program(words);
        EXPECT_EQ(made.status, 0) << made.output;
        return file;
    }
    // Kind and base64, as it is sent.
    static std::string public_half(const std::string& file) {
        const std::string line = read_text(file + ".pub");
        return line.substr(0, line.find(' ', line.find(' ') + 1));
    }

    Printed create(const std::vector<std::string>& more, const std::string& input = "",
                   const std::string& named = "tiny") const {
        std::vector<std::string> words{"rentals", "create",   "--offer", some_id, "--template",
                                       named,     "--budget", "1",       "--yes"};
        words.insert(words.end(), more.begin(), more.end());
        return shell.run(words, input);
    }
    void expect_refused(const Printed& said) {
        EXPECT_EQ(said.status, 2) << said.out << said.err;
        EXPECT_EQ(server.heard(), "") << "nothing at all leaves";
        EXPECT_EQ((said.out + said.err).find("AAAA"), std::string::npos) << said.out << said.err;
    }
    std::string sent_key() {
        const std::string all = server.heard();
        const std::string member = R"("ssh_public_key":")";
        const std::size_t at = all.find(member);
        if (at == all.npos) return "";
        const std::size_t begin = at + member.size();
        return all.substr(begin, all.find('"', begin) - begin);
    }

    RecordingServer server{"classical"};
    Shell shell{"http://127.0.0.1:" + std::to_string(server.port())};
};

TEST_F(SshKeys, NeverLeaveTheMachineWhenTheyArePrivate) {
    const std::string file = make_key("id_ed25519");
    const Printed said = create({"--ssh-key", file});
    expect_refused(said);
    EXPECT_NE(said.err.find("private key"), std::string::npos) << said.err;
    EXPECT_NE(said.err.find("--ssh-key " + file + ".pub"), std::string::npos) << said.err;
    fs::remove(file + ".pub");
    const Printed alone = create({"--ssh-key", file});
    expect_refused(alone);
    EXPECT_NE(alone.err.find("ssh-keygen -y -f " + file), std::string::npos) << alone.err;
}

TEST_F(SshKeys, AreRefusedInEveryFormatOfAPrivateOne) {
    for (const std::vector<std::string>& kind : {std::vector<std::string>{"-t", "ed25519"},
                                                 {"-t", "ecdsa"},
                                                 {"-t", "rsa", "-b", "2048"},
                                                 {"-t", "rsa", "-b", "2048", "-m", "PEM"},
                                                 {"-t", "ecdsa", "-m", "PKCS8"}}) {
        const std::string file = make_key("key", kind);
        expect_refused(create({"--ssh-key", file}));
        expect_refused(create({"--ssh-key", "-"}, read_text(file)));
        expect_refused(create({"--ssh-key", read_text(file)}));
        expect_refused(create({"--ssh-key", file, "--explain"}));
        expect_refused(create({"--ssh-key", file, "--dry-run", "--output", "table"}));
        // One of several, before and behind a public one.
        for (const std::string& text : {read_text(file + ".pub") + read_text(file),
                                        read_text(file) + read_text(file + ".pub")})
            expect_refused(create({"--ssh-key", shell.file("both", text)}));
        fs::remove(file);
        fs::remove(file + ".pub");
    }
    for (const std::string text :
         {"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: 2\n"
          "b3Blbg\nPrivate-Lines: 1\nAAAA\n",
          "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nAAAA\n", "garbage", "", "\n\n",
          "ssh-ed25519\n", "ssh-ed25519 AAAA me\n", "ssh-dss AAAAB3NzaC1kc3MAAACBAA== me\n"})
        expect_refused(create({"--ssh-key", shell.file("other", text)}));
    expect_refused(create({"--ssh-key", shell.file("zeros", std::string(100, '\0'))}));
    expect_refused(create({"--ssh-key", "/nowhere/id_ed25519.pub"}));
}

TEST_F(SshKeys, AreRefusedInBodiesToo) {
    const std::string file = make_key("id_ed25519");
    const auto post = [&](const std::string& body, const std::vector<std::string>& more = {}) {
        std::vector<std::string> words{"api", "POST", "/api/v1/jobs", "--from",
                                       shell.file("body", body)};
        words.insert(words.end(), more.begin(), more.end());
        return shell.run(words);
    };
    std::string escaped;
    for (const char c : read_text(file)) escaped += c == '\n' ? "\\n" : std::string(1, c);
    const std::string with_private = R"({"quote_id":"x","ssh_public_key":")" + escaped + R"("})";
    expect_refused(post(with_private));
    expect_refused(post(with_private, {"--explain"}));
    expect_refused(post(with_private, {"--curl"}));
    expect_refused(post(R"({"ssh_public_key":"AAAA"})"));
    expect_refused(post(R"({"ssh_public_key":["AAAA"]})"));
    expect_refused(post(R"({"ssh_public_key":"\u002d----BEGIN OPENSSH PRIVATE KEY-----"})"));
    // The file in the place of what a flag wants.
    expect_refused(post(read_text(file)));
    expect_refused(shell.run({"tickets", "create", "--from", file}));
    expect_refused(shell.run(
        {"tickets", "create", "--category", "other", "--text", "see\n" + read_text(file)}));
    expect_refused(shell.run({"integrations", "set", "huggingface", "--token-file", file}));
    expect_refused(shell.run({"templates", "show", read_text(file)}));
    expect_refused(shell.run({"login", "--email", read_text(file)}));
    const std::string without_frame = read_text(file).substr(36, 70);
    expect_refused(shell.run({"api", "GET", "/api/v1/status?x=" + without_frame}));
    expect_refused(shell.run({"machines", "preempt", "x", "--reason=" + read_text(file)}));
    expect_refused(shell.run({"agents", "register", "--name", "Scout", "--vendor", "Example",
                              "--policy", "@" + file, "--key-file", "-"},
                             std::string(64, '7')));
    shell.environment["BERTH_API_KEY"] = read_text(file);
    expect_refused(shell.run({"whoami"}));

    shell.environment["BERTH_API_KEY"] = "ark_x";
    EXPECT_EQ(
        post(fmt::format(R"({{"quote_id":"x","ssh_public_key":"{}"}})", public_half(file))).status,
        0);
    EXPECT_EQ(sent_key(), public_half(file));
}

TEST_F(SshKeys, GoWithARentalWhenTheyArePublic) {
    for (const std::vector<std::string>& kind : {std::vector<std::string>{"-t", "ed25519"},
                                                 {"-t", "rsa", "-b", "2048"},
                                                 {"-t", "ecdsa", "-b", "521"}}) {
        RecordingServer mine("classical");
        shell.environment["BERTH_SERVER"] = "http://127.0.0.1:" + std::to_string(mine.port());
        const std::string file = make_key("key", kind);
        const Printed said = create({"--ssh-key", file + ".pub"});
        EXPECT_EQ(said.status, 0) << said.err;
        EXPECT_NE(mine.heard().find(R"("ssh_public_key":")" + public_half(file) + "\""),
                  std::string::npos)
            << mine.heard();
        EXPECT_EQ(mine.heard().find("eva@home"), std::string::npos) << "not whose it is";
        EXPECT_EQ(create({"--ssh-key", read_text(file + ".pub")}).status, 0) << "the key itself";
        fs::remove(file);
        fs::remove(file + ".pub");
    }
    const std::string two =
        shell.file("two", read_text(make_key("a") + ".pub") + read_text(make_key("b") + ".pub"));
    expect_refused(create({"--ssh-key", two}));
}

TEST_F(SshKeys, AreThoseOfTheAgentOrTheHomeWithoutTheFlag) {
    const Printed none = create({});
    EXPECT_EQ(none.status, 2) << none.err;
    EXPECT_NE(none.err.find("--ssh-key FILE"), std::string::npos) << none.err;
    EXPECT_EQ(server.heard().find("POST /api/v1/jobs"), std::string::npos);

    shell.file(".ssh/id_broken.pub", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    const std::string rsa = make_key(".ssh/id_rsa", {"-t", "rsa", "-b", "2048"});
    ASSERT_EQ(create({}).status, 0);
    EXPECT_EQ(sent_key(), public_half(rsa)) << "the only one that is one";

    const std::string held = make_key("held");
    const std::string socket = shell.folder() + "/agent.sock";
    Process agent({"/usr/bin/ssh-agent", "-D", "-a", socket}, shell.folder() + "/agent.log");
    ASSERT_EQ(run_program({"/bin/sh", "-c",
                           "until [ -S " + socket + " ]; do :; done; SSH_AUTH_SOCK=" + socket +
                               " ssh-add -q " + held})
                  .status,
              0);
    shell.environment["SSH_AUTH_SOCK"] = socket;
    RecordingServer other("classical");
    shell.environment["BERTH_SERVER"] = "http://127.0.0.1:" + std::to_string(other.port());
    const Printed said = create({"-o", "table"}, "", some_id);
    ASSERT_EQ(said.status, 0) << said.err;
    EXPECT_NE(said.err.find("the SSH agent"), std::string::npos) << said.err;
    EXPECT_NE(other.heard().find(public_half(held)), std::string::npos) << other.heard();
}

TEST_F(SshKeys, StayAtHomeWhereNoShellIs) {
    make_key(".ssh/id_ed25519");
    RecordingServer models("model");
    shell.environment["BERTH_SERVER"] = "http://127.0.0.1:" + std::to_string(models.port());
    EXPECT_EQ(create({}).status, 0);
    EXPECT_EQ(create({}, "", some_id).status, 0) << "named by its id";
    EXPECT_EQ(models.heard().find("ssh_public_key"), std::string::npos) << models.heard();
}

TEST(PublicKeys, AreJudgedByWhatTheyHold) {
    const std::string good =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3n7n4v0mC1bq2m3Z3o9m1m1k2l3n4p5q6r7s8t9u0v";
    EXPECT_EQ(cli::parse_public_key(good), good);
    EXPECT_EQ(cli::parse_public_key("  " + good + " me and mine\r\n"), good);
    const auto key = [](const std::string& name, const std::vector<std::string>& fields) {
        std::string bytes;
        for (const std::string& field : fields) {
            for (int shift = 24; shift >= 0; shift -= 8)
                bytes += static_cast<char>(field.size() >> shift & 0xff);
            bytes += field;
        }
        return name + " " + to_base64(bytes);
    };
    const std::string half(32, 'k');
    const std::string security_key = "sk-ssh-ed25519@openssh.com";
    EXPECT_TRUE(cli::parse_public_key(key(security_key, {security_key, half, "ssh:"})));
    EXPECT_TRUE(cli::parse_public_key(key("ssh-ed25519", {"ssh-ed25519", half})));
    for (const std::string& bad :
         {std::string(), std::string("ssh-ed25519"), "ssh-rsa " + good.substr(12),
          key("ssh-ed25519",
              {"ssh-ed25519", half, half + half}),  // as an agent is given a private one
          key("ssh-ed25519", {"ssh-ed25519", half + half}), key("ssh-rsa", {"ssh-rsa", "e"}),
          key("ssh-unknown", {"ssh-unknown", half}),
          key("ecdsa-sha2-nistp256", {"ecdsa-sha2-nistp256", "nistp384", "point"}),
          good + "\n" + good, "no-pty " + good, good.substr(0, good.size() - 1),
          good + " -----BEGIN OPENSSH PRIVATE KEY-----",
          key("ssh-rsa", {"ssh-rsa", "e", std::string(4096, 'n')})})
        EXPECT_FALSE(cli::parse_public_key(bad)) << bad;
}

}  // namespace
}  // namespace berth::test
