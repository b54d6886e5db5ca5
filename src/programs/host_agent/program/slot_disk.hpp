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
    // Mounts it, and makes it first where there is none. Throws std::invalid_argument when it is of
    // another size, or there is no room for it.
    void open(std::int64_t gibibytes) const;
    // With all that is on it. Harmless when there is none.
    void remove() const;

private:
    std::string file() const { return folder_ + ".disk"; }

    const std::string folder_;
};

}  // namespace berth::host_agent
