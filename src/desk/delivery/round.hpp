// One round of a courier: it takes a webhook by its lease, sends what is due in the order of the
// stream, one request at a time, and writes down how far it came. What it sent is noted a few
// events at a time while it sends on; a courier that is killed has those sent again, with the same
// ids.
#pragma once

#include <atomic>
#include <chrono>
#include <vector>

#include "crypto/seal.hpp"
#include "delivery/attempts.hpp"
#include "delivery/place_notes.hpp"
#include "delivery/webhook_store.hpp"

namespace berth::delivery {

struct CourierTotals {
    std::atomic<std::int64_t> delivered{0};
    std::atomic<std::int64_t> retried{0};
    std::atomic<std::int64_t> failed{0};
};

class Round {
    using SteadyClock = std::chrono::steady_clock;

public:
    // From a courier that was not seen to renew its lease for so long another one takes over.
    static constexpr Duration lease_max = std::chrono::seconds(10);
    // When it is this old it begins no further attempt, so that others have their turn.
    static constexpr std::chrono::seconds round_max{5};

    struct Parts {
        const crypto::Sealer& sealer;
        Way way;
        db::Database& database;
        PlaceNotes& notes;
        const Clock& clock;
        Random& random;
        CourierTotals& totals;
    };
    // `from`: who had it and does not renew his lease, if anybody did.
    Round(const Parts& parts, WebhookId id, const std::optional<Lease>& from);

    LeaseId lease() const { return lease_; }
    // True when there may be more to send at once.
    bool run();
    Duration longest_attempt() const { return longest_; }

private:
    // What its owner asked to be sent, with the text of it where there is one.
    struct Asked {
        DeliveryRow row;
        std::optional<events::Event> event = {};
    };
    // Why nothing may be sent now.
    enum class Hindrance { none, suspended, key_ended, events_expired };

    bool begin();
    bool take(const db::Context& context);
    Hindrance look_at_owner(db::Transaction& tx, Time now);
    void stop_for(const db::Context& context, Hindrance hindrance);
    bool read(db::Transaction& tx);
    void send_asked();
    bool send_events();
    bool is_late();
    bool deliver(const events::Event& event);
    bool note_waiting(DeliveryRow& row, const Answered& answered);
    bool note_refusal(DeliveryRow& row);
    Answered send(const events::Event& event, DeliveryRow& row);
    bool may_still_hear();
    Hold hold() const { return {id_, lease_, row_.revision}; }
    bool keep_noted();
    bool has_noted();
    bool record();
    bool write_down(const db::Context& context);
    void tell(const db::Context& context);

    const Parts parts_;
    const WebhookId id_;
    const std::optional<Lease> from_;
    const LeaseId lease_;
    WebhookRow row_;
    std::string host_;
    TargetRules rules_;
    std::vector<Bytes> secrets_;
    events::Filter filter_;
    std::vector<events::Kept> events_;
    std::vector<Asked> asked_;

    Progress progress_;
    std::optional<DisabledCause> disables_;
    bool warns_ = false;
    std::shared_ptr<PlaceNotes::Note> noting_;  // under way
    std::vector<DeliveryRow> log_;              // of what was sent behind that
    SteadyClock::time_point logged_since_{};
    SteadyClock::time_point began_{};
    SteadyClock::time_point looked_at_{};  // at its owner, its key and its lease
    Duration longest_{};                   // that the other side took to answer, or we to find it
    bool withheld_ = false;                // nothing more may be sent as it was taken
    bool is_late_ = false;                 // no attempt begins any more
    bool stopped_ = false;                 // it is not ours any more, or not as it was
};

}  // namespace berth::delivery
