// `berth` against a real `berthd`, piped and on a terminal.
#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <future>

#include "cli/reading.hpp"
#include "cli/served.hpp"
#include "crypto/totp.hpp"
#include "http/raw_upstream.hpp"
#include "support/totp.hpp"

namespace berth::test {
namespace {

namespace fs = std::filesystem;

class Berth : public Served {};

TEST_F(Berth, PrintsTheApisBodyWhenPipedAndATableOnATerminal) {
    http::Outbound request;
    request.url = "http://" + place + "/api/v1/templates?limit=2";
    const std::string body = http::CurlClient().send(request).body;
    const Printed piped = shell.run({"templates", "list", "--limit", "2"});
    EXPECT_EQ(piped.status, 0) << piped.err;
    EXPECT_EQ(piped.out, body + "\n");
    EXPECT_EQ(piped.err, "");

    const Printed shown = shell.run_on_terminal({"templates", "list", "--limit", "2"});
    EXPECT_EQ(shown.status, 0);
    EXPECT_NE(shown.out.find("\033[1mTEMPLATE"), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find(" GiB"), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find("there is more: --all"), std::string::npos) << shown.out;
    shell.environment["NO_COLOR"] = "1";
    EXPECT_EQ(shell.run_on_terminal({"templates", "list"}).out.find('\033'), std::string::npos);

    const Printed all = shell.run({"templates", "list", "--limit", "2", "--all", "-o", "ids"});
    const Printed once = shell.run({"templates", "list", "--limit", "100", "-o", "ids"});
    EXPECT_GT(std::count(all.out.begin(), all.out.end(), '\n'), 2);
    EXPECT_EQ(all.out, once.out);
}

TEST_F(Berth, GivesReportsAsCsvAndNothingElse) {
    ASSERT_EQ(register_agent().status, 0);
    const std::vector<std::string> statement{"statement", "--since", "2026-01-01T00:00:00Z",
                                             "--until", "now"};
    std::vector<std::string> as_csv = statement;
    as_csv.insert(as_csv.end(), {"-o", "csv"});
    const Printed csv = shell.run(as_csv);
    EXPECT_EQ(csv.status, 0) << csv.err;
    EXPECT_EQ(csv.out,
              "at,transaction_id,kind,pocket,direction,amount_micro,balance_micro,job_id,"
              "external_ref\r\n");
    EXPECT_EQ(cli::Reading(shell.run(statement).out).text("closing.available_micro"), "0");
    EXPECT_EQ(shell.run({"balance", "-o", "csv"}).status, 2);
}

TEST_F(Berth, RegistersAnAgentWithAWalletOfItsOwn) {
    const Printed made = register_agent();
    ASSERT_EQ(made.status, 0) << made.err;
    const cli::Reading answer(made.out);
    EXPECT_EQ(answer.text("created"), "true");
    EXPECT_EQ((made.out + made.err).find("ark_"), std::string::npos)
        << "the secret stays in its file";
    const std::string wallet = shell.home() + "/wallets/default.json";
    EXPECT_EQ(mode(wallet), owner_only);
    EXPECT_EQ(mode(shell.home() + "/profiles/default.json"), owner_only);

    const Printed who = shell.run({"whoami"});
    EXPECT_EQ(who.status, 0) << who.err;
    EXPECT_EQ(cli::Reading(who.out).text("account_id"), answer.text("account_id"));
    EXPECT_EQ(cli::Reading(register_agent().out).text("created"), "false") << "the same wallet";

    // A key needs a fresh proof, which the wallet gives.
    EXPECT_EQ(shell.run({"keys", "create", "--name", "second", "--scopes", "renter"}).status, 3);
    shell.environment["BERTH_WALLET_PASSPHRASE"] = "wrong horse";
    EXPECT_EQ(shell.run({"keys", "create", "--name", "second", "--scopes", "renter"}).status, 3);
    shell.environment["BERTH_WALLET_PASSPHRASE"] = "correct horse";
    const Printed key = shell.run({"keys", "create", "--name", "second", "--scopes", "renter"});
    EXPECT_EQ(key.status, 0) << key.err;
    EXPECT_NE(key.out.find("\"secret\":\"ark_"), std::string::npos);
}

TEST_F(Berth, TakesAKeyFileAsTheWallet) {
    const std::string key = "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d";
    const Printed made = shell.run(
        {"agents", "register", "--name", "Scout", "--vendor", "Example", "--key-file", "-"}, key);
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(cli::Reading(made.out).text("address"), "0x008AeEda4D805471dF9b2A5B0f38A0C3bCBA786b");
    EXPECT_EQ((made.out + made.err + read_text(shell.home() + "/profiles/default.json")).find(key),
              std::string::npos);
}

TEST_F(Berth, SaysInItsExitStatusWhatWentWrong) {
    EXPECT_EQ(shell.run({"balance"}).status, 3) << "not signed in";
    ASSERT_EQ(register_agent().status, 0);
    const std::string nobody = "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57";
    const Printed missing = shell.run({"rentals", "show", nobody});
    EXPECT_EQ(missing.status, 4);
    EXPECT_EQ(missing.out, "");
    EXPECT_TRUE(missing.err.starts_with(R"({"error":{"code":"NOT_FOUND",)")) << missing.err;
    EXPECT_EQ(std::count(missing.err.begin(), missing.err.end(), '\n'), 1) << missing.err;
    EXPECT_TRUE(shell.run({"rentals", "show", nobody, "-o", "table"}).err.starts_with("berth: "));
    EXPECT_EQ(shell.run({"rentals", "show", "nonsense"}).status, 6);
    EXPECT_EQ(shell.run({"rentals", "shoe"}).status, 2);
    const Printed empty =
        shell.run({"tickets", "create", "--category", "", "--text", "", "-o", "table"});
    EXPECT_EQ(empty.status, 6);
    EXPECT_NE(empty.err.find("--category: "), std::string::npos) << empty.err;
    EXPECT_EQ(shell.run({"machines", "list"}).status, 3) << "no host";
    EXPECT_EQ(shell.run({"rentals", "stop"}).status, 2) << "there is no rental yet";

    shell.environment["BERTH_SERVER"] = "http://127.0.0.1:" + std::to_string(free_port());
    EXPECT_EQ(shell.run({"status"}).status, 8);
    EXPECT_EQ(shell.run({"whoami"}).status, 3) << "the key is for another server";
    shell.environment["BERTH_SERVER"] = "http://berth.example";
    EXPECT_EQ(shell.run({"status"}).status, 2) << "not https";
}

TEST_F(Berth, ExplainsWithoutSendingAndWithoutSecrets) {
    ASSERT_EQ(register_agent().status, 0);
    const std::string token = shell.file("token", "hf_very_secret\n");
    const std::string body = shell.file("body", R"({ "token": "hf_very_secret" })");
    const std::string route = "/api/v1/account/integrations/huggingface";
    for (const std::string how : {"--explain", "--curl"}) {
        for (const std::vector<std::string>& words :
             {std::vector<std::string>{"integrations", "set", "huggingface", "--token-file", token},
              {"integrations", "set", "huggingface", "--from", body},
              {"api", "PUT", route, "--from", body}}) {
            std::vector<std::string> all = words;
            all.push_back(how);
            const Printed said = shell.run(all);
            EXPECT_EQ(said.status, 0) << said.err;
            EXPECT_NE(said.out.find(route), std::string::npos);
            EXPECT_NE(said.out.find("{\"token\":\"…\"}"), std::string::npos) << said.out;
            EXPECT_EQ(said.out.find("hf_very_secret"), std::string::npos) << said.out;
            EXPECT_EQ(said.out.find("ark_"), std::string::npos) << said.out;
        }
    }
    const Printed bare =
        shell.run({"integrations", "set", "huggingface", "--from", token, "--explain"});
    EXPECT_EQ(bare.status, 2);
    EXPECT_EQ((bare.out + bare.err).find("hf_very"), std::string::npos) << bare.err;
    const std::string spaced = R"({"category": "other",  "text": "hello"})";
    EXPECT_EQ(shell.run({"tickets", "create", "--from", "-", "--explain"}, spaced).out,
              "POST /api/v1/tickets\n" + spaced + "\n")
        << "what has no secret is shown as it is";
    EXPECT_EQ(cli::Reading(shell.run({"integrations", "show", "huggingface"}).out).text("set"),
              "false");
    EXPECT_EQ(shell.run({"logout", "--explain"}).out, "POST /api/v1/auth/sign-out\n");
    EXPECT_EQ(shell.run({"profiles", "remove", "default", "--curl"}).out, "");
    EXPECT_EQ(shell.run({"whoami"}).status, 0) << "nothing was forgotten";
    EXPECT_NE(shell.run({"login", "--email", "nobody@example.org", "--explain"})
                  .out.find("POST /api/v1/auth/email/start\n"),
              std::string::npos);
    EXPECT_EQ(shell.run({"integrations", "set", "huggingface", "--token-file", token}).status, 0);
    EXPECT_EQ(cli::Reading(shell.run({"integrations", "show", "huggingface"}).out).text("set"),
              "true");
}

const std::vector<std::string> create_words{
    "rentals",  "create", "--offer", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57", "--template", "tiny",
    "--budget", "1",      "--yes"};

TEST_F(Berth, SendsNothingAtAllWhenItExplains) {
    shell.environment["BERTH_SERVER"] = "http://127.0.0.1:" + std::to_string(free_port());
    auto words = create_words;
    words.push_back("--explain");
    const Printed said = shell.run(words);
    EXPECT_EQ(said.status, 0) << said.err;
    EXPECT_NE(said.out.find("POST /api/v1/quotes\n"), std::string::npos) << said.out;
}

// In one line, the error's own: nobody can repeat it without the key.
TEST_F(Berth, TellsTheKeyOfARentalThatMayYetBeMade) {
    http::RawUpstream busy([](support::RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        socket.send(
            "HTTP/1.1 503 No\r\nx-should-retry: false\r\nConnection: close\r\n\r\n"
            R"({"error":{"code":"UNAVAILABLE","message":"no","retryable":true}})");
    });
    shell.environment["BERTH_SERVER"] = "http://127.0.0.1:" + std::to_string(busy.port());
    shell.environment["BERTH_API_KEY"] = "ark_x";
    auto words = create_words;
    words[5] = words[3];
    const Printed said = shell.run(words);
    EXPECT_EQ(said.status, 7) << said.err;
    EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1) << said.err;
    const cli::Reading error(said.err);
    EXPECT_EQ(error.text("error.code"), "UNAVAILABLE");
    EXPECT_EQ(error.text("idempotency_key").size(), 36U) << said.err;
}

TEST_F(Berth, TellsTheKeyOfARentalWhenItIsKilled) {
    std::promise<void> heard;
    http::RawUpstream silent([&](support::RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        heard.set_value();
        socket.receive_until("nothing more comes");
    });
    auto words = create_words;
    words[5] = words[3];
    words.insert(words.begin(), {"/usr/bin/env", "BERTH_HOME=" + shell.home(),
                                 "BERTH_SERVER=http://127.0.0.1:" + std::to_string(silent.port()),
                                 "BERTH_API_KEY=ark_x", program_path("berth")});
    Process berth(words, shell.folder() + "/said");
    ASSERT_EQ(heard.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
    EXPECT_EQ(read_text(berth.log_path()), "") << "one line at most";
    berth.signal(SIGTERM);
    EXPECT_EQ(berth.wait(), 128 + SIGTERM);
    const std::string said = read_text(berth.log_path());
    EXPECT_NE(said.find("repeat it with --idempotency-key "), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(Berth, DoesNotBlameItsCallerForAnAnswerThatCannotBeRead) {
    http::RawUpstream strange([](support::RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        socket.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    });
    shell.environment["BERTH_SERVER"] = "http://127.0.0.1:" + std::to_string(strange.port());
    shell.environment["BERTH_API_KEY"] = "ark_x";
    const Printed said = shell.run({"rentals", "wait", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"});
    EXPECT_EQ(said.status, 1) << said.err;
}

TEST_F(Berth, RepeatsAChangeWithTheSameKeyOnce) {
    ASSERT_EQ(register_agent().status, 0);
    const std::vector<std::string> words{"tickets",
                                         "create",
                                         "--category",
                                         "other",
                                         "--text",
                                         "Where are my keys?",
                                         "--idempotency-key",
                                         "0191e7a0-0000-7000-8000-000000000001"};
    const Printed first = shell.run(words);
    ASSERT_EQ(first.status, 0) << first.err;
    EXPECT_EQ(shell.run(words).out, first.out);
    const Printed all = shell.run({"tickets", "list", "-o", "ids"});
    EXPECT_EQ(all.out, cli::Reading(first.out).text("ticket_id") + "\n");
    auto other = words;
    other[5] = "Another text";
    EXPECT_EQ(shell.run(other).status, 5);
}

TEST_F(Berth, CallsAnyRoute) {
    EXPECT_EQ(shell.run({"api", "get", "/healthz"}).out, "{\"status\":\"ok\"}\n");
    EXPECT_EQ(shell.run({"api", "G T", "/healthz"}).status, 2);
    EXPECT_EQ(shell.run({"api", "GET", "/api/v1/offers?model=RTX 4090"}).status, 2);
    ASSERT_EQ(register_agent().status, 0);
    const Printed made = shell.run({"api", "POST", "/api/v1/tickets", "--from", "-"},
                                   R"({"category":"other","text":"hello there"})");
    EXPECT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(cli::Reading(made.out).text("state"), "open");
}

TEST_F(Berth, TellsWhatIsWrongAndHowToMendIt) {
    const Printed before = shell.run({"doctor", "-o", "table"});
    EXPECT_EQ(before.status, 1);
    EXPECT_NE(before.out.find("FAIL  profile default"), std::string::npos) << before.out;
    EXPECT_NE(before.out.find("is ready"), std::string::npos) << before.out;
    ASSERT_EQ(register_agent().status, 0);
    const Printed after = shell.run({"doctor", "-o", "table"});
    EXPECT_NE(after.out.find("ok    signed in as"), std::string::npos) << after.out;
    EXPECT_NE(after.out.find("spendable: 0.0000 USDC\n      berth funding create"),
              std::string::npos)
        << after.out;
    fs::permissions(shell.home() + "/profiles/default.json", fs::perms::group_read,
                    fs::perm_options::add);
    EXPECT_NE(shell.run({"doctor"}).out.find("chmod 600"), std::string::npos);
}

TEST_F(Berth, LogsInByMailMakesAKeyAndSignsOut) {
    const std::string email = "eva@example.org";
    const Printed done =
        shell.run_on_terminal({"login"}, {{"mail address: ", [email] { return email; }},
                                          mailed("mailed to eva@example.org: ", email),
                                          mailed("mailed to you: ", email)});
    ASSERT_EQ(done.status, 0) << done.out;
    EXPECT_EQ(done.out.find("ark_"), std::string::npos) << done.out;
    const Printed who = shell.run({"whoami"});
    EXPECT_EQ(cli::Reading(who.out).text("email"), email) << who.err;
    const Printed keys = shell.run({"keys", "list"});
    const cli::Reading listed(keys.out);
    EXPECT_FALSE(listed.text("expires_at", listed.rows().at(0)).empty())
        << "the key ends by itself";
    EXPECT_FALSE(fs::exists(shell.home() + "/sessions/default.json"));
    EXPECT_EQ(shell.run({"logout"}).status, 0);
    EXPECT_EQ(shell.run({"whoami"}).status, 3);
}

TEST_F(Berth, ForgetsAKeyThatTheDesktopKeeps) {
    const std::string kept = shell.folder() + "/kept";
    fs::permissions(
        shell.file("secret-tool", "#!/bin/sh\n[ -e " + kept + ".locked ] && exit 1\ncase $1 in\n" +
                                      "store) cat > " + kept + " ;;\nlookup) cat " + kept +
                                      " ;;\nclear) rm -f " + kept + " ;;\nesac\n"),
        fs::perms::owner_all);
    shell.environment["PATH"] = shell.folder() + ":" + shell.environment["PATH"];
    shell.environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nowhere";
    ASSERT_EQ(register_agent().status, 0);
    EXPECT_EQ(shell.run({"whoami"}).status, 0);
    const std::string secret = read_text(kept);
    EXPECT_TRUE(secret.starts_with("ark_"));
    EXPECT_EQ(read_text(shell.home() + "/profiles/default.json").find(secret), std::string::npos);
    shell.file("kept.locked", "");
    EXPECT_EQ(shell.run({"whoami"}).status, 3);
    const Printed locked = shell.run({"logout", "-o", "table"});
    EXPECT_EQ(locked.status, 1);
    EXPECT_NE(locked.err.find("unlock it"), std::string::npos) << locked.err;
    fs::remove(kept + ".locked");
    EXPECT_EQ(shell.run({"whoami"}).status, 0) << "nothing was lost";
    EXPECT_EQ(shell.run({"logout"}).status, 0);
    EXPECT_FALSE(fs::exists(kept)) << "the secret is gone with the pointer to it";
    EXPECT_EQ(shell.run({"whoami"}).status, 3);
    EXPECT_EQ(shell.run({"logout"}).status, 0) << "there is nothing more to forget";
}

TEST_F(Berth, LinksAWalletByItsSignature) {
    const std::string email = "ida@example.org";
    const std::string key =
        shell.file("key", "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9e\n");
    EXPECT_EQ(shell.run({"wallets", "link", "--key-file", key}).status, 3) << "not signed in";
    ASSERT_EQ(shell
                  .run_on_terminal({"login", "--session", "--email", email},
                                   {mailed("mailed to ida@example.org: ", email)})
                  .status,
              0);
    EXPECT_EQ(shell.run({"wallets", "link", "--key-file", key}).status, 3) << "no fresh proof";
    const Printed linked = shell.run_on_terminal(
        {"wallets", "link", "--key-file", key, "-o", "json"}, {mailed("mailed to you: ", email)});
    ASSERT_EQ(linked.status, 0) << linked.out;
    const std::size_t json = linked.out.find('{');
    const cli::Reading binding(linked.out.substr(json, linked.out.rfind('}') - json + 1));
    EXPECT_EQ(binding.text("address").size(), 42U) << linked.out;
    const Printed unlinked = shell.run({"wallets", "unlink", binding.text("binding_id")});
    EXPECT_EQ(unlinked.status, 0) << unlinked.err << "the proof is still fresh";
}

TEST_F(Berth, IsCompletedByBash) {
    const std::string bin = fs::path(program_path("berth")).parent_path();
    const Outcome said = run_program(
        {"/bin/bash", "-c",
         "PATH=" + bin +
             ":$PATH; eval \"$(berth completion bash)\" && complete -p berth && "
             "COMP_WORDS=(berth rentals s) COMP_CWORD=2 && _berth && echo \"${COMPREPLY[*]}\""});
    EXPECT_EQ(said.status, 0) << said.output;
    EXPECT_EQ(said.output, "complete -o default -F _berth berth\nshow ssh stop\n");
    EXPECT_EQ(shell.run({"completion", "tcsh"}).status, 2);
}

// What the scripts ask is tested with bash.
TEST_F(Berth, HasScriptsThatZshAndFishUnderstand) {
    for (const std::string name : {"zsh", "fish"}) {
        const std::string script = shell.file(name, shell.run({"completion", name}).out);
        const Outcome read = run_program({"/usr/bin/env", name, "-n", script});
        EXPECT_EQ(read.status, 0) << read.output;
    }
    const std::string bin = fs::path(program_path("berth")).parent_path();
    const Outcome said =
        run_program({"/usr/bin/env", "PATH=" + bin + ":/usr/bin:/bin", "fish", "--no-config", "-c",
                     "berth completion fish | source; complete -C 'berth --profile x rentals s'"});
    EXPECT_EQ(said.output, "show\nssh\nstop\n");
}

TEST_F(Berth, GoesWithANewProfileToTheServerOfTheUsualOne) {
    shell.environment["BERTH_SERVER"] = "";
    ASSERT_EQ(shell.run({"profiles", "add", "default", "--server", "http://" + place}).status, 0);
    const Printed said = shell.run({"--profile", "new", "status"});
    EXPECT_EQ(said.status, 0) << said.err;
    EXPECT_EQ(shell.run({"profiles", "remove", "new"}).status, 4) << "it was never kept";
    const Printed other = shell.run({"login", "--session", "--email", "ada@example.org", "--server",
                                     "https://berth.example", "-o", "table"});
    EXPECT_EQ(other.status, 5) << "no later command would find the session: " << other.err;
    EXPECT_NE(other.err.find("berth --profile NAME --server https://berth.example login"),
              std::string::npos)
        << other.err;
    EXPECT_EQ(shell.run({"profiles", "remove", "default"}).status, 0);
}

TEST_F(Berth, GivesCodesOfAnAuthenticator) {
    const std::string secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
    const Printed said =
        shell.run({"authenticator", "code", "--secret-file", shell.file("secret", secret)});
    const std::int64_t step = crypto::totp_step(SystemClock().now());
    const Bytes bytes = crypto::from_base32(secret).value();
    EXPECT_TRUE(said.out == crypto::totp_code(bytes, step) + "\n" ||
                said.out == crypto::totp_code(bytes, step - 1) + "\n")
        << said.out << said.err;
    EXPECT_EQ(shell.run({"authenticator", "code", "--secret-file", "-"}, "no secret").status, 2);
}

TEST_F(Berth, SaysWhereAMachineIsTakenBack) {
    const Printed said = shell.run(
        {"machines", "preempt", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57", "--state", shell.folder()});
    EXPECT_EQ(said.status, 2);
    EXPECT_NE(said.err.find("berth-agent preempt"), std::string::npos) << said.err;
}

TEST_F(Berth, LetsAdminsProveThemselvesWithTheirAuthenticator) {
    const std::string email = "root@example.org";
    ASSERT_EQ(run_program({program_path("berthd"), "admin", "create", "--email", email, "--db",
                           "sqlite:" + folder->path() + "/berth.db", "--secrets",
                           folder->path() + "/secrets"})
                  .status,
              0);
    const Printed in = shell.run_on_terminal({"login", "--session", "--email", email},
                                             {mailed("mailed to root@example.org: ", email)});
    ASSERT_EQ(in.status, 0) << in.out;
    EXPECT_EQ(mode(shell.home() + "/sessions/default.json"), owner_only);

    const Printed added = shell.run_on_terminal({"authenticator", "add", "-o", "json"},
                                                {mailed("mailed to you: ", email)});
    ASSERT_EQ(added.status, 0) << added.out;
    const std::size_t json = added.out.find('{');
    const cli::Reading enrollment(added.out.substr(json, added.out.rfind('}') - json + 1));
    const Bytes secret = crypto::from_base32(enrollment.text("secret")).value();
    std::int64_t last = fresh_totp_step() - 1;
    const auto code = [&] { return crypto::totp_code(secret, last++); };
    const Printed confirmed =
        shell.run({"authenticator", "confirm", "--enrollment-id", enrollment.text("enrollment_id"),
                   "--code-file", shell.file("code", code())});
    ASSERT_EQ(confirmed.status, 0) << confirmed.err;

    const Printed users = shell.run({"admin", "users", "list"});
    EXPECT_EQ(users.status, 0) << users.err;
    EXPECT_NE(users.out.find(email), std::string::npos);
    EXPECT_EQ(cli::Reading(shell.run({"whoami"}).out).text("email"), email) << "by its session";
    EXPECT_EQ(shell.run({"tickets", "list"}).status, 0) << "everybody's";
    const std::vector<std::string> words{
        "admin",   "settings", "set",      "money.platform_fee_bps",
        "--value", "900",      "--reason", "a cheaper week"};
    EXPECT_EQ(shell.run(words).status, 3) << "without a fresh proof";
    const Printed set = shell.run_on_terminal(words, {{"authenticator: ", [&] { return code(); }}});
    EXPECT_EQ(set.status, 0) << set.out;
    EXPECT_NE(set.out.find("900"), std::string::npos) << set.out;
    const Printed reset = shell.run(
        {"admin", "settings", "reset", "money.platform_fee_bps", "--reason", "the week is over"});
    EXPECT_EQ(reset.status, 0) << reset.err << "the version that the setting has by now";
    const std::string kept = shell.home() + "/sessions/default.json";
    fs::copy_file(kept, shell.folder() + "/kept");
    shell.environment["BERTH_SERVER"] = "http://127.0.0.1:" + std::to_string(free_port());
    EXPECT_EQ(shell.run({"logout"}).status, 0) << "the session ends where it was opened";
    shell.environment["BERTH_SERVER"] = "http://" + place;
    EXPECT_EQ(shell.run({"admin", "users", "list"}).status, 3);
    fs::copy_file(shell.folder() + "/kept", kept);
    const Printed ended = shell.run({"admin", "users", "list", "-o", "table"});
    EXPECT_EQ(ended.status, 3);
    EXPECT_NE(ended.err.find("`berth login --session`"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace berth::test
