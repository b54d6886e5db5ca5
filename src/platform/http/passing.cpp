#include "http/passing.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "http/text.hpp"

namespace berth::http {
namespace {

bool is_passed_on(std::string_view name) {
    static constexpr std::string_view own[] = {
        "connection",         "keep-alive", "proxy-connection",
        "proxy-authenticate", "te",         "trailer",
        "transfer-encoding",  "upgrade",    "host",
        "content-length",     "expect",     "date",
        "content-type"};
    return std::none_of(std::begin(own), std::end(own),
                        [&](std::string_view each) { return equal_without_case(each, name); });
}

// Both sides of one request, from here to the upstream's last byte.
class PassedOn final : public Source, public UpstreamReader {
public:
    explicit PassedOn(Passing passing)
        : passing_(std::move(passing)), switch_to_(passing_.request.switch_to) {}

    void start(Outlet& outlet) override {
        outlet_ = &outlet;
        call_ = outlet.upstream().start(std::move(passing_.request), *this);
    }
    void on_room() override {
        if (call_) call_->resume();
    }
    bool on_input(std::string_view bytes) override { return !call_ || call_->send(bytes); }
    void on_gone() override { over(); }

    void on_head(UpstreamHead head) override {
        begun_ = true;
        Response response{.status = head.status};
        response.content_type = head.headers.find("Content-Type").value_or("");
        pass_fields(head.headers, response.headers);
        if (head.status == switching_status) response.headers.add("Upgrade", switch_to_);
        if (passing_.edit) passing_.edit(response);
        outlet_->begin(std::move(response));
    }
    bool on_bytes(std::string_view bytes) override {
        return outlet_ == nullptr || outlet_->write(bytes);
    }
    void on_sendable() override {
        if (outlet_ != nullptr) outlet_->resume_input();
    }
    void on_end() override {
        if (outlet_ != nullptr) outlet_->end();
        over();
    }
    void on_failure(const UpstreamFailure&) override {
        if (outlet_ != nullptr && begun_) outlet_->abort();
        if (outlet_ != nullptr && !begun_) {
            const std::string body = std::exchange(passing_.unanswered.body, {});
            outlet_->begin(std::move(passing_.unanswered));
            static_cast<void>(outlet_->write(body));
            outlet_->end();
        }
        over();
    }

private:
    void over() {
        outlet_ = nullptr;
        call_.reset();
    }

    Passing passing_;
    const std::string switch_to_;
    Outlet* outlet_ = nullptr;
    std::unique_ptr<UpstreamCall> call_;
    bool begun_ = false;
};

}  // namespace

void pass_fields(const Headers& from, Headers& to) {
    for (const Headers::Field& field : from)
        if (is_passed_on(field.name)) to.add(field.name, field.value);
}

UpstreamRequest onward(Request request, Endpoint endpoint) {
    UpstreamRequest made{.endpoint = std::move(endpoint),
                         .method = std::move(request.method),
                         .target = std::move(request.target),
                         .body = std::move(request.body),
                         .held = std::move(request.held)};
    pass_fields(request.headers, made.headers);
    if (const auto type = request.headers.find("Content-Type"))
        made.headers.add("Content-Type", std::string(*type));
    made.switch_to = std::move(request.switch_to);
    return made;
}

std::shared_ptr<Source> pass_on(Passing passing) {
    return std::make_shared<PassedOn>(std::move(passing));
}

}  // namespace berth::http
