#include "gpu/offered.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/letters.hpp"

namespace berth::gpu {
namespace {

using agent_protocol::ManifestGpu;

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), to_lower);
    return text;
}

// A bus address may be without its domain, as other tools write it.
bool is_called(const std::string& address, const std::string& uuid, const std::string& name) {
    const std::string wanted = lower(name);
    return wanted == lower(address) || "0000:" + wanted == lower(address) ||
           (!uuid.empty() && wanted == lower(uuid));
}

std::string uuid_of(const ManifestGpu& card) {
    return card.uuid.value ? card.uuid.value->value : "";
}

}  // namespace

std::vector<std::string> parse_names(const std::string& text) {
    std::vector<std::string> names;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        word.erase(0, word.find_first_not_of(' '));
        word.resize(word.find_last_not_of(' ') + 1);
        if (!word.empty()) names.push_back(word);
    }
    if (names == std::vector<std::string>{"all"}) names.clear();
    return names;
}

std::string address_called(const Inventory& found, const std::string& name) {
    for (const ManifestGpu& card : found.gpus)
        if (is_called(card.pci_address.value, uuid_of(card), name)) return card.pci_address.value;
    return name;
}

Inventory offered(Inventory whole, const std::vector<std::string>& names) {
    std::vector<ManifestGpu> cards;
    for (ManifestGpu& card : whole.gpus) {
        const std::string& address = card.pci_address.value;
        const auto unfit = whole.unfit.find(address);
        const bool is_named =
            names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
                return is_called(address, uuid_of(card), name);
            });
        if (is_named && unfit == whole.unfit.end()) {
            cards.push_back(std::move(card));
            continue;
        }
        whole.left_out.push_back(
            {.pci_address = address,
             .uuid = uuid_of(card),
             .model = card.model.value ? card.model.value->value : card.vendor.value,
             .why = unfit != whole.unfit.end() ? unfit->second : "it is not named in --gpus"});
    }
    whole.gpus = std::move(cards);
    return whole;
}

std::vector<std::string> wrong_names(const Inventory& found,
                                     const std::vector<std::string>& names) {
    std::vector<std::string> wrong;
    for (const std::string& name : names) {
        const bool is_there = std::ranges::any_of(found.gpus, [&](const ManifestGpu& card) {
            return is_called(card.pci_address.value, uuid_of(card), name);
        });
        if (is_there) continue;
        const auto left = std::ranges::find_if(found.left_out, [&](const LeftOut& card) {
            return is_called(card.pci_address, card.uuid, name);
        });
        wrong.push_back(left == found.left_out.end()
                            ? fmt::format("there is no card {}", name)
                            : fmt::format("{} cannot be offered: {}", name, left->why));
    }
    return wrong;
}

}  // namespace berth::gpu
