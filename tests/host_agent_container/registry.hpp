// A registry on loopback, over TLS, with a small image in it, from which a real podman pulls by
// digest.
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

    const std::string& image() const { return image_; }  // registry/repository@sha256:…
    // Under a name that no resolver knows: agents are told where it is.
    std::string name(const std::string& repository) const;
    std::string place() const;  // "registry.test:5000=127.0.0.1:5000"
    // Under the address at which it is, for a podman that is not an agent's.
    std::string local_image() const;
    // As --allow-registry takes it, for a name of this registry's and whatever listens there.
    static std::string place_of(const std::string& host, std::uint16_t port);
    // Makes an image of a folder and gives its name by digest.
    std::string add(const std::string& repository, const std::string& root,
                    const std::vector<std::string>& changes);
    // Makes an index of the image that add() made last in that repository, and gives its name.
    std::string add_index(const std::string& repository);

private:
    Registry();
    void serve();
    std::vector<std::string> podman(const std::vector<std::string>& words) const;
    void empty_store() const;

    std::string folder_;
    std::uint16_t port_;
    std::unique_ptr<Process> process_;
    std::string image_;
};

}  // namespace berth::test
