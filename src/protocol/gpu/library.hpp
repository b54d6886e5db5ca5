// A shared library of a driver, looked for when it is needed: the program runs where it is missing.
#pragma once

#include <string>

namespace berth::gpu {

class Library {
public:
    explicit Library(const char* name);
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    bool loaded() const { return handle_ != nullptr; }
    const std::string& why_not() const { return why_not_; }

    // Null when the library, or this version of it, has no such function.
    template <class Function>
    Function* find(const char* name) const {
        return reinterpret_cast<Function*>(address(name));
    }

private:
    void* address(const char* name) const;

    void* handle_;
    std::string why_not_;
};

}  // namespace berth::gpu
