// Running `berth` as people and scripts do: on a pseudo-terminal, and with pipes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/folder.hpp"

namespace berth::test {

struct Printed {
    int status = -1;
    std::string out;
    std::string err;          // of a terminal it is a part of `out`
    bool is_echoing = false;  // the terminal shows what is typed, once `berth` has ended
};

class Shell {
public:
    explicit Shell(std::string server);

    // Piped: `input` is its standard input.
    Printed run(const std::vector<std::string>& words, const std::string& input = "") const;

    // On a pseudo-terminal. Each answer is typed when what stands before it was shown.
    struct Typed {
        std::string after;
        std::function<std::string()> text{};
        std::function<std::string(const std::string& shown)>
            reading{};  // the same, by what was shown
    };
    Printed run_on_terminal(const std::vector<std::string>& words,
                            const std::vector<Typed>& answers = {}) const;

    std::string file(const std::string& name, const std::string& text) const;
    std::string home() const { return folder_.path() + "/home"; }
    const std::string& folder() const { return folder_.path(); }

    std::map<std::string, std::string> environment;
    unsigned short columns = 200;  // of the terminal

private:
    std::vector<std::string> variables() const;

    TemporaryFolder folder_;
};

}  // namespace berth::test
