#include "delivery/place_notes.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.hpp"

namespace berth::delivery {
namespace {

constexpr std::size_t rows_under_way_max = 100;  // in one round trip

}  // namespace

void PlaceNotes::start() {
    require(database_ != nullptr, "notes have their database before they start");
    thread_ = std::thread([this] { run(); });
}

void PlaceNotes::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    arrived_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void PlaceNotes::put(std::shared_ptr<Note> note) {
    if (!thread_.joinable()) return write({std::move(note)});
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(note));
    if (waiting_.size() == 1) arrived_.notify_all();
}

bool PlaceNotes::await(Note& note) {
    if (!note.is_done()) {
        std::unique_lock lock(mutex_);
        if (note.state_ == Note::State::waiting) {
            is_awaited_ = true;
            arrived_.notify_all();
        }
        written_.wait(lock, [&note] { return note.is_done(); });
    }
    if (note.failure_) std::rethrow_exception(note.failure_);
    return note.state_ == Note::State::noted;
}

void PlaceNotes::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        arrived_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        arrived_.wait_for(lock, gathered_for, [this] { return stopping_ || is_awaited_; });
        is_awaited_ = false;
        Notes some = std::exchange(waiting_, {});
        for (const auto& note : some) note->state_ = Note::State::begun;
        lock.unlock();
        write(std::move(some));
        lock.lock();
        written_.notify_all();
    }
}

// All of them or none; whose place is not noted has no row in the log either. What the database
// refuses of one webhook is no fault of the others.
void PlaceNotes::write(Notes notes) {
    std::sort(notes.begin(), notes.end(), [](const auto& a, const auto& b) {
        return a->hold_.webhook_id < b->hold_.webhook_id;  // as everybody locks them
    });
    std::exception_ptr failure;
    try {
        const std::vector<bool> noted =
            database_->write([&](db::Transaction& tx) { return write_down(tx, notes); });
        for (std::size_t i = 0; i < notes.size(); ++i)
            notes[i]->state_ = noted[i] ? Note::State::noted : Note::State::refused;
        return;
    } catch (const db::StatementError&) {
        if (notes.size() > 1) {
            for (const auto& note : notes) write({note});
            return;
        }
        failure = std::current_exception();
    } catch (...) {
        failure = std::current_exception();
    }
    for (const auto& note : notes) {
        note->failure_ = failure;
        note->state_ = Note::State::failed;
    }
}

std::vector<bool> PlaceNotes::write_down(db::Transaction& tx, const Notes& notes) {
    std::vector<bool> noted;
    for (std::span<const std::shared_ptr<Note>> left = notes; !left.empty();) {
        const auto some = left.first(std::min(left.size(), rows_under_way_max));
        left = left.subspan(some.size());
        std::vector<db::Transaction::Ticket> asked;
        for (const auto& note : some)
            asked.push_back(start_noting_progress(tx, note->hold_, note->progress_));
        for (const db::Transaction::Ticket& ticket : asked)
            noted.push_back(tx.finish(ticket).affected == 1);
    }
    std::vector<db::Transaction::Ticket> added;
    for (std::size_t i = 0; i < notes.size(); ++i) {
        if (!noted[i]) continue;
        for (const DeliveryRow& row : notes[i]->log_) {
            added.push_back(start_logging(tx, row));
            if (added.size() < rows_under_way_max) continue;
            for (const db::Transaction::Ticket& ticket : added) tx.finish(ticket);
            added.clear();
        }
    }
    return noted;
}

}  // namespace berth::delivery
