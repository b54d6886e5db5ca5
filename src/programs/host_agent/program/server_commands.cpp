#include "host_agent/program/server_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agent_protocol/hashes.hpp"
#include "agent_protocol/variables.hpp"
#include "base/enum_names.hpp"
#include "base/log.hpp"
#include "host_agent/core/ports.hpp"
#include "host_agent/job/evidence.hpp"
#include "host_agent/job/workload.hpp"

namespace berth::host_agent {

using agent_protocol::AckResult;
using agent_protocol::Command;
using agent_protocol::CommandId;
using agent_protocol::CommandKind;

namespace {

constexpr const char* too_far_fence =
    "The fence of the command is further from the host's than one step can be; `berth-agent "
    "mend-fence` on the host takes the server's.";

std::vector<std::string> secrets_in(const agent_protocol::StartPayload& order) {
    std::vector<std::string> all{order.endpoint_api_key};
    if (order.hub_token.value) all.push_back(*order.hub_token.value);
    return all;
}

}  // namespace

// A full disk keeps back what it concerns, and nothing of what comes behind it: to stop and to
// clean up may be just that.
bool ServerCommands::carry_out(const agent_protocol::AgentOrders& orders) {
    bool is_done = true;
    const auto attempt = [&](const std::function<bool()>& step) {
        try {
            is_done = step() && is_done;
        } catch (const StateLost& error) {
            log(Level::error, "state_not_written", {{"why", error.what()}});
            is_done = false;  // not acknowledged: it comes again
        }
    };
    attempt([&] {
        if (parts_.counters.take_fence(orders.fence) == Code::conflict)
            log(Level::warn, "fence_refused",
                {{"ours", parts_.counters.fence()}, {"servers", orders.fence}});
        return true;
    });
    for (const agent_protocol::Lease& lease : orders.leases)
        attempt([&] {
            if (const auto job = parts_.jobs.find(lease.job_id)) job->take(lease);
            return true;
        });
    for (const std::string& text : orders.commands) attempt([&] { return take_command(text); });
    return is_done;
}

bool ServerCommands::take_command(const std::string& text) {
    const std::lock_guard turn(turn_);
    const agent_protocol::CheckedCommand checked =
        parts_.keys.check(text, parts_.job_context.now());
    if (!checked.command_id) {
        log(Level::warn, "command_ignored", {{"why", "it is not signed by our server for us"}});
        return false;
    }
    // The other thread had it too, and was first.
    const CommandId id = *checked.command_id;
    if (std::find(answered_.begin(), answered_.end(), id) != answered_.end()) return true;
    try {
        return answer(id, checked);
    } catch (const http::TransportError&) {
        return false;  // it comes again
    }
}

bool ServerCommands::answer(CommandId id, const agent_protocol::CheckedCommand& checked) {
    try {
        std::optional<Code> refused = checked.refusal;
        if (!refused) refused = refusal(*checked.command);
        if (refused) {
            log(Level::warn, "command_refused", {{"code", code_name(*refused)}});
            if (*refused == Code::conflict)
                return refuse(id, std::string(code_name(*refused)), too_far_fence);
            return acknowledge(id, {AckResult::rejected, std::string(code_name(*refused))});
        }
        log(Level::info, "command", {{"kind", enum_name(checked.command->kind)}});
        return carry_out(*checked.command);
    } catch (const Problem& problem) {
        log(Level::error, "command_unreadable", {{"why", problem.message}});
        forget_refused(checked.command);
        return refuse(id, "INVALID_INPUT", presentable_sentence(problem.message, {}));
    } catch (const StateLost& error) {
        const bool is_start = checked.command && checked.command->kind == CommandKind::start;
        if (!is_start || !checked.command->job_id || parts_.jobs.find(*checked.command->job_id))
            throw;
        // Its renter need not wait for room on this host.
        log(Level::error, "start_refused", {{"why", error.what()}});
        forget_refused(checked.command);
        return refuse(id, "DISK_FULL", "The host has no room to write down what it is to run.");
    }
}

// A job that was not taken on has no counters.
void ServerCommands::forget_refused(const std::optional<Command>& command) {
    if (!command || command->kind != CommandKind::start || !command->job_id) return;
    if (parts_.jobs.find(*command->job_id)) return;
    try {
        parts_.counters.forget(*command->job_id);
    } catch (const StateLost& error) {
        log(Level::error, "state_not_written", {{"why", error.what()}});
    }
}

// What is older than something we have seen.
std::optional<Code> ServerCommands::refusal(const Command& command) {
    const bool ends = command.kind == CommandKind::stop || command.kind == CommandKind::clean;
    try {
        if (const auto stale = parts_.counters.take_fence(command.fence.value)) return stale;
        if (!command.job_id || !command.lease_seq) return std::nullopt;
        const auto past = parts_.counters.take_lease(*command.job_id, command.lease_seq->value);
        // To stop is right whatever was granted since.
        return command.kind == CommandKind::stop ? std::nullopt : past;
    } catch (const StateLost&) {
        // The number is newer than ours, and has no room. What ends, and frees some, needs none.
        if (ends) return std::nullopt;
        throw;
    }
}

bool ServerCommands::carry_out(const Command& command) {
    switch (command.kind) {
        case CommandKind::qualify: return qualify(command);
        case CommandKind::start: return start_job(command);
        case CommandKind::stop: return stop_job(command);
        case CommandKind::budget: return take_budget(command);
        case CommandKind::clean: return clean_job(command);
        case CommandKind::rotate_key: return rotate_key(command);
        case CommandKind::server_key: return pin_key(command);
    }
    return acknowledge(command.command_id, {AckResult::rejected, "UNKNOWN_COMMAND_KIND"});
}

bool ServerCommands::start_job(const Command& command) {
    const auto order = agent_protocol::payload_of<agent_protocol::StartPayload>(command);
    if (parts_.jobs.find(order.job_id))
        return acknowledge(command.command_id, {AckResult::accepted});
    const auto reject = [&](const std::string& why, By by = By::host) {
        log(Level::warn, "start_refused", {{"job_id", to_string(order.job_id)}, {"why", why}});
        parts_.counters.forget(order.job_id);
        return refuse(command.command_id, "HOST_REJECTED",
                      presentable_sentence(why, secrets_in(order)), by);
    };
    if (const auto member = agent_protocol::find_difference(order.profile))
        return reject(fmt::format("Its launch profile is not ours in {}.", *member));
    for (const auto& [name, value] : order.env)
        if (agent_protocol::is_loader_variable(name))
            return reject(fmt::format("Its environment has {}.", name));
    const auto others = parts_.jobs.all();
    if (std::any_of(others.begin(), others.end(),
                    [](const auto& job) { return !job->is_leaving(); }))
        return reject("Another job is on this machine.");
    // The server may have it that the machine is clean, and we are about to hear so. Left for the
    // next round, which comes soon: what is refused counts against the host.
    if (!others.empty()) return false;
    if (const auto refused = parts_.counters.take_budget(order.job_id, order.budget_version.value,
                                                         order.budget_micro))
        return acknowledge(command.command_id,
                           {AckResult::rejected, std::string(code_name(*refused))});
    JobRecord record;
    record.job_id = order.job_id;
    record.start.text = command.payload.text;
    record.lease_expires_at = parts_.job_context.now() + first_lease;
    if (const auto why = follow_policy(order, record)) return reject(*why, By::policy);
    if (const auto why = choose_reach(order, record)) return reject(*why, By::policy);
    if (const auto why = give_ports(order, record)) return reject(*why);
    if (const auto why =
            parts_.job_context.runtime.refusal(workload_of(record, order, parts_.job_context)))
        return reject(*why);
    parts_.jobs.begin(parts_.job_context, std::move(record), Job::Origin::command);
    parts_.job_context.wake_deadlines();
    return acknowledge(command.command_id, {AckResult::accepted});
}

// A policy that cannot be read allows nothing.
std::optional<std::string> ServerCommands::follow_policy(const agent_protocol::StartPayload& order,
                                                         JobRecord& record) const {
    const JobContext& context = parts_.job_context;
    Policy policy;
    try {
        policy = parts_.policy.now();
    } catch (const std::invalid_argument& error) {
        log(Level::error, "policy_unreadable", {{"why", error.what()}});
        return "The rules of the host's owner cannot be read, so that it takes no job.";
    }
    const int minute = local_minute(context.clock.wall());
    if (auto why = refusal_by(policy, order, minute)) return why;
    if (const auto left = hours_left(policy, minute).until_closing)
        record.owners_end =
            OwnersEnd{context.clock.boot_id(), {(context.clock.since_boot() + *left).count()}};
    return std::nullopt;
}

std::optional<std::string> ServerCommands::choose_reach(const agent_protocol::StartPayload& order,
                                                        JobRecord& record) const {
    using agent_protocol::GateWish;
    using agent_protocol::Reach;
    const auto wish = parts_.job_context.settings.gate;
    const bool is_by_gate = order.reach == Reach::gate;
    if (is_by_gate && wish == GateWish::never)
        return "The host's owner wants no gate (--gate never).";
    // It was rented before the machine's test by a gate; the server gives no doors for it.
    if (!is_by_gate && wish == GateWish::always)
        return "The host's owner wants to be reached by a gate only (--gate always).";
    if (is_by_gate) record.reach = Reach::gate;
    return std::nullopt;
}

// The last port of the range is the machine test's. With a gate they are loopback's.
std::optional<std::string> ServerCommands::give_ports(const agent_protocol::StartPayload& order,
                                                      JobRecord& record) {
    constexpr const char* no_port = "No port that the host has for jobs (--ports) is free.";
    const Settings& settings = parts_.job_context.settings;
    if (settings.public_host.empty() && !record.is_by_gate())
        return "The host does not know under which address it is reached: its owner has to give "
               "--public-host.";
    std::set<std::int64_t> taken;
    const auto next = [&] {
        const auto port = find_port(settings.port_first.value, settings.port_last.value - 1, taken);
        if (port) taken.insert(*port);
        return port;
    };
    for (const agent_protocol::Exposed& exposed : order.exposes) {
        if (exposed.protocol != "http") continue;
        const auto port = next();
        const bool has_front = parts_.job_context.front_of(record) != nullptr;
        const auto local = has_front ? find_local_port() : port;
        if (!port || !local) return no_port;
        record.doors.push_back({exposed.name, {*port}, {*local}, ""});
    }
    if (!order.ssh_public_key.value) return std::nullopt;
    const auto port = next();
    if (!port) return no_port;
    record.ssh_port.value = *port;
    return std::nullopt;
}

bool ServerCommands::stop_job(const Command& command) {
    if (!command.job_id)
        return acknowledge(command.command_id, {AckResult::rejected, "INVALID_INPUT"});
    const auto order = agent_protocol::payload_of<agent_protocol::StopPayload>(command);
    if (const auto job = parts_.jobs.find(*command.job_id)) {
        job->stop(order.reason);
        return acknowledge(command.command_id, {AckResult::accepted});
    }
    // Nothing of it is here: that is what the server wants to hear, under the lease that it names.
    // Told before the command is answered, which comes again when this does not get through.
    agent_protocol::JobEvent event;
    event.fence.value = parts_.counters.fence();
    event.lease_seq.value = parts_.counters.job(*command.job_id).lease_seq;
    event.kind = agent_protocol::JobEventKind::stopped;
    event.at = parts_.job_context.now();
    event.evidence.text = wire::encode(agent_protocol::EndEvidence{});
    const http::Response told = parts_.link.send(
        {.target = "/api/v1/host-agent/jobs/" + to_string(*command.job_id) + "/events",
         .body = wire::encode(event)});
    if (told.status == 429 || told.status >= 500) return false;
    parts_.counters.forget(*command.job_id);
    return acknowledge(command.command_id, {AckResult::accepted});
}

bool ServerCommands::clean_job(const Command& command) {
    if (!command.job_id)
        return acknowledge(command.command_id, {AckResult::rejected, "INVALID_INPUT"});
    auto job = parts_.jobs.find(*command.job_id);
    if (!job) {
        // Never started here, or forgotten: the cards are wiped and told of all the same.
        JobRecord record;
        record.job_id = *command.job_id;
        record.phase = agent_protocol::JobPhase::stopped;
        job = parts_.jobs.begin(parts_.job_context, std::move(record), Job::Origin::command);
    }
    job->clean();
    return acknowledge(command.command_id, {AckResult::accepted});
}

bool ServerCommands::take_budget(const Command& command) {
    if (!command.job_id)
        return acknowledge(command.command_id, {AckResult::rejected, "INVALID_INPUT"});
    const auto budget = agent_protocol::payload_of<agent_protocol::BudgetPayload>(command);
    const auto job = parts_.jobs.find(*command.job_id);
    if (const auto refused = parts_.counters.take_budget(
            *command.job_id, budget.budget_version.value, budget.budget_micro))
        return acknowledge(command.command_id,
                           {AckResult::rejected, std::string(code_name(*refused))});
    if (job) job->fund(budget.funded_through.value);
    return acknowledge(command.command_id, {AckResult::accepted, "", wire::encode(budget)});
}

bool ServerCommands::rotate_key(const Command& command) {
    const auto payload = agent_protocol::payload_of<agent_protocol::RotateKeyPayload>(command);
    const AgentKeys::Rotation rotation = parts_.keys.rotation();
    const crypto::Ed25519Key fresh = key_of(rotation.next_seed);
    const agent_protocol::RotateKeyDetail detail{{agent_protocol::key_text(fresh.public_key())},
                                                 {to_base64(fresh.sign(payload.nonce))}};
    if (!acknowledge(command.command_id, {AckResult::completed, "", wire::encode(detail)}))
        return false;
    parts_.keys.try_other(rotation.seed);
    return true;
}

bool ServerCommands::pin_key(const Command& command) {
    const auto payload = agent_protocol::payload_of<agent_protocol::ServerKeyPayload>(command);
    const auto key = agent_protocol::parse_key(payload.public_key);
    if (!key || agent_protocol::key_id(*key) != payload.key_id)
        return acknowledge(command.command_id, {AckResult::rejected, "INVALID_INPUT"});
    parts_.keys.pin_next(payload.key_id, payload.public_key);
    return acknowledge(command.command_id, {AckResult::completed});
}

bool ServerCommands::qualify(const Command& command) {
    const auto order = agent_protocol::payload_of<QualifyPayload>(command);
    if (!parts_.jobs.all().empty())
        return acknowledge(command.command_id, {AckResult::rejected, "CONFLICT"});
    if (!acknowledge(command.command_id, {AckResult::accepted})) return false;
    if (!parts_.qualification.begin(order))
        log(Level::warn, "machine_test_busy", {{"run_id", to_string(order.run_id)}});
    return true;
}

bool ServerCommands::refuse(CommandId id, const std::string& code, const std::string& sentence,
                            By by) {
    agent_protocol::RefusalDetail detail;
    detail.message.emplace(agent_protocol::HostText{sentence});
    if (by == By::policy) detail.by_policy.emplace(true);
    return acknowledge(id, {AckResult::rejected, code, wire::encode(detail)});
}

bool ServerCommands::acknowledge(agent_protocol::CommandId id, const Answer& answer) {
    agent_protocol::Ack ack;
    ack.fence.value = parts_.counters.fence();
    ack.result = answer.result;
    if (!answer.code.empty()) ack.code = wire::Text<1, 64>{answer.code};
    if (!answer.detail.empty()) ack.detail = agent_protocol::OpenObject{answer.detail};
    const http::Response response =
        parts_.link.send({.target = "/api/v1/host-agent/commands/" + to_string(id) + "/ack",
                          .body = wire::encode(ack)});
    if (response.status != 200)
        log(Level::warn, "ack_refused", {{"status", response.status}, {"answer", response.body}});
    if (response.status != 200) return false;
    if (answered_.size() == answered_max) answered_.pop_front();
    answered_.push_back(id);
    return true;
}

}  // namespace berth::host_agent
