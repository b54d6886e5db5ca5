// One line to ask, one line to answer, over a socket in the file system that only its owner can
// open: how programs of one machine and one user talk to each other.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace berth {

class LineServer {
public:
    // `answer` is asked on a thread of its own, one line at a time; what it throws is answered as
    // a refusal. A socket that an earlier process left is taken over. Throws std::runtime_error
    // with one sentence when it cannot be made.
    LineServer(std::string path, std::function<std::string(const std::string&)> answer);
    ~LineServer();
    LineServer(const LineServer&) = delete;
    LineServer& operator=(const LineServer&) = delete;

private:
    void run();
    void serve(int connection) const;

    std::string path_;
    std::function<std::string(const std::string&)> answer_;
    int listener_ = -1;
    int stop_[2] = {-1, -1};  // a pipe; closed to end run()
    std::thread thread_;
};

// Throws std::runtime_error with one sentence when nobody answers, or the answer is a refusal.
std::string ask_line(const std::string& path, const std::string& line);

}  // namespace berth
