// What every rental should cost, worked out a second time: by a bookkeeper who is told what was
// agreed and what was said when, and who shares no code with the service. It knows nothing of
// fences, commands or tables, and of a lease only until when it lets a workload run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace berth::simulation {

using Moment = std::int64_t;  // microseconds

struct Deal {
    std::string renter = {};
    std::string host = {};
    std::string machine = {};
    std::int64_t rate = 0;  // micro-units an hour
    std::int64_t budget = 0;
    std::int64_t fee_bps = 0;
    std::int64_t duration_s = 0;
    Moment available_until = 0;
    std::optional<std::int64_t> notice_s = {};  // of an interruptible machine
};

enum class Stage { reserved, starting, running, stopping, over };

// From here to there, and not that last moment.
struct Stretch {
    Moment from = 0;
    Moment until = 0;
};

struct Bill {
    Deal deal;
    Stage stage = Stage::reserved;
    std::string reason = {};  // why it ended
    Moment since = 0;         // of what the stage waits for
    Moment accepted_at = 0;
    std::int64_t start_deadline_s = 0;
    bool engine_counts = false;
    bool is_hosts_to_run = false;
    std::set<std::string> promised = {};
    std::optional<Moment> ready_at = {};
    std::optional<Moment> stopped_at = {};  // nothing later is billed
    Moment seen_at = 0;
    std::int64_t counter_ms = 0;  // the agent's, as it was last told
    Moment counter_at = 0;
    std::int64_t spare_ms = 0;  // of our time, which the reports so far did not fill
    Moment leased_until = 0;
    std::int64_t billed_ms = 0;
    std::map<std::int64_t, std::int64_t> ms_on = {};  // the same by the days on which it ran
    std::optional<Moment> engine_down_at = {};
    std::optional<Moment> notice_until = {};
    std::string workload = {};  // which boot and container
    std::int64_t captured = 0;  // has left the renter's account
    Moment captured_at = 0;
    // Of a job that is reached by a gate
    bool has_doors = false;
    std::optional<Moment> dark_since = {};  // its doors lead nowhere, by a gate's word
    Moment gate_heard_at = 0;               // of the gate that had a link to it
    std::vector<Stretch> dark = {};         // when they led nowhere, as far as that is over
    std::int64_t unbilled_ms = 0;           // of it, what the reports so far were not billed for

    std::int64_t charge() const;
    std::int64_t charge_before(std::int64_t day_number) const;  // for what ran before that day
    std::int64_t fee() const;
};

class PlainModel {
public:
    // The service came up and could not hear anybody before.
    void starts(Moment now) {
        if (looked_at_ > 0) deaf_.push_back({looked_at_, now});
        up_since_ = looked_at_ = now;
    }
    // It let everything happen whose time has come.
    void looks(Moment now);

    void deposits(const std::string& renter, std::int64_t amount) { funds_[renter] += amount; }
    void reserves(const std::string& job, const Deal& deal, Moment now);
    struct Start {
        std::int64_t deadline_s = 0;
        bool engine_counts = false;
        bool is_hosts_to_run = false;         // a model: its renter cannot end it
        std::set<std::string> promised = {};  // what the renter is to reach
    };
    void accepts(const std::string& job, const Start& start, Moment now);
    void rejects(const std::string& job);
    void progresses(const std::string& job, Moment now);
    // Whether a host that can be reached at these may say that it is ready.
    bool may_be_ready(const std::string& job, const std::set<std::string>& reached) const;
    void is_ready(const std::string& job, const std::string& workload, Moment now);
    enum class Engine { silent, up, down };
    struct Report {
        std::string workload;
        std::int64_t runtime_ms = 0;
        Engine engine = Engine::silent;
        bool renews_lease = false;  // a heartbeat
    };
    void reports(const std::string& job, const Report& report, Moment now);
    // Something else was heard of the host about it.
    void is_heard(const std::string& job, Moment now) { bill(job).seen_at = now; }
    // Its agent was given doors, which lead nowhere yet; they went to another gate; a gate told
    // whether it has a link to their machine.
    void gets_doors(const std::string& job, Moment now);
    void doors_move(const std::string& job, Moment now);
    void gate_says(const std::string& job, bool linked, Moment now);
    void notices(const std::string& job, Moment now);
    void raises(const std::string& job, std::int64_t more) { bill(job).deal.budget += more; }
    void stops(const std::string& job, bool was_delivered, Moment now);
    // EXITED and STOPPED.
    void ends(const std::string& job, const std::optional<Report>& report, bool stopped,
              Moment now);

    bool knows(const std::string& job) const { return bills_.contains(job); }
    const Bill& at(const std::string& job) const { return bills_.at(job); }
    const std::map<std::string, Bill>& bills() const { return bills_; }
    // When it ends by the money, the duration or the availability, as things are now.
    Moment paid_until(const std::string& job, Moment now) const { return paid_until(at(job), now); }
    // The job that has this machine now; empty where there is none.
    std::string job_on(const std::string& machine) const;
    // Those that were over since the last call.
    std::vector<std::string> take_ended();

    struct Account {
        std::int64_t available = 0;
        std::int64_t held = 0;
        std::int64_t payable = 0;
    };
    std::map<std::string, Account> accounts() const;
    using HostDay = std::pair<std::string, std::int64_t>;
    // What hosts earned on each day, as far as it was settled.
    std::map<HostDay, std::int64_t> earnings() const;
    std::int64_t available(const std::string& renter) const;

private:
    Bill& bill(const std::string& job) { return bills_.at(job); }
    // The next thing that time brings to a bill: when, and what.
    enum class Due { none, never_ready, paid, engine, lost, gate, unconfirmed };
    struct Next {
        Moment at = 0;
        Due due = Due::none;
    };
    Next next(const Bill& bill, Moment now) const;
    Moment paid_until(const Bill& bill, Moment now) const;
    Moment runs_until(const Bill& bill, Moment now) const;  // or until the notice that was given
    std::optional<Moment> dark_since(const Bill& bill, Moment now) const;
    std::vector<Stretch> heard(const Stretch& whole) const;
    bool is_deaf_until(Moment moment) const;
    std::vector<Stretch> unbilled(const Bill& bill, Moment now) const;
    void count(Bill& bill, const Report& report, Moment now) const;
    void take_down(Bill& bill, const Report& report, Moment now) const;
    void write_pages(Bill& bill, std::int64_t ran_ms, Moment end, std::int64_t spare_ms,
                     const std::vector<Stretch>& nothing_for) const;
    void stop(Bill& bill, const std::string& reason, Moment at, Moment now);
    void finish(const std::string& job, Bill& bill, const std::string& reason);

    std::map<std::string, Bill> bills_;
    std::map<std::string, std::int64_t> funds_;
    std::map<std::string, std::vector<std::string>> jobs_of_;  // by renter
    std::vector<std::string> live_;
    std::vector<std::string> ended_;
    std::vector<Stretch> deaf_;  // when the service could hear nobody
    Moment up_since_ = 0;
    Moment looked_at_ = 0;
};

}  // namespace berth::simulation
