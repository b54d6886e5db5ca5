// The images of jobs: fetched where they are not here, and removed, the least recently used first,
// where there is no room.
#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/log.hpp"
#include "host_agent/core/host.hpp"
#include "host_agent/core/tool.hpp"
#include "host_agent/runtimes/container.hpp"
#include "host_agent/runtimes/container_image.hpp"

namespace berth::host_agent {

void PodmanRuntime::prepare(const Workload& workload, const Patience& patience,
                            const std::function<void(const Progress&)>& told) {
    know_images();
    make_room(workload);
    const auto pull = [&] {
        pull_image({.podman = podman({}),
                    .image = workload.image,
                    .folder = workload.folder + "/pull",
                    .login_file = login_file(),
                    .registries = options_.registries,
                    .floor_bytes = options_.floor_bytes + workload.limits.work_bytes,
                    .image_bytes_max = options_.store_bytes},
                   patience, told);
    };
    try {
        pull();
    } catch (const RuntimeError& error) {
        // Nobody could tell before how large it is, unpacked. All others make room for it.
        if (error.code() != "DISK_FULL" || !remove_all_but(workload.image)) throw;
        pull();
    }
    keep_image(workload);
    keep_weights(workload, patience, told);
}

void PodmanRuntime::keep_image(const Workload& workload) {
    if (images_.has(workload.image)) {
        images_.touch(workload.image, SystemClock().now());
    } else {
        const std::int64_t bytes = bytes_of(workload.image);
        images_.note({workload.image, {bytes}, SystemClock().now()});
        if (bytes > options_.store_bytes) {
            remove_image(workload.image);
            throw RuntimeError("DISK_FULL", pull_sentence("DISK_FULL"));
        }
    }
    for (const std::string& image : images_.too_many(workload.image)) remove_image(image);
}

// A convenience: where they cannot be had, or there is no room, the engine fetches them as ever.
void PodmanRuntime::keep_weights(const Workload& workload, const Patience& patience,
                                 const std::function<void(const Progress&)>& told) {
    const auto name = weights_of(workload);
    if (!name || !has_tool("curl")) return;
    const std::string key = weights_.key(*name);
    if (weights_.find(*name)) return images_.touch(key, SystemClock().now());
    try {
        const std::int64_t bytes =
            weights_.fetch(*name,
                           {.bytes_max = options_.store_bytes,
                            .floor_bytes = options_.floor_bytes + workload.limits.work_bytes},
                           options_.registries, patience, told);
        images_.note({key, {bytes}, SystemClock().now()});
        for (const std::string& old : images_.too_many(workload.image))
            if (old != key) remove_image(old);
    } catch (const RuntimeError&) {
        throw;
    } catch (const std::exception& error) {
        log(Level::warn, "weights_not_kept", {{"weights", key}, {"why", error.what()}});
    }
}

std::vector<std::string> PodmanRuntime::warm_images() {
    std::vector<std::string> names;
    for (const KeptImage& each : images_.all())
        if (!each.image.starts_with(weights_prefix)) names.push_back(each.image);
    return names;
}

// What an agent before us left, and what was removed behind our back. Of what nobody has noted
// nothing is known but that it is here: it goes first.
void PodmanRuntime::know_images() {
    const std::lock_guard lock(store_mutex_);
    if (are_images_known_) return;
    const ToolOutcome outcome =
        run_tool({.arguments = podman({"image", "ls", "--format", "{{.Repository}}@{{.Digest}}"})});
    if (!outcome.good()) return;
    are_images_known_ = true;
    weights_.tidy();
    std::vector<std::string> here;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);)
        if (is_pinned_image(line)) here.push_back(line);
    for (const KeptImage& each : images_.all()) {
        const bool is_here = each.image.starts_with(weights_prefix)
                                 ? weights_.has_key(each.image)
                                 : std::find(here.begin(), here.end(), each.image) != here.end();
        if (!is_here) images_.forget(each.image);
    }
    for (const std::string& image : here)
        if (!images_.has(image)) images_.note({image, {bytes_of(image)}, Time{}});
}

// For the work volume and for what must stay free, before anything is fetched.
void PodmanRuntime::make_room(const Workload& workload) {
    const std::int64_t needed = options_.floor_bytes + workload.limits.work_bytes;
    for (const KeptImage& each : images_.all()) {
        const auto space = disk_space(options_.state);
        if (!space || space->free_bytes >= needed) return;
        if (each.image != workload.image) remove_image(each.image);
    }
}

bool PodmanRuntime::remove_all_but(const std::string& image) {
    bool removed = false;
    for (const KeptImage& each : images_.all())
        if (each.image != image && remove_image(each.image)) removed = true;
    return removed;
}

// False when it stays, as one that a job has.
bool PodmanRuntime::remove_image(const std::string& image) {
    if (image.starts_with(weights_prefix)) {
        if (!weights_.remove(image)) return false;
        images_.forget(image);
        return true;
    }
    const ToolOutcome outcome = run_tool({.arguments = podman({"rmi", "--ignore", image})});
    log(Level::info, "image_removed",
        {{"image", image}, {"why", outcome.good() ? "for room" : outcome.why()}});
    if (outcome.good()) images_.forget(image);
    return outcome.good();
}

std::int64_t PodmanRuntime::bytes_of(const std::string& image) const {
    const ToolOutcome outcome =
        run_tool({.arguments = podman({"image", "inspect", "--format", "{{.Size}}", image})});
    std::int64_t bytes = 0;
    std::from_chars(outcome.output.data(), outcome.output.data() + outcome.output.size(), bytes);
    return outcome.good() ? bytes : 0;
}

}  // namespace berth::host_agent
