// What the operator's collector reads of the parts of an App.
#include <algorithm>

#include "base/log_queue.hpp"
#include "server/app.hpp"
#include "server/features.hpp"
#include "wallets/types.hpp"

namespace berth::server {

void App::add_traffic_metrics() {
    metrics_.add_counter("berth_connections_accepted_total", "Client connections since the start.",
                         [this] { return static_cast<double>(server_->accepted()); });
    metrics_.add_counter("berth_connections_refused_total",
                         "Connections over a limit, since the start.",
                         [this] { return static_cast<double>(server_->refused()); });
    metrics_.add_counter("berth_connections_evicted_total", "Idle connections closed to make room.",
                         [this] { return static_cast<double>(server_->evicted()); });
    metrics_.add_counter("berth_requests_not_understood_total",
                         "Requests refused without an envelope, since the start.",
                         [this] { return static_cast<double>(server_->not_understood()); });
    metrics_.add_counter("berth_forwarded_for_not_trusted_total",
                         "Requests with X-Forwarded-For from a peer that is no trusted proxy.",
                         [this] { return static_cast<double>(server_->forwarded_unbelieved()); });
    metrics_.add_counter("berth_requests_refused_for_queue_total",
                         "Requests that a full queue refused, since the start.",
                         [this] { return static_cast<double>(service_->refused_for_queue()); });
    metrics_.add_counter("berth_requests_refused_for_memory_total",
                         "Times that requests found no memory to be held in, since the start.",
                         [this] { return static_cast<double>(request_bytes_->refused()); });
    metrics_.add_gauge("berth_request_bytes", "Bytes of requests that are not answered yet.",
                       [this] { return static_cast<double>(request_bytes_->taken()); });
    metrics_.add_gauge("berth_request_bytes_max", "How many there may be.",
                       [this] { return static_cast<double>(request_bytes_->bytes_max()); });
    metrics_.add_counter("berth_machine_messages_refused_total",
                         "Messages of machines that this process could not take.",
                         [this] { return static_cast<double>(service_->refused_to_machines()); });
    metrics_.add_gauge("berth_connections", "Open client connections.",
                       [this] { return static_cast<double>(server_->connections()); });
    metrics_.add_gauge("berth_requests_waiting", "Requests that wait for news.",
                       [this] { return static_cast<double>(service_->notifier().waiting()); });
    metrics_.add_gauge("berth_catalog_age_seconds", "Since the catalog was last known current.",
                       [this] { return features_->catalog.age_seconds(); });
}

void App::add_process_metrics() {
    metrics_.add_counter("berth_log_lines_dropped_total",
                         "Lines of the log that its reader was too slow for.",
                         [] { return static_cast<double>(LogQueue::dropped()); });
    metrics_.add_gauge("berth_write_seconds",
                       "For how long the one writer of SQLite has been at what it writes now.",
                       [this] {
                           const std::chrono::duration<double> span = database_->writing_for();
                           return span.count();
                       });
}

// Known where the chain is watched and the settler runs; elsewhere they stay at nothing.
void App::add_money_metrics() {
    const auto watched = features_->watcher_vitals;
    metrics_.add_gauge("berth_suspense_usdc_micro", "USDC that came in and nobody has claimed.",
                       [watched] { return static_cast<double>(watched->suspense_micro[0]); });
    metrics_.add_gauge("berth_suspense_usdt_micro", "USDT that came in and nobody has claimed.",
                       [watched] { return static_cast<double>(watched->suspense_micro[1]); });
    // Without a chain there is nothing to look at, and no figure.
    const auto of_chain = [this](auto read) -> api::Metrics::ReadSamples {
        if (!chain_) return [] { return std::vector<api::Metrics::Sample>{}; };
        return [read] {
            return std::vector<api::Metrics::Sample>{
                {std::to_string(wallets::base_chain_id), static_cast<double>(read())}};
        };
    };
    metrics_.add_gauges("berth_chain_lag_blocks", "Final blocks that the watcher has yet to read.",
                        "chain", of_chain([watched] { return watched->lag_blocks.load(); }));
    metrics_.add_gauges("berth_chain_look_age_seconds",
                        "Since this process last saw all of the chain that it watches.", "chain",
                        of_chain([this, watched, start = clock_.now()] {
                            const Time seen{std::max(start.micros, watched->looked_at.load())};
                            return (clock_.now() - seen) / std::chrono::seconds(1);
                        }));
    const auto vitals = features_->settler_vitals;
    metrics_.add_gauge("berth_transfers_stranded",
                       "Transfers that wait for ever, being above the cap of a day.",
                       [vitals] { return static_cast<double>(vitals->stranded); });
    metrics_.add_gauge("berth_transfers_stopped_by_token",
                       "Payments tried in the last round whose token would pay nobody.",
                       [vitals] { return static_cast<double>(vitals->stopped_by_token); });
    metrics_.add_gauge("berth_transfer_oldest_seconds",
                       "Age of the oldest open transfer that no cap or other brake holds back.",
                       [vitals] { return static_cast<double>(vitals->oldest_open_seconds); });
    metrics_.add_counter("berth_transfer_sends_refused_total", "Sends that every provider refused.",
                         [vitals] { return static_cast<double>(vitals->sends_refused); });
    metrics_.add_gauge("berth_treasury_gas_gwei", "What the treasury has to pay for gas.",
                       [vitals] { return static_cast<double>(vitals->gas_gwei); });
    metrics_.add_gauge("berth_treasury_usdc_micro", "USDC that the treasury holds.",
                       [vitals] { return static_cast<double>(vitals->holdings_micro[0]); });
    metrics_.add_gauge("berth_treasury_usdt_micro", "USDT that the treasury holds.",
                       [vitals] { return static_cast<double>(vitals->holdings_micro[1]); });
}

void App::add_relay_metrics() {
    const relay::Relay& relay = features_->relay;
    delivery::Hub& streams = features_->delivery.hub();
    metrics_.add_gauge("berth_event_streams", "Streams of events that are open.",
                       [&streams] { return static_cast<double>(streams.open()); });
    add_webhook_metrics();
    metrics_.add_gauge("berth_relay_open", "Relayed requests that are open.",
                       [&relay] { return static_cast<double>(relay.open()); });
    metrics_.add_counter("berth_relay_remembered_total",
                         "Requests to the relay that took no look at the database.",
                         [&relay] { return static_cast<double>(relay.remembered()); });
    const relay::Counters::Totals& totals = relay.totals();
    metrics_.add_counter("berth_relay_requests_total", "Relayed requests that are over.",
                         [&totals] { return static_cast<double>(totals.requests); });
    metrics_.add_counter("berth_relay_errors_total",
                         "Relayed requests that engines failed or refused.",
                         [&totals] { return static_cast<double>(totals.errors); });
    metrics_.add_counter("berth_relay_bytes_in_total", "Bytes of bodies that went to engines.",
                         [&totals] { return static_cast<double>(totals.bytes_in); });
    metrics_.add_counter("berth_relay_bytes_out_total", "Bytes of bodies that engines answered.",
                         [&totals] { return static_cast<double>(totals.bytes_out); });
    metrics_.add_counter("berth_relay_completion_tokens_total",
                         "Tokens that engines say they made.",
                         [&totals] { return static_cast<double>(totals.completion_tokens); });
}

// Of the couriers of this process; what was disabled is counted from its table.
void App::add_webhook_metrics() {
    const delivery::Couriers& couriers = features_->delivery.couriers();
    const delivery::CourierTotals& totals = couriers.totals();
    metrics_.add_counter("berth_webhook_delivered_total", "Events that webhooks have taken.",
                         [&totals] { return static_cast<double>(totals.delivered); });
    metrics_.add_counter("berth_webhook_retried_total",
                         "Attempts to deliver an event that failed and are made again.",
                         [&totals] { return static_cast<double>(totals.retried); });
    metrics_.add_counter("berth_webhook_failed_total",
                         "Events that a webhook refused for good, or that ended it.",
                         [&totals] { return static_cast<double>(totals.failed); });
    metrics_.add_gauge("berth_webhook_oldest_unsent_seconds",
                       "Age of the oldest event that a webhook was not sent yet.",
                       [&couriers] { return couriers.oldest_unsent_seconds(); });
}

}  // namespace berth::server
