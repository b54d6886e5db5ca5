// The real service on a port, a machine whose agent does what the test says, an engine behind the
// relay, and `berth` as its renter.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/shell.hpp"
#include "relay/rental.hpp"
#include "support/process.hpp"

namespace berth::test {

// Says two words to whoever asks, as a model would.
inline void say_two_words(RawSocket& socket) {
    while (true) {
        const std::string head = socket.receive_until("\r\n\r\n");
        if (head.starts_with("GET")) {
            // The one that looks whether it is READY would keep its connection.
            return socket.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                "Connection: close\r\n\r\n"
                R"({"object":"list","data":[{"id":"tiny"}]})");
        }
        if (!head.starts_with("POST")) return;
        socket.receive_until("}]}");
        const auto piece = [](const std::string& text) {
            return chunk("data: {\"choices\":[{\"delta\":{\"content\":\"" + text + "\"}}]}\n\n");
        };
        socket.send(events_head + piece("Good ") + piece("day") + chunk("data: [DONE]\n\n") +
                    "0\r\n\r\n");
    }
}

class RentingByCommand : public RentalTest {
protected:
    RentingByCommand()
        : shell("http://127.0.0.1:" + std::to_string(town.harness.app->port())), machine(put_up()) {
        shell.environment["BERTH_API_KEY"] = ben.key;
        hear(town.harness, machine.machine_id);
    }

    std::vector<std::string> create(const std::vector<std::string>& more) {
        std::vector<std::string> words{
            "rentals",    "create", "--offer",    to_string(machine.offer_id),
            "--template", model,    "--duration", "1h",
            "--budget",   "1"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    JobId rented() {
        const Printed made = shell.run(create({"--yes"}));
        EXPECT_EQ(made.status, 0) << made.err;
        return JobId{parse_uuid(member(made.out, "job_id")).value()};
    }
    std::string rentals() { return shell.run({"rentals", "list", "-o", "ids"}).out; }

    // The model waits for connections that the server keeps.
    ~RentingByCommand() override { town.harness.app.reset(); }

    Shell shell;
    machines::Machine machine;
    http::RawUpstream talkative{say_two_words};
};

}  // namespace berth::test
