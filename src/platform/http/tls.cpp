#include "http/tls.hpp"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "base/check.hpp"

namespace berth::http {
namespace {

std::string last_reason() {
    const unsigned long code = ::ERR_peek_last_error();
    const char* reason = ::ERR_reason_error_string(code);
    ::ERR_clear_error();
    return reason == nullptr ? "unknown reason" : reason;
}

}  // namespace

TlsContext::TlsContext(ssl_ctx_st* context) : context_(context) {
    check(context != nullptr, "OpenSSL gives a context");
    ::ERR_clear_error();
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    ::SSL_CTX_set_options(
        context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    // The one that everybody has first: quicker than the others, and a connection keeps less for
    // it.
    ::SSL_CTX_set_ciphersuites(context,
                               "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
                               "TLS_CHACHA20_POLY1305_SHA256");
    // Idle connections hold no record buffers; a write may be taken up again from another place.
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

TlsContext::TlsContext(const std::string& certificate_file, const std::string& key_file)
    : TlsContext(::SSL_CTX_new(::TLS_server_method())) {
    SSL_CTX* const context = context_.get();
    // OpenSSL calls what the system has against a file "system lib".
    for (const auto& [what, file] :
         {std::pair("certificate", &certificate_file), std::pair("key", &key_file)})
        if (::access(file->c_str(), R_OK) != 0)
            throw std::invalid_argument(fmt::format("the TLS {} file {} cannot be read: {}", what,
                                                    *file, std::generic_category().message(errno)));
    if (::SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1)
        throw std::invalid_argument(fmt::format("the TLS certificate file {} cannot be used: {}",
                                                certificate_file, last_reason()));
    if (::SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
        ::SSL_CTX_check_private_key(context) != 1)
        throw std::invalid_argument(
            fmt::format("the TLS key file {} cannot be used: {}", key_file, last_reason()));
}

TlsContext TlsContext::from_pem(const std::string& certificate, const std::string& key) {
    using Text = std::unique_ptr<BIO, decltype(&::BIO_free)>;
    const auto open = [](const std::string& text) {
        return Text(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &::BIO_free);
    };
    const Text certificate_text = open(certificate);
    const Text key_text = open(key);
    const std::unique_ptr<X509, decltype(&::X509_free)> read(
        ::PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr), &::X509_free);
    const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> secret(
        ::PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr), &::EVP_PKEY_free);
    TlsContext context(::SSL_CTX_new(::TLS_server_method()));
    if (!read || !secret || ::SSL_CTX_use_certificate(context.native(), read.get()) != 1 ||
        ::SSL_CTX_use_PrivateKey(context.native(), secret.get()) != 1 ||
        ::SSL_CTX_check_private_key(context.native()) != 1)
        throw std::invalid_argument(
            fmt::format("the TLS certificate and key cannot be used: {}", last_reason()));
    return context;
}

TlsContext TlsContext::for_clients(const std::string& ca_file) {
    TlsContext context(::SSL_CTX_new(::TLS_client_method()));
    if (ca_file.empty())
        ::SSL_CTX_set_default_verify_paths(context.native());
    else if (::SSL_CTX_load_verify_file(context.native(), ca_file.c_str()) != 1)
        throw std::invalid_argument(
            fmt::format("the authorities in {} cannot be used: {}", ca_file, last_reason()));
    // Whoever sends nothing but tickets does not keep a read from returning.
    ::SSL_CTX_clear_mode(context.native(), SSL_MODE_AUTO_RETRY);
    ::ERR_clear_error();
    return context;
}

TlsContext TlsContext::for_pins() { return TlsContext(::SSL_CTX_new(::TLS_client_method())); }

void TlsContext::forget_sessions() {
    SSL_CTX_set_session_cache_mode(native(), SSL_SESS_CACHE_OFF);
    ::SSL_CTX_set_options(native(), SSL_OP_NO_TICKET);
    ::SSL_CTX_set_num_tickets(native(), 0);
}

void TlsContext::Free::operator()(ssl_ctx_st* context) const { ::SSL_CTX_free(context); }

TlsSession::TlsSession(const TlsContext& context, int socket)
    : session_(::SSL_new(context.native())) {
    check(session_ != nullptr && ::SSL_set_fd(session_.get(), socket) == 1,
          "OpenSSL gives a session");
    ::SSL_set_accept_state(session_.get());
}

TlsSession::TlsSession(const TlsContext& context, int socket, TlsPeer peer)
    : TlsSession(context, socket) {
    SSL* const session = session_.get();
    ::SSL_set_connect_state(session);
    key_sha256_ = std::move(peer.key_sha256);
    X509_VERIFY_PARAM* const rules = ::SSL_get0_param(session);
    if (::X509_VERIFY_PARAM_set1_ip_asc(rules, peer.host.c_str()) != 1) {
        ::SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                   peer.host.data());
        ::X509_VERIFY_PARAM_set1_host(rules, peer.host.c_str(), peer.host.size());
    }
    ::SSL_set_verify(session, key_sha256_.empty() ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    ::ERR_clear_error();
}

Transfer TlsSession::shake_hands() {
    ::ERR_clear_error();
    const Transfer transfer = outcome(::SSL_do_handshake(session_.get()));
    if (transfer.status != Transfer::Status::done || key_sha256_.empty()) return transfer;
    return {has_key(key_sha256_) ? Transfer::Status::done : Transfer::Status::closed};
}

std::string TlsSession::fault_of_handshake() const {
    const long verified = ::SSL_get_verify_result(session_.get());
    if (verified == X509_V_OK) return "the handshake failed";
    return fmt::format("the certificate is not good: {}",
                       ::X509_verify_cert_error_string(verified));
}

bool TlsSession::has_key(const std::string& key_sha256) const {
    const std::unique_ptr<X509, decltype(&::X509_free)> certificate(
        ::SSL_get1_peer_certificate(session_.get()), &::X509_free);
    if (!certificate) return false;
    unsigned char* bytes = nullptr;
    const int size = ::i2d_X509_PUBKEY(::X509_get_X509_PUBKEY(certificate.get()), &bytes);
    if (size <= 0) return false;
    unsigned char digest[SHA256_DIGEST_LENGTH];
    ::SHA256(bytes, static_cast<std::size_t>(size), digest);
    OPENSSL_free(bytes);
    return key_sha256 == std::string_view(reinterpret_cast<const char*>(digest), sizeof digest);
}

Transfer TlsSession::read(std::span<char> into) {
    ::ERR_clear_error();
    return outcome(::SSL_read(session_.get(), into.data(), static_cast<int>(into.size())));
}

bool TlsSession::has_only_tickets() {
    constexpr int tickets_max = 8;
    char byte = 0;
    for (int i = 0; i < tickets_max; ++i) {
        ::ERR_clear_error();
        if (outcome(::SSL_peek(session_.get(), &byte, 1)).status != Transfer::Status::wants_read)
            return false;
        if (::SSL_has_pending(session_.get()) != 0) return false;
        const ssize_t more =
            ::recv(::SSL_get_fd(session_.get()), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        if (more <= 0) return more < 0 && errno == EAGAIN;
    }
    return false;
}

Transfer TlsSession::write(std::string_view bytes) {
    ::ERR_clear_error();
    return outcome(::SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size())));
}

Transfer TlsSession::finish_sending() {
    ::ERR_clear_error();
    const int result =
        ::SSL_is_init_finished(session_.get()) == 1 ? ::SSL_shutdown(session_.get()) : 0;
    // 0: it is said, and the peer has not said so yet.
    return result == 0 ? Transfer{Transfer::Status::done} : outcome(result);
}

Transfer TlsSession::outcome(int result) {
    if (result > 0) return {Transfer::Status::done, static_cast<std::size_t>(result)};
    switch (::SSL_get_error(session_.get(), result)) {
        case SSL_ERROR_WANT_READ: return {Transfer::Status::wants_read};
        case SSL_ERROR_WANT_WRITE: return {Transfer::Status::wants_write};
        case SSL_ERROR_ZERO_RETURN: return {Transfer::Status::finished};
        default: ::ERR_clear_error(); return {Transfer::Status::closed};
    }
}

void TlsSession::Free::operator()(ssl_st* session) const { ::SSL_free(session); }

}  // namespace berth::http
