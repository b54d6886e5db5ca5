// The work volume of a job: a file of exactly the included size, reserved whole, with a filesystem
// of its own that is mounted through a loop device. The renter can fill it and nothing else.
#pragma once

#include <cstdint>
#include <string>

namespace berth::host_agent {

// A filesystem in a file of exactly that size, reserved whole; its root is `owner`'s. False where
// there is not that much room. Throws std::runtime_error.
bool make_filesystem(const std::string& file, std::int64_t bytes, int owner);
void mount_filesystem(const std::string& file, const std::string& path);
bool is_mount(const std::string& path);

class Volume {
public:
    // `folder` is the job's; nothing else of it is touched.
    explicit Volume(std::string folder);

    // Throws RuntimeError DISK_FULL when there is not that much room. What an earlier make() left
    // half done is removed first.
    void make(std::int64_t bytes);
    void mount();  // again, after a reboot; harmless when it is
    bool is_mounted() const;
    bool exists() const;
    const std::string& path() const { return path_; }  // where it is mounted

    // Overwrites all of it, gives the room back and shows that it is gone; harmless when it is.
    // Gives how many bytes were overwritten. Throws std::runtime_error when something still uses
    // it, in whatever namespace: nothing is overwritten before the last of them is gone.
    std::int64_t clean();

private:
    void unmount() const;

    const std::string file_;
    const std::string path_;
};

}  // namespace berth::host_agent
