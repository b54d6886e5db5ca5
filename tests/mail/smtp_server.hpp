// A real SMTP server in a process of its own; see smtp_server.py.
#pragma once

#include <poll.h>

#include <boost/json.hpp>
#include <filesystem>

#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::mail {

class SmtpServerProcess {
public:
    explicit SmtpServerProcess(const std::vector<std::string>& options = {},
                               std::uint16_t port = test::free_port())
        : port_(port), process_(arguments(options), folder_.path() + "/log") {
        constexpr int waits_max = 6000;  // of 5 ms
        for (int i = 0; i < waits_max && !std::filesystem::exists(folder_.path() + "/ready"); ++i) {
            if (!process_.running()) throw std::runtime_error(test::read_text(process_.log_path()));
            ::poll(nullptr, 0, 5);
        }
    }

    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

    // What came, oldest first.
    std::vector<boost::json::object> mails() const {
        std::vector<boost::json::object> found;
        for (;;) {
            const std::string path =
                folder_.path() + "/" + std::to_string(found.size() + 1) + ".json";
            if (!std::filesystem::exists(path)) return found;
            found.push_back(boost::json::parse(test::read_text(path)).as_object());
        }
    }

private:
    std::vector<std::string> arguments(const std::vector<std::string>& options) const {
        std::vector<std::string> all{
            "/usr/bin/python3", BERTH_SOURCE_DIR "/tests/mail/smtp_server.py",
            "--port",           std::to_string(port_),
            "--folder",         folder_.path()};
        all.insert(all.end(), options.begin(), options.end());
        return all;
    }

    test::TemporaryFolder folder_;
    std::uint16_t port_;
    test::Process process_;
};

}  // namespace berth::mail
