// A value that one thread replaces as a whole while others read it without a lock. A reader marks
// what it looks at in a place of its own; what was replaced is deleted once nobody marks it.
//
// Why nothing is deleted that is read: a reader stores its mark and then loads `current_` once
// more; the writer exchanges `current_` and then loads the marks. All four are sequentially
// consistent, so they have one order. When the second load of the reader still gives the value, it
// comes before the exchange, hence the mark does too, and the writer sees the mark or what that
// place held later. Something later was stored after the reader was done, by itself (release) or by
// whoever took the place after it (acquire, then release); so what the reader read happened before
// the deletion. An address that was deleted and used again does no harm: a mark protects whatever
// is current at that address when the second load confirms it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace berth::catalog {

template <class T>
class Published {
    struct Mark;

public:
    explicit Published(std::unique_ptr<const T> first) : current_(first.release()) {}
    ~Published() { delete current_.load(); }
    Published(const Published&) = delete;
    Published& operator=(const Published&) = delete;

    // Holds what was current when it was made.
    class Reading {
    public:
        ~Reading() {
            mark_.seen.store(nullptr, std::memory_order_release);
            mark_.taken.store(false, std::memory_order_release);
        }
        Reading(const Reading&) = delete;
        Reading& operator=(const Reading&) = delete;

        const T* operator->() const { return value_; }
        const T& operator*() const { return *value_; }

    private:
        friend class Published;
        Reading(Mark& mark, const T* value) : mark_(mark), value_(value) {}

        Mark& mark_;
        const T* value_;
    };

    Reading read() const {
        Mark& mark = free_mark();
        const T* value = current_.load();
        for (;;) {
            mark.seen.store(value);
            const T* const again = current_.load();
            if (again == value) return Reading(mark, value);
            value = again;
        }
    }

    // By one thread at a time.
    void replace(std::unique_ptr<const T> next) {
        replaced_.emplace_back(current_.exchange(next.release()));
        std::erase_if(replaced_, [this](const auto& old) { return !is_read(old.get()); });
    }
    std::size_t waiting() const { return replaced_.size(); }  // replaced, and still read

private:
    static constexpr std::size_t readers_max = 128;  // at one moment; more wait for a place
    static constexpr std::size_t cache_line_bytes = 64;
    struct alignas(cache_line_bytes) Mark {
        std::atomic<bool> taken{false};
        std::atomic<const T*> seen{nullptr};
    };

    Mark& free_mark() const {
        const std::size_t start = std::hash<std::thread::id>{}(std::this_thread::get_id());
        for (std::size_t i = 0;; ++i) {
            Mark& mark = marks_[(start + i) % readers_max];
            if (!mark.taken.load(std::memory_order_relaxed) && !mark.taken.exchange(true))
                return mark;
            if (i % readers_max == readers_max - 1) std::this_thread::yield();
        }
    }
    bool is_read(const T* value) const {
        for (const Mark& mark : marks_)
            if (mark.seen.load() == value) return true;
        return false;
    }

    std::atomic<const T*> current_;
    std::vector<std::unique_ptr<const T>> replaced_;
    mutable std::array<Mark, readers_max> marks_{};
};

}  // namespace berth::catalog
