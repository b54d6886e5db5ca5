#include "settings/show.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_text.hpp"

namespace berth::settings {
namespace {

std::string shown_value(const Field& field) {
    if (!field.about().secret) return field.text();
    return field.text().empty() ? "(not set)" : "(set)";
}

std::string changed_by(const Stored* stored) {
    if (stored == nullptr || !stored->value) return "";
    return fmt::format("by {} at {}", stored->updated_by, to_rfc3339(stored->updated_at));
}

std::string json_row(const Snapshot& snapshot, const Entry& entry) {
    const Row row = row_of(snapshot, entry);
    return fmt::format(R"({{"key":{},"category":{},"label":{},"help":{},"secret":{},"editable":{},)"
                       R"("pinned_reason":{},"value":{},"source":{},"version":{},"updated_at":{},)"
                       R"("updated_by":{},"env":{}}})",
                       json_quoted(row.key), json_quoted(row.category), json_quoted(row.label),
                       json_quoted(row.help), row.secret, row.editable,
                       row.pinned_reason ? json_quoted(*row.pinned_reason) : "null", row.value_json,
                       json_quoted(row.source), row.version,
                       row.updated_at ? json_quoted(to_rfc3339(*row.updated_at)) : "null",
                       row.updated_by ? json_quoted(*row.updated_by) : "null",
                       json_quoted(row.env));
}

// "1000, 0 to 10000 basis points"
std::string default_and_bounds(const Field& field) {
    std::string text = field.text().empty() ? "" : "`" + field.text() + "`";
    if (!field.bounds().empty()) text += fmt::format(" ({})", field.bounds());
    if (!field.about().unit.empty()) text += fmt::format(" {}", field.about().unit);
    return text;
}

// Categories in their order, and within one the order of declaration.
std::vector<const Entry*> by_category(const Registry& registry) {
    std::vector<const Entry*> sorted;
    for (const Entry& entry : registry.entries()) sorted.push_back(&entry);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Entry* a, const Entry* b) { return a->category < b->category; });
    return sorted;
}

std::string_view how_changed(const About& about) {
    if (about.pinned.empty()) return "any time";
    return about.pinned == root_of_trust ? "root of trust" : "at start";
}

}  // namespace

Row row_of(const Snapshot& snapshot, const Entry& entry) {
    const Field& field = snapshot.field(entry);
    const About& about = field.about();
    Row row;
    row.key = entry.key;
    row.category = name(entry.category);
    row.label = about.label;
    row.help = about.help;
    row.secret = about.secret || about.pinned == root_of_trust;
    row.editable = about.pinned.empty();
    if (!row.editable) row.pinned_reason = about.pinned;
    row.value_json =
        row.secret ? fmt::format(R"({{"set":{}}})", !field.text().empty()) : field.json();
    row.source = name(snapshot.source(entry));
    if (const Stored* stored = snapshot.stored(entry)) {
        row.version = stored->version;
        row.updated_at = stored->updated_at;
        row.updated_by = stored->updated_by;
    }
    row.env = entry.variable;
    return row;
}

std::string to_table(const Snapshot& snapshot) {
    std::string text = fmt::format("{:<44} {:<12} {}\n", "KEY", "SOURCE", "VALUE");
    for (const Entry* entry : by_category(snapshot.registry())) {
        const Field& field = snapshot.field(*entry);
        std::string line = fmt::format("{:<44} {:<12} {}", entry->key,
                                       name(snapshot.source(*entry)), shown_value(field));
        if (!field.about().unit.empty()) line += fmt::format(" {}", field.about().unit);
        if (const std::string by = changed_by(snapshot.stored(*entry)); !by.empty())
            line += fmt::format("  ({})", by);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string to_json(const Snapshot& snapshot) {
    std::string text = "[";
    for (const Entry* entry : by_category(snapshot.registry())) {
        text += text.size() > 1 ? ",\n " : "\n ";
        text += json_row(snapshot, *entry);
    }
    return text + "\n]\n";
}

std::string to_markdown(const Registry& registry) {
    std::string text =
        "# Settings\n\n"
        "Made by `berthd settings docs`; a test holds this page to the program.\n\n"
        "A value comes from the first of: the database (`berthd settings set KEY VALUE --reason "
        "…`), a flag, a variable, the TOML file of `--config`, the default. What is changed \"at "
        "start\" or belongs to the root of trust cannot be set in the database.\n";
    std::string_view category;
    for (const Entry* entry : by_category(registry)) {
        const Field& field = registry.initial(*entry);
        if (name(entry->category) != category) {
            category = name(entry->category);
            text += fmt::format(
                "\n## {}\n\n| key | flag, variable, file | default | changed | "
                "what it is for |\n| --- | --- | --- | --- | --- |\n",
                category);
        }
        text +=
            fmt::format("| `{}` | `--{}` `{}` `{}` | {} | {} | {}: {} |\n", entry->key, entry->flag,
                        entry->variable, entry->file_key, default_and_bounds(field),
                        how_changed(field.about()), field.about().label, field.about().help);
    }
    return text;
}

}  // namespace berth::settings
