#include "http/client.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "http/text.hpp"

namespace berth::http {
namespace {

struct FreeEasy {
    void operator()(CURL* handle) const { ::curl_easy_cleanup(handle); }
};
struct FreeList {
    void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

// What comes back, and why it stopped coming when we stopped it.
struct Incoming {
    const Outbound& request;
    CURL* handle;
    Response response;
    bool too_large = false;
    bool is_cut = false;
};

using Handle = std::unique_ptr<CURL, FreeEasy>;

// A handle keeps its connections between calls; everything else is set anew each time. There are as
// many as calls were ever in progress at once.
class Handles {
public:
    Handles() { check(::curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "libcurl can be used"); }

    Handle take() {
        const std::lock_guard lock(mutex_);
        if (idle_.empty()) {
            Handle made{::curl_easy_init()};
            check(made != nullptr, "libcurl gives a handle");
            return made;
        }
        Handle handle = std::move(idle_.back());
        idle_.pop_back();
        return handle;
    }
    void give_back(Handle handle) {
        ::curl_easy_reset(handle.get());
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(handle));
    }

private:
    std::mutex mutex_;
    std::vector<Handle> idle_;
};

// One for the length of a call.
class Borrowed {
public:
    Borrowed() : handle_(handles().take()) {}
    ~Borrowed() { handles().give_back(std::move(handle_)); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    CURL* get() const { return handle_.get(); }

private:
    static Handles& handles() {
        static Handles all;
        return all;
    }
    Handle handle_;
};

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
    check(::curl_easy_setopt(handle, option, value) == CURLE_OK, "libcurl knows the option");
}

void append(List& list, const std::string& line) {
    curl_slist* const longer = ::curl_slist_append(list.get(), line.c_str());
    check(longer != nullptr, "there is memory for a header");
    (void)list.release();
    list.reset(longer);
}

List header_list(const Outbound& request) {
    List list;
    append(list, "Expect:");  // no waiting for leave to send the body
    for (const Headers::Field& field : request.headers) {
        if (!is_token(field.name) || !is_field_value(field.value))
            throw TransportError(fmt::format("the header '{}' cannot be sent", field.name), false);
        // A semicolon is how libcurl spells a header without a value.
        append(list, field.value.empty() ? field.name + ";" : field.name + ": " + field.value);
    }
    if (!request.headers.find("content-type")) append(list, "Content-Type:");
    return list;
}

// Whatever the host and port of the URL: the port stays, and a kept connection is used again only
// where it goes to the same address.
List dialled_list(const Outbound& request) {
    List list;
    const std::string& address = request.dialled_address;
    if (address.empty()) return list;
    append(list, address.find(':') == std::string::npos ? fmt::format("::{}:", address)
                                                        : fmt::format("::[{}]:", address));
    return list;
}

long status_of(CURL* handle) {
    long status = 0;
    ::curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

bool was_sent(CURL* handle) {
    long bytes = 0;
    ::curl_easy_getinfo(handle, CURLINFO_REQUEST_SIZE, &bytes);
    return bytes > 0;
}

bool is_good(CURL* handle) { return status_of(handle) / 100 == 2; }

std::size_t take_body(char* data, std::size_t, std::size_t count, void* into) {
    Incoming& incoming = *static_cast<Incoming*>(into);
    std::string& body = incoming.response.body;
    if (incoming.request.take && is_good(incoming.handle)) {
        incoming.request.take({data, count});
        return count;
    }
    const std::size_t room = incoming.request.response_bytes_max - body.size();
    if (count > room && incoming.request.cuts_response) {
        body.append(data, room);
        incoming.is_cut = true;
        return 0;
    }
    incoming.too_large = count > room;
    if (incoming.too_large) return 0;
    body.append(data, count);
    return count;
}

// Header lines come one by one; a status line starts them anew (after a 100, for one).
std::size_t take_header(char* data, std::size_t, std::size_t count, void* into) {
    constexpr std::size_t header_bytes_max = 64 * 1024;
    Incoming& incoming = *static_cast<Incoming*>(into);
    std::string_view line(data, count);
    if (line.starts_with("HTTP/")) {
        incoming.response.headers = {};
        incoming.response.content_type.clear();
        return count;
    }
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return count;
    std::size_t bytes = count;
    for (const Headers::Field& field : incoming.response.headers)
        bytes += field.name.size() + field.value.size();
    incoming.too_large = bytes > header_bytes_max;
    if (incoming.too_large) return 0;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    if (equal_without_case(name, "content-type")) incoming.response.content_type = value;
    incoming.response.headers.add(std::string(name), std::string(value));
    return count;
}

int look_whether_over(void* of, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<const Outbound*>(of)->is_over() ? 1 : 0;
}

long milliseconds(Duration span) {
    // Zero would mean "no limit" to libcurl.
    const auto count = span / std::chrono::milliseconds(1);
    return std::max<long>(1, count);
}

void set_method(CURL* handle, const Outbound& request) {
    if (!is_token(request.method))
        throw TransportError(fmt::format("the method '{}' cannot be sent", request.method), false);
    if (request.method == "HEAD") {
        set(handle, CURLOPT_NOBODY, 1L);
        return;
    }
    const bool has_body = !request.body.empty() || request.method == "POST" ||
                          request.method == "PUT" || request.method == "PATCH";
    if (has_body) {
        set(handle, CURLOPT_POST, 1L);
        set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        set(handle, CURLOPT_POSTFIELDS, request.body.c_str());
    }
    set(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

void set_bounds(CURL* handle, const Outbound& request) {
    set(handle, CURLOPT_NOSIGNAL, 1L);
    set(handle, CURLOPT_FOLLOWLOCATION, 0L);
    set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(handle, CURLOPT_PROXY, "");  // whatever the environment says
    set(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    set(handle, CURLOPT_SSL_VERIFYPEER, 1L);
    set(handle, CURLOPT_SSL_VERIFYHOST, 2L);
    set(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!request.ca_file.empty()) {
        set(handle, CURLOPT_CAINFO, request.ca_file.c_str());
        set(handle, CURLOPT_CAPATH, nullptr);
    }
    if (!request.pinned_key.empty()) {
        set(handle, CURLOPT_SSL_VERIFYPEER, 0L);
        set(handle, CURLOPT_SSL_VERIFYHOST, 0L);
        const std::string pin = "sha256//" + to_base64(request.pinned_key);
        set(handle, CURLOPT_PINNEDPUBLICKEY, pin.c_str());
    }
    set(handle, CURLOPT_FRESH_CONNECT, request.fresh_connection ? 1L : 0L);
    set(handle, CURLOPT_FORBID_REUSE, request.fresh_connection ? 1L : 0L);
    set(handle, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(request.connect_max));
    if (!request.take) {
        set(handle, CURLOPT_TIMEOUT_MS, milliseconds(request.total_max));
        return;
    }
    set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(handle, CURLOPT_LOW_SPEED_TIME, std::max(1L, milliseconds(request.total_max) / 1000));
}

}  // namespace

Response CurlClient::send(const Outbound& request) {
    const Borrowed borrowed;
    CURL* const handle = borrowed.get();
    const List headers = header_list(request);
    Incoming incoming{request, handle, {}};
    const List dialled = dialled_list(request);
    incoming.response.content_type.clear();
    char reason[CURL_ERROR_SIZE] = {};

    set_bounds(handle, request);
    set_method(handle, request);
    set(handle, CURLOPT_URL, request.url.c_str());
    set(handle, CURLOPT_HTTPHEADER, headers.get());
    if (dialled != nullptr) set(handle, CURLOPT_CONNECT_TO, dialled.get());
    set(handle, CURLOPT_ERRORBUFFER, reason);
    set(handle, CURLOPT_WRITEFUNCTION, take_body);
    set(handle, CURLOPT_WRITEDATA, static_cast<void*>(&incoming));
    set(handle, CURLOPT_HEADERFUNCTION, take_header);
    set(handle, CURLOPT_HEADERDATA, static_cast<void*>(&incoming));
    if (request.is_over) {
        set(handle, CURLOPT_NOPROGRESS, 0L);
        set(handle, CURLOPT_XFERINFOFUNCTION, look_whether_over);
        set(handle, CURLOPT_XFERINFODATA, &request);
    }
    const CURLcode code = ::curl_easy_perform(handle);

    if (incoming.too_large) throw AnswerTooLarge();
    if (code != CURLE_OK && !incoming.is_cut)
        throw TransportError(reason[0] != '\0' ? reason : ::curl_easy_strerror(code),
                             was_sent(handle));
    incoming.response.status = static_cast<int>(status_of(handle));
    return std::move(incoming.response);
}

}  // namespace berth::http
