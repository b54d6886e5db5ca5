#include "delivery/attempts.hpp"

#include <algorithm>
#include <array>

#include "base/money.hpp"
#include "base/problem.hpp"
#include "delivery/signing.hpp"
#include "events/events.hpp"

namespace berth::delivery {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration pause_first = seconds(5);
constexpr Duration pause_max = hours(1);
constexpr std::array<Duration, refused_attempts_max - 1> refusal_pauses{
    Duration(seconds(30)), Duration(seconds(90)), Duration(minutes(4)), Duration(minutes(9))};

// What of it is text, to be kept and shown.
std::string text_in(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
        const std::size_t length = utf8_sequence_length(bytes);
        if (length == 0 || bytes.front() == '\0') break;
        text += bytes.substr(0, length);
        bytes.remove_prefix(length);
    }
    return text;
}

// In seconds, as most say it; a date is left aside, and the usual pause is kept.
std::optional<Duration> retry_after_of(const http::Response& response) {
    const auto header = response.headers.find("Retry-After");
    const auto wanted = header ? parse_decimal(*header) : std::nullopt;
    if (!wanted) return std::nullopt;
    return std::min<Duration>(seconds(std::min<std::int64_t>(*wanted, 3600)), pause_max);
}

http::Outbound request_of(const Way& way, const Target& target, const Parcel& parcel) {
    http::Outbound request;
    request.method = "POST";
    request.url = target.url;
    request.headers.add("Content-Type", "application/json");
    request.headers.add("User-Agent", "Berth-Webhooks/1");
    request.headers.add("webhook-id", parcel.id);
    request.headers.add("webhook-timestamp", timestamp_of(parcel.attempted_at));
    request.headers.add("webhook-signature", parcel.signature);
    request.body = parcel.body;
    request.response_bytes_max = answer_bytes_max;
    request.cuts_response = true;
    request.ca_file = way.ca_file;
    request.may_begin = way.may_begin;
    return request;
}

// The addresses one after the other, until something was sent to one of them.
Answered ask(const Way& way, const Target& target, const Parcel& parcel) {
    const auto began = std::chrono::steady_clock::now();
    const Judged judged = judge(target, way.rules);
    if (!judged.reason.empty())
        return {.fault = "the target is not dialled: " + events::in_brief(judged.reason),
                .is_ours = judged.is_ours};
    http::Outbound request = request_of(way, target, parcel);
    Answered answered;
    for (const std::string& address : judged.addresses) {
        const auto took =
            std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - began);
        if (took >= attempt_max) break;
        request.total_max = attempt_max - took;
        request.dialled_address = address;
        try {
            const http::Response response = way.client.send(request);
            return {.status = response.status,
                    .answer = text_in(response.body),
                    .retry_after = retry_after_of(response)};
        } catch (const http::TransportError& error) {
            answered.fault = events::in_brief(error.what());
            if (error.was_sent()) break;
        }
    }
    if (answered.fault.empty()) answered.fault = "there was no time left to dial the target";
    return answered;
}

}  // namespace

Answered post(const Way& way, const std::string& url, const Parcel& parcel) {
    const auto began = std::chrono::steady_clock::now();
    Answered answered;
    try {
        answered = ask(way, target_of(url, way.rules, "url"), parcel);
    } catch (const Problem& refused) {
        // What was taken once may be forbidden by now.
        answered = {.fault = refused.message};
    }
    answered.took = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - began);
    return answered;
}

Verdict verdict_of(const Answered& answered) {
    if (answered.is_ours) return Verdict::untried;
    if (!answered.status) return Verdict::waits;
    const std::int64_t status = *answered.status;
    if (status >= 200 && status <= 299) return Verdict::delivered;
    if (status == 410) return Verdict::gone;
    const bool says_later = status >= 500 || status == 408 || status == 425 || status == 429;
    return says_later ? Verdict::waits : Verdict::refused;
}

Duration pause_after(std::int64_t attempts, const std::optional<Duration>& retry_after,
                     Random& random) {
    if (retry_after) return std::max<Duration>(*retry_after, seconds(1));
    const std::int64_t doublings = std::clamp<std::int64_t>(attempts - 1, 0, 20);
    const Duration whole = std::min(pause_max, pause_first * (std::int64_t{1} << doublings));
    const auto half = static_cast<std::uint64_t>(whole.count() / 2);
    return Duration(static_cast<std::int64_t>(half + random.below(half + 1)));
}

Duration pause_after_refusal(std::int64_t refusals) {
    const auto index = static_cast<std::size_t>(std::max<std::int64_t>(refusals - 1, 0));
    return refusal_pauses[std::min(index, refusal_pauses.size() - 1)];
}

}  // namespace berth::delivery
