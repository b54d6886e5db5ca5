// A registry on loopback with a small image in it, from which a real podman pulls by digest.
#pragma once

#include <memory>
#include <string>

#include "support/process.hpp"

namespace berth::test {

// Why containers cannot be tested here; empty when they can.
std::string why_no_containers();

// A new folder in which nobody but root can change anything.
std::string folder_of_root();

// The registry with its image, made once for the whole program. The image starts an engine at port
// 8000 that answers everything in the manner of the OpenAI API, to the job's key alone.
class Registry {
public:
    static Registry& get();

    const std::string& image() const { return image_; }  // repository@sha256:…
    std::string name(const std::string& repository) const;

private:
    Registry();

    std::string folder_;
    std::uint16_t port_;
    std::unique_ptr<Process> process_;
    std::string image_;
};

}  // namespace berth::test
