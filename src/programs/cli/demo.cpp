// For the marketplace in a box. berth faucet: play money for an account. berth demo: a whole
// rental, a line for every step; it plays both the renter (the profile in use) and the host (the
// profile `host`), and asks the simulated server's socket to let time pass.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/json_text.hpp"
#include "base/line_socket.hpp"
#include "base/money.hpp"
#include "cli/flags.hpp"
#include "cli/preempt.hpp"
#include "cli/show.hpp"
#include "cli/special.hpp"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds look_again_after{100};
constexpr std::chrono::seconds wait_max{30};
constexpr std::chrono::seconds metered_for{3};  // so that there is something to pay
constexpr int clock_steps = 60;                 // of a minute each
constexpr std::int64_t budget_micro = 1'000'000;

std::string line_of(const fs::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

fs::path box_of(Context& context) {
    const fs::path box = fs::path(context.profiles().folder()).parent_path();
    if (!fs::exists(box / "simulated.sock"))
        throw Failure(Exit::usage,
                      "there is no marketplace in a box here: start ./run, and set "
                      "BERTH_HOME as it says");
    return box;
}

class Demo {
public:
    explicit Demo(Context& context)
        : context_(context),
          box_(box_of(context)),
          host_profile_("host"),
          renter_(context.api().target()),
          host_(choose_target(host_profile_, renter_.origin)) {}

    void play(bool with_clock) {
        search();
        quote();
        rent();
        chat();
        if (with_clock) pass_an_hour();
        preempt();
        stop();
        show_receipt();
        pay_out();
    }

private:
    void tell(std::string_view step, const std::string& line) {
        context_.console().write(fmt::format("{:<9}{}\n", step, line));
        context_.console().flush();
    }
    std::string get(const std::string& path) { return send("GET", path, ""); }
    std::string send(const std::string& method, const std::string& path, const std::string& body) {
        return context_.api().send({.method = method, .path = path, .body = body}).body;
    }
    std::string as_host(const std::string& method, const std::string& path,
                        const std::string& body = {}) {
        context_.api().set_target(host_);
        const std::string answer = send(method, path, body);
        context_.api().set_target(renter_);
        return answer;
    }
    template <class Predicate>
    void await(const Predicate& predicate, std::string_view what) {
        const auto until = std::chrono::steady_clock::now() + wait_max;
        while (!predicate()) {
            if (std::chrono::steady_clock::now() > until)
                throw Failure(Exit::timed_out, fmt::format("waited in vain: {}", what));
            std::this_thread::sleep_for(look_again_after);
        }
    }
    std::string job_state() { return Reading(get("/api/v1/jobs/" + job_)).text("state"); }

    // The cheapest interruptible machine that can serve a model: it may be taken back.
    void search() {
        const Reading models(get("/api/v1/templates?kind=model&limit=100"));
        const Reading page(get("/api/v1/offers?limit=100&fits_for=all"));
        for (const Reading::Place row : page.rows()) {
            if (page.text("availability_class", row) != "interruptible") continue;
            const std::string fits = page.text("fits_template_ids", row);
            for (const Reading::Place model : models.rows()) {
                if (models.text("gated", model) == "true" ||
                    fits.find(models.text("id", model)) == fits.npos)
                    continue;
                offer_ = page.text("offer_id", row);
                template_ = models.text("id", model);
                tell("search",
                     fmt::format("{} machines are for rent; the cheapest interruptible one is an "
                                 "{} at {} an hour, and it can serve {}",
                                 page.rows().size(), page.text("model", row),
                                 money(page.text("total_rate_micro_per_hour", row)),
                                 models.text("name", model)));
                return;
            }
        }
        throw Failure(Exit::conflict, "no interruptible machine is free: try again in a moment");
    }

    void quote() {
        const Reading made(
            send("POST", "/api/v1/quotes",
                 fmt::format(R"({{"offer_id":"{}","template_id":"{}","duration_limit_s":7200,)"
                             R"("budget_micro":"{}"}})",
                             offer_, template_, budget_micro)));
        quote_ = made.text("quote_id");
        tell("quote", fmt::format("a price that holds for a minute; it can never cost more than {}",
                                  money(made.text("budget_micro"))));
    }

    void rent() {
        const auto began = std::chrono::steady_clock::now();
        job_ = Reading(send("POST", "/api/v1/jobs", fmt::format(R"({{"quote_id":"{}"}})", quote_)))
                   .text("job_id");
        context_.remember_rental(job_);
        await(
            [&] {
                const std::string state = job_state();
                if (state == "FAILED" || state == "CLOSED")
                    throw Failure(Exit::rental_failed,
                                  "the rental did not start: " + get("/api/v1/jobs/" + job_));
                return state == "RUNNING";
            },
            "the rental runs");
        const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began);
        tell("rent", fmt::format("the budget is held, and after {:.1f} s the model answers; only "
                                 "from now on the meter runs",
                                 took.count()));
    }

    void chat() {
        const std::string place = "/api/v1/jobs/" + job_ + "/openai/v1/";
        const Reading models(get(place + "models"));
        const auto list = models.find("data");
        const std::string model =
            list && !models.items(*list).empty() ? models.text("id", models.items(*list)[0]) : "";
        std::string quoted;
        append_json_string(quoted, model);
        const Reading said(send("POST", place + "chat/completions",
                                fmt::format(R"({{"model":{},"messages":[{{"role":"user",)"
                                            R"("content":"hello from the box"}}]}})",
                                            quoted)));
        const auto choices = said.find("choices");
        const std::string text =
            choices ? said.text("message.content", said.items(*choices).at(0)) : "";
        tell("chat", fmt::format("any OpenAI client works; it said: {}", printable(text)));
        std::this_thread::sleep_for(metered_for);
    }

    void pass_an_hour() {
        for (int i = 1; i <= clock_steps; ++i) {
            ask_line((box_ / "simulated.sock").string(), "advance 60");
            context_.console().progress(fmt::format("clock    {} minutes later", i));
        }
        const Reading shown(get("/api/v1/jobs/" + job_));
        tell("clock", fmt::format("an hour later for everybody: {} charged so far",
                                  money(shown.text("cumulative_charge_micro"))));
    }

    void preempt() {
        const std::string machine = Reading(get("/api/v1/jobs/" + job_)).text("machine_id");
        give_notice(find_agent_state(context_.profiles().folder(), machine),
                    "the owner wants to play");
        await([&] { return Reading(get("/api/v1/jobs/" + job_)).find("preemption").has_value(); },
              "the notice arrives");
        tell("preempt",
             "the host takes the machine back: the renter has notice, and from now on "
             "pays nothing");
    }

    void stop() {
        send("POST", "/api/v1/jobs/" + job_ + "/stop", R"({"reason":"the demo is over"})");
        await([&] { return job_state() == "CLOSED"; }, "the rental is closed");
        tell("stop",
             "the workload is gone, disk and GPU memory are wiped, and the rest of the "
             "budget is free again");
    }

    void show_receipt() {
        const Reading receipt(get("/api/v1/billing/receipts/" + job_));
        tell("receipt",
             fmt::format("{} ms cost {}: {} for the host, {} fee",
                         receipt.text("accepted_runtime_ms"), money(receipt.text("charge_micro")),
                         money(receipt.text("host_micro")), money(receipt.text("fee_micro"))));
    }

    void pay_out() {
        const Reading earned(as_host("GET", "/api/v1/hosts/earnings"));
        const std::string amount = earned.text("payable_micro");
        const Reading asked(as_host("POST", "/api/v1/hosts/payouts",
                                    fmt::format(R"({{"address":"{}","amount_micro":"{}"}})",
                                                line_of(box_ / "host.address"), amount)));
        std::string hash;
        await(
            [&] {
                const Reading page(as_host("GET", "/api/v1/hosts/payouts?limit=1"));
                const Reading::Place row = page.rows().at(0);
                hash = page.text("tx_hash", row);
                return page.text("state", row) == "SETTLED";
            },
            "the payout is final");
        tell("payout", fmt::format("{} left for the host's wallet and is final on the simulated "
                                   "chain ({}…)",
                                   money(amount), hash.substr(0, 12)));
    }

    static std::string money(const std::string& micro) {
        const std::int64_t value = parse_decimal(micro).value_or(0);
        return fmt::format("{}.{:06} USDC", value / 1'000'000, value % 1'000'000);
    }

    Context& context_;
    const fs::path box_;
    const Profiles host_profile_;
    const Target renter_;
    const Target host_;
    std::string offer_;
    std::string template_;
    std::string quote_;
    std::string job_;
};

}  // namespace

int run_demo(Context& context) {
    if (context.rehearse_all()) return 0;
    Demo(context).play(context.arguments().is_on("clock"));
    return 0;
}

int open_faucet(Context& context) {
    if (context.rehearse_all()) return 0;
    const fs::path box = box_of(context);
    const auto amount = parse_money(context.arguments().get("amount", "100"));
    if (!amount || *amount <= 0)
        throw Failure(Exit::usage, "--amount: must be an amount such as 100 or 0.5");
    const Reading who(context.api().get("/api/v1/auth/session").body);
    ask_line((box / "simulated.sock").string(),
             fmt::format("faucet {} {}", who.text("account_id"), *amount));
    context.print(context.api().get("/api/v1/billing").body, "");
    return 0;
}

}  // namespace berth::cli
