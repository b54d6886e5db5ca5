// A whole rental of a container behind two routers, as a person types it: ssh, sftp, an editor's
// way, a page with a websocket, and the gate upgraded under a session that counts. Not for every
// day, because podman has one name server for a whole machine: tools/gate_drill runs it, and
// docs/gate.md has what it wrote into the file BERTH_GATE_TRANSCRIPT.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gate_world/name_server.hpp"
#include "gate_world/world.hpp"
#include "host_agent_container/fake_driver.hpp"
#include "host_agent_container/registry.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

constexpr const char* python = "/usr/bin/env";  // finds it

// Its own /run, and a name server that the containers can ask: in the mounts of this program alone.
void mount_own(const std::string& folder) {
    if (::mount("tmpfs", "/run", "tmpfs", 0, "mode=0755") != 0)
        throw std::runtime_error("no /run of its own");
    std::filesystem::create_directories("/run/sshd");
    std::ofstream(folder + "/resolv.conf")
        << "nameserver " << Networks::server_address << "\noptions timeout:1 attempts:1\n";
    ::chmod((folder + "/resolv.conf").c_str(), 0644);
    if (::mount((folder + "/resolv.conf").c_str(), "/etc/resolv.conf", nullptr, MS_BIND, nullptr) !=
        0)
        throw std::runtime_error("no name server of its own");
}

// The engine of tools/gpu_run, which has a page with a websocket, with the Python of this machine.
std::string make_image(const std::string& folder) {
    const std::string tools = std::string(BERTH_SOURCE_DIR) + "/tools/gpu_run";
    std::filesystem::create_directory(folder + "/image");
    const Outcome made = run_program(
        {python, "python3", tools + "/image_root.py", folder + "/image", tools, "/bin/busybox"});
    const Outcome found =
        run_program({python, "python3", "-c",
                     "import os, sys; sys.stdout.write(os.path.realpath(sys.executable))"});
    if (made.status != 0 || found.status != 0) throw std::runtime_error(made.output + found.output);
    return Registry::get().add(
        "berth/page", folder + "/image",
        {"ENV PATH=/bin",
         fmt::format(R"(CMD ["{}", "/container_engine.py", "--port", "8000", "--plant", "0"])",
                     found.output)});
}

// Three minutes, and a podman that nobody else uses meanwhile: tools/gate_drill runs it.
class DISABLED_ContainerAtGate : public GateStory {
protected:
    static void SetUpTestSuite() {
        World::end();
        World::make_host = [](const Networks& networks) { return make_containers(networks); };
    }
    static void TearDownTestSuite() {
        World::end();
        World::make_host = nullptr;
        names.reset();
        if (own.empty()) return;
        run_program({"/usr/bin/umount", "-l", own + "/state/containers/overlay"});
        std::error_code ignored;
        std::filesystem::remove_all(own, ignored);
    }

    static HostKind make_containers(const Networks& networks) {
        if (const std::string why = why_no_containers(); !why.empty())
            throw std::runtime_error(why);
        own = folder_of_root();
        names = std::make_unique<NameServer>(networks.internet);
        mount_own(own);
        const Inside in(networks.host);  // the registry is on the host's own loopback
        const std::string image = make_image(own);
        const FakeDriver driver(own + "/driver", FAKE_NVML);
        const Outcome key = run_program(
            {"/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", own + "/key"});
        if (key.status != 0) throw std::runtime_error(key.output);
        HostKind kind;
        kind.tier = "container";
        kind.template_kind = "classical";
        kind.options = {"--runtime",   "podman",           "--driver-root",
                        driver.root(), "--allow-registry", Registry::get().place()};
        kind.state = own + "/state";
        kind.ssh_key = read_text(own + "/key.pub");
        while (kind.ssh_key.ends_with('\n') || kind.ssh_key.ends_with(' ')) kind.ssh_key.pop_back();
        kind.prepare = [image](db::Transaction& tx) {
            tx.run(
                "UPDATE templates SET image_digest = $1, exposes = $2, readiness_path = $3 WHERE "
                "kind = $4",
                image, std::string(R"([{"name":"openai","port":8000,"protocol":"http"}])"),
                std::string("/health"), std::string("classical"));
        };
        ::umask(077);  // as in deploy/berth-agent.service
        return kind;
    }

    void SetUp() override {
        GateStory::SetUp();
        if (HasFailure() || IsSkipped()) return;
        std::ofstream(own + "/ssh.config")
            << "Host *\n  BatchMode yes\n  IdentitiesOnly yes\n  IdentityFile " << own
            << "/key\n  StrictHostKeyChecking accept-new\n  UserKnownHostsFile " << own
            << "/known\n  LogLevel ERROR\n";
        if (const char* const file = ::getenv("BERTH_GATE_TRANSCRIPT"))
            transcript.open(file, std::ios::trunc);
    }

    void say(const std::string& what) { transcript << "\n### " << what << "\n\n" << std::flush; }
    void show(const std::string& command, const std::string& output) {
        transcript << "    $ " << command << "\n";
        std::istringstream lines(output);
        for (std::string line; std::getline(lines, line);)
            transcript << (line.empty() ? "" : "    " + line) << "\n";
        transcript << std::flush;
    }
    // What a shell of that person has: its programs, its account, its key.
    std::string shell(const std::string& command, const World::Account& who) {
        const std::string programs =
            std::filesystem::path(program_path("berth")).parent_path().string();
        return fmt::format(
            "export PATH={}:$PATH BERTH_SERVER={} BERTH_API_KEY={} BERTH_CA_FILE={}/tls.pem "
            "BERTH_HOME={}/home\nexec 2>&1\ncd {}\nssh() {{ command ssh -F ssh.config \"$@\"; }}\n"
            "sftp() {{ command sftp -F ssh.config \"$@\"; }}\n{}",
            programs, world().url, who.key, world().folder.path(), own, own, command);
    }
    Outcome type(const std::string& command, const World::Account& who, const Network& where) {
        const Inside in(where);
        Outcome done = run_program({"/bin/bash", "-c", shell(command, who)});
        show(command, done.output);
        return done;
    }
    // As the renter; what was printed.
    std::string rent(const std::string& command, bool fails = false) {
        const Outcome done = type(command, world().ben, world().networks.renter);
        EXPECT_EQ(done.status != 0, fails) << command << "\n" << done.output;
        return done.output;
    }

    void tell_of_host();
    void tell_of_shell();
    void tell_of_page(const std::string& job);
    void tell_of_upgrade();
    void tell_of_end(const std::string& job);

    std::string at;  // "-p PORT renter@HOST"
    std::string files;
    std::ofstream transcript;
    inline static std::string own;
    inline static std::unique_ptr<NameServer> names;
};

void DISABLED_ContainerAtGate::tell_of_host() {
    say("The host, behind two routers: it knows the server's address and nothing else");
    show("berth-agent enroll --server https://11.0.0.1 --token-file token", world().enrolled);
    const auto seen = type(
        "berth machines show " + world().machine + " | jq '{state, gpu_model, reach, reach_why}'",
        world().ada, world().networks.renter);
    EXPECT_NE(seen.output.find("\"gate\""), std::string::npos) << seen.output;
    type("berth-agent doctor --server https://11.0.0.1 --ca-file " + world().folder.path() +
             "/tls.pem --state " + world().kind.state + " | grep -i gate",
         world().ada, world().networks.host);
    say("From the internet nobody gets in: this is all that is seen of the host");
    for (const char* port : {"22", "443", "40000"})
        EXPECT_NE(type(fmt::format("timeout 2 bash -c '</dev/tcp/{}/{}'; echo status $?",
                                   Networks::provider_address, port),
                       world().ben, world().networks.internet)
                      .output.find("status 1"),
                  std::string::npos);
}

void DISABLED_ContainerAtGate::tell_of_shell() {
    say("SSH");
    EXPECT_NE(rent("ssh " + at + " 'id -u; ls /dev/nvidia0; echo kept > /work/kept'").find("10001"),
              std::string::npos);
    say("sftp");
    rent(
        "head -c 8388608 /dev/urandom > large && printf 'put large /work/large\\nget /work/large "
        "again\\nls -l /work\\n' | sftp -q -b - " +
        files + " && cmp large again && echo the same");
    say("An editor's way: ssh -W to the rental's localhost");
    EXPECT_NE(rent("printf 'GET /health HTTP/1.0\\r\\n\\r\\n' | ssh -W localhost:8000 " + at)
                  .find("200 OK"),
              std::string::npos);
}

void DISABLED_ContainerAtGate::tell_of_page(const std::string& job) {
    say("Chat through the relay");
    rent("berth rentals chat " + job + " 'What is a berth?' --output table");
    say("A page with a websocket");
    const std::string client = std::string(BERTH_SOURCE_DIR) + "/tools/gpu_run/page_client.py";
    const std::string log = own + "/open.json";
    const Process opened(
        {"/bin/bash", "-c",
         shell("exec berth rentals open " + job + " openai --no-browser", world().ben)},
        log);
    ASSERT_TRUE(soon([&] { return read_text(log).find("\"}\n") != std::string::npos; }))
        << read_text(log);
    const std::string address = member(read_text(log), "url");
    show("berth rentals open " + job + " openai --no-browser",
         address.substr(0, address.find('#')) + "#…");
    const Outcome page = run_program({python, "python3", client, address});
    EXPECT_EQ(page.status, 0) << page.output;
    show("page_client.py ADDRESS     # what a browser does", page.output);
}

void DISABLED_ContainerAtGate::tell_of_upgrade() {
    say("The gate is upgraded under a session that counts to 300");
    const std::string counts =
        "ssh " + at + " 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo $i; sleep 0.1; done'";
    const std::string log = own + "/counted";
    Process session({"/bin/bash", "-c", shell(counts, world().ben)}, log);
    const auto lines = [&] {
        const std::string text = read_text(log);
        return std::count(text.begin(), text.end(), '\n');
    };
    ASSERT_TRUE(soon([&] { return lines() >= 20; })) << read_text(log);
    show(counts + " > counted &", "");
    World::Gate& gate = world().first;
    std::unique_ptr<Process> older = std::move(gate.process);
    world().start_gate(gate);
    show("systemctl start berth-gate@b",
         fmt::format("(the session is at {}; older process {}, newer {})", lines(), older->pid(),
                     gate.process->pid()));
    rent("ssh " + at + " 'echo a new session, meanwhile'");
    EXPECT_TRUE(soon([&] { return !session.running(); }));
    EXPECT_EQ(session.wait(), 0);
    rent("seq 300 | cmp - counted && tail -n 1 counted && echo not a number is missing");
    ASSERT_TRUE(soon([&] { return !older->running(); }));
    const int status = older->wait();
    EXPECT_EQ(status, 0);
    show("systemctl status berth-gate@a",
         fmt::format("(the older process has ended by itself, with status {})", status));
    rent("ssh " + at + " 'echo by the newer one'");
}

void DISABLED_ContainerAtGate::tell_of_end(const std::string& job) {
    say("The end; what the job left is fetched through the gate");
    world().post(world().ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done"})", 202);
    EXPECT_TRUE(soon([&] { return world().state_of(job) == "STOPPED"; })) << world().show(job);
    show("berth rentals stop " + job + " --reason done", "STOPPED");
    EXPECT_TRUE(soon([&] {
        const Inside in(world().networks.renter);
        return run_program(
                   {"/bin/bash", "-c",
                    shell("printf 'get /work/kept kept\\n' | sftp -q -b - " + files, world().ben)})
                   .status == 0;
    })) << world().logs();
    EXPECT_NE(rent("printf 'get /work/kept kept\\n' | sftp -q -b - " + files + " && cat kept")
                  .find("kept"),
              std::string::npos);
    rent("ssh " + at + " true", true);
    world().post(world().ben, "/api/v1/jobs/" + job + "/stop",
                 R"({"reason":"done","skip_retrieval":true})", 202);
    EXPECT_TRUE(world().await_state(job, "CLOSED")) << world().show(job);
    rent("berth rentals receipt " + job + " | jq 'del(.entries)'");
    EXPECT_EQ(world().check_books(), "");
    say("The books");
    show("berthd check ledger", "sound");
}

TEST_F(DISABLED_ContainerAtGate, IsUsedAsAnyOtherAndOutlivesAnUpgrade) {
    tell_of_host();
    const std::string job = world().running();
    const std::string access = world().get(world().ben, "/api/v1/jobs/" + job + "/access");
    for (int i = 0; i < 4; ++i) {
        const std::string row = fmt::format("endpoints.{}.", i);
        if (member(access, row + "kind") != "ssh") continue;
        const std::string place = "renter@" + member(access, row + "external_host");
        at = fmt::format("-p {} {}", member(access, row + "external_port"), place);
        files = fmt::format("-P {} {}", member(access, row + "external_port"), place);
    }
    ASSERT_FALSE(at.empty()) << access;
    say("The rental: its access names the gate");
    rent("berth rentals access " + job +
         " | jq -c '.endpoints[] | {kind, external_host, external_port}'");
    tell_of_shell();
    tell_of_page(job);
    tell_of_upgrade();
    tell_of_end(job);
}

}  // namespace
}  // namespace berth::test
