// What a test puts before the host's own: variables of the environment, and programs that PATH
// finds first. All of it is as it was once the owner is gone.
#pragma once

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

namespace berth::test {

// A variable of this process and of what it starts.
class Variable {
public:
    Variable(std::string name, const std::string& value) : name_(std::move(name)) {
        if (const char* const before = ::getenv(name_.c_str()); before != nullptr) before_ = before;
        ::setenv(name_.c_str(), value.c_str(), 1);
    }
    ~Variable() {
        if (before_)
            ::setenv(name_.c_str(), before_->c_str(), 1);
        else
            ::unsetenv(name_.c_str());
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    const std::string name_;
    std::optional<std::string> before_;
};

// A script of the shell under the name of a program.
class ProgramInFront {
public:
    ProgramInFront(const std::string& folder, const std::string& name, const std::string& script)
        : folder_(made(folder + "/in-front", name, script)),
          path_("PATH", folder_ + ":" + ::getenv("PATH")) {}
    ~ProgramInFront() { std::filesystem::remove_all(folder_); }
    ProgramInFront(const ProgramInFront&) = delete;
    ProgramInFront& operator=(const ProgramInFront&) = delete;

private:
    static std::string made(const std::string& folder, const std::string& name,
                            const std::string& script) {
        std::filesystem::create_directories(folder);
        const std::string file = folder + "/" + name;
        std::ofstream(file) << "#!/bin/sh\n" << script;
        ::chmod(file.c_str(), 0755);
        return folder;
    }

    const std::string folder_;
    const Variable path_;
};

// The script of a podman that fails at one of its commands and does the others.
inline std::string podman_without(const std::string& command, const std::string& says, int status) {
    return fmt::format(
        "case \" $* \" in *\" {} \"*)\necho '{}' >&2\nexit {} ;; esac\nexec /usr/bin/podman "
        "\"$@\"\n",
        command, says, status);
}

}  // namespace berth::test
