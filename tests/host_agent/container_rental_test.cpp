// A whole rental with podman: a card (its drivers are fakes), an image that is pulled by digest, an
// engine behind the agent's TLS, SSH, files that are fetched after the end, a wipe, a receipt.
#include <sys/stat.h>
#include <unistd.h>

#include "crypto/hash.hpp"
#include "host_agent/agent_town.hpp"
#include "host_agent/card_of_host.hpp"
#include "host_agent/core/tool.hpp"
#include "host_agent_container/fake_driver.hpp"
#include "host_agent_container/registry.hpp"

namespace berth::test {
namespace {

class ContainerRental : public AgentTown {
protected:
    void SetUp() override {
        if (const std::string why = why_no_containers(); !why.empty()) GTEST_SKIP() << why;
        Registry::get();
        umask_before = ::umask(077);  // UMask= of deploy/berth-agent.service
        own = folder_of_root();
        const FakeDriver driver(own + "/driver", FAKE_NVML);
        tier = "container";
        machine_options = {"--runtime",   "podman",           "--driver-root",
                           driver.root(), "--allow-registry", Registry::get().place()};
        disk_gib = 1;
        template_kind = "classical";
        host_agent::run_tool_or_throw({.arguments = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "",
                                                     "-C", "", "-f", own + "/key"}});
        ssh_key = read_text(own + "/key.pub");
        while (ssh_key.ends_with('\n') || ssh_key.ends_with(' ')) ssh_key.pop_back();
        put_podman_in_front();
        AgentTown::SetUp();
    }
    // One that tells of no container while there is a file `silent`.
    void put_podman_in_front() const {
        std::filesystem::create_directory(own + "/bin");
        std::ofstream(own + "/bin/podman")
            << "#!/bin/sh\ncase \" $* \" in *\" container \"*) [ -e " << own
            << "/silent ] && kill -9 $$ ;; esac\nexec /usr/bin/podman \"$@\"\n";
        std::filesystem::permissions(own + "/bin/podman", std::filesystem::perms(0755));
        ::setenv("PATH", (own + "/bin:" + path).c_str(), 1);
    }
    void TearDown() override {
        ::setenv("PATH", path.c_str(), 1);
        if (own.empty()) return;
        ::umask(umask_before);
        if (agent) kill_agent();
        const std::string run = "/run/berth-agent-" + to_hex(crypto::sha256(state())).substr(0, 8);
        host_agent::run_tool({.arguments = {"umount", state() + "/containers/overlay"}});
        std::error_code failed;
        std::filesystem::remove_all(run, failed);
        std::filesystem::remove_all(own, failed);
        std::filesystem::remove("/var/run/cdi/berth-" +
                                to_hex(crypto::sha256(state())).substr(0, 8) + ".json");
    }
    // The engine of the image, in place of what the templates name.
    void prepare(db::Transaction& tx) override {
        tx.run("UPDATE templates SET image_digest = $1, exposes = $2 WHERE kind = $3",
               Registry::get().image(),
               std::string(R"([{"name":"openai","port":8000,"protocol":"http"}])"),
               std::string("classical"));
    }
    std::string state() const override { return own + "/state"; }

    host_agent::ToolOutcome client(const std::string& program,
                                   std::vector<std::string> words) const {
        std::vector<std::string> all{program, program == "ssh" ? "-p" : "-P", ssh_port};
        for (const char* option :
             {"IdentitiesOnly=yes", "BatchMode=yes", "StrictHostKeyChecking=accept-new"})
            all.insert(all.end(), {"-o", option});
        all.insert(all.end(), {"-F", "none", "-i", own + "/key", "-o",
                               "UserKnownHostsFile=" + own + "/known"});
        all.insert(all.end(), words.begin(), words.end());
        return host_agent::run_tool({.arguments = all});
    }
    void find_ssh(const std::string& access) {
        for (int i = 0; i < 4; ++i)
            if (member(access, fmt::format("endpoints.{}.kind", i)) == "ssh")
                ssh_port = member(access, fmt::format("endpoints.{}.external_port", i));
    }

    // What a browser gets at `/` that `berth rentals open` was started for.
    std::string page_of(const std::string& job) {
        const std::string log = own + "/open.log";
        const Process program(
            {"/usr/bin/env", "-i", "PATH=" + path, "BERTH_HOME=" + own + "/cli",
             "ASAN_OPTIONS=detect_leaks=0", "BERTH_SERVER=" + url, "BERTH_API_KEY=" + ben.key,
             program_path("berth"), "rentals", "open", job, "--no-browser"},
            log);
        EXPECT_TRUE(eventually([&] { return read_text(log).find("\"}\n") != std::string::npos; }))
            << read_text(log);
        const std::string address = member(read_text(log), "url");
        const std::string origin = address.substr(0, address.find("/#"));
        const auto ask = [&](const std::string& target, const std::string& token,
                             const std::string& cookie) {
            http::Outbound request;
            request.url = "http://127.0.0.1" + origin.substr(origin.rfind(':')) + target;
            request.method = token.empty() ? "GET" : "POST";
            request.body = token;
            request.headers.add("Host", origin.substr(origin.find("//") + 2));
            request.headers.add("Origin", origin);
            if (!cookie.empty()) request.headers.add("Cookie", cookie);
            return http::CurlClient().send(request);
        };
        const auto entered =
            ask("/.berth/enter", address.substr(address.find("/#") + 2), "").headers;
        const std::string cookie(entered.find("Set-Cookie").value_or(""));
        return ask("/", "", cookie.substr(0, cookie.find(';'))).body;
    }

    CardOfHost card;
    mode_t umask_before = 022;
    const std::string path = ::getenv("PATH");
    std::string own;
    std::string ssh_port;
};

TEST_F(ContainerRental, GoesFromAnImageToAReceipt) {
    open_host();
    const std::string test = get(ada, machine_place() + "/qualification");
    EXPECT_EQ(member(test, "outcome"), "passed") << test;
    const std::string job = reserve();
    await_state(job, "RUNNING");
    const std::string at = "/api/v1/jobs/" + job;

    // The model's endpoint, through the relay and the agent's TLS; and straight, by its key alone.
    const std::string said =
        post(ben, at + "/openai/v1/chat/completions",
             R"({"model":"m","messages":[{"role":"user","content":"hi"}]})", 200);
    EXPECT_EQ(member(said, "choices.0.message.content"), "from inside") << said;
    Door door = door_of(job);
    EXPECT_FALSE(door.tls_key.empty());
    EXPECT_TRUE(answers(door)) << logs();
    door.key = "another";
    EXPECT_FALSE(answers(door));

    // Inside, with the key that was given; the card is there, and the host is not.
    const std::string access = get(ben, at + "/access");
    find_ssh(access);
    EXPECT_TRUE(member(access, "endpoints.0.url").starts_with("https://127.0.0.1:")) << access;
    EXPECT_EQ(member(access, "endpoints.0.tls_key_sha256"), door_of(job).tls_key) << access;
    EXPECT_NE(page_of(job).find("from inside"), std::string::npos) << logs();
    const auto inside =
        client("ssh", {"renter@127.0.0.1", "id -u; ls /dev/nvidia0; echo kept > /work/kept"});
    EXPECT_EQ(inside.output, "10001\n/dev/nvidia0\n") << inside.error << access << logs();
    const auto known =
        host_agent::run_tool({.arguments = {"ssh-keygen", "-l", "-f", own + "/known"}});
    const std::string fingerprint = member(access, "ssh_host_key_fingerprint");
    EXPECT_TRUE(fingerprint.starts_with("SHA256:")) << access;
    EXPECT_NE(known.output.find(fingerprint), std::string::npos) << known.output;

    // An agent that is killed meanwhile changes nothing of it; nor does a podman that says nothing.
    kill_agent();
    std::ofstream(own + "/silent").flush();
    start_agent();
    EXPECT_TRUE(eventually([&] {
        return read_text(folder.path() + "/agent.log").find("job_not_seen") != std::string::npos;
    })) << logs();
    std::filesystem::remove(own + "/silent");
    door = door_of(job);
    EXPECT_TRUE(eventually([&] { return answers(door); })) << logs();
    EXPECT_EQ(member(show(job), "state"), "RUNNING") << logs();

    // After the end the files can be read, until the renter needs them no more.
    post(ben, at + "/stop", R"({"reason":"done"})", 202);
    await_state(job, "STOPPED");
    EXPECT_FALSE(answers(door));
    EXPECT_NE(client("ssh", {"renter@127.0.0.1", "true"}).status, 0);
    // Through another agent, too.
    kill_agent();
    start_agent();
    EXPECT_TRUE(eventually([&] {
        return client("scp", {"renter@127.0.0.1:/work/kept", own + "/fetched"}).good();
    })) << logs();
    EXPECT_EQ(read_text(own + "/fetched"), "kept\n");
    post(ben, at + "/stop", R"({"reason":"done","skip_retrieval":true})", 202);
    await_state(job, "CLOSED");
    EXPECT_EQ(member(show(job), "end_reason"), "renter_stop");
    await_machine("AVAILABLE");
    EXPECT_NE(client("scp", {"renter@127.0.0.1:/work/kept", own + "/again"}).status, 0);
    const std::string evidence = get(ben, at + "/evidence?limit=100");
    EXPECT_NE(evidence.find("\"CLEANED\""), std::string::npos) << evidence;
    EXPECT_NE(evidence.find(CardOfHost::uuid), std::string::npos) << evidence;
    const std::string receipt = get(ben, "/api/v1/billing/receipts/" + job);
    EXPECT_GT(std::stoll("0" + member(receipt, "charge_micro")), 0) << receipt;
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(state() + "/jobs/" + job); }));
}

}  // namespace
}  // namespace berth::test
