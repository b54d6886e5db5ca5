// What `berth-agent doctor` measures a gate by: a connection that greets as SSH does and then says
// back what it is told.
#pragma once

#include <atomic>
#include <memory>

#include "http/source.hpp"

namespace berth::gate {

class Echo final : public http::Source, public std::enable_shared_from_this<Echo> {
public:
    static constexpr int echoes_max = 16;
    static constexpr std::size_t bytes_max = 64 * 1024;
    static constexpr Duration life = std::chrono::seconds(10);

    // Null when there are as many as there may be.
    static std::shared_ptr<Echo> make(const std::shared_ptr<std::atomic<int>>& count);
    explicit Echo(std::shared_ptr<std::atomic<int>> count) : count_(std::move(count)) {}
    ~Echo() override { --*count_; }

    void start(http::Outlet& outlet) override;
    void on_room() override;
    bool on_input(std::string_view bytes) override;
    void on_gone() override { outlet_ = nullptr; }

private:
    void finish();

    const std::shared_ptr<std::atomic<int>> count_;
    http::Outlet* outlet_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace berth::gate
