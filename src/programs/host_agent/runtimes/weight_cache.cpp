#include "host_agent/runtimes/weight_cache.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/letters.hpp"
#include "base/log.hpp"
#include "host_agent/core/host.hpp"
#include "host_agent/core/tool.hpp"
#include "wire/open.hpp"

namespace berth::host_agent {

// As the hub writes them; what else it says is passed over.
struct HubLargeFile {
    std::string oid;
};
BOOST_DESCRIBE_STRUCT(HubLargeFile, (), (oid))
struct HubEntry {
    std::string type;
    std::string path;
    std::string oid;
    std::optional<wire::Count> size;
    std::optional<HubLargeFile> lfs;
};
BOOST_DESCRIBE_STRUCT(HubEntry, (), (type, path, oid, size, lfs))

namespace {

namespace places = std::filesystem;

constexpr std::size_t hub_files_max = 1000;
constexpr std::size_t path_bytes_max = 400;
constexpr std::string_view draft_ending = ".part";
// What leads to a file has a few words of its own, which may be more than a small file has.
constexpr std::int64_t beside_file_bytes = 64 * 1024;

bool has_hex_digits(std::string_view text, std::size_t digits) {
    return text.size() == digits && std::all_of(text.begin(), text.end(), is_lower_hex);
}

// It becomes a part of an address and of a path.
bool is_repository(std::string_view text) {
    const std::size_t slash = text.find('/');
    const auto is_part = [](std::string_view part) {
        const auto allowed = [](char c) {
            return is_alphanumeric(c) || c == '.' || c == '-' || c == '_';
        };
        return !part.empty() && part.size() <= 96 && is_alphanumeric(part.front()) &&
               std::all_of(part.begin(), part.end(), allowed);
    };
    return slash != std::string_view::npos && is_part(text.substr(0, slash)) &&
           is_part(text.substr(slash + 1));
}

bool is_safe_path(std::string_view path) {
    const auto allowed = [](char c) {
        return is_alphanumeric(c) || c == '.' || c == '-' || c == '_' || c == '/' || c == '+';
    };
    return !path.empty() && path.size() <= path_bytes_max && path.front() != '/' &&
           path.find("..") == std::string_view::npos && path.find("//") == std::string_view::npos &&
           std::all_of(path.begin(), path.end(), allowed);
}

// The same weights in the formats of other engines.
bool is_other_format(std::string_view path) {
    for (const std::string_view ending :
         {".bin", ".pt", ".pth", ".h5", ".msgpack", ".onnx", ".ot", ".gguf"})
        if (path.ends_with(ending)) return true;
    return path.starts_with("original/") || path.starts_with("onnx/");
}

std::string first_word(const ToolOutcome& outcome) {
    return outcome.output.substr(0, outcome.output.find_first_of(" \n"));
}

// The programs of the system read gigabytes as fast as the disk gives them.
bool is_as_told(const HubFile& file, const std::string& path, const Patience& patience,
                const std::function<void(pid_t)>& begun) {
    std::error_code failed;
    if (static_cast<std::int64_t>(places::file_size(path, failed)) != file.bytes || failed)
        return false;
    if (!file.sha256.empty())
        return first_word(run_tool({.arguments = {"sha256sum", "--", path},
                                    .until = patience.until,
                                    .cancelled = &patience.cancelled,
                                    .begun = begun})) == file.sha256;
    // Git's name of a file: its kind and size stand before it.
    constexpr const char* named = R"({ printf 'blob %s\0' "$1"; cat -- "$2"; } | sha1sum)";
    return first_word(
               run_tool({.arguments = {"sh", "-c", named, "sh", std::to_string(file.bytes), path},
                         .begun = begun})) == file.git_sha1;
}

bool is_larger(const std::string& path, std::int64_t bytes) {
    std::error_code failed;
    const auto size = places::file_size(path, failed);
    return !failed && static_cast<std::int64_t>(size) > bytes;
}

std::vector<std::string> fetching(const Hub& hub, const std::string& address) {
    std::vector<std::string> words = {"curl",         "--disable",  "--fail",       "--silent",
                                      "--show-error", "--location", "--max-redirs", "5",
                                      "--proto",      "=https"};
    if (!hub.ca_file.empty()) words.insert(words.end(), {"--cacert", hub.ca_file});
    words.push_back(address);
    return words;
}

// Everybody may read it: jobs do, as a user of their own.
void open_to_readers(const std::string& folder) {
    ::chmod(folder.c_str(), 0755);
    for (const auto& entry : places::recursive_directory_iterator(folder))
        if (!entry.is_symlink()) ::chmod(entry.path().c_str(), entry.is_directory() ? 0755 : 0644);
}

std::string dashed(const std::string& repository) {
    std::string name = repository;
    const std::size_t slash = name.find('/');
    return name.replace(slash, 1, "--");
}

void end_fetch(const Patience& patience, const std::string& what) {
    if (patience.cancelled) throw RuntimeError("CANCELLED", "the pull was cancelled");
    if (std::chrono::steady_clock::now() >= patience.until)
        throw RuntimeError("PULL_TIMEOUT", "the weights of the model were not here in time");
    throw std::runtime_error(what);
}

}  // namespace

std::optional<WeightsName> weights_of(const Workload& workload) {
    const auto variable = [&](const char* name) {
        const auto found = workload.environment.find(name);
        return found == workload.environment.end() ? std::string() : found->second;
    };
    const WeightsName name{variable("MODEL_ID"), variable("MODEL_REVISION")};
    const bool is_private =
        workload.kind != JobKind::model || workload.secrets.contains("HF_TOKEN");
    if (is_private || !is_repository(name.repository) || !has_hex_digits(name.revision, 40))
        return std::nullopt;
    return name;
}

std::vector<HubFile> read_hub_list(const std::string& json) {
    const auto entries = wire::decode_known<std::vector<HubEntry>>(json, "hub");
    const bool has_tensors = std::ranges::any_of(
        entries, [](const HubEntry& entry) { return entry.path.ends_with(".safetensors"); });
    std::vector<HubFile> files;
    for (const HubEntry& entry : entries) {
        if (entry.type != "file" || (has_tensors && is_other_format(entry.path))) continue;
        HubFile file{.path = entry.path,
                     .bytes = entry.size ? entry.size->value : -1,
                     .sha256 = entry.lfs ? entry.lfs->oid : "",
                     .git_sha1 = entry.oid};
        const bool has_hash =
            entry.lfs ? has_hex_digits(file.sha256, 64) : has_hex_digits(file.git_sha1, 40);
        if (!is_safe_path(file.path) || file.bytes < 0 || !has_hash ||
            files.size() == hub_files_max)
            throw std::runtime_error("the hub's list of files makes no sense");
        files.push_back(std::move(file));
    }
    if (files.empty()) throw std::runtime_error("the hub has no files of this revision");
    return files;
}

std::string WeightCache::key(const WeightsName& name) const {
    return fmt::format("{}{}@{}", weights_prefix, dashed(name.repository), name.revision);
}

std::string WeightCache::path_of_key(const std::string& key) const {
    return folder_ + "/" + key.substr(weights_prefix.size());
}

bool WeightCache::has_key(const std::string& key) const { return places::exists(path_of_key(key)); }

std::optional<std::string> WeightCache::find(const WeightsName& name) const {
    const std::string path = path_of_key(key(name));
    return places::exists(path) ? std::optional(path) : std::nullopt;
}

bool WeightCache::remove(const std::string& key) const {
    std::error_code failed;
    places::remove_all(path_of_key(key), failed);
    return !failed;
}

void WeightCache::tidy() const {
    std::error_code ignored;
    for (const auto& entry : places::directory_iterator(folder_, ignored))
        if (entry.path().string().ends_with(draft_ending)) places::remove_all(entry, ignored);
}

// Laid out as the hub's own library lays it, so that engines find it without the network. It has
// its name only once it is whole.
std::int64_t WeightCache::fetch(const WeightsName& name, const Room& room,
                                const PinnedRegistries& pinned, const Patience& patience,
                                const std::function<void(const Progress&)>& told) {
    const PullNetwork network(pinned, room.network_mbit);
    // A hub may give more than it told of, and others write to the disk as well.
    const auto get = [&](std::vector<std::string> words, const std::function<bool()>& is_too_much) {
        std::atomic<bool> ends = false;
        const ToolOutcome outcome =
            network.run({.arguments = std::move(words),
                         .until = patience.until,
                         .cancelled = &ends,
                         .meanwhile = [&] { ends = patience.cancelled || is_too_much(); },
                         .begun = room.begun});
        if (!outcome.good()) end_fetch(patience, "the hub did not give it: " + outcome.why());
        return outcome.output;
    };
    const auto files =
        read_hub_list(get(fetching(hub_, fmt::format("{}/api/models/{}/tree/{}?recursive=true",
                                                     hub_.url, name.repository, name.revision)),
                          [] { return false; }));
    Progress progress{.done_bytes = 0, .total_bytes = 0};
    for (const HubFile& file : files) *progress.total_bytes += file.bytes;
    const auto space = disk_space(folder_);
    if (*progress.total_bytes > room.bytes_max || !space ||
        space->free_bytes - *progress.total_bytes < room.floor_bytes)
        throw std::runtime_error("there is no room for the weights");
    const std::string path = path_of_key(key(name));
    const std::string draft = path + std::string(draft_ending);
    places::remove_all(draft);
    try {
        const std::string model = draft + "/hub/models--" + dashed(name.repository);
        const std::string snapshot = model + "/snapshots/" + name.revision;
        places::create_directories(model + "/refs");
        std::ofstream(model + "/refs/main") << name.revision;
        for (const HubFile& file : files) {
            const std::string to = snapshot + "/" + file.path;
            places::create_directories(places::path(to).parent_path());
            auto words = fetching(hub_, fmt::format("{}/{}/resolve/{}/{}", hub_.url,
                                                    name.repository, name.revision, file.path));
            words.insert(words.end(), {"--output", to, "--max-filesize",
                                       std::to_string(file.bytes + beside_file_bytes)});
            get(std::move(words), [&] {
                const auto left = disk_space(folder_);
                return !left || left->free_bytes < room.floor_bytes || is_larger(to, file.bytes);
            });
            if (!is_as_told(file, to, patience, room.begun))
                end_fetch(patience, file.path + " is not what the hub says of it");
            *progress.done_bytes += file.bytes;
            if (told) told(progress);
        }
        open_to_readers(draft);
        places::rename(draft, path);
    } catch (...) {
        std::error_code ignored;
        places::remove_all(draft, ignored);
        throw;
    }
    return *progress.total_bytes;
}

}  // namespace berth::host_agent
