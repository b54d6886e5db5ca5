// Pulling images: what fails and how, and what a registry cannot make the host do.
#include <fmt/format.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>

#include "host_agent/runtimes/container_image.hpp"
#include "host_agent_container/host.hpp"
#include "http/server.hpp"
#include "http/tls_key.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

class PullTest : public ContainerTest {
protected:
    // The code of the error, or "" when it worked. It is cancelled once `is_enough`.
    std::string pull_code(const std::string& image, Duration longest = std::chrono::minutes(3),
                          const std::function<bool()>& is_enough = {}) {
        auto workload = make_workload({});
        workload.image = image;
        std::atomic<bool> cancelled = false;
        try {
            runtime->prepare(workload, {std::chrono::steady_clock::now() + longest, cancelled},
                             [&](const host_agent::Progress& each) {
                                 told = each;
                                 if (is_enough && is_enough()) cancelled = true;
                             });
        } catch (const host_agent::RuntimeError& error) {
            EXPECT_FALSE(std::filesystem::exists(workload.folder + "/pull"));
            sentence = error.what();
            return error.code();
        }
        return "";
    }
    host_agent::Progress told;
    std::string sentence;
};

TEST_F(PullTest, ErrorsAreToldApart) {
    const std::string image = Registry::get().image();
    const std::string digest = image.substr(image.find('@'));
    const std::string other = "@sha256:" + std::string(64, '0');
    EXPECT_EQ(pull_code(Registry::get().name("berth/test") + other), "IMAGE_NOT_FOUND");
    EXPECT_EQ(pull_code(Registry::get().name("berth/nobody") + digest), "IMAGE_NOT_FOUND");
    EXPECT_EQ(pull_code(Registry::get().name("berth/test:latest")), "HOST_REJECTED");
    // Nobody could pull these, so that it is no fault of this host.
    EXPECT_EQ(pull_code("berth/test" + digest), "IMAGE_NOT_FOUND");
    EXPECT_EQ(pull_code("/etc" + digest), "IMAGE_NOT_FOUND");
    EXPECT_EQ(pull_code("127.0.0.1:1/berth/test" + digest, std::chrono::seconds(1)),
              "PULL_TIMEOUT");
    EXPECT_EQ(pull_code(image), "");
    EXPECT_EQ(pull_code(image), "");
}

TEST(PullWordsTest, FailuresHaveTheirCodes) {
    EXPECT_EQ(host_agent::failure_code("Error: writing blob: no space left on device"),
              "DISK_FULL");
    EXPECT_EQ(host_agent::failure_code("Digest did not match, expected sha256:1, got sha256:2"),
              "IMAGE_DIGEST_MISMATCH");
    EXPECT_EQ(host_agent::failure_code("unauthorized: authentication required"), "IMAGE_NOT_FOUND");
    EXPECT_EQ(host_agent::failure_code("dial tcp: connection refused"), "");
}

// A registry that takes the connection and says nothing.
TEST_F(PullTest, ASilentRegistryDoesNotHoldTheJob) {
    const std::string image = Registry::get().image();
    const std::uint16_t port = free_port();
    const Process silent(
        {"/bin/busybox", "nc", "-l", "-p", std::to_string(port), "-s", "127.0.0.1"}, "/dev/null");
    registries += "," + Registry::place_of("silent.test", port);
    runtime = make_runtime();
    EXPECT_EQ(
        pull_code("silent.test:" + std::to_string(port) + "/a/b" + image.substr(image.find('@')),
                  std::chrono::milliseconds(1500)),
        "PULL_TIMEOUT");
}

TEST_F(PullTest, CancellingEndsIt) {
    auto workload = make_workload({});
    workload.image = "127.0.0.1:1/berth/test@sha256:" + std::string(64, '0');
    const std::atomic<bool> cancelled = true;
    try {
        runtime->prepare(
            workload, {std::chrono::steady_clock::now() + std::chrono::minutes(3), cancelled}, {});
        FAIL();
    } catch (const host_agent::RuntimeError& error) {
        EXPECT_EQ(error.code(), "CANCELLED");
    }
}

// A registry that asks for a token and says where to get one, or sends its clients elsewhere.
class HostileRegistry final : public http::Handler {
public:
    HostileRegistry(const std::string& folder, std::string where, int status)
        : where_(std::move(where)), status_(status) {
        http::ServerOptions options;
        options.tls_certificate_file = folder + "/hostile.crt";
        options.tls_key_file = folder + "/hostile.key";
        http::make_self_signed(options.tls_certificate_file, options.tls_key_file);
        server_ = std::make_unique<http::Server>(options, *this);
        server_->start();
    }
    void handle(http::Request, http::Reply reply) override {
        ++asked;
        http::Response response{.status = status_};
        response.body = R"({"errors":[{"code":"EVIL","message":"words of a stranger"}]})";
        if (status_ == 401)
            response.headers.add("WWW-Authenticate",
                                 fmt::format(R"(Bearer realm="{}",service="s",scope="a")", where_));
        else
            response.headers.add("Location", where_);
        reply(std::move(response));
    }
    std::uint16_t port() const { return server_->port(); }

    std::atomic<int> asked = 0;

private:
    const std::string where_;
    const int status_;
    std::unique_ptr<http::Server> server_;
};

// A service of the host that only the host should reach.
class ServiceOfHost final : public http::Handler {
public:
    ServiceOfHost() : server_(options(), *this) { server_.start(); }
    void handle(http::Request, http::Reply reply) override {
        ++asked;
        http::Response response;
        response.body = R"({"token":"t","access_token":"t"})";
        reply(std::move(response));
    }
    std::uint16_t port() const { return server_.port(); }

    std::atomic<int> asked = 0;

private:
    static http::ServerOptions options() {
        http::ServerOptions options;
        options.address = "0.0.0.0";
        return options;
    }
    http::Server server_;
};

TEST_F(PullTest, ARegistryReachesNoServiceOfTheHostThroughTheOneWhoPulls) {
    ServiceOfHost service;
    const std::string outer =
        host_agent::run_tool({.arguments = {"sh", "-c",
                                            "ip -4 -o route get 192.0.2.1 | "
                                            "sed 's/.* src \\([0-9.]*\\).*/\\1/'"}})
            .output;
    const std::string digest = "@sha256:" + std::string(64, 'a');
    struct Case {
        int status;
        std::string host;
    };
    for (const auto& [status, host] :
         {Case{401, "127.0.0.1"}, Case{401, "localhost"}, Case{307, "127.0.0.1"},
          Case{401, outer.substr(0, outer.find('\n'))}}) {
        const std::string where = fmt::format("http://{}:{}/token", host, service.port());
        SCOPED_TRACE(where);
        HostileRegistry registry(folder, where, status);
        registries = Registry::place_of("evil.test", registry.port());
        runtime = make_runtime();
        // Whoever asks again has been where the first answer led, or could not get there.
        constexpr int often = 3;
        const std::string code =
            pull_code(fmt::format("evil.test:{}/a/b{}", registry.port(), digest),
                      std::chrono::minutes(3), [&] { return registry.asked >= often; });
        EXPECT_NE(code, "");
        EXPECT_GT(registry.asked.load(), 0) << "it was not even asked";
        EXPECT_EQ(sentence, host_agent::pull_sentence(code)) << "and no word of a stranger";
    }
    EXPECT_EQ(service.asked.load(), 0);
}

// That the test above sees the namespace, and not a podman that asks nobody.
TEST_F(PullTest, WithoutItsNetworkAServiceOfTheHostWouldBeAsked) {
    ServiceOfHost service;
    HostileRegistry registry(folder, fmt::format("http://127.0.0.1:{}/token", service.port()), 401);
    host_agent::run_tool(
        {.arguments = {"podman", "--root", folder + "/other", "--runroot", run + "/other",
                       "--tmpdir", run + "/other-tmp", "pull", "--quiet", "--tls-verify=false",
                       fmt::format("127.0.0.1:{}/a/b:1", registry.port())}});
    EXPECT_GT(service.asked.load(), 0);
    host_agent::run_tool({.arguments = {"umount", folder + "/other/overlay"}});
}

TEST_F(PullTest, EndsWhereTheDiskWouldHaveTooLittleLeft) {
    const auto full = [&](std::int64_t floor, std::int64_t image_max) {
        const std::atomic<bool> cancelled = false;
        std::ofstream(folder + "/logins") << "{}";
        try {
            host_agent::pull_image(
                {.podman = {"podman", "--root", folder + "/other", "--runroot", run + "/other",
                            "--tmpdir", run + "/other-tmp"},
                 .image = Registry::get().image(),
                 .folder = folder + "/pulled",
                 .login_file = folder + "/logins",
                 .registries = host_agent::parse_registries(registries),
                 .floor_bytes = floor,
                 .image_bytes_max = image_max},
                {std::chrono::steady_clock::now() + std::chrono::minutes(3), cancelled}, {});
        } catch (const host_agent::RuntimeError& error) {
            EXPECT_FALSE(std::filesystem::exists(folder + "/pulled"));
            return error.code();
        }
        return std::string();
    };
    constexpr std::int64_t all = std::int64_t{1} << 60;
    EXPECT_EQ(full(all, all), "DISK_FULL");
    EXPECT_EQ(full(0, all), "");
    host_agent::run_tool({.arguments = {"umount", folder + "/other/overlay"}});
}

TEST(PullPausesTest, GrowAndEnd) {
    Duration longest{};
    int tries = 1;
    for (; host_agent::pause_after(tries, 0.999); ++tries) {
        const Duration least = *host_agent::pause_after(tries, 0);
        const Duration most = *host_agent::pause_after(tries, 0.999);
        EXPECT_GE(least, std::chrono::milliseconds(500));
        EXPECT_LE(least, most);
        EXPECT_GE(most, longest);
        longest = most;
        ASSERT_LT(tries, 20);
    }
    EXPECT_EQ(tries, 6);
    EXPECT_LE(longest, std::chrono::seconds(16));
}

TEST(PullAddressesTest, OnlyPublicOnesThatAreNoNeighboursAreDialled) {
    for (const char* closed :
         {"127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1",
          "0.0.0.0", "224.0.0.1", "::1", "fd00::1", "2606:4700::1111", "registry.test", ""})
        EXPECT_FALSE(host_agent::may_be_dialled(closed)) << closed;
    EXPECT_TRUE(host_agent::may_be_dialled("1.1.1.1"));
}

TEST(PullAddressesTest, PinnedRegistriesAreNamesWithAPlace) {
    const auto pinned =
        host_agent::parse_registries("registry.test:5000=127.0.0.1:5001,b.test:1=10.0.0.1:2");
    EXPECT_EQ(pinned.at("registry.test:5000"), "127.0.0.1:5001");
    EXPECT_EQ(pinned.at("b.test:1"), "10.0.0.1:2");
    EXPECT_TRUE(host_agent::parse_registries("").empty());
    for (const char* bad : {"registry.test", "registry.test:5000", "registry.test:5000=localhost:1",
                            "registry.test=127.0.0.1:1", "a:1=127.0.0.1", "a:x=127.0.0.1:1"})
        EXPECT_THROW(host_agent::parse_registries(bad), std::invalid_argument) << bad;
}

}  // namespace
}  // namespace berth::test
