#include "rentals/quotes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/allowances.hpp"
#include "agent_protocol/image.hpp"
#include "agent_protocol/payloads.hpp"
#include "api/settings.hpp"
#include "base/check.hpp"
#include "credits/credits.hpp"
#include "crypto/token.hpp"
#include "gates/gates.hpp"
#include "ledger/ledger.hpp"
#include "ledger/settings.hpp"
#include "machines/listing.hpp"
#include "machines/states.hpp"
#include "offers/disk.hpp"
#include "offers/settings.hpp"
#include "rentals/deadline_worker.hpp"
#include "rentals/host_agent_side.hpp"
#include "rentals/settings.hpp"
#include "rentals/told.hpp"
#include "wire/wire.hpp"

namespace berth::rentals {
namespace {

constexpr Duration unbilled_window = std::chrono::hours(1);
constexpr std::string_view not_available = "the machine is not available at the moment";

void refuse_while_paused(api::Call& call) {
    if (*call.settings<api::Settings>().admission_paused)
        throw Problem(Code::admission_paused, "new rentals are not taken on at the moment");
}

// What has to be so for a machine to be quoted and reserved, beyond what its state says.
void refuse_unverified(const machines::Machine& machine) {
    if (machine.verification_level == machines::VerificationLevel::unverified)
        throw Problem(Code::conflict, "the machine has not passed its test");
}

// The rule by which the catalog shows an offer is the one by which it is quoted and reserved.
void check_offered(api::Call& call, const machines::Machine& machine, bool own_image,
                   std::int64_t included_disk_gib) {
    auto facts =
        machines::find_listing_facts(call.tx(), call.now, machine, machines::listing_rules(call));
    facts.heard_since = heard_since(call.tx(), call.now, outage_after);
    const auto measured = machines::find_measured(call.tx(), machine.machine_id);
    facts.disk_too_small =
        measured && !offers::has_disk_for(included_disk_gib, measured->disk_bytes);
    if (machines::sale_of(machine, facts) != machines::Sale::ready) {
        if (machine.state != machines::MachineState::AVAILABLE ||
            machine.offer_state != machines::OfferState::listed)
            throw Problem(Code::conflict, std::string(not_available));
        refuse_unverified(machine);
        const auto blockers = machines::listing_blockers(machine, facts);
        require(!blockers.empty(), "what is not sold has a reason");
        throw Problem(Code::conflict,
                      fmt::format("{}: {}", not_available, enum_name(blockers.front())));
    }
    if (machine.reach == agent_protocol::Reach::gate && !gates::is_any_live(call.tx(), call.now))
        throw Problem(
            Code::conflict,
            fmt::format("{}: no gate is there by which it could be reached", not_available));
    if (own_image && (!machine.accepts_custom_images ||
                      !*call.settings<offers::Settings>().custom_images_enabled))
        throw Problem(Code::conflict, "the machine takes no images of renters' own");
}

// The rules of a host's owner are on the host: we know of them what they refused.
void check_policy(api::Call& call, const QuoteRow& quote) {
    if (is_refused_by_policy(call.tx(), quote, call.now))
        throw Problem(Code::conflict, "rules of the host's owner refused this template lately");
}

void check_availability(Time from, Time until, Time now) {
    if (now < from) throw Problem(Code::conflict, "the offer has not begun");
    if (!machines::is_in_time(from, until, now))
        throw Problem(Code::conflict, "the offer ends in less than a minute");
}

void check_fit(const machines::Machine& machine, const std::optional<machines::Measured>& measured,
               const offers::TemplateRow& form) {
    const offers::FitMachine has{
        .inference_only = machine.tier == machines::Tier::inference,
        .backends = offers::backend_bits(machine.backends),
        .gpu_count = machine.gpu_count.value_or(0),
        .vram_bytes = measured ? measured->vram_bytes : std::nullopt,
        .cuda_max = machine.cuda_max ? offers::parse_version(*machine.cuda_max) : std::nullopt};
    const offers::Fit fit = offers::fit(has, offers::needs_of(form));
    if (!fit.fits())
        throw Problem(Code::invalid_input,
                      fmt::format("offer does not fit template: {}", enum_name(*fit.reason)));
}

std::optional<offers::TemplateRow> find_published(db::Transaction& tx, TemplateId id) {
    auto form = offers::find_template(tx, id);
    if (!form || !form->published_at || !form->image_digest) return std::nullopt;
    return form;
}

Terms terms_of(const QuoteRow& quote) {
    return {quote.rate, quote.budget, quote.duration_limit_s, quote.available_until};
}

// What the policy of a key judges.
accounts::Spending spending_of(const QuoteRow& quote) {
    return {.rate = quote.rate,
            .hold = quote.budget,
            .template_id =
                quote.template_id ? std::optional(quote.template_id->uuid) : std::optional<Uuid>(),
            .rental_class = rental_class(quote.availability_class)};
}

Quote shown(const QuoteRow& row) {
    Quote quote;
    quote.quote_id = row.quote_id;
    quote.expires_at = row.expires_at;
    quote.offer_id = row.offer_id;
    quote.offer_version = {row.offer_version};
    quote.machine_rate_micro_per_hour = row.rate;
    quote.platform_fee_bps = {row.fee_bps};
    quote.budget_micro = row.budget;
    quote.duration_limit_s = {row.duration_limit_s};
    const auto estimate = estimate_of(terms_of(row));
    if (!estimate)
        throw Problem(Code::invalid_input,
                      "body.duration_limit_s: costs more at this rate than an amount can be");
    quote.estimated_total_micro = *estimate;
    quote.template_id = row.template_id;
    quote.image_digest = {row.image_digest};
    quote.asset = row.asset;
    quote.availability_class = row.availability_class;
    if (row.preemption_notice_s) quote.preemption_notice_s = Count{*row.preemption_notice_s};
    return quote;
}

// The machine of a quote, held for whoever reserves it.
machines::Machine hold_quoted_machine(api::Call& call, const QuoteRow& quote) {
    auto machine = machines::hold(call.tx(), quote.machine_id);
    if (!machine) throw Problem(Code::conflict, std::string(not_available));
    check_offered(call, *machine, !quote.template_id, quote.included_disk_gib);
    check_policy(call, quote);
    // The class that was quoted counts, not the one that is offered since.
    if (!machines::fits_mode(quote.availability_class, machine->mode))
        throw Problem(Code::conflict, std::string(not_available));
    check_availability(quote.created_at, quote.available_until, call.now);
    if (machine->owner == call.caller.account)
        throw Problem(Code::conflict, "this is a machine of your own");
    return std::move(*machine);
}

// The template of a quote as it was quoted; none where the renter brings an image.
std::optional<offers::TemplateRow> find_quoted_template(db::Transaction& tx,
                                                        const QuoteRow& quote) {
    if (!quote.template_id) return std::nullopt;
    auto form = find_published(tx, *quote.template_id);
    if (!form) throw Problem(Code::conflict, "the template is not published any more");
    // The quote has only its image: the rest would be of another making.
    if (form->changed_at > quote.created_at || form->image_digest != quote.image_digest)
        throw Problem(Code::conflict, "the template was changed since the quote; ask for another");
    return form;
}

// What operators allow an account to start.
void check_limits(api::Call& call, const QuoteRow& quote) {
    const auto& limits = call.settings<Settings>();
    // Two at once would each not see the other.
    accounts::lock(call.tx(),
                   {.kind = "open_starts",
                    .subject = to_string(call.caller.account),
                    .units = 1,
                    .window = std::chrono::minutes(1)},
                   call.now);
    // What nobody asked to be bounded is not counted.
    const std::int64_t holding_max = *limits.starts_open_max;
    if (holding_max > 0 && count_holding(call.tx(), call.caller.account) >= holding_max)
        throw Problem(Code::conflict,
                      fmt::format("{} jobs of this account hold machines and have not been billed "
                                  "for five minutes; no more can be started meanwhile",
                                  holding_max));
    // Those that are on their way may end so, too.
    const std::int64_t unbilled_max = *limits.unbilled_starts_per_hour;
    const Time since = call.now - unbilled_window;
    if (unbilled_max > 0 && count_unbilled(call.tx(), call.caller.account, since) >= unbilled_max)
        throw Problem(
            Code::conflict,
            fmt::format("too many jobs of this account ended within an hour without having "
                        "been billed: at most {} may",
                        unbilled_max));
    const std::int64_t funded_min_s = std::min(*limits.funded_time_min_s, quote.duration_limit_s);
    if (funded_ms(terms_of(quote)) < funded_min_s * 1000)
        throw Problem(Code::conflict,
                      fmt::format("the budget must pay for at least {} s", funded_min_s));
}

// A job as its quote says, RESERVED now on this machine.
JobRow job_of(api::Call& call, const QuoteRow& quote,
              const std::optional<offers::TemplateRow>& form, const machines::Machine& machine) {
    JobRow job;
    JobTerms& terms = job.terms;
    terms.renter_id = quote.renter_id;
    terms.host_id = quote.host_id;
    terms.machine_id = quote.machine_id;
    if (call.caller.credential == api::Credential::api_key)
        terms.key_id = call.caller.credential_id;
    terms.quote_id = quote.quote_id;
    terms.offer_id = quote.offer_id;
    terms.offer_version = quote.offer_version;
    if (form) {
        terms.template_id = form->template_id;
        terms.template_slug = form->slug;
        terms.template_name = form->name;
        terms.template_kind = form->kind;
        terms.readiness_path = form->readiness_path;
        terms.exposes = form->exposes;
    }
    terms.image_digest = quote.image_digest;
    terms.availability_class = quote.availability_class;
    terms.preemption_notice_s = quote.preemption_notice_s;
    terms.asset = quote.asset;
    terms.rate = quote.rate;
    terms.fee_bps = quote.fee_bps;
    terms.duration_limit_s = quote.duration_limit_s;
    terms.available_until = quote.available_until;
    terms.start_deadline_s = form ? form->start_deadline_s : own_image_deadline_s;
    terms.retrieval_min_s = *call.settings<Settings>().retrieval_min_s;
    terms.included_egress_gib = quote.included_egress_gib;
    terms.fence = machine.fence;
    terms.gpu_model = machine.gpu_model;
    terms.gpu_count = machine.gpu_count;
    if (const auto measured = machines::find_measured(call.tx(), machine.machine_id))
        terms.vram_bytes = measured->vram_bytes;
    terms.continent = machine.continent;
    if (machine.reach == agent_protocol::Reach::gate) terms.reach = machine.reach;
    terms.created_at = job.live.waiting_since = call.now;
    job.live.budget = quote.budget;
    job.live.lease_seq = 1;
    return job;
}

// A machine whose cards are simulated may run real containers, and has a way in then: it is given
// the key, and nobody insists that it opens one.
bool may_give_ssh(const machines::Machine& machine) {
    using machines::RuntimeKind;
    return machine.runtime_kind == RuntimeKind::container ||
           (machine.runtime_kind == RuntimeKind::simulated &&
            machine.tier == machines::Tier::container);
}

// One line as in authorized_keys: a type, the key in base64, perhaps a comment.
bool is_ssh_key(std::string_view line) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return false;
    const std::string_view type = line.substr(0, space);
    std::string_view key = line.substr(space + 1);
    key = key.substr(0, key.find(' '));
    const bool known = type.starts_with("ssh-") || type.starts_with("ecdsa-sha2-") ||
                       type.starts_with("sk-ssh-") || type.starts_with("sk-ecdsa-");
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    };
    const auto is_base64 = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '+' || c == '/' || c == '=';
    };
    return known && key.size() >= 16 && std::all_of(key.begin(), key.end(), is_base64) &&
           std::none_of(line.begin(), line.end(), is_control);
}

}  // namespace

Quotes::Draft Quotes::draw_up(api::Call& call, const NewQuote& request) const {
    if (request.template_id.has_value() == request.image.has_value())
        throw Problem(Code::invalid_input, "body: must have either template_id or image");
    if (request.image && !agent_protocol::names_registry(request.image->value))
        throw Problem(Code::invalid_input,
                      fmt::format("body.image: {}", agent_protocol::no_registry));
    const auto machine = machines::find_by_offer(call.tx(), request.offer_id);
    const auto version = machine ? offers::find_current_version(call.tx(), *machine) : std::nullopt;
    if (!version) throw Problem(Code::not_found, "no such offer");
    std::optional<offers::TemplateRow> form;
    if (request.template_id) {
        form = find_published(call.tx(), *request.template_id);
        if (!form) throw Problem(Code::not_found, "no such template");
        refuse_unverified(*machine);  // nobody knows what would fit
        check_fit(*machine, machines::find_measured(call.tx(), machine->machine_id), *form);
    } else if (machine->tier == machines::Tier::inference) {
        throw Problem(Code::invalid_input, "offer does not fit template: tier");
    }
    QuoteRow quote;
    quote.renter_id = call.caller.account;
    if (call.caller.credential == api::Credential::api_key)
        quote.key_id = call.caller.credential_id;
    quote.offer_id = version->offer_id;
    quote.offer_version = version->offer_version;
    quote.machine_id = machine->machine_id;
    quote.host_id = machine->owner;
    quote.asset = request.asset.value_or(Asset::usdc);
    quote.rate = version->rate_micro_per_hour;
    quote.fee_bps = *call.settings<ledger::Settings>().platform_fee_bps;
    quote.payout_delay_hours = *call.settings<ledger::Settings>().payout_delay_hours;
    quote.budget = request.budget_micro;
    quote.duration_limit_s = request.duration_limit_s.value;
    quote.available_until = version->available_until;
    quote.availability_class = version->availability_class;
    quote.preemption_notice_s = version->preemption_notice_s;
    quote.template_id = request.template_id;
    quote.image_digest = form ? *form->image_digest : request.image->value;
    quote.created_at = call.now;
    quote.expires_at = call.now + quote_lasts;
    quote.included_disk_gib = version->included_disk_gib;
    quote.included_egress_gib = version->included_egress_gib;
    return {std::move(quote), *machine, version->available_from};
}

Quote Quotes::create(api::Call& call, const NewQuote& request, bool dry_run) const {
    refuse_while_paused(call);
    Draft draft = draw_up(call, request);
    QuoteRow& quote = draft.quote;
    if (!dry_run) accounts::require_allowed(call, spending_of(quote));
    check_offered(call, draft.machine, request.image.has_value(), quote.included_disk_gib);
    check_policy(call, quote);
    check_availability(draft.available_from, quote.available_until, call.now);
    quote.quote_id = call.make_id<QuoteId>();
    Quote answer = shown(quote);
    if (!dry_run) {
        add_quote(call.tx(), quote);
        return answer;
    }
    answer.quote_id = std::nullopt;
    answer.refused_by = accounts::refusing_rules(call, spending_of(quote));
    call.answer_with(200);
    return answer;
}

JobAccepted Quotes::reserve(api::Call& call, const NewJob& request) const {
    if (request.ssh_public_key && !is_ssh_key(request.ssh_public_key->value))
        throw Problem(Code::invalid_input,
                      "body.ssh_public_key: must be one line of an OpenSSH public key");
    refuse_while_paused(call);
    const auto quote = find_quote(call.tx(), request.quote_id);
    if (!quote || quote->renter_id != call.caller.account)
        throw Problem(Code::not_found, "no such quote");
    accounts::require_allowed(call, spending_of(*quote));
    const auto job_id = call.make_id<JobId>();
    if (call.now >= quote->expires_at || !spend_quote(call.tx(), quote->quote_id, job_id))
        throw Problem(Code::quote_expired, "the quote is over or was used; ask for another");

    machines::Machine machine = hold_quoted_machine(call, *quote);
    const auto form = find_quoted_template(call.tx(), *quote);
    const bool is_model = form && form->kind == TemplateKind::model;
    if (!is_model && !request.ssh_public_key)
        throw Problem(Code::invalid_input,
                      "body.ssh_public_key: must be there, except for model templates");
    if (request.ssh_public_key && machine.runtime_kind == machines::RuntimeKind::process)
        throw Problem(Code::invalid_input,
                      "body.ssh_public_key: must be left out: this machine runs engines as "
                      "processes and gives no SSH");
    check_limits(call, *quote);

    machines::apply(call.context(), machine, machines::MachineEvent::reserve, {.job_id = job_id});
    const std::string key = crypto::make_token(issued::endpoint_key, call.random);
    JobRow job = job_of(call, *quote, form, machine);
    job.terms.job_id = job.live.job_id = job_id;
    job.terms.has_ssh = request.ssh_public_key.has_value() &&
                        machine.runtime_kind == machines::RuntimeKind::container;
    job.terms.endpoint_key = seal_endpoint_key(parts_.sealer, job_id, key, call.random);
    const auto due = next_due(job, Time{});
    job.live.deadline_at = due ? std::optional(due->at) : std::nullopt;
    add_job(call.tx(), job);
    queue_start(call, machine, job, *quote, form, request, key);
    const Micro credit =
        credits::take(call.context(), {quote->renter_id, quote->asset, job_id, quote->budget});
    ledger::hold(call.context(), {.job = job_id,
                                  .renter = quote->renter_id,
                                  .host = quote->host_id,
                                  .machine = quote->machine_id,
                                  .asset = quote->asset,
                                  .budget = quote->budget,
                                  .rate_per_hour = quote->rate,
                                  .fee_bps = quote->fee_bps,
                                  .payout_delay_hours = quote->payout_delay_hours,
                                  .credit = credit});
    accounts::spend(call, job_id, spending_of(*quote));
    tell_reserved(call.context(), job);
    return {job_id, JobState::RESERVED};
}

void Quotes::queue_start(api::Call& call, const machines::Machine& machine, const JobRow& job,
                         const QuoteRow& quote, const std::optional<offers::TemplateRow>& form,
                         const NewJob& request, const std::string& endpoint_key) const {
    const JobTerms& terms = job.terms;
    agent_protocol::StartPayload payload;
    payload.job_id = terms.job_id;
    payload.lease_seq = {job.live.lease_seq};
    payload.budget_version = {job.live.budget_version};
    payload.budget_micro = job.live.budget;
    payload.rate_micro_per_hour = terms.rate;
    payload.duration_limit_s = {terms.duration_limit_s};
    payload.image_digest = terms.image_digest;
    if (form) {
        payload.template_ = agent_protocol::StartTemplate{form->template_id.uuid, form->slug,
                                                          form->kind, form->engine};
        if (auto command = offers::command_of(*form); !command.empty())
            payload.command = std::move(command);
        payload.env = wire::decode<std::map<std::string, std::string>>(form->env, "env");
        payload.exposes =
            wire::decode<std::vector<agent_protocol::Exposed>>(terms.exposes, "exposes");
    }
    payload.readiness_path = terms.readiness_path;
    payload.gpu_count = {machine.gpu_count.value_or(0)};
    if (request.ssh_public_key && may_give_ssh(machine))
        payload.ssh_public_key = request.ssh_public_key->value;
    payload.endpoint_api_key = endpoint_key;
    if (form && form->gated && request.use_hub_token.value_or(false)) {
        payload.hub_token = parts_.integrations.hub_token(call.tx(), terms.renter_id);
        if (!payload.hub_token.value)
            throw Problem(Code::conflict, "no token of the model hub was saved");
    }
    payload.included_disk_gib = {quote.included_disk_gib};
    payload.included_egress_gib = {quote.included_egress_gib};
    payload.start_deadline_s = {terms.start_deadline_s};
    payload.reach = terms.reach;
    payload.profile = agent_protocol::launch_profile();
    parts_.lifecycle.commands().queue(call.context(), machine,
                                      {.kind = machines::CommandKind::start,
                                       .payload = wire::encode(payload),
                                       .lasts = start_expires_after,
                                       .job_id = terms.job_id,
                                       .lease_seq = job.live.lease_seq});
}

}  // namespace berth::rentals
