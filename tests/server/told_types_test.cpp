// Every type of event is told in some test by the change that it tells of: where, is said here. A
// type that is not in the list, or not in its file any more, is a failure.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "server/features.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

const std::map<std::string, std::string>& where_told() {
    static const std::map<std::string, std::string> files{
        {"account.ask_new_email", "accounts/mailbox_test.cpp"},
        {"account.change_email", "accounts/mailbox_test.cpp"},
        {"account.enable_authenticator", "accounts/second_factor_test.cpp"},
        {"account.end_sessions", "accounts/sign_in_test.cpp"},
        {"account.link_wallet", "wallets/wallets_test.cpp"},
        {"account.make_api_key", "accounts/keys_test.cpp"},
        {"account.remove_authenticator", "accounts/second_factor_test.cpp"},
        {"account.revoke_api_key", "accounts/keys_test.cpp"},
        {"account.unlink_wallet", "wallets/wallets_test.cpp"},
        {"account.use_recovery_code", "accounts/second_factor_test.cpp"},
        {"dispute.closed", "admin/cases_test.cpp"},
        {"dispute.opened", "admin/cases_test.cpp"},
        {"funding.cancelled", "on_chain/funding_test.cpp"},
        {"funding.confirmed", "on_chain/funding_test.cpp"},
        {"funding.exception", "on_chain/funding_test.cpp"},
        {"hosting.ended", "rentals/told_test.cpp"},
        {"hosting.started", "rentals/told_test.cpp"},
        {"machine.allocated", "rentals/told_test.cpp"},
        {"machine.available", "rentals/told_test.cpp"},
        {"machine.cleaning", "rentals/told_test.cpp"},
        {"machine.draining", "offers/listing_test.cpp"},
        {"machine.enrolled", "machines/enrollment_test.cpp"},
        {"machine.health", "machines/health_events_test.cpp"},
        {"machine.heard", "rentals/told_test.cpp"},
        {"machine.listing_rejected", "offers/listing_test.cpp"},
        {"machine.quarantined", "hosts/actions_test.cpp"},
        {"machine.retired", "hosts/actions_test.cpp"},
        {"machine.silent", "rentals/told_test.cpp"},
        {"machine.test_failed", "machines/qualification_result_test.cpp"},
        {"machine.test_passed", "machines/qualification_result_test.cpp"},
        {"machine.unlisted", "offers/listing_test.cpp"},
        {"machine.unqualified", "hosts/actions_test.cpp"},
        {"offer.draining", "offers/listing_test.cpp"},
        {"offer.listed", "rentals/told_test.cpp"},
        {"offer.published", "rentals/told_test.cpp"},
        {"offer.unlisted", "offers/listing_test.cpp"},
        {"operations.action_asked", "admin/four_eyes_test.cpp"},
        {"operations.action_decided", "admin/four_eyes_test.cpp"},
        {"operations.books_unsound", "liabilities/liabilities_test.cpp"},
        {"operations.machine_quarantined", "hosts/actions_test.cpp"},
        {"operations.paused", "admin/records_test.cpp"},
        {"operations.settlement_held", "on_chain/payees_test.cpp"},
        {"operations.suspense", "on_chain/funding_test.cpp"},
        {"operations.task_dead", "admin/records_test.cpp"},
        {"operations.ticket_opened", "tickets/tickets_test.cpp"},
        {"operations.treasury_short", "on_chain/lies_test.cpp"},
        {"payout.awaiting_email_confirmation", "transfers/transfers_test.cpp"},
        {"payout.cancelled", "transfers/news_test.cpp"},
        {"payout.expired", "transfers/transfers_test.cpp"},
        {"payout.failed", "transfers/news_test.cpp"},
        {"payout.intent", "transfers/news_test.cpp"},
        {"payout.settled", "transfers/news_test.cpp"},
        {"payout.submitted", "transfers/news_test.cpp"},
        {"refund.posted", "admin/cases_test.cpp"},
        {"rental.budget_raised", "rentals/told_test.cpp"},
        {"rental.carried", "rentals/gate_test.cpp"},
        {"rental.closed", "rentals/told_test.cpp"},
        {"rental.egress_low", "rentals/told_test.cpp"},
        {"rental.engine_down", "rentals/told_test.cpp"},
        {"rental.engine_up", "rentals/told_test.cpp"},
        {"rental.failed", "rentals/told_test.cpp"},
        {"rental.funds_low", "rentals/told_test.cpp"},
        {"rental.gpu_back", "rentals/health_test.cpp"},
        {"rental.gpu_lost", "rentals/health_test.cpp"},
        {"rental.preemption_noticed", "rentals/rental_test.cpp"},
        {"rental.reachable", "rentals/told_test.cpp"},
        {"rental.reserved", "rentals/told_test.cpp"},
        {"rental.running", "rentals/told_test.cpp"},
        {"rental.starting", "rentals/told_test.cpp"},
        {"rental.stopped", "rentals/told_test.cpp"},
        {"rental.stopping", "rentals/told_test.cpp"},
        {"rental.uncarried", "rentals/gate_test.cpp"},
        {"rental.unreachable", "rentals/told_test.cpp"},
        {"ticket.answered", "tickets/tickets_test.cpp"},
        {"ticket.closed", "tickets/tickets_test.cpp"},
        {"webhook.disabled", "delivery/couriers_test.cpp"},
        {"webhook.failing", "delivery/couriers_test.cpp"},
        {"webhook.test", "delivery/couriers_test.cpp"},
        {"withdrawal.awaiting_email_confirmation", "transfers/transfers_test.cpp"},
        {"withdrawal.cancelled", "transfers/transfers_test.cpp"},
        {"withdrawal.expired", "transfers/transfers_test.cpp"},
        {"withdrawal.failed", "transfers/news_test.cpp"},
        {"withdrawal.intent", "transfers/news_test.cpp"},
        {"withdrawal.settled", "transfers/news_test.cpp"},
        {"withdrawal.submitted", "transfers/news_test.cpp"},
    };
    return files;
}

TEST(EventTypes, AreEachToldByItsChangeInATest) {
    const events::Registry registry = server::event_registry();
    for (const auto& [type, kind] : registry.kinds()) {
        const auto found = where_told().find(std::string(type));
        if (found == where_told().end()) {
            ADD_FAILURE() << type << " is told in no test that is listed here";
            continue;
        }
        const std::string text = read_text(BERTH_SOURCE_DIR "/tests/" + found->second);
        EXPECT_NE(text.find("\"" + std::string(type) + "\""), std::string::npos)
            << type << " is not awaited in " << found->second;
    }
    for (const auto& [type, file] : where_told())
        EXPECT_NE(registry.find(type), nullptr) << type << " is told no more";
}

}  // namespace
}  // namespace berth::test
