#include "host_agent/runtimes/container_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/log.hpp"
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

constexpr auto pause_between_tries = std::chrono::milliseconds(500);
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
std::optional<std::int64_t> total_bytes(const Pull& pull, const Patience& patience) {
    const ToolOutcome outcome =
        run_tool({.arguments = {"skopeo", "inspect", "--raw", "docker://" + pull.image},
                  .until = patience.until,
                  .cancelled = &patience.cancelled});
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

[[noreturn]] void give_up(const Patience& patience, const std::string& said) {
    if (patience.cancelled) throw RuntimeError("CANCELLED", "the pull was cancelled");
    throw RuntimeError("PULL_TIMEOUT", said.empty() ? "the image was not here in time"
                                                    : "the image was not here in time: " + said);
}

std::string sentence_for(const std::string& code) {
    if (code == "IMAGE_NOT_FOUND")
        return "the registry has no such image, or gives it to nobody without a login";
    if (code == "IMAGE_DIGEST_MISMATCH")
        return "what the registry gave is not what the digest says";
    if (code == "DISK_FULL") return "the host has not enough disk for the image";
    return "the host cannot use this image: its name must be registry/repository@sha256:digest";
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
    return name.find('/') != std::string_view::npos && name.front() != '-' && name.front() != '/' &&
           std::all_of(name.begin(), name.end(), is_name) &&
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

void pull_image(const Pull& pull, const Patience& patience,
                const std::function<void(const Progress&)>& told) {
    if (!is_pinned_image(pull.image))
        throw RuntimeError("HOST_REJECTED", sentence_for("HOST_REJECTED"));
    if (is_here(pull)) return;
    const Scratch scratch(pull.folder);
    Progress progress{.done_bytes = 0, .total_bytes = total_bytes(pull, patience)};
    std::string said;
    while (!patience.cancelled && std::chrono::steady_clock::now() < patience.until) {
        const auto tell = [&] {
            progress.done_bytes = std::max(*progress.done_bytes, bytes_in(pull.folder));
            if (progress.total_bytes)
                progress.done_bytes = std::min(*progress.done_bytes, *progress.total_bytes);
            if (told) told(progress);
        };
        const ToolOutcome outcome =
            run_tool({.arguments = joined(pull.podman, {"pull", "--quiet", pull.image}),
                      .environment = {{"TMPDIR", pull.folder}},
                      .until = patience.until,
                      .cancelled = &patience.cancelled,
                      .meanwhile = tell});
        if (outcome.good()) {
            if (progress.total_bytes) progress.done_bytes = progress.total_bytes;
            if (told) told(progress);
            return;
        }
        if (outcome.end != ToolOutcome::End::exited) break;
        said = outcome.why();
        log(Level::warn, "pull_failed", {{"image", pull.image}, {"why", said}});
        if (const std::string code = failure_code(said); !code.empty())
            throw RuntimeError(code, sentence_for(code));
        const auto next = std::chrono::steady_clock::now() + pause_between_tries;
        while (!patience.cancelled &&
               std::chrono::steady_clock::now() < std::min(next, patience.until))
            std::this_thread::sleep_for(look_every);
    }
    give_up(patience, said);
}

}  // namespace berth::host_agent
