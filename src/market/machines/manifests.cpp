#include "machines/manifests.hpp"

#include <algorithm>
#include <set>

#include "agent_protocol/hashes.hpp"
#include "base/letters.hpp"
#include "base/problem.hpp"
#include "hardware/gpus.hpp"

namespace berth::machines {
namespace {

template <class T>
auto value_of(const wire::Nullable<T>& nullable) {
    using Value = std::remove_cvref_t<decltype(nullable.value->value)>;
    return nullable.value ? std::optional<Value>(nullable.value->value) : std::nullopt;
}

bool is_nvidia(const agent_protocol::ManifestGpu& gpu) {
    const auto says_so = [](std::string text) {
        std::transform(text.begin(), text.end(), text.begin(), to_lower);
        return text.find("nvidia") != std::string::npos;
    };
    const auto& backends = gpu.backends.value;
    return says_so(gpu.vendor.value) || (gpu.model.value && says_so(gpu.model.value->value)) ||
           std::find(backends.begin(), backends.end(), agent_protocol::Backend::cuda) !=
               backends.end();
}

// A card that could hide which one it is could be sold by several machines at once.
void check_gpus(const agent_protocol::Manifest& manifest) {
    std::set<std::string_view> places;
    std::set<std::string_view> uuids;
    for (const auto& gpu : manifest.gpus.value) {
        if (!places.insert(gpu.pci_address.value).second)
            throw Problem(Code::invalid_input,
                          "body.manifest.gpus: two devices cannot have one pci_address");
        if (gpu.uuid.value && !uuids.insert(gpu.uuid.value->value).second)
            throw Problem(Code::invalid_input,
                          "body.manifest.gpus: two devices cannot have one uuid");
        if (!gpu.uuid.value && manifest.runtime_kind != RuntimeKind::simulated && is_nvidia(gpu))
            throw Problem(Code::invalid_input,
                          "body.manifest.gpus: uuid must be there for an NVIDIA card, whose driver "
                          "always tells it");
    }
}

}  // namespace

void check_manifest(const agent_protocol::Manifest& manifest, std::string_view hash, Tier tier,
                    const Settings& settings) {
    if (agent_protocol::manifest_hash(manifest) != hash)
        throw Problem(Code::invalid_input,
                      "body.manifest_hash: is not the hash of the canonical JSON of the manifest");
    if (!is_allowed(settings, manifest.runtime_kind))
        throw Problem(Code::invalid_input,
                      "body.manifest.runtime_kind: this service does not take such machines");
    if (manifest.runtime_kind == RuntimeKind::process && tier != Tier::inference)
        throw Problem(Code::invalid_input,
                      "body.manifest.runtime_kind: a machine that runs processes has the tier "
                      "inference");
    check_gpus(manifest);
}

void describe_by(const agent_protocol::Manifest& manifest, Machine& machine) {
    const auto& gpus = manifest.gpus.value;
    machine.manifest_hash = agent_protocol::manifest_hash(manifest);
    machine.runtime_kind = manifest.runtime_kind;
    machine.driver_version = value_of(manifest.driver_version);
    machine.cuda_max = value_of(manifest.cuda_max);
    machine.cpu_cores = value_of(manifest.cpu_cores);
    machine.gpu_model = gpus.empty() ? std::nullopt : value_of(gpus.front().model);
    const auto* model = machine.gpu_model ? hardware::canonical(*machine.gpu_model) : nullptr;
    machine.gpu_model_key =
        model == nullptr ? std::nullopt : std::optional(std::string(model->key));
    machine.gpu_count =
        gpus.empty() ? std::nullopt : std::optional(static_cast<std::int64_t>(gpus.size()));
    std::set<std::string_view> backends;
    machine.gpu_memory_shared = false;
    for (const auto& gpu : gpus) {
        for (const auto backend : gpu.backends.value) backends.insert(enum_name(backend));
        if (gpu.memory_class == agent_protocol::MemoryClass::shared)
            machine.gpu_memory_shared = true;
    }
    machine.backends.clear();
    for (const std::string_view backend : backends) {
        if (!machine.backends.empty()) machine.backends += ',';
        machine.backends += backend;
    }
}

std::vector<std::string> gpu_uuids(const agent_protocol::Manifest& manifest) {
    std::vector<std::string> uuids;
    for (const auto& gpu : manifest.gpus.value)
        if (gpu.uuid.value) uuids.push_back(gpu.uuid.value->value);
    return uuids;
}

}  // namespace berth::machines
