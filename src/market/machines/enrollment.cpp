#include "machines/enrollment.hpp"

#include "accounts/accounts.hpp"
#include "agent_protocol/hashes.hpp"
#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "machines/label.hpp"
#include "machines/manifests.hpp"
#include "machines/store.hpp"
#include "machines/told.hpp"

namespace berth::machines {
namespace {

constexpr Duration enrollments_kept = std::chrono::hours(24 * 30);

[[noreturn]] void refuse_token() {
    throw Problem(Code::authorization_invalid,
                  "body.token: is unknown, was used, or has expired; ask for another one");
}

// All that is said of an offer is said of one with a price.
void check_wish(const NewEnrollment& request) {
    if (request.rate_micro_per_hour) return;
    wire::Errors errors;
    const auto needs_price = [&](bool is_given, const char* member) {
        if (is_given) errors.add(member, "is of an offer, which needs rate_micro_per_hour");
    };
    needs_price(request.included_disk_gib.has_value(), "body.included_disk_gib");
    needs_price(request.included_egress_gib.has_value(), "body.included_egress_gib");
    needs_price(request.available_days.has_value(), "body.available_days");
    needs_price(request.list.value_or(false), "body.list");
    errors.raise();
}

agent_protocol::Enrolled answer(const Machine& machine, const agent_protocol::CommandKey& key) {
    return {.machine_id = machine.machine_id,
            .fence = {machine.fence},
            .server_public_key = agent_protocol::key_text(key.public_key()),
            .server_key_id = key.id(),
            .heartbeat_s = {agent_protocol::heartbeat_seconds}};
}

}  // namespace

Enrollment Enrollments::create(api::Call& call, const NewEnrollment& request) const {
    check_wish(request);
    if (!call.caller.host) {
        // Asking for it makes a person's account one that hosts.
        accounts::become_host(call.tx(), call.caller.account);
        const auto account = accounts::find_account(call.tx(), call.caller.account);
        if (!account || !account->host_capability)
            throw Problem(Code::forbidden, "this account may not host");
    }
    const std::string token = crypto::make_token(issued::enrollment, call.random);
    const auto id = call.make_id<EnrollmentId>();
    const Time expires_at = call.now + enrollment_lasts;
    EnrollmentRow row{.enrollment_id = id,
                      .owner = call.caller.account,
                      .tier = request.tier,
                      .label = {},
                      .expires_at = expires_at,
                      .used_at = {},
                      .machine_id = {},
                      .rate_micro_per_hour = request.rate_micro_per_hour,
                      .included_disk_gib = {},
                      .included_egress_gib = {},
                      .available_days = {},
                      .wants_listing = request.list.value_or(false)};
    if (request.included_disk_gib) row.included_disk_gib = request.included_disk_gib->value;
    if (request.included_egress_gib) row.included_egress_gib = request.included_egress_gib->value;
    if (request.available_days) row.available_days = request.available_days->value;
    if (request.label) {
        check_label(request.label->value, "body.label");
        row.label = request.label->value;
    }
    add_enrollment(call.context(), row, crypto::sha256(token));
    return {id, {token}, expires_at, install_line(server_)};
}

EnrollmentShown Enrollments::show(api::Call& call, EnrollmentId id) const {
    const auto row = find_enrollment(call.tx(), id);
    if (!row || row->owner != call.caller.account)
        throw Problem(Code::not_found, "there is no such enrollment");
    const bool is_over = row->expires_at <= call.now;
    return {.enrollment_id = id,
            .state = row->machine_id ? EnrollmentState::used
                     : is_over       ? EnrollmentState::expired
                                     : EnrollmentState::waiting,
            .tier = row->tier,
            .label = row->label,
            .expires_at = row->expires_at,
            .used_at = row->used_at,
            .machine_id = row->machine_id,
            .rate_micro_per_hour = row->rate_micro_per_hour,
            .list = row->wants_listing};
}

agent_protocol::Enrolled Enrollments::redeem(api::Call& call,
                                             const agent_protocol::Enroll& request) const {
    if (request.protocol_version.value != agent_protocol::protocol_version)
        throw supported_versions.problem("body.protocol_version: is not one that we speak",
                                         {{agent_protocol::protocol_version}});
    const auto key = agent_protocol::parse_key(request.public_key.value);
    if (!key)
        throw Problem(Code::invalid_input,
                      "body.public_key: must be the 32 bytes of an Ed25519 key in base64");
    if (!crypto::looks_like_token(issued::enrollment, request.token.value)) refuse_token();
    const auto row = find_enrollment(call.tx(), crypto::sha256(request.token.value));
    if (!row) refuse_token();
    check_manifest(request.manifest, request.manifest_hash.value, row->tier,
                   call.settings<Settings>());
    if (row->machine_id) {
        const auto known = find(call.tx(), *row->machine_id);
        if (!known || known->public_key != request.public_key.value ||
            known->manifest_hash != request.manifest_hash.value)
            refuse_token();
        return answer(*known, commands_.pinned_by(call.tx(), known->machine_id));
    }
    if (row->expires_at <= call.now) refuse_token();

    Machine machine;
    machine.machine_id = call.make_id<MachineId>();
    machine.version = 1;
    machine.owner = row->owner;
    machine.tier = row->tier;
    machine.label = row->label;
    machine.enrolled_at = call.now;
    machine.figures_due_at = call.now;
    machine.changed_at = call.now;
    machine.public_key = request.public_key.value;
    machine.agent_version = request.agent_version.value;
    machine.boot_id = request.boot_id.value;
    machine.continent = countries_.continent_of(call.request.client_address);
    machine.offer_id = call.make_id<OfferId>();
    machine.qualify_next_at = call.now;
    describe_by(request.manifest, machine);
    if (!use_enrollment(call.context(), row->enrollment_id, machine.machine_id)) refuse_token();
    add(call.tx(), machine, agent_protocol::canonical_manifest(request.manifest),
        gpu_uuids(request.manifest));
    tell_enrolled(call.context(), machine);
    return answer(machine, commands_.pin_newest(call.tx(), machine.machine_id));
}

std::int64_t prune_enrollments(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return prune_enrollments_before(tx, now - enrollments_kept, rows_max);
}

}  // namespace berth::machines
