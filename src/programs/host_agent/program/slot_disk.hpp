// The disk of a slot: a file of exactly its size beside the slot's folder, reserved whole, with a
// filesystem that is mounted on that folder. All that the slot keeps is there: its key, images,
// weights and the volumes of its jobs; what fills it up fills up no other.
#pragma once

#include <cstdint>
#include <string>

namespace berth::host_agent {

class SlotDisk {
public:
    explicit SlotDisk(std::string folder) : folder_(std::move(folder)) {}

    bool exists() const;
    // Mounts it where there is one.
    void mount() const;
    // Mounts it, and makes it first where there is none, or one of another size that holds no
    // machine. Throws std::invalid_argument when there is no room for it, or a machine is on it.
    void open(std::int64_t gibibytes) const;
    // With all that is on it. Harmless when there is none.
    void remove() const;

private:
    std::string file() const { return folder_ + ".disk"; }
    void make(std::int64_t gibibytes) const;
    void mount_once() const;
    void take_away() const;

    const std::string folder_;
};

}  // namespace berth::host_agent
