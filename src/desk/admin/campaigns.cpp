#include "admin/campaigns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "audit/audit.hpp"
#include "base/letters.hpp"
#include "four_eyes/four_eyes.hpp"

namespace berth::admin {
namespace {

CampaignRecord shown_campaign(const credits::Campaign& row) {
    return {row.campaign_id, row.code,       row.name,       row.asset,         row.total,
            row.per_account, row.redeemed,   row.returned,   {row.credit_days}, row.redeem_until,
            row.state,       row.created_by, row.created_at, row.closed_at};
}

std::string campaign_code(const std::string& given) {
    std::string code;
    for (const char c : given) code += to_upper(c);
    const auto fits = [](char c) { return is_upper(c) || is_digit(c) || c == '-'; };
    if (!std::all_of(code.begin(), code.end(), fits))
        throw Problem(Code::invalid_input, "body.code: must be letters, digits and hyphens");
    return code;
}

credits::Campaign campaign_of(api::Call& call, const NewCampaign& request) {
    if (request.per_account_micro.value > request.total_micro.value)
        throw Problem(Code::invalid_input, "body.per_account_micro: must be at most total_micro");
    if (request.redeem_until <= call.now)
        throw Problem(Code::invalid_input, "body.redeem_until: must lie in the future");
    credits::Campaign campaign;
    campaign.code = campaign_code(request.code.value);
    campaign.name = request.name.value;
    campaign.asset = request.asset.value_or(ledger::Asset::usdc);
    campaign.total = request.total_micro;
    campaign.per_account = request.per_account_micro;
    campaign.credit_days = request.credit_days.value;
    campaign.redeem_until = request.redeem_until;
    campaign.created_by = call.caller.account;
    campaign.created_at = call.now;
    return campaign;
}

audit::Event campaign_event(const api::Call& call, credits::CampaignId id, std::string action,
                            const std::string& reason) {
    return {.actor = audit::Actor::of(call.caller.account),
            .action = std::move(action),
            .target = {"campaign", to_string(id)},
            .reason = reason,
            .request = call.request_id};
}

}  // namespace

api::Page<CampaignRecord> Campaigns::list(api::Call& call, const api::PageQuery& query) const {
    const api::Pager pager(call.cursors, {"campaigns", ""}, query);
    return pager.page(credits::list_campaigns(call.tx(), pager.after_id<credits::CampaignId>(),
                                              pager.rows_wanted()),
                      &credits::Campaign::campaign_id, shown_campaign);
}

CampaignRecord Campaigns::begin(api::Call& call, const NewCampaign& request) const {
    credits::Campaign campaign = campaign_of(call, request);
    call.require_step_up();
    campaign.campaign_id = call.make_id<credits::CampaignId>();
    const auto set_aside = [&] {
        if (!credits::begin_campaign(call.context(), campaign))
            throw Problem(Code::conflict, "body.code: another campaign has it");
        return true;
    };
    // Nobody is asked to confirm what cannot be done. A second admin looks at every campaign, small
    // ones too: one that a single account can use up, by a code that only its owner knows, would
    // give that account a credit.
    if (four_eyes::may_wait(call)) {
        call.tx().rehearse(set_aside);
        four_eyes::require_second(
            call, outbox_,
            {.action = "begin_campaign",
             .target = {"campaign", campaign.code},
             .reason = request.reason.value,
             .consequence = fmt::format(
                 "{} micro-units of {} are set aside from capital for promotional credits; each "
                 "account that gives the code {} until {} gets {} of it.",
                 to_string(campaign.total), ledger::name(campaign.asset), campaign.code,
                 to_rfc3339(campaign.redeem_until), to_string(campaign.per_account))});
    }
    set_aside();
    audit::Event event =
        campaign_event(call, campaign.campaign_id, "begin_campaign", request.reason.value);
    event.changes = {{"code", std::nullopt, campaign.code},
                     {"total_micro", std::nullopt, to_string(campaign.total)},
                     {"per_account_micro", std::nullopt, to_string(campaign.per_account)}};
    audit::record(call.context(), event);
    return shown_campaign(campaign);
}

CampaignRecord Campaigns::close(api::Call& call, const CampaignPath& path,
                                const CloseCampaign& request) const {
    if (!credits::find_campaign(call.tx(), path.id))
        throw Problem(Code::not_found, "no such campaign");
    call.require_step_up();
    const auto returned = credits::close_campaign(call.context(), path.id);
    if (!returned) throw Problem(Code::conflict, "the campaign is closed already");
    const auto closed = credits::find_campaign(call.tx(), path.id);
    require(closed.has_value(), "a campaign that was closed is there");
    audit::Event event = campaign_event(call, path.id, "close_campaign", request.reason.value);
    event.changes = {{"state", "open", "closed"},
                     {"returned_micro", std::nullopt, to_string(*returned)}};
    audit::record(call.context(), event);
    return shown_campaign(*closed);
}

void Campaigns::add_routes(api::Router& router) const {
    using api::Access;
    using api::StepUp;
    using api::Work;
    router.add({.method = "GET",
                .path = "/api/v1/admin/campaigns",
                .name = "list_campaigns",
                .group = "admin",
                .summary = "Campaigns of promotional credits, newest first.",
                .access = Access::operator_},
               [this](api::Call& call, const api::Query<api::PageQuery>& query) {
                   return list(call, *query);
               });
    router.add(
        {.method = "POST",
         .path = "/api/v1/admin/campaigns",
         .name = "begin_campaign",
         .group = "admin",
         .summary = "Sets capital aside for credits that accounts redeem with a code.",
         .access = Access::finance,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .status = 201,
         .deferral = four_eyes::waits,
         .errors = {{Code::conflict, "another campaign has the code"},
                    {Code::conflict, "the operator's own money does not cover it"}}},
        [this](api::Call& call, const api::Body<NewCampaign>& body) { return begin(call, *body); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/campaigns/{id}/close",
                .name = "close_campaign",
                .group = "admin",
                .summary = "Nobody redeems it any more; what nobody took goes back to capital.",
                .access = Access::finance,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .errors = {Code::not_found, {Code::conflict, "it is closed already"}}},
               [this](api::Call& call, const api::Path<CampaignPath>& path,
                      const api::Body<CloseCampaign>& body) { return close(call, *path, *body); });
}

}  // namespace berth::admin
