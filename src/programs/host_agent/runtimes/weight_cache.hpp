// Weights of open models, kept by revision for all jobs of templates that name them: fetched once,
// every file compared with what the hub says of that revision, and then only read. Weights that the
// hub gives to nobody without a token are never here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host_agent/core/runtime.hpp"
#include "host_agent/runtimes/pull_network.hpp"

namespace berth::host_agent {

struct WeightsName {
    std::string repository;  // "Qwen/Qwen2.5-7B-Instruct"
    std::string revision;    // a commit: 40 hex digits
};

// What a template's variables MODEL_ID and MODEL_REVISION say; none where there is no such
// revision, and never for an image of the renter's own or a job with a token of the hub.
std::optional<WeightsName> weights_of(const Workload& workload);

struct Hub {
    std::string url = "https://huggingface.co";
    std::string ca_file{};  // empty: the system's
};

// A file of a revision, as the hub tells of it.
struct HubFile {
    std::string path;
    std::int64_t bytes = 0;
    std::string sha256;    // of large files
    std::string git_sha1;  // of the others
};
// From the hub's list, without what an engine has no use for. Throws std::runtime_error where the
// list makes no sense: a path that leads out of its folder, a file without a hash.
std::vector<HubFile> read_hub_list(const std::string& json);

class WeightCache {
public:
    WeightCache(std::string folder, Hub hub) : folder_(std::move(folder)), hub_(std::move(hub)) {}

    // The folder to be mounted at /cache, once all of it is here.
    std::optional<std::string> find(const WeightsName& name) const;
    std::string key(const WeightsName& name) const;  // its name in the store

    struct Room {
        std::int64_t bytes_max = 0;             // of one model
        std::int64_t floor_bytes = 0;           // of the disk that must stay free
        std::int64_t network_mbit = 0;          // of the line that it may take; 0: all
        std::function<void(pid_t)> begun = {};  // for each program that fetches or looks at it
    };
    // Fetches what is missing; gives its bytes. Throws std::runtime_error, and RuntimeError
    // CANCELLED or PULL_TIMEOUT; what is half there is gone then.
    std::int64_t fetch(const WeightsName& name, const Room& room, const PinnedRegistries& pinned,
                       const Patience& patience, const std::function<void(const Progress&)>& told);
    bool has_key(const std::string& key) const;
    bool remove(const std::string& key) const;  // whether it is gone
    void tidy() const;                          // removes what an agent before us left half done

private:
    std::string path_of_key(const std::string& key) const;

    const std::string folder_;
    const Hub hub_;
};

inline constexpr std::string_view weights_prefix = "weights/";

}  // namespace berth::host_agent
