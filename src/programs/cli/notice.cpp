#include "cli/notice.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

#include "cli/show.hpp"

namespace berth::cli {
namespace {

constexpr std::chrono::seconds event_wait_max{30};

rentals::Job read_job(Context& context, const std::string& rental) {
    return read_answer<rentals::Job>(
        context.api().get("/api/v1/jobs/" + percent_encode(rental)).body, "rental");
}

// Until the rental is over or it was said. A server that is away is asked again.
void watch(Context& context, const std::string& rental) {
    std::string seen = newest_event(context);
    for (;;) {
        const rentals::Job job = read_job(context, rental);
        if (is_over(job.state)) return;
        if (const std::string text = notice_text(job, context.now()); !text.empty()) {
            context.console().draw(fmt::format("\r\n\033[7m {} \033[0m\r\n", printable(text)));
            return;
        }
        seen = await_event(context, rental, seen, event_wait_max);
    }
}

}  // namespace

std::string notice_text(const rentals::Job& job, Time now) {
    if (!job.preemption.value || is_over(job.state)) return "";
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(
        std::max(job.preemption.value->deadline_at - now, Duration::zero()));
    return fmt::format(
        "the host takes its machine back: {} left to copy what you need; nothing is "
        "billed any more",
        duration_text(left.count()));
}

void Notices::say(const rentals::Job& job) {
    if (is_said_) return;
    const std::string text = notice_text(job, context_.now());
    if (text.empty()) return;
    is_said_ = true;
    context_.console().say(text);
}

void Notices::look() {
    const bool is_read = context_.output() == Output::table || context_.console().err_is_terminal();
    if (is_said_ || !is_read) return;
    try {
        say(read_job(context_, rental_));
    } catch (const Failure&) {  // what was asked for matters more
    }
}

std::string newest_event(Context& context) {
    return Reading(context.api().get("/api/v1/events?limit=1").body).text("newest");
}

std::string await_event(Context& context, const std::string& rental, const std::string& after,
                        std::chrono::seconds longest) {
    try {
        const std::string path = fmt::format("/api/v1/events?subject={}&after={}&wait_s={}", rental,
                                             after, std::min(longest, event_wait_max).count());
        return Reading(context.api().get(path).body).text("through");
    } catch (const Failure& failure) {
        if (failure.body.find("\"EVENTS_EXPIRED\"") == std::string::npos) throw;
        return newest_event(context);
    }
}

void watch_beside(Context& context, const std::string& rental) {
    if (!context.console().err_is_terminal()) return;
    const pid_t shell = ::getpid();
    if (::fork() != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != shell) ::_exit(0);
    for (const int typed : {SIGINT, SIGQUIT, SIGTSTP}) ::signal(typed, SIG_IGN);
    context.console().set_quiet(true);
    try {
        watch(context, rental);
    } catch (const std::exception&) {  // the shell is what was asked for
    }
    ::_exit(0);
}

}  // namespace berth::cli
