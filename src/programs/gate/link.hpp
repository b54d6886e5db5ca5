// One link: the answer without an end in which a machine is told who knocks. Any thread may speak
// on it; what is said before the answer begins is said then.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "agent_protocol/gate.hpp"
#include "http/source.hpp"

namespace berth::gate {

class Link final : public http::Source, public std::enable_shared_from_this<Link> {
public:
    using Gone = std::function<void(const std::shared_ptr<Link>&)>;

    // `gone` is called on any thread when the link is over, whoever ended it; perhaps twice.
    Link(agent_protocol::LinkId id, MachineId machine, Gone gone)
        : id_(id), machine_(machine), gone_(std::move(gone)) {}

    const agent_protocol::LinkId& id() const { return id_; }
    const MachineId& machine() const { return machine_; }

    // What the server writes as its answer. Should the machine go before the answer begins, nobody
    // is told but by this being let go.
    static std::shared_ptr<http::Source> as_answer(const std::shared_ptr<Link>& link);

    void say(const agent_protocol::LinkLine& line);
    void end(agent_protocol::ByeReason why);  // says so first
    void bye(agent_protocol::ByeReason why);  // and leaves it to the machine to end it

    void start(http::Outlet& outlet) override;
    void on_room() override {}
    void on_gone() override;

private:
    void pass_on(const std::string& text);
    void write(const std::string& text);
    void finish();

    const agent_protocol::LinkId id_;
    const MachineId machine_;
    Gone gone_;
    http::Outlet* outlet_ = nullptr;  // on its I/O thread; null once it is over

    std::mutex mutex_;
    std::shared_ptr<http::Loop> loop_;  // null before the answer begins
    std::string early_;                 // what was said before that
    bool ending_ = false;
};

}  // namespace berth::gate
