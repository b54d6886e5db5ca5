#include "host_agent/runtimes/image_store.hpp"

#include <algorithm>

#include "agent_protocol/durable.hpp"
#include "base/log.hpp"
#include "wire/wire.hpp"

namespace berth::host_agent {
namespace {

bool is_older(const KeptImage& one, const KeptImage& other) { return one.used_at < other.used_at; }

}  // namespace

ImageStore::ImageStore(std::string file, std::int64_t bytes_max)
    : file_(std::move(file)), bytes_max_(bytes_max) {
    try {
        if (const auto text = agent_protocol::read_durable(file_))
            images_ = wire::decode<std::vector<KeptImage>>(*text, "file");
    } catch (const std::exception& error) {
        log(Level::warn, "image_store_unread", {{"why", error.what()}});
    }
    std::stable_sort(images_.begin(), images_.end(), is_older);
}

void ImageStore::note(const KeptImage& image) {
    const std::lock_guard lock(mutex_);
    std::erase_if(images_, [&](const KeptImage& each) { return each.image == image.image; });
    images_.insert(std::upper_bound(images_.begin(), images_.end(), image, is_older), image);
    save();
}

void ImageStore::touch(const std::string& image, Time now) {
    const std::lock_guard lock(mutex_);
    for (KeptImage& each : images_)
        if (each.image == image) each.used_at = now;
    std::stable_sort(images_.begin(), images_.end(), is_older);
    save();
}

void ImageStore::forget(const std::string& image) {
    const std::lock_guard lock(mutex_);
    std::erase_if(images_, [&](const KeptImage& each) { return each.image == image; });
    save();
}

bool ImageStore::has(const std::string& image) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(images_, [&](const KeptImage& each) { return each.image == image; });
}

std::vector<KeptImage> ImageStore::all() const {
    const std::lock_guard lock(mutex_);
    return images_;
}

std::vector<std::string> ImageStore::too_many(const std::vector<std::string>& needed) const {
    const std::lock_guard lock(mutex_);
    std::int64_t sum = 0;
    for (const KeptImage& each : images_) sum += each.bytes.value;
    std::vector<std::string> going;
    for (const KeptImage& each : images_) {
        if (sum <= bytes_max_) break;
        if (std::ranges::find(needed, each.image) != needed.end()) continue;
        sum -= each.bytes.value;
        going.push_back(each.image);
    }
    return going;
}

// A disk that takes nothing more must not keep a job from its start: the order is then that of the
// last time.
void ImageStore::save() const {
    try {
        agent_protocol::write_durably(file_, wire::encode(images_));
    } catch (const std::exception& error) {
        log(Level::warn, "image_store_unwritten", {{"why", error.what()}});
    }
}

}  // namespace berth::host_agent
