#include "mail/smtp_transport.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.hpp"
#include "crypto/uri.hpp"
#include "mail/address.hpp"

namespace berth::mail {
namespace {

struct FreeEasy {
    void operator()(CURL* handle) const { ::curl_easy_cleanup(handle); }
};
struct FreeList {
    void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};
struct FreeUrl {
    void operator()(CURLU* url) const { ::curl_url_cleanup(url); }
};
using Easy = std::unique_ptr<CURL, FreeEasy>;
using Url = std::unique_ptr<CURLU, FreeUrl>;

// One part of an address; empty when it has none.
std::optional<std::string> part(CURLU* url, CURLUPart which, unsigned flags = 0) {
    char* text = nullptr;
    const CURLUcode code = ::curl_url_get(url, which, &text, flags);
    if (code == CURLUE_URLDECODE)
        throw std::invalid_argument("the mail server's user or password is not percent-encoded");
    if (code != CURLUE_OK) return std::nullopt;
    std::string copy(text);
    ::curl_free(text);
    return copy;
}

bool wants_starttls(std::string_view query, std::string_view host) {
    if (query == "tls=required") return true;
    if (query == "tls=off") return false;
    if (!query.empty())
        throw std::invalid_argument(
            "the mail server's address may end in ?tls=required or "
            "?tls=off and in nothing else");
    return !crypto::is_this_machine(host);
}

// What one delivery needs for libcurl's callbacks.
struct Delivery {
    std::string_view unsent;
    std::string last_reply;
};

std::size_t give_message(char* into, std::size_t size, std::size_t count, void* from) {
    Delivery& delivery = *static_cast<Delivery*>(from);
    const std::size_t bytes = std::min(size * count, delivery.unsent.size());
    std::memcpy(into, delivery.unsent.data(), bytes);
    delivery.unsent.remove_prefix(bytes);
    return bytes;
}

// Keeps the server's latest line: it says more than libcurl's own words. Its goodbye says nothing.
std::size_t take_reply(char* data, std::size_t, std::size_t count, void* into) {
    constexpr std::size_t reply_bytes_max = 200;
    if (std::string_view(data, count).starts_with("221")) return count;
    std::string& reply = static_cast<Delivery*>(into)->last_reply;
    reply.assign(data, std::min(count, reply_bytes_max));
    while (!reply.empty() && (reply.back() == '\n' || reply.back() == '\r')) reply.pop_back();
    for (char& c : reply)
        if (c < 0x20 || c > 0x7E) c = '?';
    return count;
}

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
    check(::curl_easy_setopt(handle, option, value) == CURLE_OK, "libcurl knows the option");
}

long milliseconds(Duration span) {
    // Zero would mean "no limit" to libcurl.
    return std::max<long>(1, span / std::chrono::milliseconds(1));
}

void set_server(CURL* handle, const SmtpServer& server, const std::string& url) {
    set(handle, CURLOPT_URL, url.c_str());
    set(handle, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    set(handle, CURLOPT_PROXY, "");  // whatever the environment says
    set(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    set(handle, CURLOPT_USE_SSL,
        static_cast<long>(server.starttls ? CURLUSESSL_ALL : CURLUSESSL_NONE));
    if (server.user.empty()) return;
    set(handle, CURLOPT_USERNAME, server.user.c_str());
    set(handle, CURLOPT_PASSWORD, server.password.c_str());
}

void set_bounds(CURL* handle, const TransportOptions& options) {
    set(handle, CURLOPT_NOSIGNAL, 1L);
    set(handle, CURLOPT_SSL_VERIFYPEER, 1L);
    set(handle, CURLOPT_SSL_VERIFYHOST, 2L);
    set(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!options.ca_file.empty()) {
        set(handle, CURLOPT_CAINFO, options.ca_file.c_str());
        set(handle, CURLOPT_CAPATH, nullptr);
    }
    set(handle, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connect_max));
    set(handle, CURLOPT_TIMEOUT_MS, milliseconds(options.total_max));
}

void set_message(CURL* handle, Delivery& delivery) {
    set(handle, CURLOPT_UPLOAD, 1L);
    set(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(delivery.unsent.size()));
    set(handle, CURLOPT_READFUNCTION, give_message);
    set(handle, CURLOPT_READDATA, static_cast<void*>(&delivery));
    set(handle, CURLOPT_HEADERFUNCTION, take_reply);
    set(handle, CURLOPT_HEADERDATA, static_cast<void*>(&delivery));
    set(handle, CURLOPT_WRITEFUNCTION, take_reply);
    set(handle, CURLOPT_WRITEDATA, static_cast<void*>(&delivery));
}

// A 5xx to the sender, the recipient or the message is final. Before that it is about us and the
// server (greeting, TLS, sign-in), which the operator may put right while the mail waits.
bool is_final(CURLcode code, long reply, bool message_sent) {
    constexpr long about_sign_in[] = {530, 534, 535, 538};
    const bool about_mail =
        code == CURLE_SEND_ERROR || (code == CURLE_WEIRD_SERVER_REPLY && message_sent);
    return about_mail && reply >= 500 && reply <= 599 &&
           std::find(std::begin(about_sign_in), std::end(about_sign_in), reply) ==
               std::end(about_sign_in);
}

}  // namespace

SmtpServer parse_smtp_server(const std::string& target) {
    const Url url{::curl_url()};
    check(url != nullptr, "there is memory for an address");
    if (::curl_url_set(url.get(), CURLUPART_URL, target.c_str(), 0) != CURLUE_OK)
        throw std::invalid_argument("the mail server's address cannot be read");
    const auto scheme = part(url.get(), CURLUPART_SCHEME).value_or("");
    const auto host = part(url.get(), CURLUPART_HOST).value_or("");
    const auto path = part(url.get(), CURLUPART_PATH).value_or("/");
    const auto query = part(url.get(), CURLUPART_QUERY).value_or("");
    if (scheme != "smtp" && scheme != "smtps")
        throw std::invalid_argument("mail goes to file:DIR, smtp://… or smtps://…");
    if (host.empty() || path != "/" || part(url.get(), CURLUPART_FRAGMENT))
        throw std::invalid_argument("the mail server's address is a host and a port, without path");
    if (scheme == "smtps" && !query.empty())
        throw std::invalid_argument("smtps:// always uses TLS and takes no ?tls=");

    SmtpServer server;
    server.starttls = scheme == "smtp" && wants_starttls(query, host);
    server.user = part(url.get(), CURLUPART_USER, CURLU_URLDECODE).value_or("");
    server.password = part(url.get(), CURLUPART_PASSWORD, CURLU_URLDECODE).value_or("");
    if (server.user.empty() != server.password.empty())
        throw std::invalid_argument("the mail server's user and password come together");
    const bool encrypted = server.starttls || scheme == "smtps";
    if (!server.user.empty() && !encrypted && !crypto::is_this_machine(host))
        throw std::invalid_argument("a password is not sent to the mail server with tls=off");
    server.url = fmt::format("{}://{}:{}", scheme, host,
                             part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT).value_or("25"));
    return server;
}

SmtpTransport::SmtpTransport(SmtpServer server, TransportOptions options)
    : server_(std::move(server)), options_(std::move(options)) {
    // Counted by libcurl and never given back: others in this process use it too.
    static const bool ready = ::curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    check(ready, "libcurl can be used");
}

void SmtpTransport::deliver(const Envelope& envelope) {
    const Easy handle{::curl_easy_init()};
    check(handle != nullptr, "libcurl gives a handle");
    require(is_email(envelope.from) && is_email(envelope.to), "mail goes from address to address");
    // The path is the name we greet the server with.
    const std::string url = fmt::format("{}/{}", server_.url, domain_of(envelope.from));
    const std::string from = fmt::format("<{}>", envelope.from);
    const std::unique_ptr<curl_slist, FreeList> to{
        ::curl_slist_append(nullptr, fmt::format("<{}>", envelope.to).c_str())};
    Delivery delivery{envelope.message, {}};
    char reason[CURL_ERROR_SIZE] = {};

    set_server(handle.get(), server_, url);
    set_bounds(handle.get(), options_);
    set_message(handle.get(), delivery);
    set(handle.get(), CURLOPT_MAIL_FROM, from.c_str());
    set(handle.get(), CURLOPT_MAIL_RCPT, to.get());
    set(handle.get(), CURLOPT_ERRORBUFFER, reason);
    const CURLcode code = ::curl_easy_perform(handle.get());
    if (code == CURLE_OK) return;

    long reply = 0;
    ::curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &reply);
    const std::string why =
        fmt::format("{}; the server said last: '{}'",
                    reason[0] != '\0' ? reason : ::curl_easy_strerror(code), delivery.last_reply);
    if (is_final(code, reply, delivery.unsent.empty())) throw Refused(why);
    throw NotDelivered(why);
}

}  // namespace berth::mail
