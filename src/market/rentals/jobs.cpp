#include "rentals/jobs.hpp"
#include "machines/health_events.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/oversight.hpp"
#include "api/settings.hpp"
#include "base/check.hpp"
#include "base/redaction.hpp"
#include "ledger/ledger.hpp"
#include "rentals/carriage.hpp"
#include "rentals/egress.hpp"
#include "rentals/serving_jobs.hpp"
#include "rentals/told.hpp"

namespace berth::rentals {
namespace {

// What somebody else's program has printed, without what lets one in: engines and notebooks print
// the keys that they were started with.
std::string for_operator(std::string text, const std::string& endpoint_key) {
    constexpr std::string_view instead = "[redacted]";
    if (!endpoint_key.empty())
        for (std::size_t at = text.find(endpoint_key); at != std::string::npos;
             at = text.find(endpoint_key, at + instead.size()))
            text.replace(at, endpoint_key.size(), instead);
    return without_unnamed_secrets(text);
}

constexpr Duration heartbeat_stale_after = std::chrono::seconds(90);

HostStatus host_status(const JobRow& job, Time now) {
    const JobLive& live = job.live;
    if (!is_metered(live.state)) return HostStatus::ok;
    if (live.uncarried_since) return HostStatus::unreachable;
    if (live.engine_down_at || live.gpu_lost_at) return HostStatus::engine_down;
    const Time seen = live.seen_at.value_or(live.meter_started_at.value());
    return now - seen > heartbeat_stale_after ? HostStatus::stale : HostStatus::ok;
}

bool is_retrieving(const JobLive& live, Time now) {
    return live.state == JobState::STOPPED && live.retrieval_until && now < *live.retrieval_until;
}

std::vector<JobAction> allowed_actions(const JobRow& job, bool has_model, Time now) {
    const JobLive& live = job.live;
    std::vector<JobAction> actions;
    const bool runs = is_before_ready(live.state) || is_metered(live.state);
    if (runs) actions.push_back(JobAction::stop);
    if (runs && !live.notice_at) actions.push_back(JobAction::raise_budget);
    if (is_metered(live.state) || (live.state == JobState::STOPPING && live.meter_started_at) ||
        is_retrieving(live, now))
        actions.push_back(JobAction::access);
    if (live.state == JobState::RUNNING && has_model) actions.push_back(JobAction::relay);
    if (is_retrieving(live, now)) actions.push_back(JobAction::skip_retrieval);
    return actions;
}

std::optional<TemplateOfJob> template_of(const JobTerms& terms) {
    if (!terms.template_id) return std::nullopt;
    return TemplateOfJob{*terms.template_id, terms.template_slug.value_or(""),
                         terms.template_name.value_or(""),
                         terms.template_kind.value_or(TemplateKind::classical)};
}

std::optional<MachineOfJob> machine_of(const JobTerms& terms) {
    if (!terms.gpu_model && !terms.gpu_count && !terms.vram_bytes && !terms.continent)
        return std::nullopt;
    MachineOfJob machine;
    machine.gpu_model = terms.gpu_model;
    if (terms.gpu_count) machine.gpu_count = Count{*terms.gpu_count};
    if (terms.vram_bytes) machine.vram_bytes = Decimal{*terms.vram_bytes};
    machine.continent = terms.continent;
    return machine;
}

// The states that are named, each once and in their order; none when nothing is asked for.
std::vector<JobState> states_asked(const JobsQuery& query) {
    std::vector<JobState> states;
    if (!query.state) return states;
    const auto add = [&](std::span<const JobState> some) {
        states.insert(states.end(), some.begin(), some.end());
    };
    for (std::string_view rest = query.state->value;;) {
        const std::size_t comma = rest.find(',');
        const std::string_view name = rest.substr(0, comma);
        if (name == "open") {
            add(open_states);
        } else if (name == "closed") {
            add(closed_states);
        } else if (const auto state = parse_enum<JobState>(name)) {
            states.push_back(*state);
        } else {
            throw Problem(Code::invalid_input,
                          "query.state: must be open, closed or states of jobs (RUNNING and so "
                          "on), with commas between them");
        }
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
    }
    std::sort(states.begin(), states.end());
    states.erase(std::unique(states.begin(), states.end()), states.end());
    return states;
}

// What a cursor belongs to.
std::string list_name(const api::Call& call, std::span<const JobState> states) {
    std::string name = to_string(call.caller.account);
    for (const JobState state : states) name.append(" ").append(enum_name(state));
    return name;
}

// An endpoint that is gone with its workload has no address to be opened at.
AccessEndpoint shown_endpoint(const StoredEndpoint& endpoint, bool executes) {
    AccessEndpoint out{endpoint.endpoint_id, endpoint.kind, endpoint.name,
                       endpoint.host,        endpoint.port, {},
                       endpoint.tls_key};
    const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
    if (executes && endpoint.kind == EndpointKind::http)
        out.url =
            fmt::format("{}://{}:{}/", endpoint.tls_key.value ? "https" : "http",
                        is_ipv6 ? "[" + endpoint.host + "]" : endpoint.host, endpoint.port.value);
    return out;
}

std::optional<Decimal> decimal(const std::optional<std::int64_t>& number) {
    return number ? std::optional(Decimal{*number}) : std::nullopt;
}

CurrentBudget budget_of(const JobRow& job) {
    return {{job.live.budget_version}, job.live.budget, funded_through(job)};
}

}  // namespace

Job shown(const JobRow& job, const JobDetails& details, const Present& present) {
    const Time now = present.now;
    const JobTerms& terms = job.terms;
    const JobLive& live = job.live;
    const bool has_model =
        find_model_endpoint(terms.template_kind, endpoints_of(details.endpoints)) != nullptr;
    Job out;
    out.job_id = terms.job_id;
    out.state = live.state;
    out.quote_id = terms.quote_id;
    out.offer_id = terms.offer_id;
    out.offer_version = {terms.offer_version};
    out.machine_id = terms.machine_id;
    out.template_ = template_of(terms);
    out.image_digest = {terms.image_digest};
    out.availability_class = terms.availability_class;
    out.asset = terms.asset;
    out.rate_micro_per_hour = terms.rate;
    out.platform_fee_bps = {terms.fee_bps};
    out.budget_micro = live.budget;
    out.budget_version = {live.budget_version};
    out.duration_limit_s = {terms.duration_limit_s};
    out.cumulative_charge_micro = charge_of(job);
    out.accepted_runtime_ms = {live.accepted_ms};
    out.funded_through = funded_through(job);
    out.created_at = terms.created_at;
    out.meter_started_at = live.meter_started_at;
    out.meter_stopped_at = live.meter_stopped_at;
    out.ended_at = live.ended_at;
    out.end_reason = live.end_reason;
    if (live.notice_at) out.preemption = Preemption{*live.notice_at, live.notice_until.value()};
    out.host_status = host_status(job, now);
    out.has_model_endpoint = has_model;
    out.retrieval_until = live.retrieval_until;
    out.cleaned_at = live.cleaned_at;
    if (details.failure_code)
        out.failure = Failure{*details.failure_code, details.failure_message.value_or("")};
    if (details.progress_step && is_before_ready(live.state))
        out.progress = Progress{*details.progress_step, decimal(details.progress_done),
                                decimal(details.progress_total)};
    if (details.pull_ms)
        out.time_to_ready = TimeToReady{
            {*details.pull_ms}, {details.load_ms.value_or(0)}, {details.probe_ms.value_or(0)}};
    out.egress = egress_of(terms, details.egress_bytes);
    out.allowed_actions = allowed_actions(job, has_model, now);
    if (const auto due = next_change(job, present.up_since)) out.state_deadline = due->at;
    out.machine = machine_of(terms);
    if (terms.is_by_gate()) out.uncarried_ms = Decimal{live.stood_ms};
    return out;
}

JobRow Jobs::find_own(api::Call& call, JobId id) const {
    auto job = find_job(call.tx(), id);
    if (!job || (job->terms.renter_id != call.caller.account && !call.caller.admin))
        throw Problem(Code::not_found, "no such job");
    return std::move(*job);
}

HeldJob Jobs::hold_own(api::Call& call, JobId id) const {
    auto held = hold_job(call.tx(), id);
    if (!held || held->job.terms.renter_id != call.caller.account)
        throw Problem(Code::not_found, "no such job");
    return std::move(*held);
}

api::Page<Job> Jobs::list(api::Call& call, const JobsQuery& query) const {
    const auto states = states_asked(query);
    const api::Pager pager(call.cursors, {"jobs", list_name(call, states)}, query);
    const auto before = pager.after_id<JobId>();
    const std::int64_t wanted = pager.rows_wanted();
    std::optional<AccountId> renter;
    if (!call.caller.admin) renter = call.caller.account;
    const auto rows = !states.empty() ? list_jobs_in(call.tx(), states, renter, before, wanted)
                      : renter        ? list_jobs(call.tx(), *renter, before, wanted)
                                      : list_jobs_like(call.tx(), {}, before, wanted);
    const Present present{call.now, up_since(call.tx())};
    return pager.page(
        rows, [](const JobRow& row) { return row.terms.job_id; },
        [&](const JobRow& row) {
            return shown(seen_with_carriage(call.tx(), row, call.now),
                         find_details(call.tx(), row.terms.job_id), present);
        });
}

Job Jobs::show(api::Call& call, const JobPath& path) const {
    const JobRow job = seen_with_carriage(call.tx(), find_own(call, path.id), call.now);
    Job out = shown(job, find_details(call.tx(), path.id), {call.now, up_since(call.tx())});
    out.carried_bytes = decimal(find_carried_bytes(call.tx(), job.terms));
    out.health_events =
        machines::find_health_events(call.tx(), job.terms.machine_id, job.terms.created_at,
                                     job.live.ended_at.value_or(call.now));
    if (job.live.state == JobState::RUNNING && job.live.meter_started_at)
        out.cards =
            machines::find_cards_now(call.tx(), job.terms.machine_id, *job.live.meter_started_at);
    return out;
}

JobLogs Jobs::logs(api::Call& call, const JobPath& path) const {
    const JobRow job = find_own(call, path.id);
    accounts::note_close_look(call,
                              {job.terms.renter_id, "read_job_logs", {"job", to_string(path.id)}});
    JobDetails details = find_details(call.tx(), path.id);
    if (details.log_tail && job.terms.renter_id != call.caller.account)
        details.log_tail = for_operator(*details.log_tail, open_endpoint_key(sealer_, job.terms));
    return {path.id, details.log_at, details.log_tail};
}

api::Page<Evidence> Jobs::evidence(api::Call& call, const JobPath& path,
                                   const api::PageQuery& query) const {
    const api::Pager pager(call.cursors, {"job-evidence", to_string(path.id)}, query);
    const auto job = find_job(call.tx(), path.id);
    const bool may_read =
        job && (call.caller.admin || job->terms.renter_id == call.caller.account ||
                job->terms.host_id == call.caller.account);
    if (!may_read) throw Problem(Code::not_found, "no such job");
    const std::int64_t after = pager.after() ? parse_decimal(*pager.after()).value_or(0) : 0;
    return pager.page(
        list_evidence(call.tx(), path.id, after, pager.rows_wanted()),
        [](const EvidenceRow& row) { return std::to_string(row.sequence); },
        [](const EvidenceRow& row) { return shown(row); });
}

JobAccess Jobs::access(api::Call& call, const JobPath& path) const {
    const JobRow job = find_own(call, path.id);
    const bool is_own = job.terms.renter_id == call.caller.account;
    accounts::note_close_look(
        call, {job.terms.renter_id, "read_job_access", {"job", to_string(path.id)}});
    const JobLive& live = job.live;
    if (is_before_ready(live.state) || live.state == JobState::FAILED)
        throw Problem(Code::conflict,
                      fmt::format("a job that is {} cannot be reached", enum_name(live.state)));
    const bool executes =
        is_metered(live.state) || (live.state == JobState::STOPPING && live.meter_started_at);
    if (!executes && !is_retrieving(live, call.now))
        throw Problem(Code::forbidden, "there is no way into this job any more");
    const JobDetails details = find_details(call.tx(), path.id);
    JobAccess out;
    out.mode = executes ? AccessMode::execution : AccessMode::retrieval;
    bool has_http = false;
    for (const StoredEndpoint& each :
         present_endpoints(call.tx(), path.id, endpoints_of(details.endpoints))) {
        out.endpoints.push_back(shown_endpoint(each, executes));
        has_http = has_http || each.kind == EndpointKind::http;
        if (each.kind == EndpointKind::ssh && !out.ssh_command.value)
            out.ssh_command = fmt::format("ssh -p {} renter@{}", each.port.value, each.host);
    }
    out.ssh_host_key_fingerprint = details.ssh_fingerprint;
    // An operator sees where a job is, and never what lets one in.
    if (has_http && executes && is_own)
        out.endpoint_api_key = open_endpoint_key(sealer_, job.terms);
    return out;
}

JobAccepted Jobs::stop(api::Call& call, const JobPath& path, const StopJob& request) const {
    HeldJob held = hold_own(call, path.id);
    const bool skips = request.skip_retrieval.value_or(false);
    const JobState state = held.job.live.state;
    held.job.live.skip_retrieval = held.job.live.skip_retrieval || skips;
    if (is_before_ready(state) || is_metered(state)) {
        StopJob kept = request;  // the host reads it
        kept.reason.value = without_unnamed_secrets(request.reason.value);
        keep(call.tx(), call.now, held.job.live, {.kind = "STOP", .payload = wire::encode(kept)});
        lifecycle_.apply(call.context(), held, Event::renter_stop,
                         {.at = call.now, .reason = "renter_stop"});
    } else if (state == JobState::STOPPED && skips && held.job.live.retrieval_until) {
        lifecycle_.apply(call.context(), held, Event::retrieval_over, {.at = call.now});
    } else if (skips && state == JobState::STOPPING) {
        save(call.context(), held.job);
    }
    return {path.id, held.job.live.state};
}

BudgetRaised Jobs::raise_budget(api::Call& call, const JobPath& path,
                                const RaiseBudget& request) const {
    if (*call.settings<api::Settings>().admission_paused)
        throw Problem(Code::admission_paused, "new work is not taken on at the moment");
    HeldJob held = hold_own(call, path.id);
    JobLive& live = held.job.live;
    const accounts::Spending spending{
        .rate = held.job.terms.rate,
        .hold = request.add_micro,
        .template_id = held.job.terms.template_id ? std::optional(held.job.terms.template_id->uuid)
                                                  : std::optional<Uuid>(),
        .rental_class = rental_class(held.job.terms.availability_class),
        .opens_rental = false};
    accounts::require_allowed(call, spending);
    if (!is_before_ready(live.state) && !is_metered(live.state))
        throw Problem(Code::stop_irreversible, "the job is being stopped, or was");
    look_at_carriage(call.context(), held.job);
    // The host stops at that time by itself, whether or not we have looked yet.
    if (const auto until = funded_through(held.job); until && *until <= call.now)
        throw Problem(Code::stop_irreversible, "what was funded is over, and the job with it");
    if (live.notice_at)
        throw Problem(Code::conflict, "the host takes the machine back; nothing more is billed");
    if (live.budget_version != request.expected_budget_version.value)
        throw current_budget.problem("the budget was raised since", budget_of(held.job));
    ++live.budget_version;
    ledger::raise_hold(call.context(), path.id, request.add_micro, live.budget_version);
    live.budget += request.add_micro;
    live.funds_low_at.reset();
    lifecycle_.send_budget(call.context(), held);
    save(call.context(), held.job);
    accounts::spend(call, path.id, spending);
    const CurrentBudget now = budget_of(held.job);
    events::tell(call.context(), rental_budget_raised, held.job.terms.renter_id, path.id,
                 BudgetFacts{now.budget_micro, now.budget_version, now.funded_through});
    return {path.id, now.budget_version, now.budget_micro, now.funded_through};
}

}  // namespace berth::rentals
