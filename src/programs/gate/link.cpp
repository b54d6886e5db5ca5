#include "gate/link.hpp"

#include <utility>

namespace berth::gate {

using agent_protocol::ByeReason;
using agent_protocol::LineKind;
using agent_protocol::LinkLine;

std::shared_ptr<http::Source> Link::as_answer(const std::shared_ptr<Link>& link) {
    return {link.get(), [link](http::Source*) { link->gone_(link); }};
}

void Link::say(const LinkLine& line) { pass_on(agent_protocol::write_line(line)); }

void Link::bye(ByeReason why) {
    LinkLine line;
    line.kind = LineKind::bye;
    line.reason = why;
    say(line);
}

void Link::end(ByeReason why) {
    bye(why);
    const std::lock_guard lock(mutex_);
    ending_ = true;
    if (loop_) loop_->post([self = shared_from_this()] { self->finish(); });
}

void Link::pass_on(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    if (loop_)
        loop_->post([self = shared_from_this(), text] { self->write(text); });
    else
        early_ += text;
}

void Link::start(http::Outlet& outlet) {
    outlet_ = &outlet;
    http::Response head;
    head.content_type = "application/x-ndjson";
    head.close = true;
    outlet.begin(std::move(head));
    LinkLine hello;
    hello.kind = LineKind::hello;
    hello.link_id = id_;
    std::string text = agent_protocol::write_line(hello);
    bool ending = false;
    {
        const std::lock_guard lock(mutex_);
        loop_ = outlet.loop();
        text += early_;
        early_ = {};
        ending = ending_;
    }
    write(text);
    if (ending) finish();
}

// A machine that reads so slowly that lines pile up has no use for them: each is good for seconds.
void Link::write(const std::string& text) {
    if (outlet_ == nullptr || outlet_->write(text)) return;
    std::exchange(outlet_, nullptr)->abort();
}

void Link::finish() {
    if (outlet_ != nullptr) std::exchange(outlet_, nullptr)->end();
}

void Link::on_gone() { outlet_ = nullptr; }

}  // namespace berth::gate
