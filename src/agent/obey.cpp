// What the agent does by the server's commands.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agent/agent.hpp"
#include "agent/ports.hpp"
#include "agent_protocol/hashes.hpp"
#include "base/enum_names.hpp"
#include "base/log.hpp"

namespace berth::agent {

using agent_protocol::Command;
using agent_protocol::CommandId;
using agent_protocol::CommandKind;

bool Agent::obey(const agent_protocol::AgentOrders& orders) {
    numbers_.take_fence(orders.fence);
    for (const agent_protocol::Lease& lease : orders.leases)
        if (const auto job = find(lease.job_id)) job->take(lease);
    bool is_done = true;
    for (const std::string& text : orders.commands) is_done = obey(text) && is_done;
    return is_done;
}

bool Agent::obey(const std::string& text) {
    const std::lock_guard turn(obeying_);
    agent_protocol::PinnedKey pinned;
    {
        const std::lock_guard lock(mutex_);
        pinned = pinned_of(identity_);
    }
    const auto checked =
        agent_protocol::check_command(text, *identity_.machine_id, pinned, house_.now());
    if (!checked.command_id) {
        log(Level::warn, "command_ignored", {{"why", "it is not signed by our server for us"}});
        return false;
    }
    // The other thread had it too, and was first.
    const CommandId id = *checked.command_id;
    if (std::find(answered_.begin(), answered_.end(), id) != answered_.end()) return true;
    std::optional<Code> refused = checked.refusal;
    if (!refused) refused = refusal(*checked.command);
    if (refused) {
        log(Level::warn, "command_refused", {{"code", code_name(*refused)}});
        return acknowledge(*checked.command_id, {"rejected", std::string(code_name(*refused))});
    }
    log(Level::info, "command", {{"kind", enum_name(checked.command->kind)}});
    try {
        return carry_out(*checked.command);
    } catch (const Problem& problem) {
        log(Level::error, "command_unreadable", {{"why", problem.message}});
        return acknowledge(*checked.command_id, {"rejected", "INVALID_INPUT"});
    } catch (const http::TransportError&) {
        return false;  // it comes again
    }
}

// What is older than something we have seen.
std::optional<Code> Agent::refusal(const Command& command) {
    if (const auto stale = numbers_.take_fence(command.fence.value)) return stale;
    if (!command.job_id || !command.lease_seq) return std::nullopt;
    const auto past = numbers_.take_lease(*command.job_id, command.lease_seq->value);
    // To stop is right whatever was granted since.
    return command.kind == CommandKind::stop ? std::nullopt : past;
}

bool Agent::carry_out(const Command& command) {
    switch (command.kind) {
        case CommandKind::qualify: return qualify(command);
        case CommandKind::start: return start_job(command);
        case CommandKind::stop: return stop_job(command);
        case CommandKind::budget: return take_budget(command);
        case CommandKind::clean: return clean_job(command);
        case CommandKind::rotate_key: return rotate_key(command);
        case CommandKind::server_key: return pin_key(command);
    }
    return acknowledge(command.command_id, {"rejected", "UNKNOWN_COMMAND_KIND"});
}

bool Agent::start_job(const Command& command) {
    const auto order = wire::decode_known<StartOrder>(command.payload.text, "payload");
    if (find(order.job_id)) return acknowledge(command.command_id, {"accepted"});
    const auto reject = [&](const std::string& why) {
        log(Level::warn, "start_refused", {{"job_id", to_string(order.job_id)}, {"why", why}});
        numbers_.forget(order.job_id);
        return acknowledge(command.command_id, {"rejected", "HOST_REJECTED"});
    };
    if (!jobs().empty()) return reject("another job is on this machine");
    if (const auto refused = numbers_.take_budget(order.job_id, order.budget_version.value,
                                                  order.budget_micro))
        return acknowledge(command.command_id, {"rejected", std::string(code_name(*refused))});
    JobRecord record;
    record.job_id = order.job_id;
    record.start.text = command.payload.text;
    record.lease_expires_at = house_.now() + first_lease;
    if (const auto why = give_ports(order, record)) return reject(*why);
    {
        const std::lock_guard lock(mutex_);
        jobs_.emplace(order.job_id, std::make_shared<Job>(house_, std::move(record),
                                                          Job::Origin::command));
    }
    minder_bell_.ring();
    return acknowledge(command.command_id, {"accepted"});
}

// The last port of the range is the machine test's.
std::optional<std::string> Agent::give_ports(const StartOrder& order, JobRecord& record) {
    const Settings& settings = parts_.settings;
    if (settings.public_host.empty()) return "there is no --public-host under which it is reached";
    std::set<std::int64_t> taken;
    const auto next = [&] {
        const auto port =
            find_port(settings.port_first.value, settings.port_last.value - 1, taken);
        if (port) taken.insert(*port);
        return port;
    };
    for (const Exposed& exposed : order.exposes) {
        if (exposed.protocol != "http") continue;
        const auto port = next();
        const auto local = parts_.front != nullptr ? find_local_port() : port;
        if (!port || !local) return "no port of --ports is free";
        record.doors.push_back({exposed.name, {*port}, {*local}, ""});
    }
    if (!order.ssh_public_key.value) return std::nullopt;
    const auto port = next();
    if (!port) return "no port of --ports is free";
    record.ssh_port.value = *port;
    return std::nullopt;
}

bool Agent::stop_job(const Command& command) {
    if (!command.job_id) return acknowledge(command.command_id, {"rejected", "INVALID_INPUT"});
    const auto order = wire::decode_known<StopOrder>(command.payload.text, "payload");
    if (const auto job = find(*command.job_id)) {
        job->stop(order.reason);
        return acknowledge(command.command_id, {"accepted"});
    }
    // Nothing of it is here: that is what the server wants to hear, under the lease that it names.
    // Told before the command is answered, which comes again when this does not get through.
    const std::string body = fmt::format(
        R"({{"fence":"{}","lease_seq":"{}","kind":"STOPPED","at":"{}","evidence":{{}}}})",
        numbers_.fence(), numbers_.job(*command.job_id).lease_seq, to_rfc3339(house_.now()));
    const http::Response told =
        link_.send({.target = "/api/v1/host-agent/jobs/" + to_string(*command.job_id) + "/events",
                    .body = body});
    if (told.status == 429 || told.status >= 500) return false;
    numbers_.forget(*command.job_id);
    return acknowledge(command.command_id, {"accepted"});
}

bool Agent::clean_job(const Command& command) {
    if (!command.job_id) return acknowledge(command.command_id, {"rejected", "INVALID_INPUT"});
    auto job = find(*command.job_id);
    if (!job) {
        // Never started here, or forgotten: the cards are wiped and told of all the same.
        JobRecord record;
        record.job_id = *command.job_id;
        record.phase = agent_protocol::JobPhase::stopped;
        job = std::make_shared<Job>(house_, std::move(record), Job::Origin::command);
        const std::lock_guard lock(mutex_);
        jobs_.emplace(*command.job_id, job);
    }
    job->clean();
    return acknowledge(command.command_id, {"accepted"});
}

bool Agent::take_budget(const Command& command) {
    if (!command.job_id) return acknowledge(command.command_id, {"rejected", "INVALID_INPUT"});
    const auto budget =
        wire::decode_known<agent_protocol::BudgetDetail>(command.payload.text, "payload");
    const auto job = find(*command.job_id);
    if (const auto refused = numbers_.take_budget(*command.job_id, budget.budget_version.value,
                                                  budget.budget_micro))
        return acknowledge(command.command_id, {"rejected", std::string(code_name(*refused))});
    if (job) job->fund(budget.funded_through.value);
    return acknowledge(command.command_id, {"accepted", "", wire::encode(budget)});
}

bool Agent::rotate_key(const Command& command) {
    const auto payload =
        wire::decode_known<agent_protocol::RotateKeyPayload>(command.payload.text, "payload");
    std::string seed;
    {
        const std::lock_guard lock(mutex_);
        if (!identity_.next_seed) {
            SystemRandom random;
            identity_.next_seed = to_hex(random.bytes(crypto::Secret::size));
            parts_.state.save(identity_);  // before the server may know it
        }
        seed = *identity_.next_seed;
    }
    const crypto::Ed25519Key fresh = key_of(seed);
    const std::string detail =
        fmt::format(R"({{"public_key":"{}","signature":"{}"}})",
                    agent_protocol::key_text(fresh.public_key()),
                    to_base64(fresh.sign(payload.nonce)));
    if (!acknowledge(command.command_id, {"completed", "", detail})) return false;
    try_next_key();
    return true;
}

bool Agent::pin_key(const Command& command) {
    const auto payload =
        wire::decode_known<agent_protocol::ServerKeyPayload>(command.payload.text, "payload");
    const auto key = agent_protocol::parse_key(payload.public_key);
    if (!key || agent_protocol::key_id(*key) != payload.key_id)
        return acknowledge(command.command_id, {"rejected", "INVALID_INPUT"});
    // Acknowledged first: it comes again, signed by the old key, until that got through.
    if (!acknowledge(command.command_id, {"completed"})) return false;
    const std::lock_guard lock(mutex_);
    identity_.server_key_id = payload.key_id;
    identity_.server_public_key = payload.public_key;
    parts_.state.save(identity_);
    return true;
}

bool Agent::qualify(const Command& command) {
    const auto order = wire::decode_known<QualifyOrder>(command.payload.text, "payload");
    if (!jobs().empty()) return acknowledge(command.command_id, {"rejected", "CONFLICT"});
    if (!acknowledge(command.command_id, {"accepted"})) return false;
    if (!test_.begin(order)) log(Level::warn, "machine_test_busy", {{"run_id", order.run_id}});
    return true;
}

bool Agent::acknowledge(agent_protocol::CommandId id, const Answer& answer) {
    std::string body = fmt::format(R"({{"fence":"{}","result":"{}")", numbers_.fence(),
                                   answer.result);
    if (!answer.code.empty()) body += fmt::format(R"(,"code":"{}")", answer.code);
    if (!answer.detail.empty()) body += fmt::format(R"(,"detail":{})", answer.detail);
    const http::Response response =
        link_.send({.target = "/api/v1/host-agent/commands/" + to_string(id) + "/ack",
                    .body = body + "}"});
    if (response.status != 200)
        log(Level::warn, "ack_refused",
            {{"status", response.status}, {"answer", response.body}});
    if (response.status != 200) return false;
    if (answered_.size() == answered_max) answered_.pop_front();
    answered_.push_back(id);
    return true;
}

}  // namespace berth::agent
