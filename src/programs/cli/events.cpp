// Events: what happened, and what happens while one watches. A watcher waits at the page of events
// with the number up to which it has everything, so that neither its own restart nor the server's
// loses one or shows one twice.
#include <fmt/format.h>

#include <algorithm>

#include "base/money.hpp"
#include "cli/special.hpp"

namespace berth::cli {
namespace {

constexpr std::string_view event_columns =
    "NUMBER=sequence WHEN=timestamp TYPE=type ABOUT=subject.kind ID=subject.id";
constexpr int wait_seconds_max = 30;

class EventPages {
public:
    EventPages(Context& context, std::string path, Access access)
        : context_(context), path_(std::move(path)), access_(access) {
        const Arguments& given = context.arguments();
        for (const char* name : {"types", "subject"})
            if (const auto value = given.find(name))
                filter_ += fmt::format("&{}={}", name, percent_encode(*value));
    }

    Request first(const std::optional<std::string>& after) const {
        std::string query = "limit=" + percent_encode(limit()) + filter_;
        if (after) query += "&after=" + percent_encode(*after);
        return ask(query);
    }
    Request next(const std::string& after) const {
        return ask(fmt::format("limit=100&wait_s={}&after={}{}", wait_seconds_max,
                               percent_encode(after), filter_));
    }

    // Where the latest begin. How far back those of a filter lie is not known: there it begins with
    // the oldest.
    std::optional<std::string> before_latest() const {
        const auto count = parse_decimal(limit());
        // What is no number is for the server to refuse.
        if (!filter_.empty() || !count) return std::nullopt;
        const Reading page(context_.api().send(ask("limit=1")).body);
        const auto from = parse_decimal(page.text("oldest"));
        const auto to = parse_decimal(page.text("newest"));
        if (!from || !to) return std::nullopt;
        return std::to_string(std::max(*from - 1, *to - *count));
    }

    // Where to begin who follows and names no number: behind all that there is.
    std::string newest() const {
        return Reading(context_.api().send(ask("limit=1")).body).text("newest");
    }

private:
    std::string limit() const { return context_.arguments().get("limit", "20"); }
    Request ask(const std::string& query) const {
        return {.path = path_ + "?" + query, .access = access_};
    }

    Context& context_;
    std::string path_;
    Access access_;
    std::string filter_;
};

void show_event(Context& context, const Reading& page, Reading::Place event) {
    if (context.output() == Output::json)
        context.console().write_received(page.text(event) + "\n");
    else
        context.console().write(
            printable(fmt::format("{:>8}  {}  {:<28} {} {}", page.text("sequence", event),
                                  page.text("timestamp", event), page.text("type", event),
                                  page.text("subject.kind", event),
                                  page.text("subject.id", event))) +
            "\n");
}

// For as long as nobody ends it. A server that is away is waited for; its place stays.
[[noreturn]] void follow(Context& context, const EventPages& pages, std::string after) {
    while (true) {
        try {
            const Reading page(context.api().send(pages.next(after)).body);
            for (const auto event : page.rows()) show_event(context, page, event);
            context.console().flush();
            after = page.text("through");
        } catch (const Failure& failure) {
            if (failure.exit != Exit::network && failure.exit != Exit::retryable) throw;
            context.console().note(failure.message);
        }
    }
}

int show(Context& context, const EventPages& pages) {
    const auto after = context.arguments().find("after");
    if (!context.arguments().is_on("follow")) {
        if (context.is_rehearsal()) {
            context.rehearse(pages.first(after));
            return 0;
        }
        const Request ask = pages.first(after ? after : pages.before_latest());
        context.print(context.api().send(ask).body, event_columns);
        return 0;
    }
    if (context.is_rehearsal()) {
        context.rehearse(pages.next(after ? *after : "NUMBER"));
        return 0;
    }
    follow(context, pages, after ? *after : pages.newest());
}

}  // namespace

int show_events(Context& context) {
    return show(context, EventPages(context, "/api/v1/events", Access::key));
}

int show_operator_events(Context& context) {
    return show(context, EventPages(context, "/api/v1/admin/events", Access::session));
}

}  // namespace berth::cli
