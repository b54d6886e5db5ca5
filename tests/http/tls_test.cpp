#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <fstream>

#include "certificate.hpp"
#include "harness.hpp"
#include "http/client.hpp"

namespace berth::http {
namespace {

class HttpTls : public testing::Test {
protected:
    HttpTls() { folder_.write(); }

    ServerOptions options() const {
        return {.tls_certificate_file = folder_.certificate(), .tls_key_file = folder_.key()};
    }

    // What a client sees that trusts exactly the certificate in `ca_file`.
    static Response fetch(const TestServer& server, const std::string& ca_file,
                          std::string body = "") {
        Outbound request;
        request.url = server.url("/a", "https");
        request.ca_file = ca_file;
        if (!body.empty()) request.method = "POST";
        request.body = std::move(body);
        return CurlClient().send(request);
    }

    CertificateFolder folder_;
};

TEST_F(HttpTls, ServesRequestsOverOneKeptConnection) {
    TestServer server(options());
    for (int i = 0; i < 10; ++i) EXPECT_EQ(fetch(server, folder_.certificate()).body, "GET /a []");
    EXPECT_EQ(server.server().accepted(), 1u);
}

TEST_F(HttpTls, CarriesLargeBodiesBothWays) {
    TestServer server(options(), [](Request request, const Reply& reply) {
        Response response;
        response.shared_body = std::make_shared<const std::string>(request.body + request.body);
        reply(std::move(response));
    });
    std::string body(1000 * 1000, 'x');
    for (std::size_t i = 0; i < body.size(); i += 777) body[i] = static_cast<char>('a' + i % 26);
    EXPECT_EQ(fetch(server, folder_.certificate(), body).body, body + body);
}

TEST_F(HttpTls, IsRefusedByAClientThatDoesNotKnowTheCertificate) {
    TestServer server(options());
    EXPECT_THROW(fetch(server, ""), TransportError);
}

TEST_F(HttpTls, ReloadGivesNewConnectionsTheNewCertificate) {
    TestServer server(options());
    const std::string old_copy = folder_.certificate() + ".old";
    std::filesystem::copy_file(folder_.certificate(), old_copy);
    EXPECT_EQ(fetch(server, old_copy).status, 200);
    folder_.write();
    server.server().reload_tls();
    EXPECT_EQ(fetch(server, old_copy).status, 200);  // on the connection that exists
    EXPECT_EQ(server.server().accepted(), 1u);
    EXPECT_EQ(fetch(server, folder_.certificate()).status, 200);
    EXPECT_EQ(server.server().accepted(), 2u);
}

TEST_F(HttpTls, ReloadOfUnusableFilesKeepsWhatItHad) {
    TestServer server(options());
    const std::string old_copy = folder_.certificate() + ".old";
    std::filesystem::copy_file(folder_.certificate(), old_copy);
    std::ofstream(folder_.key()) << "no key";
    EXPECT_THROW(server.server().reload_tls(), std::invalid_argument);
    std::filesystem::remove(folder_.certificate());
    EXPECT_THROW(server.server().reload_tls(), std::invalid_argument);
    EXPECT_EQ(fetch(server, old_copy).status, 200);
}

// True when a handshake that offers at most `version` succeeds.
bool shakes_hands(const TestServer& server, int version) {
    const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context(
        ::SSL_CTX_new(::TLS_client_method()), &::SSL_CTX_free);
    ::SSL_CTX_set_security_level(context.get(), 0);  // old versions are refused by default
    SSL_CTX_set_min_proto_version(context.get(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context.get(), version);
    const std::unique_ptr<BIO, decltype(&::BIO_free_all)> connection(
        ::BIO_new_ssl_connect(context.get()), &::BIO_free_all);
    const std::string address = "127.0.0.1:" + std::to_string(server.port());
    BIO_set_conn_hostname(connection.get(), address.c_str());
    return BIO_do_handshake(connection.get()) == 1;
}

TEST_F(HttpTls, SpeaksNoVersionBefore12) {
    const TestServer server(options());
    EXPECT_TRUE(shakes_hands(server, TLS1_3_VERSION));
    EXPECT_TRUE(shakes_hands(server, TLS1_2_VERSION));
    EXPECT_FALSE(shakes_hands(server, TLS1_1_VERSION));
    EXPECT_FALSE(shakes_hands(server, TLS1_VERSION));
}

TEST_F(HttpTls, SurvivesClientsThatSpeakSomethingElseOrNothing) {
    ServerOptions quick = options();
    quick.header_max = 300ms;
    TestServer server(quick);
    RawSocket plain = server.connect();
    plain.send(get_request("/a"));
    plain.await_end();
    RawSocket silent = server.connect();
    silent.await_end();
    RawSocket half = server.connect();
    half.send("\x16\x03\x01\x02");
    half.await_end();
    // On a busy machine a handshake alone may take longer than that.
    EXPECT_TRUE(eventually([&] {
        try {
            return fetch(server, folder_.certificate()).status == 200;
        } catch (const TransportError&) {
            return false;
        }
    }));
}

}  // namespace
}  // namespace berth::http
