#include "machines/qualification.hpp"

#include <fmt/format.h>

#include "agent_protocol/hashes.hpp"
#include "base/one_of.hpp"
#include "crypto/token.hpp"
#include "machines/gpus.hpp"
#include "machines/states.hpp"
#include "machines/told.hpp"
#include "wire/wire.hpp"
#include "worker/worker.hpp"

namespace berth::machines {
namespace {

RunState state_after(Outcome outcome) {
    switch (outcome) {
        case Outcome::passed: return RunState::passed;
        case Outcome::failed: return RunState::failed;
        case Outcome::pending: return RunState::dialling;
    }
    return RunState::failed;
}

Outcome outcome_of(RunState state) {
    switch (state) {
        case RunState::passed: return Outcome::passed;
        case RunState::failed: return Outcome::failed;
        case RunState::sent:
        case RunState::dialling: return Outcome::pending;
    }
    return Outcome::pending;
}

template <class T>
T read_or_empty(const std::optional<std::string>& json) {
    return json ? wire::decode<T>(*json, "stored") : T{};
}

void note_failure(Machine& machine, Time now, const std::vector<Finding>& findings, bool hopeless) {
    const auto failures = static_cast<std::size_t>(machine.qualify_failures);
    const bool over = hopeless || failures >= retry_after.size();
    machine.qualify_state = over ? QualifyState::needs_attention : QualifyState::retrying;
    machine.qualify_reason = findings.empty() ? "The test failed." : findings.front().message;
    machine.qualify_next_at = over ? std::nullopt : std::optional(now + retry_after[failures]);
    ++machine.qualify_failures;
    machine.qualify_run_id.reset();
}

void tell_test(const db::Context& context, const Machine& machine, RunId run,
               const std::vector<Finding>& findings) {
    const bool passed = machine.qualify_state == QualifyState::passed;
    events::tell(
        context, passed ? machine_test_passed : machine_test_failed, machine.owner,
        machine.machine_id,
        MachineTestFacts{run, codes_of(findings), machine.qualify_state, machine.qualify_next_at});
}

// A test of a machine that is not qualified yet cannot be blocked by that.
bool is_admissible(const db::Context& context, Machine machine, const ListingRules& rules) {
    if (machine.state == MachineState::UNQUALIFIED) machine.state = MachineState::UNLISTED;
    const auto facts = find_listing_facts(context.tx, context.now, machine, rules);
    return listing_blockers(machine, facts).empty();
}

void note_success(const db::Context& context, Machine& machine, const ListingRules& rules) {
    machine.qualify_state = QualifyState::passed;
    machine.qualify_reason.reset();
    machine.qualify_failures = 0;
    machine.qualify_next_at.reset();
    machine.qualify_run_id.reset();
    machine.tested_manifest_hash = machine.manifest_hash;
    if (machine.verification_level == VerificationLevel::unverified)
        machine.verification_level = VerificationLevel::auto_verified;
    apply(context, machine, MachineEvent::test_passed,
          {.admitted = is_admissible(context, machine, rules)});
}

// Of each card as its driver tells it; of one whose driver does not, as the test measured.
std::vector<wire::Decimal> bytes_of_cards(db::Transaction& tx, const Machine& machine,
                                          const Measured& measured) {
    const auto manifest = wire::decode_known<agent_protocol::Manifest>(
        find_manifest(tx, machine.machine_id).value_or("{}"), "stored");
    std::vector<wire::Decimal> bytes;
    for (const auto& card : manifest.gpus.value)
        bytes.push_back(
            card.memory_bytes.value.value_or(wire::Decimal{measured.vram_bytes.value_or(0)}));
    return bytes;
}

// A test that ended without a result.
void close_run(const db::Context& context, Run& run, const std::vector<Finding>& findings) {
    run.state = RunState::failed;
    run.finished_at = context.now;
    run.findings = wire::encode(findings);
    save_run(context.tx, run);
    delete_proof(context.tx, run.run_id);
}
void fail_run(const db::Context& context, Machine& machine, Run& run,
              const std::vector<Finding>& findings) {
    close_run(context, run, findings);
    end_test_commands(context.tx, machine.machine_id);
    note_failure(machine, context.now, findings, false);
    save(context, machine);
    tell_test(context, machine, run.run_id, findings);
}

void enqueue_examination(const db::Context& context, RunId run_id,
                         const Qualifications::DialResult& dialled) {
    const ExaminationTask task{run_id, dialled.dialled, dialled.reason, dialled.reach};
    worker::enqueue(context, {.kind = std::string(examine_proof_kind_name),
                              .payload = wire::encode(task),
                              .run_at = context.now});
}

// How the machine is reached from now on, and why, for its owner.
void note_reach(const db::Context& context, Machine& machine, const Run& run,
                const Qualifications::DialResult& dialled) {
    machine.reach = dialled.dialled == Dialled::answered ? dialled.reach : Reach::direct;
    const std::string own =
        run.endpoint_host ? fmt::format("{}:{}", *run.endpoint_host, *run.endpoint_port) : "";
    std::string why = "The agent names no address of its own, and no door of a gate.";
    if (machine.reach == Reach::direct && run.endpoint_host)
        why = fmt::format("Its own port, {}, answered the server.", own);
    if (machine.reach == Reach::gate)
        why =
            find_wish(context.tx, machine.machine_id) == GateWish::always
                ? "A gate leads to it, as the agent was told (--gate always)."
            : run.endpoint_host
                ? fmt::format("A gate leads to it: its own port, {}, did not answer the server. {}",
                              own, dialled.reason)
                : "A gate leads to it: the agent names no address of its own.";
    save_reach_why(context.tx, machine.machine_id, why);
}

// It is no failure of the machine's that there is no gate.
void await_gate(const db::Context& context, Machine& machine) {
    machine.qualify_state = QualifyState::retrying;
    machine.qualify_reason =
        "No gate is at work now, and the agent was told to use no port of its own (--gate always). "
        "The test begins when there is one.";
    machine.qualify_next_at = context.now + gate_awaited;
    save(context, machine);
}

// What the result says of ways that the owner does not want does not count.
TestResult as_wished(std::optional<GateWish> wish, TestResult result) {
    if (wish == GateWish::always) result.endpoint.value.reset();
    if (wish == GateWish::never) result.door.reset();
    return result;
}

void note_ways(Run& run, const TestResult& result) {
    if (result.endpoint.value) {
        run.endpoint_host = result.endpoint.value->host.value;
        run.endpoint_port = result.endpoint.value->port.value;
    }
    if (result.door) {
        run.door_host = result.door->host.value;
        run.door_port = result.door->port.value;
    }
}

Problem no_such_run() { return {Code::not_found, "there is no such test of this machine"}; }

}  // namespace

AutoQualify auto_qualify_of(const Machine& machine) {
    AutoQualify shown{machine.qualify_state, std::nullopt};
    if (machine.qualify_state == QualifyState::retrying ||
        machine.qualify_state == QualifyState::needs_attention)
        shown.reason = machine.qualify_reason;
    return shown;
}

Qualification show_qualification(api::Call& call, MachineId id) {
    const auto machine = find(call.tx(), id);
    if (!machine || (machine->owner != call.caller.account && !call.caller.admin))
        throw Problem(Code::not_found, "there is no such machine");
    Qualification shown;
    shown.machine_id = id;
    shown.auto_qualify = auto_qualify_of(*machine);
    shown.next_attempt_at = machine->qualify_next_at;
    const auto run = find_last_run(call.tx(), id);
    if (!run) return shown;
    shown.run_id = run->run_id;
    shown.outcome = outcome_of(run->state);
    shown.started_at = run->started_at;
    shown.finished_at = run->finished_at;
    shown.checks = read_or_empty<std::vector<Check>>(run->checks);
    shown.findings = read_or_empty<std::vector<Finding>>(run->findings);
    if (run->measurements)
        shown.measurements = wire::decode<Measurements>(*run->measurements, "stored");
    return shown;
}

Machine ask_for_test(api::Call& call, MachineId id) {
    Machine machine = hold_own(call.tx(), id, call.caller.account);
    if (!is_one_of(machine.state, testable_states))
        throw Problem(Code::conflict,
                      fmt::format("a machine that is {} cannot be tested: it must be UNQUALIFIED "
                                  "or UNLISTED",
                                  enum_name(machine.state)));
    // A test that runs already is the one that was asked for.
    if (machine.qualify_state != QualifyState::testing) {
        machine.qualify_state = QualifyState::waiting;
        machine.qualify_reason.reset();
        machine.qualify_failures = 0;
        machine.qualify_next_at = call.now;
        save(call.context(), machine);
    }
    return machine;
}

TestFacts Qualifications::facts_of(const Machine& machine, const Run& run) const {
    return {.runtime_kind = machine.runtime_kind,
            .gpu_count = machine.gpu_count.value_or(0),
            .gpu_memory_shared = machine.gpu_memory_shared,
            .manifest_matches = machine.manifest_hash == run.manifest_hash,
            .needs_endpoint = machine.runtime_kind == RuntimeKind::container &&
                              endpoint_reach_ == http::Reach::public_only,
            .gate_offered = run.gate_offered,
            .wish = {},
            .dialled = Dialled::not_yet,
            .dial_reason = "",
            .proof = {}};
}

TestJudged Qualifications::take_result(api::Call& call, MachineId id, RunId run_id,
                                       const TestResult& told) const {
    // The machine is held first, so that of two results only one finds its test open.
    auto machine = hold(call.tx(), id);
    auto run = find_run(call.tx(), run_id);
    if (!machine || !run || run->machine_id != id) throw no_such_run();
    if (told.fence.value < machine->fence)
        throw Problem(Code::stale_fence, "the result is of an earlier time: see the fence");
    const std::string hash = agent_protocol::sha256_hash(wire::encode(told));
    if (run->result_hash == hash)
        return {run_id, outcome_of(run->state), read_or_empty<std::vector<Finding>>(run->findings)};
    if (run->state != RunState::sent || machine->qualify_run_id != run_id ||
        run->deadline_at <= call.now)
        throw Problem(Code::conflict, "this test is over");

    TestFacts facts = facts_of(*machine, *run);
    facts.wish = find_wish(call.tx(), id);
    const TestResult result = as_wished(facts.wish, told);
    facts.proof = proofs_.facts(find_proof(call.tx(), run_id));
    const Judgement judgement = judge(facts, result);
    run->result_hash = hash;
    note_ways(*run, result);
    if (judgement.outcome == Outcome::passed)
        note_reach(call.context(), *machine, *run, {Dialled::not_yet, ""});
    settle(call.context(), *machine, *run, result, judgement, listing_rules(call));
    if (judgement.outcome == Outcome::pending && (run->endpoint_host || run->door_host))
        worker::enqueue(
            call.context(),
            {.kind = dial_endpoint_kind_name, .payload = to_string(run_id), .run_at = call.now});
    else if (judgement.outcome == Outcome::pending)
        enqueue_examination(call.context(), run_id, {Dialled::not_yet, ""});
    return {run_id, judgement.outcome, judgement.findings};
}

// Writes down how a test ended, or that the endpoint is still to be dialled, on the run and on the
// machine.
void Qualifications::settle(const db::Context& context, Machine& machine, Run& run,
                            const TestResult& result, const Judgement& judgement,
                            const ListingRules& rules) const {
    run.state = state_after(judgement.outcome);
    run.checks = wire::encode(judgement.checks);
    run.findings = wire::encode(judgement.findings);
    run.measurements = wire::encode(result.measurements);
    if (judgement.outcome != Outcome::pending) run.finished_at = context.now;
    save_run(context.tx, run);
    end_test_commands(context.tx, machine.machine_id);
    if (judgement.outcome == Outcome::pending) return;
    delete_proof(context.tx, run.run_id);
    machine.wipe_available = judgement.wipes;
    if (judgement.outcome == Outcome::passed) {
        note_gpus_passed(context, machine.machine_id);
        Measured measured = measured_of(result.measurements);
        measured.gpus_bytes = wire::encode(bytes_of_cards(context.tx, machine, measured));
        machine.gpus_lost = "[]";  // each was just seen at work
        save_measured(context.tx, machine.machine_id, measured);
        note_success(context, machine, rules);
        if (offers_ != nullptr) offers_->carry_out_wish(context, machine, rules);
    } else {
        note_failure(machine, context.now, judgement.findings, judgement.hopeless);
        save(context, machine);
    }
    tell_test(context, machine, run.run_id, judgement.findings);
}

// A gate is worth a try wherever the owner has not ruled it out: the host's ports may have closed.
Reach Qualifications::offered(const db::Context& context, std::optional<GateWish> wish) const {
    const bool by_gate = gates_ != nullptr && wish != GateWish::never &&
                         gates_->is_any_live(context.tx, context.now);
    return by_gate ? Reach::gate : Reach::direct;
}

std::optional<DoorPlace> Qualifications::find_door(db::Transaction& tx, const Run& run,
                                                   Time now) const {
    if (gates_ == nullptr || !run.door_host) return std::nullopt;
    return gates_->find_test_door(tx, {run.machine_id, run.run_id, *run.door_host, *run.door_port},
                                  now);
}

bool Qualifications::begin(const db::Context& context, MachineId id) const {
    auto machine = hold(context.tx, id);
    const bool wanted = machine && machine->qualify_next_at &&
                        *machine->qualify_next_at <= context.now &&
                        is_one_of(machine->state, testable_states);
    if (!wanted) return false;
    const auto wish = find_wish(context.tx, id);
    const Reach way = offered(context, wish);
    if (wish == GateWish::always && way != Reach::gate) {
        await_gate(context, *machine);
        return false;
    }
    Run run;
    run.run_id = RunId::make(context.now, context.random);
    run.machine_id = id;
    run.manifest_hash = machine->manifest_hash;
    run.seed = crypto::make_token("", context.random);
    run.endpoint_token = crypto::make_token(issued::endpoint_token, context.random);
    run.started_at = context.now;
    run.deadline_at = context.now + run_lasts;
    run.gate_offered = way == Reach::gate;
    if (const auto hopeless = hopeless_from_manifest(facts_of(*machine, run))) {
        run.state = RunState::failed;
        run.finished_at = context.now;
        run.findings = wire::encode(std::vector{*hopeless});
        add_run(context.tx, run);
        note_failure(*machine, context.now, {*hopeless}, true);
        save(context, *machine);
        tell_test(context, *machine, run.run_id, {*hopeless});
        return false;
    }
    add_run(context.tx, run);
    const QualifyPayload payload{
        run.run_id,
        run.seed,
        run.endpoint_token,
        {{vram_bytes_min},
         {ram_bytes_min},
         {disk_bytes_min},
         {std::chrono::duration_cast<std::chrono::seconds>(run_lasts).count()}},
        way};
    commands_.queue(
        context, *machine,
        {.kind = CommandKind::qualify, .payload = wire::encode(payload), .lasts = run_lasts});
    machine->qualify_state = QualifyState::testing;
    machine->qualify_reason.reset();
    machine->qualify_next_at.reset();
    machine->qualify_run_id = run.run_id;
    save(context, *machine);
    return true;
}

bool Qualifications::end_dialling(const db::Context& context, RunId run_id,
                                  const DialResult& dialled, const ListingRules& rules) const {
    return end_test(context, run_id, dialled, nullptr, rules);
}

bool Qualifications::end_examination(const db::Context& context, RunId run_id,
                                     const DialResult& dialled, const ProofFacts& proof,
                                     const ListingRules& rules) const {
    return end_test(context, run_id, dialled, &proof, rules);
}

bool Qualifications::end_test(const db::Context& context, RunId run_id, const DialResult& dialled,
                              const ProofFacts* proof, const ListingRules& rules) const {
    const auto seen = find_run(context.tx, run_id);
    if (!seen) return false;
    auto machine = hold(context.tx, seen->machine_id);
    auto run = find_run(context.tx, run_id);
    if (!machine || machine->qualify_run_id != run_id || run->state != RunState::dialling)
        return false;
    TestResult result;
    result.checks.value = read_or_empty<std::vector<Check>>(run->checks);
    result.measurements = read_or_empty<Measurements>(run->measurements);
    if (run->endpoint_host)
        result.endpoint = AnnouncedEndpoint{{*run->endpoint_host}, {*run->endpoint_port}};
    if (run->door_host) result.door = AnnouncedEndpoint{{*run->door_host}, {*run->door_port}};
    TestFacts facts = facts_of(*machine, *run);
    facts.wish = find_wish(context.tx, machine->machine_id);
    facts.dialled = dialled.dialled;
    facts.dial_reason = dialled.reason;
    if (dialled.dialled == Dialled::answered && dialled.reach == Reach::gate)
        facts.dial_reason = "Reached by the door of a gate.";
    facts.proof = proof != nullptr ? *proof : proofs_.facts(find_proof(context.tx, run_id));
    const Judgement judgement = judge(facts, result);
    if (judgement.outcome == Outcome::pending) {
        enqueue_examination(context, run_id, dialled);
        return true;
    }
    if (judgement.outcome == Outcome::passed) note_reach(context, *machine, *run, dialled);
    settle(context, *machine, *run, result, judgement, rules);
    return true;
}

void reject_test(const db::Context& context, Machine& machine, RunId run_id,
                 const std::optional<std::string>& code) {
    auto run = find_run(context.tx, run_id);
    if (!run || run->state != RunState::sent || machine.qualify_run_id != run_id) return;
    const std::vector<Finding> findings{
        {"test.rejected", Severity::blocker,
         fmt::format("The agent refused to run the test{}. Update the agent, and look at its log.",
                     code ? " (" + *code + ")" : "")}};
    fail_run(context, machine, *run, findings);
}

bool Qualifications::time_out(const db::Context& context, RunId run_id) const {
    const auto seen = find_run(context.tx, run_id);
    if (!seen) return false;
    // Of a machine that is retired, only the run is closed.
    auto machine = hold(context.tx, seen->machine_id);
    auto run = find_run(context.tx, run_id);
    if (run->finished_at || run->deadline_at > context.now) return false;
    const std::vector<Finding> findings{
        {"test.timed_out", Severity::blocker,
         "The test did not end in time. See that the agent runs, and look at its log."}};
    if (machine && machine->qualify_run_id == run_id)
        fail_run(context, *machine, *run, findings);
    else
        close_run(context, *run, findings);
    return true;
}

bool admit(const db::Context& context, MachineId id, const ListingRules& rules) {
    auto machine = hold(context.tx, id);
    const bool wanted = machine && machine->state == MachineState::UNLISTED &&
                        machine->offer_state == OfferState::listed;
    if (!wanted || !is_admissible(context, *machine, rules)) return false;
    apply(context, *machine, MachineEvent::list, {.admitted = true});
    return true;
}

bool quarantine_uncleaned(const db::Context& context, MachineId id, Time up_since) {
    auto machine = hold(context.tx, id);
    const bool late =
        machine && machine->clean_deadline && machine->state == MachineState::CLEANING &&
        std::max(*machine->clean_deadline, up_since + stray_cleaned_within) <= context.now;
    if (late)
        apply(context, *machine, MachineEvent::quarantine,
              {.cause = QuarantineCause::wipe_timed_out});
    return late;
}

}  // namespace berth::machines
