#include "admin/block_desk.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "block_list/settings.hpp"
#include "four_eyes/four_eyes.hpp"
#include "transfers/adopt.hpp"
#include "transfers/settlement.hpp"

namespace berth::admin {
namespace {

using block_list::Blocked;
using block_list::Source;

crypto::Address parsed(const wire::EvmAddress& text, std::string_view place) {
    const auto address = crypto::parse_address(text.value);
    if (!address)
        throw Problem(Code::invalid_input, fmt::format("{}.address: has a wrong checksum", place));
    return *address;
}

BlockedAddress as_shown(const Blocked& row) {
    return {
        {crypto::checksummed(row.address)}, row.source, row.reason, row.blocked_by, row.blocked_at};
}

std::string key_of(const Blocked& row) {
    return crypto::to_string(row.address) + " " + std::string(enum_name(row.source));
}

block_list::Place place_of(const std::string& key) {
    const std::size_t space = key.find(' ');
    return {key.substr(0, space), key.substr(space + 1)};
}

const Blocked* find_source(const std::vector<Blocked>& rows, Source source) {
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [&](const Blocked& row) { return row.source == source; });
    return found == rows.end() ? nullptr : &*found;
}

}  // namespace

api::Page<BlockedAddress> BlockDesk::list(api::Call& call, const BlockedQuery& query) const {
    const auto wanted = query.address ? std::optional(parsed(*query.address, "query"))
                                      : std::optional<crypto::Address>();
    const api::Pager pager(call.cursors,
                           {"blocked addresses", wanted ? crypto::to_string(*wanted) : ""}, query);
    if (wanted) return pager.page(block_list::find(call.tx(), *wanted), key_of, as_shown);
    std::optional<block_list::Place> after;
    if (pager.after()) after = place_of(*pager.after());
    return pager.page(block_list::list(call.tx(), after, pager.rows_wanted()), key_of, as_shown);
}

// Keeps: once this is answered nothing is signed to the address. Whoever signs holds the turn until
// the signing is committed, and looks at the list after it has the turn. What is blocked already
// stays as it was: who asks again is told since when, and why.
BlockedAddress BlockDesk::block(api::Call& call, const BlockAddress& request) const {
    const crypto::Address address = parsed(request.address, "body");
    call.require_step_up();
    const Blocked row{.address = address,
                      .source = Source::operator_,
                      .reason = request.reason.value,
                      .blocked_by = call.caller.account,
                      .blocked_at = call.now};
    transfers::take_signing_turn(call.tx());
    if (block_list::block(call.tx(), row)) {
        audit::record(call.context(), {.actor = audit::Actor::of(call.caller.account),
                                       .action = "block_address",
                                       .target = {"address", crypto::to_string(address)},
                                       .reason = request.reason.value,
                                       .request = call.request_id});
        return as_shown(row);
    }
    const auto rows = block_list::find(call.tx(), address);
    const Blocked* const known = find_source(rows, Source::operator_);
    if (known == nullptr)
        throw Problem(Code::conflict, "somebody has just unblocked this address; try again");
    return as_shown(*known);
}

// Letting money go again is widening a bound: a second admin looks at it, and whoever has the
// address neither asks for it nor confirms it. What the file names is taken out of the file, unless
// there is none any more.
AddressUnblocked BlockDesk::unblock(api::Call& call, const BlockedPath& path,
                                    const UnblockQuery& query) const {
    const crypto::Address address = parsed(path.address, "path");
    const auto rows = block_list::find(call.tx(), address);
    if (rows.empty()) throw Problem(Code::not_found, "this address is not blocked");
    call.require_step_up();
    const bool has_file = !call.settings<block_list::Settings>().blocked_addresses_file->empty();
    const Blocked* const by_operator = find_source(rows, Source::operator_);
    if (by_operator == nullptr && has_file)
        throw Problem(Code::conflict,
                      "the operator's file names this address, or did within the last hour: take "
                      "it out there");
    const auto owners = transfers::find_owners(call.tx(), address);
    if (std::find(owners.begin(), owners.end(), call.caller.account) != owners.end())
        throw Problem(Code::forbidden, "nobody unblocks their own address");
    const Blocked& row = by_operator != nullptr ? *by_operator : rows.front();
    four_eyes::require_second(
        call, outbox_,
        {.action = "unblock_address",
         .target = {"address", crypto::to_string(address)},
         .about = owners.empty() ? std::nullopt : std::optional(owners.front()),
         .gains = owners.empty() ? std::nullopt : std::optional(owners.back()),
         .reason = query.reason.value,
         .consequence = fmt::format("{} can pay in and be paid again; it was blocked because: {}",
                                    crypto::checksummed(address), row.reason),
         .seen = fmt::format("blocked since {}", to_rfc3339(row.blocked_at))});
    if (!block_list::unblock(call.tx(), address, row.source))
        throw Problem(Code::conflict, "somebody has just unblocked this address");
    AddressUnblocked done{
        {crypto::checksummed(address)}, block_list::is_blocked(call.tx(), address), {}};
    done.audit_event_id =
        audit::record(call.context(), {.actor = audit::Actor::of(call.caller.account),
                                       .action = "unblock_address",
                                       .target = {"address", crypto::to_string(address)},
                                       .reason = query.reason.value,
                                       .request = call.request_id});
    return done;
}

void BlockDesk::add_routes(api::Router& router) const {
    using api::Access;
    using api::StepUp;
    using api::Work;
    router.add({.method = "GET",
                .path = "/api/v1/admin/blocked-addresses",
                .name = "list_blocked_addresses",
                .group = "admin",
                .summary = "Addresses that pay nothing in and are paid nothing.",
                .access = Access::operator_},
               [this](api::Call& call, const api::Query<BlockedQuery>& query) {
                   return list(call, *query);
               });
    router.add({.method = "POST",
                .path = "/api/v1/admin/blocked-addresses",
                .name = "block_address",
                .group = "admin",
                .summary = "Blocks an address from the next request and the next payment on.",
                .access = Access::finance,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .status = 201,
                .errors = {{Code::conflict, "somebody has just unblocked it"}}},
               [this](api::Call& call, const api::Body<BlockAddress>& body) {
                   return block(call, *body);
               });
    router.add(
        {.method = "DELETE",
         .path = "/api/v1/admin/blocked-addresses/{address}",
         .name = "unblock_address",
         .group = "admin",
         .summary = "Takes an address off the block list.",
         .access = Access::admin,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .deferral = four_eyes::waits,
         .errors = {{Code::not_found, "the address is not blocked"},
                    {Code::forbidden, "the address is the caller's own"},
                    {Code::conflict, "the operator's file names it, or it was just unblocked"}}},
        [this](api::Call& call, const api::Path<BlockedPath>& path,
               const api::Query<UnblockQuery>& query) { return unblock(call, *path, *query); });
}

}  // namespace berth::admin
