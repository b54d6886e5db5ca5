// Requests and responses of quotes and jobs.
#pragma once

#include <boost/describe.hpp>

#include "accounts/policies.hpp"
#include "agent_protocol/evidence.hpp"
#include "api/sibling.hpp"
#include "ledger/chart.hpp"
#include "machines/health_events.hpp"
#include "machines/types.hpp"
#include "offers/template_types.hpp"
#include "rentals/list_types.hpp"
#include "rentals/states.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::rentals {

using agent_protocol::EndpointKind;
using agent_protocol::ProgressStep;
using ledger::Asset;
using wire::Count;
using wire::Decimal;
using wire::Nullable;
using QuoteId = Id<struct QuoteTag>;
using machines::AvailabilityClass;
using machines::OfferId;
using offers::TemplateId;
using offers::TemplateKind;
using offers::TimeToReady;

// Quotes

using DurationLimit = wire::Integer<60, 31'536'000>;

struct NewQuote {
    OfferId offer_id;
    std::optional<TemplateId> template_id;
    std::optional<wire::ImageDigest> image;
    DurationLimit duration_limit_s;
    wire::PositiveMicro budget_micro;
    std::optional<Asset> asset;
};
BOOST_DESCRIBE_STRUCT(NewQuote, (),
                      (offer_id, template_id, image, duration_limit_s, budget_micro, asset))
constexpr std::string_view wire_rules(const NewQuote*) {
    return R"({"oneOf":[{"required":["template_id"]},{"required":["image"]}]})";
}
constexpr auto wire_docs(const NewQuote*) {
    return std::to_array<wire::Doc>({
        {"offer_id", "From the catalog."},
        {"template_id", "What to run; either this or image."},
        {"image",
         "An image of one's own, with its registry and its digest, for machines that take such; "
         "either this or template_id.",
         wire::left_out},
        {"duration_limit_s", "The rental ends after this many seconds at the latest.", "3600"},
        {"budget_micro", "The rental never costs more than this.", "5000000"},
        {"asset", "What it is paid in.", "USDC", "USDC"},
    });
}

struct QuoteQuery {
    std::optional<bool> dry_run;
};
BOOST_DESCRIBE_STRUCT(QuoteQuery, (), (dry_run))
constexpr auto wire_docs(const QuoteQuery*) {
    return std::to_array<wire::Doc>({
        {"dry_run",
         "Says what a quote would be, and which rules of the key's policy would refuse it. Nothing "
         "is stored, and no Idempotency-Key is needed.",
         "false", "false"},
    });
}

struct Quote {
    Nullable<QuoteId> quote_id;
    Time expires_at;
    OfferId offer_id;
    Decimal offer_version;
    Micro machine_rate_micro_per_hour;
    Count platform_fee_bps;
    Micro budget_micro;
    Count duration_limit_s;
    Micro estimated_total_micro;
    Nullable<TemplateId> template_id;
    wire::ImageDigest image_digest;
    Asset asset = Asset::usdc;
    AvailabilityClass availability_class{};
    Nullable<Count> preemption_notice_s;
    std::optional<std::vector<accounts::Rule>> refused_by;
};
BOOST_DESCRIBE_STRUCT(Quote, (),
                      (quote_id, expires_at, offer_id, offer_version, machine_rate_micro_per_hour,
                       platform_fee_bps, budget_micro, duration_limit_s, estimated_total_micro,
                       template_id, image_digest, asset, availability_class, preemption_notice_s,
                       refused_by))
constexpr auto wire_docs(const Quote*) {
    return std::to_array<wire::Doc>({
        {"quote_id", "What a reservation names; null in a dry run."},
        {"expires_at", "Until when it can be reserved."},
        {"offer_version", "The version whose price this is.", "3"},
        {"machine_rate_micro_per_hour", "For the whole machine; the rental keeps it.", "2000000"},
        {"platform_fee_bps",
         "The share of the charge that is the fee, in hundredths of a per cent; it is not added.",
         "1000"},
        {"budget_micro", "What a reservation holds.", "5000000"},
        {"duration_limit_s", "The rental ends after this many seconds at the latest.", "3600"},
        {"estimated_total_micro", "What the whole duration would cost.", "2000000"},
        {"template_id", "Null for an image of one's own."},
        {"image_digest", "What will run."},
        {"asset", "", "USDC"},
        {"availability_class", "An interruptible machine may be taken back after a notice.",
         "dedicated"},
        {"preemption_notice_s",
         "How long before the host takes the machine back; null when it never does.", "null"},
        {"refused_by", "Only in a dry run: the rules of the key's policy that would refuse it.",
         "max_open_rentals"},
    });
}

// Jobs

struct JobPath {
    JobId id;
};
BOOST_DESCRIBE_STRUCT(JobPath, (), (id))

struct NewJob {
    QuoteId quote_id;
    std::optional<wire::Text<1, 4096>> ssh_public_key;
    std::optional<bool> use_hub_token;
};
BOOST_DESCRIBE_STRUCT(NewJob, (), (quote_id, ssh_public_key, use_hub_token))
constexpr auto wire_docs(const NewJob*) {
    return std::to_array<wire::Doc>({
        {"quote_id", "A quote of the last minute that was not used yet."},
        {"ssh_public_key", "One line as in authorized_keys; not needed for model templates.",
         "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3n7n4v0mC1bq2m3Z3o9m1m1k2l3n4p5q6r7s8t9u0v me"},
        {"use_hub_token", "Hands the saved token of the model hub to a gated template.", "false",
         "false"},
    });
}

struct JobAccepted {
    JobId job_id;
    JobState state = JobState::RESERVED;
};
BOOST_DESCRIBE_STRUCT(JobAccepted, (), (job_id, state))
constexpr auto wire_docs(const JobAccepted*) {
    return std::to_array<wire::Doc>({{"state", "", "RESERVED"}});
}

struct TemplateOfJob {
    TemplateId id;
    std::string template_id;
    std::string name;
    TemplateKind kind{};
};
BOOST_DESCRIBE_STRUCT(TemplateOfJob, (), (id, template_id, name, kind))
constexpr auto wire_docs(const TemplateOfJob*) {
    return std::to_array<wire::Doc>({
        {"template_id", "Its slug.", "pytorch"},
        {"name", "", "PyTorch"},
        {"kind", "", "classical"},
    });
}

struct Preemption {
    Time notice_at;
    Time deadline_at;
};
BOOST_DESCRIBE_STRUCT(Preemption, (), (notice_at, deadline_at))
constexpr auto wire_docs(const Preemption*) {
    return std::to_array<wire::Doc>({
        {"notice_at", "Nothing after this is billed."},
        {"deadline_at", "Until when the machine can still be used."},
    });
}

enum class HostStatus { ok, stale, engine_down, unreachable };
BOOST_DESCRIBE_ENUM(HostStatus, ok, stale, engine_down, unreachable)

enum class FailureCode {
    IMAGE_NOT_FOUND,
    IMAGE_DIGEST_MISMATCH,
    PULL_TIMEOUT,
    DISK_FULL,
    OUT_OF_MEMORY,
    ENGINE_EXITED,
    PROBE_FAILED,
    HOST_REJECTED,
    HOST_LOST,
    NO_GATE,
    INTERNAL,
};
BOOST_DESCRIBE_ENUM(FailureCode, IMAGE_NOT_FOUND, IMAGE_DIGEST_MISMATCH, PULL_TIMEOUT, DISK_FULL,
                    OUT_OF_MEMORY, ENGINE_EXITED, PROBE_FAILED, HOST_REJECTED, HOST_LOST, NO_GATE,
                    INTERNAL)

struct Failure {
    FailureCode code = FailureCode::INTERNAL;
    std::string message;
};
BOOST_DESCRIBE_STRUCT(Failure, (), (code, message))
constexpr auto wire_docs(const Failure*) {
    return std::to_array<wire::Doc>({
        {"code", "For programs.", "DISK_FULL"},
        {"message", "For people.", "The disk of the machine was full before the image was there."},
    });
}

struct Progress {
    ProgressStep step = ProgressStep::pull;
    Nullable<Decimal> done_bytes;
    Nullable<Decimal> total_bytes;
};
BOOST_DESCRIBE_STRUCT(Progress, (), (step, done_bytes, total_bytes))
constexpr auto wire_docs(const Progress*) {
    return std::to_array<wire::Doc>({
        {"step", "What the start is at.", "pull"},
        {"done_bytes", "Null when it is not counted.", "1073741824"},
        {"total_bytes", "Null when it is not known.", "8589934592"},
    });
}

enum class EgressState { within, nearly_used, shaped };
BOOST_DESCRIBE_ENUM(EgressState, within, nearly_used, shaped)

struct Egress {
    Decimal used_bytes;
    Decimal included_bytes;
    EgressState state = EgressState::within;
};
BOOST_DESCRIBE_STRUCT(Egress, (), (used_bytes, included_bytes, state))
constexpr auto wire_docs(const Egress*) {
    return std::to_array<wire::Doc>({
        {"used_bytes", "What the job has sent, as the host counts it.", "1048576"},
        {"included_bytes", "What it may send at full speed, as quoted.", "1073741824000"},
        {"state",
         "nearly_used: more than 80 % of it; shaped: all of it, and what it sends now goes at 10 "
         "Mb/s. It is never cut.",
         "within"},
    });
}

enum class JobAction { stop, raise_budget, access, relay, skip_retrieval };
BOOST_DESCRIBE_ENUM(JobAction, stop, raise_budget, access, relay, skip_retrieval)

struct Job {
    JobId job_id;
    JobState state = JobState::RESERVED;
    QuoteId quote_id;
    OfferId offer_id;
    Decimal offer_version;
    MachineId machine_id;
    Nullable<TemplateOfJob> template_;
    wire::ImageDigest image_digest;
    AvailabilityClass availability_class{};
    Asset asset = Asset::usdc;
    Micro rate_micro_per_hour;
    Count platform_fee_bps;
    Micro budget_micro;
    Decimal budget_version;
    Count duration_limit_s;
    Micro cumulative_charge_micro;
    Decimal accepted_runtime_ms;
    Nullable<Time> funded_through;
    Time created_at;
    Nullable<Time> meter_started_at;
    Nullable<Time> meter_stopped_at;
    Nullable<Time> ended_at;
    Nullable<EndReason> end_reason;
    Nullable<Preemption> preemption;
    HostStatus host_status = HostStatus::ok;
    bool has_model_endpoint = false;
    Nullable<Time> retrieval_until;
    Nullable<Time> cleaned_at;
    Nullable<Failure> failure;
    Nullable<Progress> progress;
    Nullable<TimeToReady> time_to_ready;
    Nullable<Egress> egress;
    std::vector<JobAction> allowed_actions;
    Nullable<Time> state_deadline;
    std::optional<AccountId> renter_id;
    std::optional<AccountId> host_id;
    std::optional<std::vector<machines::HealthShown>> health_events;
    std::optional<machines::CardsNow> cards;
    std::optional<MachineOfJob> machine;
    std::optional<Decimal> uncarried_ms;
    std::optional<Decimal> carried_bytes;
};
BOOST_DESCRIBE_STRUCT(Job, (),
                      (job_id, state, quote_id, offer_id, offer_version, machine_id, template_,
                       image_digest, availability_class, asset, rate_micro_per_hour,
                       platform_fee_bps, budget_micro, budget_version, duration_limit_s,
                       cumulative_charge_micro, accepted_runtime_ms, funded_through, created_at,
                       meter_started_at, meter_stopped_at, ended_at, end_reason, preemption,
                       host_status, has_model_endpoint, retrieval_until, cleaned_at, failure,
                       progress, time_to_ready, egress, allowed_actions, state_deadline, renter_id,
                       host_id, health_events, cards, machine, uncarried_ms, carried_bytes))
constexpr auto wire_docs(const Job*) {
    return std::to_array<wire::Doc>({
        {"state", "RUNNING is the only one that is billed.", "RUNNING"},
        {"offer_version", "The one that was quoted.", "3"},
        {"template", "Null for an image of one's own."},
        {"image_digest", "What runs."},
        {"availability_class", "As quoted.", "dedicated"},
        {"asset", "", "USDC"},
        {"rate_micro_per_hour", "As quoted.", "2000000"},
        {"platform_fee_bps", "Out of the charge, never on top of it.", "1000"},
        {"budget_micro", "What is held; the rental never costs more.", "5000000"},
        {"budget_version", "Counts the raises of the budget.", "1"},
        {"duration_limit_s", "It ends after this many seconds at the latest.", "3600"},
        {"cumulative_charge_micro", "What it has cost so far.", "250000"},
        {"accepted_runtime_ms", "What is billed, in milliseconds from READY on.", "450000"},
        {"funded_through", "When the money, the duration or the offer ends; null before READY."},
        {"meter_started_at", "When it became READY; nothing before is billed."},
        {"meter_stopped_at", "Nothing after this is billed; null while it runs.", "null"},
        {"ended_at", "When nothing ran any more; null before.", "null"},
        {"end_reason", "Why it ended; null before.", "null"},
        {"preemption", "Set once the host has asked for the machine back.", "null"},
        {"host_status",
         "stale: no heartbeat lately; engine_down: not billed, because its engine or a GPU does "
         "not "
         "answer; unreachable: its gate does not carry it, which is not billed from the 61st "
         "second on.",
         "ok"},
        {"uncarried_ms",
         "For how long it was not billed because its gate did not carry it; left out where the "
         "host "
         "is reached directly.",
         "0"},
        {"carried_bytes",
         "What went through its gate, both ways; only where one job is shown, and left out where "
         "the "
         "host is reached directly.",
         "1048576"},
        {"health_events",
         "What the host told of its GPUs during the rental, the latest 20; only where one job is "
         "shown."},
        {"cards",
         "What the machine's GPUs do, as it last told during the rental; only where one running "
         "job is shown, and left out while nothing was told."},
        {"machine", "What was rented, also once the offer is gone; left out of older jobs."},
        {"has_model_endpoint", "Whether the relay can reach a model in it.", "false"},
        {"retrieval_until", "Until when files can be fetched; null where there is no such time.",
         "null"},
        {"cleaned_at", "When the machine said that everything was wiped.", "null"},
        {"failure", "Why it did not come up, or broke; null when it did not.", "null"},
        {"progress", "How far a start has come; null before, and once it is READY.", "null"},
        {"time_to_ready", "What the start took; null before READY.", "null"},
        {"egress", "What it has sent; null before the host has told of it.", "null"},
        {"allowed_actions", "What can be done now.", "stop"},
        {"state_deadline", "When the service stops waiting; null when it is over.", "null"},
        {"renter_id", "Whose job it is; only operators are told."},
        {"host_id", "Whose machine it is; only operators are told."},
    });
}

// What can be done with a job

enum class AccessMode { execution, retrieval };
BOOST_DESCRIBE_ENUM(AccessMode, execution, retrieval)

struct AccessEndpoint {
    Uuid endpoint_id;
    EndpointKind kind = EndpointKind::http;
    std::string name;
    std::string external_host;
    Count external_port;
    Nullable<std::string> url;
    Nullable<std::string> tls_key_sha256;
};
BOOST_DESCRIBE_STRUCT(AccessEndpoint, (),
                      (endpoint_id, kind, name, external_host, external_port, url, tls_key_sha256))
constexpr auto wire_docs(const AccessEndpoint*) {
    return std::to_array<wire::Doc>({
        {"kind", "", "ssh"},
        {"name", "", "ssh"},
        {"external_host", "The address to reach it at.", "203.0.113.7"},
        {"external_port", "The port there.", "40022"},
        {"url",
         "Of an http endpoint while the job runs: its address with the scheme. It wants the key of "
         "endpoint_api_key as a Bearer; `berth rentals open` shows it to a browser. Else null.",
         "null"},
        {"tls_key_sha256",
         "Of an https endpoint: SHA-256 of its public key (SubjectPublicKeyInfo) in hex. No "
         "authority vouches for it, so this is what to compare; curl takes it, as base64, by "
         "--pinnedpubkey. Else null.",
         "null"},
    });
}

struct JobAccess {
    AccessMode mode = AccessMode::execution;
    std::vector<AccessEndpoint> endpoints;
    Nullable<std::string> ssh_command;
    Nullable<std::string> ssh_host_key_fingerprint;
    Nullable<std::string> endpoint_api_key;
};
BOOST_DESCRIBE_STRUCT(JobAccess, (),
                      (mode, endpoints, ssh_command, ssh_host_key_fingerprint, endpoint_api_key))
constexpr auto wire_docs(const JobAccess*) {
    return std::to_array<wire::Doc>({
        {"mode", "retrieval: nothing runs any more, and files can be fetched.", "execution"},
        {"endpoints", "Where the rental is reached."},
        {"ssh_command", "Null when there is no way in by SSH.", "ssh -p 40022 renter@203.0.113.7"},
        {"ssh_host_key_fingerprint", "To compare at the first login; null without SSH.",
         "SHA256:uNiVztksCsDhcc0u9e8BrrjXVGDxkZ7xZ1A9Zf1E7sQ"},
        {"endpoint_api_key", "What http endpoints expect as a Bearer; null without them."},
    });
}

struct StopJob {
    wire::Text<1, 500> reason;
    std::optional<bool> skip_retrieval;
};
BOOST_DESCRIBE_STRUCT(StopJob, (), (reason, skip_retrieval))
constexpr auto wire_docs(const StopJob*) {
    return std::to_array<wire::Doc>({
        {"reason", "Kept with the job.", "training finished"},
        {"skip_retrieval", "Nothing will be fetched any more: wipe at once.", "false", "false"},
    });
}

struct RaiseBudget {
    wire::PositiveMicro add_micro;
    Decimal expected_budget_version;
};
BOOST_DESCRIBE_STRUCT(RaiseBudget, (), (add_micro, expected_budget_version))
constexpr auto wire_docs(const RaiseBudget*) {
    return std::to_array<wire::Doc>({
        {"add_micro", "What is held in addition.", "1000000"},
        {"expected_budget_version", "The one that was last seen.", "1"},
    });
}

struct CurrentBudget {
    Decimal budget_version;
    Micro budget_micro;
    Nullable<Time> funded_through;
};
BOOST_DESCRIBE_STRUCT(CurrentBudget, (), (budget_version, budget_micro, funded_through))
constexpr auto wire_docs(const CurrentBudget*) {
    return std::to_array<wire::Doc>({
        {"budget_version", "Counts the raises of the budget.", "2"},
        {"budget_micro", "What is held.", "6000000"},
        {"funded_through", "Null before READY."},
    });
}
inline constexpr api::Sibling<CurrentBudget> current_budget{Code::version_conflict, "current"};

struct BudgetRaised {
    JobId job_id;
    Decimal budget_version;
    Micro budget_micro;
    Nullable<Time> funded_through;
};
BOOST_DESCRIBE_STRUCT(BudgetRaised, (), (job_id, budget_version, budget_micro, funded_through))
constexpr auto wire_docs(const BudgetRaised*) {
    return std::to_array<wire::Doc>({
        {"budget_version", "Counts the raises of the budget.", "2"},
        {"budget_micro", "What is held.", "6000000"},
        {"funded_through", "Null before READY."},
    });
}

struct JobLogs {
    JobId job_id;
    Nullable<Time> at;
    Nullable<std::string> log_tail;
};
BOOST_DESCRIBE_STRUCT(JobLogs, (), (job_id, at, log_tail))
constexpr auto wire_docs(const JobLogs*) {
    return std::to_array<wire::Doc>({
        {"at", "When it came; null when nothing did."},
        {"log_tail", "The last lines, secrets taken out.", "Serving on port 8000"},
    });
}

// Evidence

enum class EvidenceSource { machine, server };
BOOST_DESCRIBE_ENUM(EvidenceSource, machine, server)

struct SignedEvidence {
    std::string body;
    std::string signature_input;
    std::string signature;
    std::string authority;
    std::string path;
    std::string public_key;
};
BOOST_DESCRIBE_STRUCT(SignedEvidence, (),
                      (body, signature_input, signature, authority, path, public_key))
constexpr auto wire_docs(const SignedEvidence*) {
    return std::to_array<wire::Doc>({
        {"body", "The bytes as they were sent, in base64.", "eyJraW5kIjoiUkVBRFkifQ=="},
        {"signature_input", "The header of RFC 9421.", "sig1=(\"@method\" …)"},
        {"signature", "The header of RFC 9421.", "sig1=:…:"},
        {"authority", "What the signature calls @authority.", "berth.example"},
        {"path", "What the signature calls @path.", "/api/v1/host-agent/heartbeat"},
        {"public_key", "The machine's Ed25519 key then, in base64.",
         "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},
    });
}

struct Evidence {
    Decimal sequence;
    Time at;
    std::string kind;
    EvidenceSource source = EvidenceSource::machine;
    wire::Object payload;
    Nullable<SignedEvidence> signed_;
    wire::Sha256Hash hash;
    Nullable<wire::Sha256Hash> previous_hash;
};
BOOST_DESCRIBE_STRUCT(Evidence, (),
                      (sequence, at, kind, source, payload, signed_, hash, previous_hash))
constexpr auto wire_docs(const Evidence*) {
    return std::to_array<wire::Doc>({
        {"sequence", "1, 2, 3 without gaps.", "1"},
        {"at", "By the clock of the service."},
        {"kind", "", "READY"},
        {"source", "Who said it.", "machine"},
        {"payload", "What was said."},
        {"signed", "What it takes to check the machine's signature; null for the service's own."},
        {"hash", "Of the canonical JSON (RFC 8785) of this record without its hash."},
        {"previous_hash", "Of the record before; null in the first.", "null"},
    });
}

}  // namespace berth::rentals
