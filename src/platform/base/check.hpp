// What must be true if our own code is right; never used on input (that is what Problem is for).
// Both are always compiled in.
//
// check() is for the state of the process: when it fails nothing can be trusted any more, and the
// process ends. require() is for the work in hand: when it fails this request or task is given up,
// its transaction is rolled back, it is answered with 500 and logged with its place, and the
// process goes on. A slip in one route must not let a client end the service for everybody.
#pragma once

#include <exception>
#include <string>

namespace berth {

[[noreturn]] void check_failed(const char* what, const char* file, int line);

inline void check(bool holds, const char* what, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
    if (!holds) [[unlikely]]
        check_failed(what, file, line);
}

// A mistake of ours, found before it did harm.
class Bug : public std::exception {
public:
    Bug(const char* what, const char* file, int line);
    const char* what() const noexcept override { return text_.c_str(); }  // with its place

private:
    std::string text_;
};

inline void require(bool holds, const char* what, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
    if (!holds) [[unlikely]]
        throw Bug(what, file, line);
}

}  // namespace berth
