#include "ledger/bank_model.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace berth::test::bank {
namespace {

constexpr std::size_t remembered_max = 10;  // of finished things; older ones are forgotten
constexpr std::size_t open_max = 8;

template <class Thing>
Thing* find(std::vector<Thing>& things, std::uint32_t number) {
    for (Thing& thing : things)
        if (thing.number == number) return &thing;
    return nullptr;
}

template <class Thing>
Thing& get(std::vector<Thing>& things, std::uint32_t number) {
    Thing* const thing = find(things, number);
    check(thing != nullptr, "an operation is about something that is remembered");
    return *thing;
}

template <class Thing>
void forget_old(std::vector<Thing>& things) {
    const auto closed = [](const Thing& thing) { return thing.closed; };
    if (std::count_if(things.begin(), things.end(), closed) >
        static_cast<std::ptrdiff_t>(remembered_max))
        things.erase(std::find_if(things.begin(), things.end(), closed));
}

template <class Thing>
std::size_t count_open(const std::vector<Thing>& things) {
    return static_cast<std::size_t>(std::count_if(
        things.begin(), things.end(), [](const Thing& thing) { return !thing.closed; }));
}

// One operation on a caller's state.
class Step {
public:
    Step(State& state, std::uint32_t caller, const Operation& operation,
         std::vector<std::string>& references)
        : state_(state), caller_(caller), operation_(operation), references_(references) {}

    Outcome run() {
        switch (operation_.action) {
            case Action::deposit: return deposit();
            case Action::park: return park();
            case Action::match: return match();
            case Action::hold: return hold();
            case Action::raise: return raise();
            case Action::capture: return capture();
            case Action::release: return release();
            case Action::refund: return refund();
            case Action::dispute: return dispute();
            case Action::end_dispute: return end_dispute();
            case Action::withdraw: return withdraw();
            case Action::pay_out: return pay_out();
            case Action::settle: return settle();
            case Action::give_back: return give_back();
        }
        return Outcome::nothing;
    }

private:
    Balances& of(std::uint8_t slot) { return state_.balances[slot]; }
    std::string id(std::uint32_t number) const { return to_string(object_id(caller_, number)); }
    void leaves(std::string reference) { references_.push_back(std::move(reference)); }

    Outcome deposit() {
        of(operation_.account).available += operation_.amount;
        state_.platform.treasury -= operation_.amount;
        leaves("deposit:" + deposit_reference(caller_, operation_.number));
        return Outcome::done;
    }
    Outcome park() {
        state_.platform.treasury -= operation_.amount;
        state_.platform.suspense += operation_.amount;
        Pending parked;
        parked.number = operation_.number;
        parked.amount = operation_.amount;
        state_.parked.push_back(parked);
        leaves("park:" + deposit_reference(caller_, operation_.number));
        return Outcome::done;
    }
    Outcome match() {
        Pending& parked = get(state_.parked, operation_.target);
        check(!parked.closed, "a parked deposit is matched once");
        parked.closed = true;
        state_.platform.suspense -= parked.amount;
        of(operation_.account).available += parked.amount;
        leaves("deposit:" + deposit_reference(caller_, operation_.target));
        forget_old(state_.parked);
        return Outcome::done;
    }

    Outcome hold() {
        Balances& renter = of(operation_.account);
        if (renter.available < operation_.amount) return Outcome::insufficient_funds;
        renter.available -= operation_.amount;
        renter.held += operation_.amount;
        Job job;
        job.number = operation_.number;
        job.renter = operation_.account;
        job.host = operation_.host;
        job.fee_bps = operation_.fee_bps;
        job.budget = operation_.amount;
        state_.jobs.push_back(job);
        leaves("hold:" + id(operation_.number));
        return Outcome::done;
    }
    Outcome raise() {
        Job& job = get(state_.jobs, operation_.target);
        Balances& renter = of(job.renter);
        if (job.closed) return Outcome::conflict;
        if (renter.available < operation_.amount) return Outcome::insufficient_funds;
        renter.available -= operation_.amount;
        renter.held += operation_.amount;
        job.budget += operation_.amount;
        leaves("hold:" + id(job.number) + ":" + std::to_string(operation_.number));
        return Outcome::done;
    }
    Outcome capture() {
        Job& job = get(state_.jobs, operation_.target);
        if (job.closed) return Outcome::conflict;
        if (operation_.amount > job.budget) return Outcome::insufficient_funds;
        if (operation_.amount < job.charged) return Outcome::conflict;
        const std::int64_t charge = operation_.amount - job.charged;
        if (charge == 0) return Outcome::done;
        const std::int64_t fee = job.fee(operation_.amount) - job.fee(job.charged);
        of(job.renter).held -= charge;
        Balances& host = of(job.host);
        host.payable += charge - fee;
        host.earned += charge - fee;
        host.fees += fee;
        state_.platform.fee_income += fee;
        job.charged = operation_.amount;
        leaves("charge:" + id(job.number) + ":" + std::to_string(operation_.amount));
        return Outcome::done;
    }
    Outcome release() {
        Job& job = get(state_.jobs, operation_.target);
        if (job.closed) return Outcome::done;
        job.closed = true;
        const std::int64_t rest = job.budget - job.charged;
        of(job.renter).held -= rest;
        of(job.renter).available += rest;
        if (rest != 0) leaves("release:" + id(job.number));
        forget_old(state_.jobs);
        return Outcome::done;
    }

    Outcome refund() {
        Job& job = get(state_.jobs, operation_.target);
        if (!job.closed || operation_.amount > job.charged - job.refunded) return Outcome::conflict;
        const std::int64_t fee = job.fee(job.refunded + operation_.amount) - job.fee(job.refunded);
        job.refunded += operation_.amount;
        of(job.renter).available += operation_.amount;
        Balances& host = of(job.host);
        host.payable -= operation_.amount - fee;
        host.earned -= operation_.amount - fee;
        host.fees -= fee;
        state_.platform.fee_income -= fee;
        leaves("refund:" + id(operation_.number));
        return Outcome::done;
    }
    Outcome dispute() {
        Job& job = get(state_.jobs, operation_.target);
        if (!job.closed || job.disputed + operation_.amount > job.left_to_host())
            return Outcome::conflict;
        // No more is held than is there. Only a caller's own host is disputed: what a shared one
        // has is known to nobody.
        const std::int64_t held =
            std::clamp<std::int64_t>(of(job.host).payable, 0, operation_.amount);
        if (held == 0) return Outcome::done;
        job.disputed += held;
        of(job.host).payable -= held;
        of(job.host).escrow += held;
        Pending dispute;
        dispute.number = operation_.number;
        dispute.account = job.host;
        dispute.job = job.number;
        dispute.amount = held;
        state_.disputes.push_back(dispute);
        leaves("dispute:" + id(operation_.number));
        return Outcome::done;
    }
    Outcome end_dispute() {
        Pending& dispute = get(state_.disputes, operation_.target);
        if (dispute.closed) return Outcome::done;
        dispute.closed = true;
        of(dispute.account).escrow -= dispute.amount;
        of(dispute.account).payable += dispute.amount;
        if (Job* const job = find(state_.jobs, dispute.job)) job->disputed -= dispute.amount;
        leaves("dispute_end:" + id(dispute.number));
        forget_old(state_.disputes);
        return Outcome::done;
    }

    Outcome withdraw() { return lock(of(operation_.account).available, false); }
    Outcome pay_out() { return lock(of(operation_.account).payable, true); }
    Outcome lock(std::int64_t& from, bool payout) {
        const bool shared = operation_.account >= first_shared_host;
        if (!shared && from < operation_.amount) return Outcome::insufficient_funds;
        from -= operation_.amount;
        of(operation_.account).reserved += operation_.amount;
        Pending transfer;
        transfer.number = operation_.number;
        transfer.account = operation_.account;
        transfer.amount = operation_.amount;
        transfer.payout = payout;
        state_.transfers.push_back(transfer);
        leaves((payout ? "payout_lock:" : "withdrawal_lock:") + id(operation_.number));
        return Outcome::done;
    }
    Outcome settle() {
        Pending& transfer = get(state_.transfers, operation_.target);
        if (transfer.closed) return Outcome::conflict;
        transfer.closed = true;
        of(transfer.account).reserved -= transfer.amount;
        if (transfer.payout) of(transfer.account).paid += transfer.amount;
        state_.platform.outbound += transfer.amount;
        leaves((transfer.payout ? "payout_settle:" : "withdrawal_settle:") + id(transfer.number));
        forget_old(state_.transfers);
        return Outcome::done;
    }
    Outcome give_back() {
        Pending& transfer = get(state_.transfers, operation_.target);
        if (transfer.closed) return Outcome::conflict;
        transfer.closed = true;
        Balances& account = of(transfer.account);
        account.reserved -= transfer.amount;
        (transfer.payout ? account.payable : account.available) += transfer.amount;
        leaves((transfer.payout ? "payout_return:" : "withdrawal_return:") + id(transfer.number));
        forget_old(state_.transfers);
        return Outcome::done;
    }

    State& state_;
    const std::uint32_t caller_;
    const Operation& operation_;
    std::vector<std::string>& references_;
};

// Draws operations that make sense in a state, and now and then one that must be refused.
class Dice {
public:
    Dice(const State& state, std::mt19937_64& random) : state_(state), random_(random) {}

    Operation operation(std::uint32_t number) {
        Operation drawn = draw_any();
        drawn.number = number;
        return drawn;
    }

private:
    std::int64_t below(std::int64_t limit) {
        return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
    }
    std::int64_t up_to(std::int64_t most) { return 1 + below(std::max<std::int64_t>(most, 1)); }
    bool one_in(std::int64_t count) { return below(count) == 0; }
    std::uint8_t slot_below(std::uint8_t limit) { return static_cast<std::uint8_t>(below(limit)); }
    std::uint8_t any_host() {
        return static_cast<std::uint8_t>(own_host + below(slots - own_host));
    }

    Operation draw_any() {
        const std::int64_t roll = below(100);
        if (roll < 16) return deposit();
        if (roll < 19) return park();
        if (roll < 36) return hold();
        if (roll < 88 && !state_.jobs.empty()) return of_job(state_.jobs[index(state_.jobs)]);
        if (roll < 92 && !state_.disputes.empty()) {
            const Pending& dispute = state_.disputes[index(state_.disputes)];
            return about(Action::end_dispute, dispute.number);
        }
        return transfer();
    }

    template <class Thing>
    std::size_t index(const std::vector<Thing>& things) {
        return static_cast<std::size_t>(below(static_cast<std::int64_t>(things.size())));
    }
    static Operation about(Action action, std::uint32_t target, std::int64_t amount = 0) {
        Operation operation;
        operation.action = action;
        operation.target = target;
        operation.amount = amount;
        return operation;
    }

    Operation deposit() {
        Operation operation = about(Action::deposit, 0, up_to(2'000'000));
        operation.account = slot_below(renters);
        return operation;
    }
    Operation park() {
        for (const Pending& parked : state_.parked) {
            if (parked.closed || one_in(2)) continue;
            Operation operation = about(Action::match, parked.number, parked.amount);
            operation.account = slot_below(renters);
            return operation;
        }
        if (count_open(state_.parked) >= open_max) return deposit();
        return about(Action::park, 0, up_to(100'000));
    }
    Operation hold() {
        if (count_open(state_.jobs) >= open_max) return deposit();
        Operation operation;
        operation.action = Action::hold;
        operation.account = slot_below(renters);
        operation.host = one_in(2) ? own_host : any_host();
        constexpr std::array<std::int64_t, 5> fees{0, 1, 333, 1000, 10'000};
        operation.fee_bps = fees[static_cast<std::size_t>(below(fees.size()))];
        const std::int64_t available = state_.balances[operation.account].available;
        operation.amount = up_to(one_in(32) ? available * 2 : available / 3);
        return operation;
    }
    Operation of_job(const Job& job) {
        const bool astray = one_in(32);  // the wrong thing at the wrong time
        if (job.closed == astray) {
            const std::int64_t available = state_.balances[job.renter].available;
            if (one_in(6)) return about(Action::raise, job.number, up_to(available / 3));
            if (one_in(3)) return about(Action::release, job.number);
            const std::int64_t room = job.budget - job.charged + (one_in(32) ? 1000 : 0);
            return about(Action::capture, job.number, job.charged + below(room + 1));
        }
        const std::int64_t disputable = job.left_to_host() - job.disputed + (astray ? 1000 : 0);
        const bool can_dispute = disputable > 0 && job.host == own_host;
        if (can_dispute && count_open(state_.disputes) < open_max && one_in(2))
            return about(Action::dispute, job.number, up_to(disputable / 2));
        const std::int64_t refundable = job.charged - job.refunded + (astray ? 1000 : 0);
        if (refundable > 0) return about(Action::refund, job.number, up_to(refundable));
        return hold();
    }
    Operation transfer() {
        const std::size_t open = count_open(state_.transfers);
        if (open == open_max || (open > 0 && one_in(2))) {
            const bool astray = one_in(16);
            std::size_t chosen = index(state_.transfers);
            while (state_.transfers[chosen].closed && !astray) chosen = index(state_.transfers);
            return about(one_in(3) ? Action::give_back : Action::settle,
                         state_.transfers[chosen].number);
        }
        const bool payout = one_in(2);
        Operation operation;
        operation.action = payout ? Action::pay_out : Action::withdraw;
        operation.account = payout ? any_host() : slot_below(renters);
        const Balances& balances = state_.balances[operation.account];
        operation.amount = up_to((payout ? balances.payable : balances.available) / 2);
        return operation;
    }

    const State& state_;
    std::mt19937_64& random_;
};

}  // namespace

Balances& Balances::operator+=(const Balances& other) {
    available += other.available;
    held += other.held;
    payable += other.payable;
    escrow += other.escrow;
    reserved += other.reserved;
    earned += other.earned;
    fees += other.fees;
    paid += other.paid;
    return *this;
}

Outcome apply(State& state, std::uint32_t caller, const Operation& operation,
              std::vector<std::string>& references) {
    return Step(state, caller, operation, references).run();
}

Outcome apply(State& state, std::uint32_t caller, const Batch& batch,
              std::vector<std::string>& references) {
    State after = state;
    const std::size_t references_before = references.size();
    for (const Operation& operation : batch) {
        const Outcome outcome = apply(after, caller, operation, references);
        if (outcome != Outcome::done) {
            references.resize(references_before);
            return outcome;
        }
    }
    state = std::move(after);
    return Outcome::done;
}

Batch draw(const Caller& caller, std::mt19937_64& random) {
    const std::size_t size = 1 + random() % batch_max;
    Batch batch;
    State after = caller.state;
    std::vector<std::string> ignored;
    while (batch.size() < size) {
        const auto number = caller.operations + static_cast<std::uint32_t>(batch.size());
        const Operation operation = Dice(after, random).operation(number);
        const bool alone = depends_on_others({operation});
        if (alone && !batch.empty()) break;
        batch.push_back(operation);
        if (alone || apply(after, caller.number, operation, ignored) != Outcome::done) break;
    }
    return batch;
}

bool depends_on_others(const Batch& batch) {
    return std::any_of(batch.begin(), batch.end(), [](const Operation& operation) {
        return operation.action == Action::pay_out && operation.account >= first_shared_host;
    });
}

Uuid object_id(std::uint32_t caller, std::uint32_t number) {
    Bytes bytes;
    append_big_endian(bytes, caller + 1);  // no id is all zeros
    append_big_endian(bytes, number);
    return uuid_from_bytes(bytes).value();
}

// Some hosts sort before the renters and some after them, so that rows are locked in either order.
AccountId account_id(std::uint32_t caller, std::uint8_t slot) {
    const bool shared = slot >= first_shared_host;
    Uuid id = object_id(shared ? callers : caller, slot);
    id.bytes[0] = static_cast<char>(shared ? slot % 2 * 100 : 50);
    return {id};
}

ledger::Asset asset_of(std::uint32_t caller) {
    return caller % 2 == 0 ? ledger::Asset::usdc : ledger::Asset::usdt;
}

std::string deposit_reference(std::uint32_t caller, std::uint32_t number) {
    return "bank:" + std::to_string(caller) + ":" + std::to_string(number);
}

}  // namespace berth::test::bank
