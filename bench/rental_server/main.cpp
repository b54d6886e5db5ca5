// A server in which one rental of a model runs: the whole App on a port, and a job that went from
// its quote to RUNNING and whose engine listens on a port already.
//
//     rental_server engine=PORT [FLAG=VALUE...]
//
// Flags are settings of berthd, such as rate-relay-per-minute=5. It prints one line of JSON with
// where everything is, and ends with its standard input.
#include <iostream>
#include <thread>

#include "relay/rental.hpp"

namespace berth::test {
namespace {

class RentalServer final : public RentalTest {
public:
    explicit RentalServer(std::map<std::string, std::string> flags)
        : RentalTest(std::move(flags)) {}
    void TestBody() override {}

    void run(std::uint16_t engine_port) {
        const JobId job = serve_model(ready_with(engine_port));
        std::cout << fmt::format(R"({{"port":{},"job_id":"{}","key":"{}"}})",
                                 town.harness.app->port(), to_string(job), ben.key)
                  << std::endl;
        // Time passes as it does for a service, so that nothing is remembered for longer.
        const std::jthread clock([this](const std::stop_token& ended) {
            constexpr std::chrono::milliseconds step{10};
            for (; !ended.stop_requested(); std::this_thread::sleep_for(step))
                town.harness.clock.advance(step);
        });
        for (std::string line; std::getline(std::cin, line);) {
        }
    }
};

std::map<std::string, std::string> flags_of(int count, char** words) {
    std::map<std::string, std::string> flags;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const std::size_t sign = word.find('=');
        if (sign == std::string::npos) throw std::invalid_argument("a flag is NAME=VALUE");
        flags[word.substr(0, sign)] = word.substr(sign + 1);
    }
    return flags;
}

}  // namespace
}  // namespace berth::test

int main(int count, char** words) {
    try {
        ::testing::InitGoogleTest();
        berth::set_log(berth::Level::warn);
        auto flags = berth::test::flags_of(count, words);
        const auto engine = flags.extract("engine");
        if (engine.empty()) throw std::invalid_argument("engine=PORT is missing");
        const int port = std::stoi(engine.mapped());
        berth::test::RentalServer(std::move(flags)).run(static_cast<std::uint16_t>(port));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rental_server: %s\n", error.what());
        return 1;
    }
}
