#include "gate/echo.hpp"

#include <utility>

namespace berth::gate {

std::shared_ptr<Echo> Echo::make(const std::shared_ptr<std::atomic<int>>& count) {
    auto made = std::make_shared<Echo>(count);
    return ++*count > echoes_max ? nullptr : made;
}

void Echo::start(http::Outlet& outlet) {
    outlet_ = &outlet;
    http::Response head;
    head.status = http::switching_status;
    head.headers.add("Upgrade", "berth-stream");
    outlet.begin(std::move(head));
    if (!outlet.write("SSH-2.0-berth-gate-echo\r\n")) return finish();
    outlet.loop()->after(life, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->finish();
    });
}

void Echo::on_room() {
    if (outlet_ != nullptr) outlet_->resume_input();
}

bool Echo::on_input(std::string_view bytes) {
    if (outlet_ == nullptr) return false;
    bytes_ += bytes.size();
    if (bytes_ > bytes_max) {
        finish();
        return false;
    }
    return outlet_->write(bytes);
}

void Echo::finish() {
    if (outlet_ != nullptr) std::exchange(outlet_, nullptr)->end();
}

}  // namespace berth::gate
