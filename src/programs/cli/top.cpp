// A rental at a glance: what its cards do, what went through it, what it has cost.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/money.hpp"
#include "cli/notice.hpp"
#include "cli/show.hpp"
#include "cli/special.hpp"

namespace berth::cli {
namespace {

constexpr std::chrono::seconds top_look_every{2};

std::string card_line(std::size_t number, const agent_protocol::GpuTelemetry& card) {
    std::string line = fmt::format("gpu {:<4}", number);
    const auto add = [&](const std::optional<double>& value, std::string_view unit) {
        line += value ? fmt::format("  {:>4.0f} {}", *value, unit) : fmt::format("     - {}", unit);
    };
    add(card.util_pct, "%");
    if (card.memory_used_bytes && card.memory_total_bytes)
        line += fmt::format("  {} of {}", gib_text(std::to_string(card.memory_used_bytes->value)),
                            gib_text(std::to_string(card.memory_total_bytes->value)));
    add(card.temperature_c, "°C");
    add(card.power_w, "W");
    return line + "\n";
}

std::string money_line(const rentals::Job& job, Time now) {
    const std::string asset(enum_name(job.asset));
    std::string line = fmt::format("cost      {} of {} {} at {} {}/h\n",
                                   money_text(to_string(job.cumulative_charge_micro)),
                                   money_text(to_string(job.budget_micro)), asset,
                                   money_text(to_string(job.rate_micro_per_hour)), asset);
    if (job.funded_through.value && job.state == rentals::JobState::RUNNING) {
        const auto left = std::chrono::duration_cast<std::chrono::seconds>(
            std::max(*job.funded_through.value - now, Duration::zero()));
        line += fmt::format("paid for  {} more\n", duration_text(left.count()));
    }
    return line;
}

std::string traffic_line(const Reading& usage) {
    const std::string rate = usage.text("tokens_per_s");
    return fmt::format("relay     {} requests, {} errors{}\n", usage.text("requests"),
                       usage.text("errors"), rate.empty() ? "" : ", " + rate + " tokens/s");
}

std::string glance(Context& context, const rentals::Job& job, const Reading& usage) {
    std::string text =
        fmt::format("rental    {}\nstate     {}\n", to_string(job.job_id), enum_name(job.state));
    if (const std::string notice = notice_text(job, context.now()); !notice.empty())
        text += "notice    " + notice + "\n";
    if (!job.cards)
        text += "gpu       the machine has told nothing of it yet\n";
    else
        for (std::size_t i = 0; i < job.cards->value.size(); ++i)
            text += card_line(i, job.cards->value[i]);
    return text + money_line(job, context.now()) +
           (job.has_model_endpoint ? traffic_line(usage) : "");
}

}  // namespace

// On a terminal until Ctrl-C or the rental's end, in the place of what was shown before; elsewhere
// once.
int show_top(Context& context) {
    const std::string path = "/api/v1/jobs/" + percent_encode(context.rental(0));
    if (context.rehearse_all()) return 0;
    const bool is_live = context.console().out_is_terminal() && context.output() == Output::table;
    for (std::size_t lines = 0;;) {
        const std::string body = context.api().get(path).body;
        const std::string traffic = context.api().get(path + "/usage").body;
        if (context.output() == Output::json) {
            context.console().write_received(
                fmt::format("{{\"job\":{},\"usage\":{}}}\n", body, traffic));
            context.console().flush();
            return 0;
        }
        const auto job = read_answer<rentals::Job>(body, "rental");
        const std::string text = printable(glance(context, job, Reading(traffic)));
        if (lines > 0) context.console().write(fmt::format("\033[{}A\033[J", lines));
        context.console().write(text);
        context.console().flush();
        if (!is_live || is_over(job.state)) return 0;
        lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
        std::this_thread::sleep_for(top_look_every);
    }
}

}  // namespace berth::cli
