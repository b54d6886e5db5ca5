// The admin of the box: signs in by mail as anybody would, and enrolls an authenticator, without
// which operators change nothing.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "base/shared_clock.hpp"
#include "cli/api.hpp"

namespace berth::box {

class Admin {
public:
    struct Parts {
        std::string url;
        std::string folder;  // of the box, with the mails
        std::string email;
        std::function<void()> pause;  // a moment; throws when the box is to end
    };
    explicit Admin(Parts parts);

    // The authenticator's secret. The session is kept as that of the profile `admin`.
    std::string enroll();

private:
    std::string send(const std::string& path, const std::string& body, cli::Access access);
    std::string mailed_code();

    Parts parts_;
    SharedClock clock_;
    http::CurlClient client_;
    cli::Console console_;
    SystemRandom random_;
    cli::Profiles profiles_{"admin"};
    cli::Api api_;
    std::set<std::string> read_;  // mails
};

}  // namespace berth::box
