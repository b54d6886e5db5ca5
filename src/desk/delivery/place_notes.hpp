// How far webhooks came, noted while their couriers send on: by one thread, for all that have
// something to note, in one transaction. A courier waits for its note only when it has sent as much
// as may come again after `kill -9`; so none of them stands still for as long as a disk takes, and
// a disk is asked once for all of them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "delivery/webhook_store.hpp"

namespace berth::delivery {

class PlaceNotes {
public:
    // So long a note that nobody waits for may wait for others.
    static constexpr std::chrono::milliseconds gathered_for{4};

    // Of one webhook: its progress, and the attempts that led there.
    class Note {
    public:
        Note(const Hold& hold, const Progress& progress, std::vector<DeliveryRow> log)
            : hold_(hold), progress_(progress), log_(std::move(log)) {}

        // Written down, or not to be: nobody waits any more.
        bool is_done() const { return state_ >= State::noted; }
        // When it is done: what is not noted belongs to its round again.
        std::vector<DeliveryRow>& log() { return log_; }

    private:
        friend class PlaceNotes;
        enum class State { waiting, begun, noted, refused, failed };

        const Hold hold_;
        const Progress progress_;
        std::vector<DeliveryRow> log_;
        std::atomic<State> state_{State::waiting};
        std::exception_ptr failure_;
    };
    using Notes = std::vector<std::shared_ptr<Note>>;

    ~PlaceNotes() { stop(); }

    void connect(db::Database& database) { database_ = &database; }  // before anything
    void start();
    void stop();  // when nobody puts anything any more

    // Soon; at once, and on this thread, where nothing was started.
    void put(std::shared_ptr<Note> note);
    // True when it is noted. False, and nothing of it is, when its webhook is not held any more or
    // was changed by its owner. Throws what kept it from being written.
    bool await(Note& note);

private:
    void run();
    void write(Notes notes);
    static std::vector<bool> write_down(db::Transaction& tx, const Notes& notes);

    db::Database* database_ = nullptr;
    std::mutex mutex_;  // guards what follows
    std::condition_variable arrived_;
    std::condition_variable written_;
    Notes waiting_;
    bool is_awaited_ = false;  // one of those that wait
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace berth::delivery
