// What renters do: look for machines, rent them, use them.
#include "api/page.hpp"
#include "billing/types.hpp"
#include "catalog/page_types.hpp"
#include "cli/special.hpp"
#include "offers/template_types.hpp"
#include "rentals/types.hpp"

namespace berth::cli {
namespace {

constexpr std::string_view offer_columns =
    "OFFER=offer_id GPU=model N=gpu_count VRAM=vram_bytes PRICE=total_rate_micro_per_hour "
    "?FITS=fit.fits ?SPARE=fit.headroom_bytes ?WHY_NOT=fit.reason CLASS=availability_class "
    "WHERE=continent VERIFIED=verification_level READY=readiness "
    "SEEN=last_seen_age_s";
constexpr std::string_view near_columns =
    "OFFER=offer.offer_id GPU=offer.model N=offer.gpu_count VRAM=offer.vram_bytes "
    "PRICE=offer.total_rate_micro_per_hour MISSES=filter";
constexpr std::string_view rental_columns =
    "RENTAL=job_id STATE=state ?TAKEN_BACK=preemption.deadline_at PRICE=rate_micro_per_hour "
    "CHARGED=cumulative_charge_micro BUDGET=budget_micro WHAT=template.template_id "
    "SINCE=created_at END=end_reason";
constexpr std::string_view template_columns =
    "TEMPLATE=template_id KIND=kind NAME=name ENGINE=engine VRAM=vram_fit.min_vram_bytes "
    "GPUS=min_gpu_count GATED=gated ID=id";

constexpr auto create_flags = std::to_array<OwnFlag>({
    {"offer", "ID", "what to rent, as `berth offers list` shows it", "", true},
    {"template", "NAME|ID", "what to run, as `berth templates list` shows it"},
    {"image", "IMAGE", "an image of your own, with its digest, in the place of a template"},
    {"duration", "DURATION", "it ends after this at the latest", "1h"},
    {"budget", "AMOUNT", "it never costs more than this", "", true},
    {"asset", "USDC|USDT", "what it is paid in", "USDC"},
    {"ssh-key", "FILE", "your public key, for what has a shell; the private one is refused",
     "the SSH agent's, else ~/.ssh/id_*.pub"},
    {"use-hub-token", "", "hand your saved token of the model hub to a gated template"},
    {"dry-run", "", "show what it would cost, and reserve nothing"},
});
constexpr auto wait_flags = std::to_array<OwnFlag>({
    {"for", "STATE", "running, stopped, closed, or another state", "running"},
    {"timeout", "DURATION", "how long to wait", "10m"},
});
constexpr auto chat_flags = std::to_array<OwnFlag>({
    {"model", "NAME", "a model that the rental serves", "the first one"},
    {"system", "TEXT", "what the model is told before the conversation"},
});

constexpr auto logs_flags = std::to_array<OwnFlag>({
    {"follow", "", "go on with what it says, until the rental is over"},
});
constexpr auto open_flags = std::to_array<OwnFlag>({
    {"port", "PORT", "where to listen on this machine", "a free one"},
    {"no-browser", "", "only print the address"},
});

constexpr Command market_table[] = {
    {.words = "offers list",
     .method = "GET",
     .path = "/api/v1/catalog",
     .query = &wire::type_of<catalog::CatalogQuery>,
     .columns = offer_columns,
     .help = "Machines for rent.",
     .access = Access::anyone,
     .empty = "offers explain"},
    {.words = "offers browse",
     .method = "GET",
     .path = "/api/v1/catalog",
     .query = &wire::type_of<catalog::CatalogQuery>,
     .columns = offer_columns,
     .help = "The same, by its older name.",
     .access = Access::anyone,
     .empty = "offers explain"},
    {.words = "offers explain",
     .method = "GET",
     .path = "/api/v1/offers/explain",
     .query = &wire::type_of<catalog::CatalogQuery>,
     .columns = near_columns,
     .help = "Which filter removes how many offers, and what comes near.",
     .access = Access::anyone,
     .inner = "nearest"},
    {.words = "offers show",
     .method = "GET",
     .path = "/api/v1/offers/{id}",
     .query = &wire::type_of<catalog::OneOfferQuery>,
     .help = "One machine for rent.",
     .access = Access::anyone},
    {.words = "templates list",
     .method = "GET",
     .path = "/api/v1/templates",
     .query = &wire::type_of<offers::TemplateQuery>,
     .columns = template_columns,
     .help = "What can be started on a machine.",
     .access = Access::anyone},
    {.words = "templates show",
     .method = "GET",
     .path = "/api/v1/templates/{id}",
     .help = "One template.",
     .access = Access::anyone},
    {.words = "quotes create",
     .method = "POST",
     .path = "/api/v1/quotes",
     .query = &wire::type_of<rentals::QuoteQuery>,
     .body = &wire::type_of<rentals::NewQuote>,
     .help = "A price that holds for a minute."},
    {.words = "rentals create",
     .help = "Quotes, asks, and reserves.",
     .run = create_rental,
     .flags = create_flags,
     .uses = "POST /api/v1/quotes, POST /api/v1/jobs, GET /api/v1/templates/{id}"},
    {.words = "rentals list",
     .method = "GET",
     .path = "/api/v1/jobs",
     .query = &wire::type_of<rentals::JobsQuery>,
     .columns = rental_columns,
     .help = "Your rentals."},
    {.words = "rentals show",
     .method = "GET",
     .path = "/api/v1/jobs/{id}",
     .help = "A rental as it stands."},
    {.words = "rentals wait",
     .help = "Waits until a rental is in a state.",
     .run = wait_for_rental,
     .flags = wait_flags,
     .operands = "[RENTAL]",
     .uses = "GET /api/v1/jobs/{id}, GET /api/v1/events"},
    {.words = "rentals chat",
     .help = "Talks to the model of a rental.",
     .run = chat,
     .flags = chat_flags,
     .operands = "[RENTAL] [TEXT]",
     .uses = "GET /api/v1/jobs/{id}/openai/v1/models, "
             "POST /api/v1/jobs/{id}/openai/v1/chat/completions"},
    {.words = "rentals ssh",
     .help = "A shell in a rental, its host key checked.",
     .run = open_shell,
     .operands = "[RENTAL]",
     .uses = "GET /api/v1/jobs/{id}/access"},
    {.words = "rentals cp",
     .help = "Copies files into a rental or out of it: berth rentals cp :results.csv .",
     .run = copy_files,
     .operands = "[RENTAL] [PATH…]",
     .uses = "GET /api/v1/jobs/{id}/access"},
    {.words = "rentals forward",
     .help = "Ports of a rental on this machine's loopback: berth rentals forward 8888.",
     .run = forward_ports,
     .operands = "[RENTAL] [PORT…]",
     .uses = "GET /api/v1/jobs/{id}/access"},
    {.words = "rentals open",
     .help = "Shows a page of a rental (Jupyter, ComfyUI) in your browser.",
     .run = open_endpoint,
     .flags = open_flags,
     .operands = "[RENTAL] [ENDPOINT]",
     .uses = "GET /api/v1/jobs/{id}/access"},
    {.words = "rentals access",
     .method = "GET",
     .path = "/api/v1/jobs/{id}/access",
     .help = "How to reach what runs."},
    {.words = "rentals models",
     .method = "GET",
     .path = "/api/v1/jobs/{id}/openai/v1/models",
     .help = "What a rental serves."},
    {.words = "rentals complete",
     .method = "POST",
     .path = "/api/v1/jobs/{id}/openai/v1/completions",
     .body = &wire::type_of<wire::Object>,
     .help = "Sends the completion request of --from to the model."},
    {.words = "rentals embed",
     .method = "POST",
     .path = "/api/v1/jobs/{id}/openai/v1/embeddings",
     .body = &wire::type_of<wire::Object>,
     .help = "Sends the embedding request of --from to the model."},
    {.words = "rentals logs",
     .method = "GET",
     .path = "/api/v1/jobs/{id}/logs",
     .help = "The last lines of what runs; what comes with --follow, or -f.",
     .run = show_logs,
     .flags = logs_flags,
     .operands = "[RENTAL]",
     .uses = "GET /api/v1/jobs/{id}"},
    {.words = "rentals top",
     .help = "What a rental's GPUs do, what went through it and what it costs, as it goes.",
     .run = show_top,
     .operands = "[RENTAL]",
     .uses = "GET /api/v1/jobs/{id}, GET /api/v1/jobs/{id}/usage"},
    {.words = "rentals usage",
     .method = "GET",
     .path = "/api/v1/jobs/{id}/usage",
     .help = "What went through the relay."},
    {.words = "rentals evidence",
     .method = "GET",
     .path = "/api/v1/jobs/{id}/evidence",
     .query = &wire::type_of<api::PageQuery>,
     .columns = "NO=sequence AT=at KIND=kind SOURCE=source HASH=hash",
     .help = "What was recorded about a rental."},
    {.words = "rentals receipt",
     .method = "GET",
     .path = "/api/v1/billing/receipts/{job}",
     .query = &wire::type_of<billing::ReceiptQuery>,
     .help = "What a rental cost, and why."},
    {.words = "rentals budget",
     .method = "POST",
     .path = "/api/v1/jobs/{id}/budget",
     .body = &wire::type_of<rentals::RaiseBudget>,
     .help = "Raises the most a rental may cost.",
     .lookup = {"expected_budget_version", "/api/v1/jobs/{id}", "budget_version"}},
    {.words = "rentals stop",
     .method = "POST",
     .path = "/api/v1/jobs/{id}/stop",
     .body = &wire::type_of<rentals::StopJob>,
     .help = "Ends a rental.",
     .preset = {"reason", "stopped by its renter"}},
    {.words = "gates list",
     .method = "GET",
     .path = "/api/v1/gates",
     .columns = "GATE=gate_id HOST=host WHERE=continent LIVE=live DRAINING=draining "
                "LINKS=link_port CALLS=call_port",
     .help = "Gates, by which machines without a port of their own are reached.",
     .access = Access::anyone},
    {.words = "events",
     .help = "What happened to rentals, machines and money; what happens now with --follow.",
     .run = show_events,
     .flags = event_flags,
     .uses = "GET /api/v1/events"},
};

}  // namespace

std::span<const Command> market_commands() { return market_table; }

}  // namespace berth::cli
