// The images of jobs: fetched where they are not here, and removed, the least recently used first,
// where there is no room.
#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "base/log.hpp"
#include "host_agent/core/host.hpp"
#include "host_agent/core/tool.hpp"
#include "host_agent/runtimes/container.hpp"
#include "host_agent/runtimes/container_image.hpp"

namespace berth::host_agent {
namespace {

// An image as podman lists it: the names that it was asked for by, and every name by digest.
constexpr const char* listed_image_format =
    "{{range .Names}}{{.}} {{end}}| {{range .RepoDigests}}{{.}} {{end}}";
struct ListedImage {
    std::set<std::string> names;
    std::set<std::string> digests;
};

std::vector<ListedImage> read_listed_images(const std::string& text) {
    std::vector<ListedImage> images;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        ListedImage image;
        bool is_name = true;
        std::istringstream words(line);
        for (std::string word; words >> word;) {
            if (word == "|")
                is_name = false;
            else
                (is_name ? image.names : image.digests).insert(word);
        }
        images.push_back(std::move(image));
    }
    return images;
}

// A pull that found too little room is tried again with this much more, then with twice that.
constexpr std::int64_t first_room_bytes = std::int64_t{8} << 30;

}  // namespace

void PodmanRuntime::prepare(const Workload& workload, const Patience& patience,
                            const std::function<void(const Progress&)>& told) {
    know_images();
    // Before anything goes: what this job is about to use is not what goes first.
    for (const std::string& each : needed_by(workload)) images_.touch(each, SystemClock().now());
    // For the work volume and for what must stay free, before anything is fetched.
    make_room(workload, options_.floor_bytes + workload.limits.work_bytes);
    pull(workload, patience, told);
    keep_image(workload);
    keep_weights(workload, patience, told);
}

// Nobody can tell before how large an image is, unpacked. One of a renter's own drives out no other
// to find out: a start that fails is free, and would cost a host all that it has ready.
void PodmanRuntime::pull(const Workload& workload, const Patience& patience,
                         const std::function<void(const Progress&)>& told) {
    const Pull wanted{.podman = podman({}),
                      .image = workload.image,
                      .folder = workload.folder + "/pull",
                      .login_file = login_file(),
                      .registries = options_.registries,
                      .floor_bytes = options_.floor_bytes + workload.limits.work_bytes,
                      .image_bytes_max = options_.store_bytes,
                      .network_mbit = options_.network_mbit,
                      .begun = counting_in()};
    for (std::int64_t more = first_room_bytes;; more *= 2) {
        try {
            return pull_image(wanted, patience, told);
        } catch (const ImageTooLarge&) {
            throw;
        } catch (const RuntimeError& error) {
            if (error.code() != "DISK_FULL" || workload.kind == JobKind::custom) throw;
            const auto space = disk_space(options_.state);
            if (!space || !make_room(workload, space->free_bytes + more)) throw;
        }
    }
}

std::vector<std::string> PodmanRuntime::needed_by(const Workload& workload) const {
    std::vector<std::string> names = {workload.image};
    if (const auto weights = weights_of(workload)) names.push_back(weights_.key(*weights));
    return names;
}

void PodmanRuntime::keep_image(const Workload& workload) {
    if (images_.has(workload.image)) {
        images_.touch(workload.image, SystemClock().now());
    } else {
        const std::int64_t bytes = bytes_of(workload.image);
        images_.note({workload.image, {bytes}, SystemClock().now()});
        if (bytes > options_.store_bytes) {
            remove_image(workload.image);
            throw ImageTooLarge();
        }
    }
    for (const std::string& image : images_.too_many(needed_by(workload))) remove_image(image);
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
                            .floor_bytes = options_.floor_bytes + workload.limits.work_bytes,
                            .network_mbit = options_.network_mbit,
                            .begun = counting_in()},
                           options_.registries, patience, told);
        images_.note({key, {bytes}, SystemClock().now()});
        for (const std::string& old : images_.too_many(needed_by(workload))) remove_image(old);
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

// What an agent before us left, and what was removed behind our back. An image has more digests
// than the one that it was asked for by: that of an index has its own and that of what came for
// this processor. By any of them it is known. Of what nobody has noted nothing is known but that it
// is here: it goes first.
void PodmanRuntime::know_images() {
    const std::lock_guard lock(store_mutex_);
    if (are_images_known_) return;
    const ToolOutcome outcome =
        run_tool({.arguments = podman({"image", "ls", "--format", listed_image_format})});
    if (!outcome.good()) return;
    are_images_known_ = true;
    weights_.tidy();
    const std::vector<ListedImage> here = read_listed_images(outcome.output);
    for (const KeptImage& each : images_.all()) {
        const bool is_here = each.image.starts_with(weights_prefix)
                                 ? weights_.has_key(each.image)
                                 : std::ranges::any_of(here, [&](const ListedImage& listed) {
                                       return listed.digests.contains(each.image);
                                   });
        if (!is_here) images_.forget(each.image);
    }
    const auto has = [&](const std::string& image) { return images_.has(image); };
    for (const ListedImage& listed : here) {
        if (std::ranges::any_of(listed.digests, has)) continue;
        for (const std::string& name : listed.names)
            if (is_pinned_image(name)) images_.note({name, {bytes_of(name)}, Time{}});
    }
}

// Removes the least recently used until that much is free, or there are no others; whether any is
// gone.
bool PodmanRuntime::make_room(const Workload& workload, std::int64_t wanted_bytes) {
    bool is_any_gone = false;
    for (const KeptImage& each : images_.all()) {
        const auto space = disk_space(options_.state);
        if (!space || space->free_bytes >= wanted_bytes) break;
        if (each.image != workload.image && remove_image(each.image)) is_any_gone = true;
    }
    return is_any_gone;
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
