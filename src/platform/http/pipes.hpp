// Pipes for splice(2), which pairs borrow while bytes are on their way. A system gives one user
// only so many pages for pipes, so their number has a bound; who gets none copies.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/descriptor.hpp"

namespace berth::http {

struct Pipe {
    Pipe() = default;
    ~Pipe();
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    Descriptor in;
    Descriptor out;
    std::size_t bytes_max = 0;
    std::size_t held = 0;
    bool counted = false;
};

class Pipes {
public:
    static Pipes& of_this_thread();

    std::unique_ptr<Pipe> take();  // null: there is none to be had
    void give_back(std::unique_ptr<Pipe> pipe);

private:
    std::vector<std::unique_ptr<Pipe>> idle_;
};

}  // namespace berth::http
