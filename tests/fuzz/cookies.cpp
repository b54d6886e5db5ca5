// Cookie, cursor and query readers: any bytes from a client, no crash, and what is found is there.
#include <cstdint>
#include <cstdlib>

#include "accounts/sessions.hpp"
#include "api/page.hpp"
#include "api/target.hpp"
#include "base/problem.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace berth;
    const std::string text(reinterpret_cast<const char*>(data), size);

    http::Request request;
    request.headers.add("Cookie", text);
    const auto cookie = accounts::find_cookie(request, "session");
    if (cookie && text.find("session=" + std::string(*cookie)) == text.npos) std::abort();

    wire::Errors errors;
    if (api::parse_query(text, errors).size() > api::query_fields_max) std::abort();
    if (const auto decoded = api::percent_decode(text, true))
        if (decoded->size() > text.size()) std::abort();

    static const api::Cursors cursors("secret");
    try {
        cursors.open({"list", ""}, text);
        std::abort();  // nobody guesses a signature
    } catch (const Problem&) {
    }
    return 0;
}
