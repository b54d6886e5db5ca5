#include <fmt/format.h>

#include <toml++/toml.h>

#include "settings/registry.hpp"

namespace berth::settings {
namespace {

// A value of the file as the text a flag would have; lists become comma lists.
std::string file_text(const toml::node& node, const std::string& where) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    if (const auto* list = node.as_array()) {
        std::string joined;
        for (const toml::node& item : *list) {
            if (!item.is_string()) throw BadSettings(where + ": must be a list of texts");
            joined += (joined.empty() ? "" : ",") + item.as_string()->get();
        }
        return joined;
    }
    throw BadSettings(where + ": must be a text, a whole number, true, false or a list of texts");
}

}  // namespace

void Registry::read_file(const std::string& path, Given& given) const {
    toml::table file;
    try {
        file = toml::parse_file(path);
    } catch (const toml::parse_error& error) {
        throw BadSettings(
            fmt::format("{}: line {}: {}", path, error.source().begin.line, error.description()));
    }
    for (const auto& [key, node] : file) {
        const std::string_view wanted = key.str();
        const std::string where = fmt::format("{}: {}", path, wanted);
        const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                        [&](const Entry& e) { return e.file_key == wanted; });
        if (entry == entries_.end()) throw BadSettings(where + ": is not a setting");
        const std::string text = file_text(node, where);
        check_given(*entry, text, where);
        given[entry->key] = text;
    }
}

}  // namespace berth::settings
