// ledger_worker: many callers at work on the ledger, as a process that the bank test can kill. It
// goes on where its diary ends.
// usage: ledger_worker <database> <diary> <operations of each caller> <seed>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/problem.hpp"
#include "ledger/bank_model.hpp"

namespace {

using namespace berth;
using namespace berth::test::bank;

constexpr std::uint64_t again_one_in = 50;  // batches that are made to run a second time
constexpr int lookups_max = 1000;
constexpr int lookup_pause_ms = 10;

constexpr std::string_view conflict_sql =
    "DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$";

struct Again {};  // undoes a closure, which is then run again

// What SIGKILL leaves of a write is whole notes (see Note); of several, the first ones.
class Diary {
public:
    explicit Diary(const char* path) : file_(::open(path, O_RDWR | O_CREAT | O_APPEND, 0600)) {
        check(file_ >= 0, "the diary can be opened");
    }

    std::vector<Note> read() const {
        std::vector<Note> notes;
        Note note;
        ssize_t size = 0;
        while ((size = ::read(file_, &note, sizeof note)) == sizeof note) notes.push_back(note);
        check(size == 0, "the diary is whole notes");
        return notes;
    }
    void add(const std::vector<Note>& notes) const {
        const std::size_t size = notes.size() * sizeof(Note);
        check(::write(file_, notes.data(), size) == static_cast<ssize_t>(size),
              "the diary can be written");
    }

private:
    int file_;
};

ledger::TransferId transfer_id(std::uint32_t caller, std::uint32_t number) {
    return {object_id(caller, number)};
}

void run(ledger::Context context, std::uint32_t caller, const Operation& operation) {
    const Micro amount{operation.amount};
    const ledger::Asset asset = asset_of(caller);
    const AccountId account = account_id(caller, operation.account);
    const JobId job{object_id(caller, operation.target)};
    const Uuid made = object_id(caller, operation.number);
    const auto deposit = [&](std::uint32_t number) {
        return ledger::Deposit{account, asset, amount, deposit_reference(caller, number)};
    };
    switch (operation.action) {
        case Action::deposit: return ledger::deposit(context, deposit(operation.number));
        case Action::park: return ledger::park(context, deposit(operation.number));
        case Action::match: return ledger::match(context, deposit(operation.target));
        case Action::hold: {
            const AccountId host = account_id(caller, operation.host);
            return ledger::hold(context, {{made},
                                          account,
                                          host,
                                          {host.uuid},
                                          asset,
                                          amount,
                                          Micro{3'600'000},
                                          operation.fee_bps});
        }
        case Action::raise: return ledger::raise_hold(context, job, amount, operation.number);
        case Action::capture: return ledger::capture(context, job, {amount, operation.amount});
        case Action::release: ledger::release(context, job); return;
        case Action::refund:
            ledger::refund(context, {{made}, job, amount, ledger::Bearer::host_debt});
            return;
        case Action::dispute: ledger::dispute(context, {{made}, job, amount}); return;
        case Action::end_dispute:
            ledger::end_dispute(context, {object_id(caller, operation.target)});
            return;
        case Action::withdraw:
        case Action::pay_out: {
            const auto source = operation.action == Action::pay_out ? ledger::Source::payout
                                                                    : ledger::Source::withdrawal;
            return ledger::lock(context, {{made}, account, asset, amount, source});
        }
        case Action::settle: return ledger::settle(context, transfer_id(caller, operation.target));
        case Action::give_back:
            return ledger::give_back(context, transfer_id(caller, operation.target));
    }
}

class Worker {
public:
    Worker(db::Database& database, const Diary& diary) : database_(database), diary_(diary) {}

    void work(Caller& caller, std::uint32_t operations, std::uint64_t seed) {
        std::mt19937_64 random(seed * callers + caller.number);
        std::vector<std::string> ignored;
        while (caller.operations < operations) {
            const Batch batch = draw(caller, random);
            begin(caller, batch);
            const bool twice = random() % again_one_in == 0;
            const Outcome outcome = perform(caller, batch, twice);
            diary_.add({{Note::Kind::end, outcome, caller.number, caller.batches - 1, {}}});
            if (outcome == Outcome::done) apply(caller.state, caller.number, batch, ignored);
        }
    }

private:
    void begin(Caller& caller, const Batch& batch) const {
        std::vector<Note> notes;
        for (const Operation& operation : batch)
            notes.push_back({Note::Kind::operation, {}, caller.number, caller.batches, operation});
        diary_.add(notes);
        ++caller.batches;
        caller.operations += static_cast<std::uint32_t>(batch.size());
    }

    // The mark and the money are written together. PostgreSQL is made to report a serialization
    // failure and db/ runs the closure again; SQLite has none, so the closure is thrown out of and
    // called again here.
    Outcome perform(const Caller& caller, const Batch& batch, bool twice) {
        const std::uint32_t mark = caller.batches - 1;
        bool undo = twice;
        for (;;) {
            try {
                database_.write([&](db::Transaction& tx) {
                    tx.start(add_mark_sql, caller.number, mark);
                    for (const Operation& operation : batch)
                        run({tx, random_, clock_.now()}, caller.number, operation);
                    if (!std::exchange(undo, false)) return;
                    if (database_.engine() == db::Engine::sqlite) throw Again();
                    tx.run(conflict_sql);
                });
                return Outcome::done;
            } catch (const Again&) {
                continue;
            } catch (const Problem& problem) {
                check(problem.code == Code::conflict || problem.code == Code::insufficient_funds,
                      "the ledger refuses only for want of money or for the state of a thing");
                return problem.code == Code::conflict ? Outcome::conflict
                                                      : Outcome::insufficient_funds;
            } catch (const db::Unavailable&) {
                return Outcome::nothing;
            } catch (const db::OutcomeUnknown&) {
                return look_up(caller.number, mark);
            }
        }
    }

    // After a commit of unknown outcome.
    Outcome look_up(std::uint32_t caller, std::uint32_t mark) {
        for (int i = 0; i < lookups_max; ++i) {
            try {
                const bool found = database_.read([&](db::Transaction& tx) {
                    return !tx.run(find_mark_sql, caller, mark).empty();
                });
                return found ? Outcome::done : Outcome::nothing;
            } catch (const db::Unavailable&) {
                ::poll(nullptr, 0, lookup_pause_ms);
            }
        }
        check(false, "a commit of unknown outcome can be looked up");
        return Outcome::nothing;
    }

    db::Database& database_;
    const Diary& diary_;
    const SystemClock clock_;
    SystemRandom random_;
};

// Brings every caller to where the diary leaves it.
void replay(const std::vector<Note>& notes, std::array<Caller, callers>& all) {
    std::array<Batch, callers> begun;
    std::vector<std::string> ignored;
    for (const Note& note : notes) {
        Caller& caller = all[note.caller];
        Batch& batch = begun[note.caller];
        if (note.kind == Note::Kind::operation) {
            caller.batches = note.batch + 1;
            ++caller.operations;
            batch.push_back(note.operation);
        } else {
            if (note.outcome == Outcome::done) apply(caller.state, note.caller, batch, ignored);
            batch.clear();
        }
    }
}

}  // namespace

int main(int count, char** arguments) {
    check(count == 5, "usage: ledger_worker <database> <diary> <operations> <seed>");
    set_log(Level::error);
    const auto operations = static_cast<std::uint32_t>(std::atoi(arguments[3]));
    const auto seed = static_cast<std::uint64_t>(std::atoll(arguments[4]));
    try {
        const Diary diary(arguments[2]);
        std::array<Caller, callers> all;
        for (std::uint32_t i = 0; i < callers; ++i) all[i].number = i;
        replay(diary.read(), all);
        const auto database = db::open(arguments[1], {.wait_max = std::chrono::seconds(60)});
        Worker worker(*database, diary);
        std::vector<std::thread> threads;
        for (Caller& caller : all)
            threads.emplace_back([&] { worker.work(caller, operations, seed); });
        for (std::thread& thread : threads) thread.join();
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "ledger_worker: {}\n", error.what());
        return 1;
    }
}
