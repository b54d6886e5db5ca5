#include "host_agent/runtimes/container_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "agent_protocol/image.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "host_agent/core/host.hpp"
#include "host_agent/core/tool.hpp"
#include "wire/open.hpp"

namespace berth::host_agent {

inline constexpr std::int64_t image_bytes_max = std::int64_t{1} << 48;

struct ImageLayer {
    wire::Integer<0, image_bytes_max> size;
};
BOOST_DESCRIBE_STRUCT(ImageLayer, (), (size))
struct ImageManifest {
    wire::List<ImageLayer, 0, 1000> layers;
};
BOOST_DESCRIBE_STRUCT(ImageManifest, (), (layers))

namespace {

constexpr auto first_pause = std::chrono::seconds(1);
constexpr int tries_max = 6;
constexpr auto look_every = std::chrono::milliseconds(100);

std::vector<std::string> joined(std::vector<std::string> first,
                                std::initializer_list<std::string> second) {
    first.insert(first.end(), second);
    return first;
}

// An image that came from another repository is not the one that was asked for, even if it is the
// same: whoever names a private repository must be able to read it.
bool is_here(const Pull& pull) {
    const ToolOutcome outcome =
        run_tool({.arguments = joined(pull.podman, {"image", "inspect", "--format",
                                                    "{{json .RepoDigests}}", pull.image})});
    return outcome.good() && outcome.output.find('"' + pull.image + '"') != std::string::npos;
}

std::int64_t bytes_in(const std::string& folder) {
    std::int64_t sum = 0;
    std::error_code ignored;
    for (auto each = std::filesystem::recursive_directory_iterator(folder, ignored);
         each != std::filesystem::recursive_directory_iterator(); each.increment(ignored)) {
        if (!each->is_regular_file(ignored)) continue;
        const auto size = each->file_size(ignored);
        if (!ignored) sum += static_cast<std::int64_t>(size);
    }
    return sum;
}

// The layers' sizes, where skopeo is there to ask and the manifest is not an index.
std::optional<std::int64_t> total_bytes(const PullNetwork& network, const Pull& pull,
                                        const Patience& patience) {
    const ToolOutcome outcome =
        network.run({.arguments = {"skopeo", "inspect", "--raw", "--authfile", pull.login_file,
                                   "docker://" + pull.image},
                     .until = patience.until,
                     .cancelled = &patience.cancelled,
                     .begun = pull.begun});
    if (!outcome.good()) return {};
    try {
        std::int64_t sum = 0;
        const auto manifest = wire::decode_known<ImageManifest>(outcome.output, "manifest");
        for (const ImageLayer& layer : manifest.layers.value) sum += layer.size.value;
        return sum;
    } catch (const Problem&) {
        return {};
    }
}

std::int64_t free_bytes(const std::string& folder) {
    const auto space = disk_space(folder);
    return space ? space->free_bytes : 0;
}

[[noreturn]] void give_up(const std::string& code) {
    throw RuntimeError(code, pull_sentence(code));
}

// What a pull that is told to end leaves.
class Scratch {
public:
    explicit Scratch(std::string folder) : folder_(std::move(folder)) {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

private:
    std::string folder_;
};

}  // namespace

bool is_pinned_image(const std::string& image) {
    constexpr std::string_view mark = "@sha256:";
    const std::size_t at = image.find(mark);
    if (at == std::string::npos || image.size() != at + mark.size() + 64) return false;
    const std::string_view name = std::string_view(image).substr(0, at);
    const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    const auto is_name = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_' || c == '/' || c == ':';
    };
    return agent_protocol::names_registry(name) && std::all_of(name.begin(), name.end(), is_name) &&
           std::all_of(image.begin() + static_cast<std::ptrdiff_t>(at + mark.size()), image.end(),
                       is_hex);
}

// podman ends with 125 whatever happened, so its words decide.
std::string failure_code(const std::string& said) {
    const auto says = [&](std::string_view words) { return said.find(words) != std::string::npos; };
    if (says("no space left on device")) return "DISK_FULL";
    if (says("Digest did not match") || says("does not match digest") ||
        says("does not match expected digest"))
        return "IMAGE_DIGEST_MISMATCH";
    if (says("manifest unknown") || says("name unknown") || says("unauthorized") ||
        says("access to the resource is denied") || says("repository not found"))
        return "IMAGE_NOT_FOUND";
    if (says("invalid reference format") || says("no image found in image index for architecture"))
        return "HOST_REJECTED";
    return {};
}

std::string pull_sentence(const std::string& code) {
    if (code == "IMAGE_NOT_FOUND")
        return "the registry has no such image, or gives it to nobody without a login";
    if (code == "IMAGE_DIGEST_MISMATCH")
        return "what the registry gave is not what the digest says";
    if (code == "DISK_FULL") return "the host has not enough disk for the image";
    if (code == "PULL_TIMEOUT")
        return "the registry did not give the image in time, or was not reached";
    if (code == "CANCELLED") return "the pull was cancelled";
    return "the host cannot use this image: its name must be registry/repository@sha256:digest";
}

std::optional<Duration> pause_after(int tries, double chance) {
    if (tries >= tries_max) return std::nullopt;
    const Duration whole = first_pause * (1 << std::max(0, tries - 1));
    return whole / 2 +
           Duration(static_cast<std::int64_t>(static_cast<double>((whole / 2).count()) * chance));
}

namespace {

// One pull: how far it is, whether it may go on, and its tries.
class Pulling {
public:
    Pulling(const Pull& pull, const Patience& patience,
            const std::function<void(const Progress&)>& told)
        : pull_(pull),
          patience_(patience),
          told_(told),
          network_(pull.registries, pull.network_mbit) {}

    void run() {
        progress_ = {.done_bytes = 0, .total_bytes = total_bytes(network_, pull_, patience_)};
        if (progress_.total_bytes) judge_room(*progress_.total_bytes);
        for (int tries = 1;; ++tries) {
            if (attempt()) return;
            const auto pause =
                pause_after(tries, static_cast<double>(SystemRandom().below(1000)) / 1000);
            if (!pause) give_up("PULL_TIMEOUT");
            wait(*pause);
        }
    }

private:
    bool attempt() {
        look();
        const ToolOutcome outcome =
            network_.run({.arguments = joined(pull_.podman, {"pull", "--quiet", "--authfile",
                                                             pull_.login_file, pull_.image}),
                          .environment = {{"TMPDIR", pull_.folder}},
                          .until = patience_.until,
                          .cancelled = &ends_,
                          .meanwhile = [this] { look(); },
                          .begun = pull_.begun});
        if (is_too_large_) throw ImageTooLarge();
        if (is_full_) give_up("DISK_FULL");
        if (outcome.good()) {
            if (progress_.total_bytes) progress_.done_bytes = progress_.total_bytes;
            if (told_) told_(progress_);
            return true;
        }
        if (patience_.cancelled) give_up("CANCELLED");
        if (outcome.end != ToolOutcome::End::exited) give_up("PULL_TIMEOUT");
        log(Level::warn, "pull_failed", {{"image", pull_.image}, {"why", outcome.why()}});
        const std::string code = failure_code(outcome.why());
        if (!code.empty()) give_up(code);
        return false;
    }

    // While it runs, and before it begins.
    void look() {
        const std::int64_t free = free_bytes(pull_.folder);
        const std::int64_t fetched = bytes_in(pull_.folder);
        is_too_large_ = fetched > pull_.image_bytes_max;
        is_full_ = free < pull_.floor_bytes;
        ends_ = is_too_large_ || is_full_ || patience_.cancelled;
        progress_.done_bytes = std::max(*progress_.done_bytes, fetched);
        if (progress_.total_bytes)
            progress_.done_bytes = std::min(*progress_.done_bytes, *progress_.total_bytes);
        if (told_ && !ends_) told_(progress_);
    }

    // It is here packed and unpacked before it is only the latter.
    void judge_room(std::int64_t packed_bytes) const {
        if (packed_bytes > pull_.image_bytes_max) throw ImageTooLarge();
        if (free_bytes(pull_.folder) - packed_bytes < pull_.floor_bytes) give_up("DISK_FULL");
    }

    void wait(Duration pause) const {
        const auto until = std::chrono::steady_clock::now() + pause;
        while (std::chrono::steady_clock::now() < until) {
            if (patience_.cancelled) give_up("CANCELLED");
            if (std::chrono::steady_clock::now() >= patience_.until) give_up("PULL_TIMEOUT");
            std::this_thread::sleep_for(look_every);
        }
    }

    const Pull& pull_;
    const Patience& patience_;
    const std::function<void(const Progress&)>& told_;
    const PullNetwork network_;
    Progress progress_;
    bool is_too_large_ = false;
    bool is_full_ = false;
    std::atomic<bool> ends_ = false;
};

}  // namespace

void pull_image(const Pull& pull, const Patience& patience,
                const std::function<void(const Progress&)>& told) {
    if (!is_pinned_image(pull.image)) {
        const std::size_t at = pull.image.find("@sha256:");
        const bool has_registry =
            agent_protocol::names_registry(std::string_view(pull.image).substr(0, at));
        // What nobody can pull says nothing of this host.
        const std::string code = has_registry ? "HOST_REJECTED" : "IMAGE_NOT_FOUND";
        throw RuntimeError(code, pull_sentence("HOST_REJECTED"));
    }
    if (patience.cancelled) give_up("CANCELLED");
    if (is_here(pull)) return;
    const Scratch scratch(pull.folder);
    Pulling(pull, patience, told).run();
}

}  // namespace berth::host_agent
