#include "offers/offers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "audit/audit.hpp"
#include "base/check.hpp"
#include "machines/listing.hpp"
#include "machines/told.hpp"
#include "offers/disk.hpp"
#include "offers/settings.hpp"
#include "offers/store.hpp"
#include "offers/told.hpp"

namespace berth::offers {
namespace {

using api::Call;
using machines::Machine;

// The earlier of the two ends counts.
Time end_of(const OfferEdit& edit) {
    return edit.listing_expires_at ? std::min(*edit.listing_expires_at, edit.available_until)
                                   : edit.available_until;
}

void check_times(const OfferEdit& edit) {
    wire::Errors errors;
    if (edit.available_until <= edit.available_from)
        errors.add("body.available_until", "must be later than available_from");
    else if (end_of(edit) <= edit.available_from)
        errors.add("body.listing_expires_at", "must be later than available_from");
    errors.raise();
}

// What a first offer promises where its host did not say.
constexpr std::int64_t first_disk_gib = 100;
constexpr std::int64_t first_egress_gib = 1000;
constexpr std::int64_t first_days = 365;

// From the wish that came with the token; of disk never more than there is. Where the host named
// none, a third is left for the images, without which no job would start.
VersionRow wished_version(const Machine& machine, const machines::OfferWish& wish,
                          const std::optional<machines::Measured>& measured, Time now) {
    const auto disk = measured ? measured->disk_bytes : std::nullopt;
    std::int64_t disk_gib = wish.included_disk_gib.value_or(first_disk_gib);
    if (disk) {
        const std::int64_t free_gib = *disk / gibibyte;
        disk_gib = std::min(disk_gib, wish.included_disk_gib ? free_gib : free_gib * 2 / 3);
    }
    const std::int64_t days = wish.available_days.value_or(first_days);
    return {.offer_id = machine.offer_id,
            .offer_version = 1,
            .machine_id = machine.machine_id,
            .rate_micro_per_hour = wish.rate_micro_per_hour,
            .included_disk_gib = disk_gib,
            .included_egress_gib = wish.included_egress_gib.value_or(first_egress_gib),
            .available_from = now,
            .available_until = now + std::chrono::hours(24 * days),
            .availability_class = AvailabilityClass::dedicated,
            .preemption_notice_s = {},
            .created_at = now};
}

std::vector<std::string> ignored_fields(const OfferEdit& edit) {
    std::vector<std::string> names;
    if (edit.min_duration_s) names.emplace_back("min_duration_s");
    if (edit.max_duration_s) names.emplace_back("max_duration_s");
    return names;
}

// What the class and its notice will be: as given, else as they are.
void set_class(VersionRow& next, const OfferEdit& edit, const std::optional<VersionRow>& current) {
    const auto was = current ? current->availability_class : AvailabilityClass::dedicated;
    next.availability_class = edit.availability_class.value_or(was);
    if (next.availability_class == AvailabilityClass::dedicated) {
        if (edit.preemption_notice_s)
            throw Problem(Code::invalid_input,
                          "body.preemption_notice_s: must be left out for a dedicated offer, which "
                          "is never preempted");
        return;
    }
    if (edit.preemption_notice_s)
        next.preemption_notice_s = edit.preemption_notice_s->value;
    else if (current)
        next.preemption_notice_s = current->preemption_notice_s;
    if (!next.preemption_notice_s)
        throw Problem(Code::invalid_input,
                      "body.preemption_notice_s: must be given for an interruptible offer");
}

// Where a test has measured it. Before that the listing tells.
void refuse_missing_disk(const std::optional<machines::Measured>& measured,
                         const VersionRow& next) {
    const auto disk = measured ? measured->disk_bytes : std::nullopt;
    if (has_disk_for(next.included_disk_gib, disk)) return;
    throw Problem(Code::invalid_input,
                  fmt::format("body.included_disk_gib: must be at most {}, which is what the last "
                              "test found free",
                              *disk / gibibyte));
}

void refuse_other_version(const Machine& machine, const std::optional<VersionRow>& current,
                          const OfferEdit& edit) {
    if (edit.expected_version.value == machine.offer_version) return;
    CurrentOffer shown{{machine.offer_version}, std::nullopt, std::nullopt};
    if (current) {
        shown.rate_micro_per_hour = current->rate_micro_per_hour;
        shown.available_until = current->available_until;
    }
    throw current_offer.problem(
        fmt::format("the offer has version {} now, not {}: look at it again and send the edit "
                    "with that expected_version",
                    machine.offer_version, edit.expected_version.value),
        shown);
}

std::optional<NoticeSeconds> shown_notice(const VersionRow& row) {
    return row.preemption_notice_s ? std::optional(NoticeSeconds{*row.preemption_notice_s})
                                   : std::nullopt;
}

OfferVersion shown(const VersionRow& row, OfferState state, const OfferEdit& edit) {
    return {.offer_id = row.offer_id,
            .offer_version = {row.offer_version},
            .state = state,
            .rate_micro_per_hour = row.rate_micro_per_hour,
            .included_disk_gib = {row.included_disk_gib},
            .included_egress_gib = {row.included_egress_gib},
            .available_from = row.available_from,
            .available_until = row.available_until,
            .availability_class = row.availability_class,
            .preemption_notice_s = wire::Nullable<NoticeSeconds>(shown_notice(row)),
            .ignored_fields = ignored_fields(edit)};
}

PastVersion shown(const VersionRow& row, const Machine& machine) {
    const bool is_current = row.offer_version == machine.offer_version;
    return {.offer_id = row.offer_id,
            .offer_version = {row.offer_version},
            .state = is_current ? machine.offer_state.value_or(OfferState::unlisted)
                                : OfferState::unlisted,
            .rate_micro_per_hour = row.rate_micro_per_hour,
            .included_disk_gib = {row.included_disk_gib},
            .included_egress_gib = {row.included_egress_gib},
            .available_from = row.available_from,
            .available_until = row.available_until,
            .availability_class = row.availability_class,
            .preemption_notice_s = shown_notice(row),
            .created_at = row.created_at};
}

void publish(const db::Context& context, Machine& machine, const VersionRow& next) {
    require(add_version(context.tx, next), "who holds the machine adds the next version");
    machines::set_offer(context, machine,
                        {.offer_version = next.offer_version,
                         .offer_state = machine.offer_state.value_or(OfferState::unlisted),
                         .listed_at = machine.listed_at,
                         .available_until = next.available_until,
                         .availability_class = next.availability_class});
    events::tell(context, offer_published, machine.owner, machine.offer_id,
                 OfferPublishedFacts{machine.machine_id,
                                     {next.offer_version},
                                     next.rate_micro_per_hour,
                                     next.available_from,
                                     next.available_until,
                                     next.availability_class});
}

ListingOutcome outcome(Call& call, const Machine& machine, Decision decision,
                       std::vector<machines::Finding> findings) {
    ListingOutcome out{.operation_id = call.make_id<OperationId>(),
                       .machine_id = machine.machine_id,
                       .decision = decision,
                       .state = machine.state,
                       .offer_version = {},
                       .findings = std::move(findings)};
    if (machine.offer_version > 0) out.offer_version = wire::Decimal{machine.offer_version};
    return out;
}

}  // namespace

machines::ListingFacts find_offer_facts(db::Transaction& tx, Time now, const Machine& machine,
                                        const machines::ListingRules& rules) {
    auto facts = machines::find_listing_facts(tx, now, machine, rules);
    const auto version = find_current_version(tx, machine);
    const auto measured = machines::find_measured(tx, machine.machine_id);
    facts.disk_too_small =
        version && measured && !has_disk_for(version->included_disk_gib, measured->disk_bytes);
    return facts;
}

OfferVersion Offers::edit(Call& call, MachineId id, const OfferEdit& edit) const {
    check_times(edit);
    Machine machine = machines::hold_own(call.tx(), id, call.caller.account);
    if ((edit.availability_class || edit.preemption_notice_s) &&
        !*call.settings<Settings>().availability_classes_released)
        throw Problem(Code::conflict,
                      "availability classes are not released yet: leave out availability_class and "
                      "preemption_notice_s");
    const auto current = find_current_version(call.tx(), machine);
    require(current.has_value() == (machine.offer_version > 0), "the current version is stored");
    VersionRow next{.offer_id = machine.offer_id,
                    .offer_version = machine.offer_version + 1,
                    .machine_id = machine.machine_id,
                    .rate_micro_per_hour = edit.rate_micro_per_hour,
                    .included_disk_gib = edit.included_disk_gib.value,
                    .included_egress_gib = edit.included_egress_gib.value,
                    .available_from = edit.available_from,
                    .available_until = end_of(edit),
                    .availability_class = AvailabilityClass::dedicated,
                    .preemption_notice_s = {},
                    .created_at = call.now};
    set_class(next, edit, current);
    refuse_missing_disk(machines::find_measured(call.tx(), id), next);
    refuse_other_version(machine, current, edit);
    refuse_retraction(call, machine, next);

    publish(call.context(), machine, next);
    return shown(next, *machine.offer_state, edit);
}

// A job that runs keeps the time it was promised.
void Offers::refuse_retraction(Call& call, const Machine& machine, const VersionRow& next) const {
    const auto promised = jobs_.promised_until(call.tx(), machine);
    if (!promised) return;
    if (next.available_from <= call.now && next.available_until >= *promised) return;
    throw Problem(Code::conflict,
                  fmt::format("a rental holds the machine until {}: keep it available until then, "
                              "or drain it first",
                              to_rfc3339(*promised)));
}

ListingOutcome Offers::list(Call& call, MachineId id) const {
    if (*call.settings<api::Settings>().admission_paused)
        throw Problem(Code::admission_paused,
                      "new listings are paused by the operators; try again later");
    Machine machine = machines::hold_own(call.tx(), id, call.caller.account);
    const auto blockers = machines::listing_blockers(
        machine, find_offer_facts(call.tx(), call.now, machine, machines::listing_rules(call)));
    const bool admitted = blockers.empty();
    auto findings = machines::findings_of(blockers);
    for (machines::Finding& warning : machines::listing_warnings(call.tx(), machine, blockers))
        findings.push_back(std::move(warning));
    if (machines::will_pass(blockers))
        machines::apply(call.context(), machine, machines::MachineEvent::list,
                        {.admitted = admitted});
    if (!admitted)
        events::tell(call.context(), machines::machine_listing_rejected, machine.owner, id,
                     machines::ListingRejectedFacts{machines::codes_of(findings)});
    return outcome(call, machine, admitted ? Decision::admitted : Decision::rejected,
                   std::move(findings));
}

// Once, with the first test that is passed: an owner who published something meanwhile has said
// what counts. The wish to list stays with the offer, so that the worker admits the machine when
// what is in the way now has gone.
void Offers::carry_out_wish(const db::Context& context, Machine& machine,
                            const machines::ListingRules& rules) const {
    if (machine.offer_version > 0) return;
    const auto wish = machines::find_offer_wish(context.tx, machine.machine_id);
    if (!wish) return;
    publish(context, machine,
            wished_version(machine, *wish, machines::find_measured(context.tx, machine.machine_id),
                           context.now));
    if (!wish->wants_listing) return;
    const auto blockers = machines::listing_blockers(
        machine, find_offer_facts(context.tx, context.now, machine, rules));
    machines::apply(context, machine, machines::MachineEvent::list, {.admitted = blockers.empty()});
    if (!blockers.empty())
        events::tell(
            context, machines::machine_listing_rejected, machine.owner, machine.machine_id,
            machines::ListingRejectedFacts{machines::codes_of(machines::findings_of(blockers))});
}

ListingOutcome Offers::take_back(Call& call, MachineId id, machines::MachineEvent event) const {
    Machine machine = machines::hold_own(call.tx(), id, call.caller.account);
    if (machine.offer_version == 0) {
        machines::withdraw_wish_to_list(call.context(), id);
        return outcome(call, machine, Decision::rejected,
                       {machines::finding_of(machines::Blocker::NO_OFFER)});
    }
    machines::apply(call.context(), machine, event);
    return outcome(call, machine, Decision::admitted, {});
}

CustomImages Offers::set_custom_images(Call& call, MachineId id,
                                       const CustomImagesWish& wish) const {
    Machine machine = machines::hold_own(call.tx(), id, call.caller.account);
    if (wish.accept && !*call.settings<Settings>().custom_images_enabled)
        throw Problem(Code::conflict, "custom images are not enabled on this service");
    if (machine.accepts_custom_images == wish.accept) return {id, wish.accept};
    machine.accepts_custom_images = wish.accept;
    machines::save(call.context(), machine);
    if (!wish.accept) jobs_.custom_images_off(call.context(), machine);
    audit::record(call.context(),
                  {.actor = audit::Actor::of(call.caller.account),
                   .action = "set_custom_images",
                   .target = {"machine", to_string(id)},
                   .changes = {{"accepts_custom_images", wish.accept ? "false" : "true",
                                wish.accept ? "true" : "false"}},
                   .request = call.request_id});
    return {id, wish.accept};
}

api::Page<PastVersion> Offers::versions(Call& call, MachineId id,
                                        const api::PageQuery& query) const {
    const api::Pager pager(call.cursors, {"offer_versions", to_string(id)}, query);
    const auto machine = machines::find(call.tx(), id);
    if (!machine || machine->owner != call.caller.account)
        throw Problem(Code::not_found, "there is no such machine");
    const std::int64_t before = pager.after() ? parse_decimal(*pager.after()).value()
                                              : std::numeric_limits<std::int64_t>::max();
    return pager.page(
        list_versions(call.tx(), machine->offer_id, before, pager.rows_wanted()),
        [](const VersionRow& row) { return std::to_string(row.offer_version); },
        [&](const VersionRow& row) { return shown(row, *machine); });
}

std::int64_t expire_offers(const db::Context& context, std::int64_t rows_max) {
    const auto over = find_expired(context.tx, context.now, rows_max);
    std::int64_t expired = 0;
    for (const MachineId id : over) {
        auto machine = machines::hold(context.tx, id);
        // Its owner may have been quicker.
        if (!machine || machine->available_until > context.now ||
            machine->offer_state == OfferState::unlisted)
            continue;
        machines::apply(context, *machine, machines::MachineEvent::expire);
        ++expired;
    }
    return expired;
}

worker::Kind expire_offers_kind(db::Database& database, const Clock& clock, Random& random) {
    constexpr std::int64_t rows_max = 100;
    constexpr int passes_max = 100;  // the rest comes with the next attempt
    return {.name = "expire_offers",
            .run =
                [&database, &clock, &random](worker::Attempt&) {
                    for (int pass = 0; pass < passes_max; ++pass) {
                        const auto expired = database.write([&](db::Transaction& tx) {
                            return expire_offers({tx, random, clock.now()}, rows_max);
                        });
                        if (expired < rows_max) return;
                    }
                },
            .every = std::chrono::seconds(1),
            .lane = "offers"};
}

}  // namespace berth::offers
