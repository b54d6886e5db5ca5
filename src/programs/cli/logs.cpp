// The log of a rental, at once or as it comes.
#include <fmt/format.h>

#include <thread>

#include "base/json_text.hpp"
#include "cli/notice.hpp"
#include "cli/special.hpp"

namespace berth::cli {
namespace {

constexpr std::chrono::seconds log_look_every{2};

}  // namespace

// The server has the last lines: what of them was there before is where the one ends that came
// before and the other begins.
std::string_view added_to_log(std::string_view before, std::string_view now) {
    for (std::size_t from = 0; from < before.size();) {
        if (now.starts_with(before.substr(from))) return now.substr(before.size() - from);
        const std::size_t end = before.find('\n', from);
        from = end == before.npos ? before.size() : end + 1;
    }
    return now;
}

int show_logs(Context& context) {
    if (!context.arguments().is_on("follow")) return run_row(context);
    const std::string rental = context.rental(0);
    const std::string job = "/api/v1/jobs/" + percent_encode(rental);
    if (context.is_rehearsal()) {
        context.rehearse({.path = job + "/logs"});
        return 0;
    }
    Notices notices(context, rental);
    std::string before;
    for (;;) {
        // Asked first: what is said at the end is there once it has ended.
        const auto now = read_answer<rentals::Job>(context.api().get(job).body, "rental");
        notices.say(now);
        const std::string tail = Reading(context.api().get(job + "/logs").body).text("log_tail");
        std::string_view added = added_to_log(before, tail);
        if (!before.empty() && !before.ends_with('\n') && added.starts_with('\n'))
            added.remove_prefix(1);  // the end of a line that was shown
        while (!added.empty()) {
            const std::size_t end = std::min(added.find('\n'), added.size());
            const std::string_view line = added.substr(0, end);
            context.console().write_received(
                context.output() == Output::json
                    ? fmt::format("{{\"line\":{}}}\n", json_quoted(line))
                    : printable(line, "\t") + "\n");
            added.remove_prefix(std::min(end + 1, added.size()));
        }
        context.console().flush();
        before = tail;
        if (is_over(now.state)) return 0;
        std::this_thread::sleep_for(log_look_every);
    }
}

}  // namespace berth::cli
