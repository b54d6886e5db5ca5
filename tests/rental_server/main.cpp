// A server in which one rental of a model runs, for the programs that are its clients: the whole
// App on a port, a job that went from its quote to RUNNING, and the test engine as a process beside
// it.
//
//     rental_server [engine=PORT] [FLAG=VALUE...]
//
// Flags are settings of berthd, such as rate-relay-per-minute=5. With `engine` it is another one
// that is there already.
// It prints one line of JSON with where everything is. A line on its standard input is an order:
// "end" stops the job, anything else the server; so does the end of the input.
#include <iostream>

#include "relay/rental.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

class RentalServer final : public RentalTest {
public:
    explicit RentalServer(std::map<std::string, std::string> flags)
        : RentalTest(std::move(flags)) {}
    void TestBody() override {}

    // Until it is told to end. 0: with an engine of its own.
    void run(std::uint16_t engine_port) {
        if (engine_port != 0) return serve(serve_model(ready_with(engine_port)), engine_port);
        // The key is told once the job runs, so that the engine comes after one that only answers.
        auto stand_in = std::make_unique<ScriptedEngine>();
        const std::uint16_t port = stand_in->port();
        const JobId job = serve_model(ready_with(port));
        stand_in.reset();
        Process process({program_path("engine"), std::to_string(port), key_of(job)},
                        town.harness.folder.path() + "/engine.log");
        if (!wait_until_ready(process, fmt::format("http://127.0.0.1:{}/seen", port)))
            throw std::runtime_error("the engine does not start");
        serve(job, port);
    }

private:
    std::string key_of(JobId job) {
        return member(send(ben, "GET", "/api/v1/jobs/" + to_string(job) + "/access").body,
                      "endpoint_api_key");
    }
    void serve(JobId job, std::uint16_t engine_port) {
        std::cout << fmt::format(
                         R"({{"port":{0},"origin":"http://127.0.0.1:{0}",)"
                         R"("engine":"http://127.0.0.1:{1}","job_id":"{2}","key":"{3}",)"
                         R"("endpoint_key":"{4}","pid":{5}}})",
                         town.harness.app->port(), engine_port, to_string(job), ben.key,
                         key_of(job), ::getpid())
                  << std::endl;
        for (std::string order; std::getline(std::cin, order) && order == "end";) stop(ben, job);
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
        const int port = engine.empty() ? 0 : std::stoi(engine.mapped());
        berth::test::RentalServer(std::move(flags)).run(static_cast<std::uint16_t>(port));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rental_server: %s\n", error.what());
        return 1;
    }
}
