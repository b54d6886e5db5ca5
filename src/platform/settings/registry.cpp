#include "settings/registry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/letters.hpp"
#include "base/log.hpp"

namespace berth::settings {
namespace {

std::string replaced(std::string text, char from, char to) {
    std::replace(text.begin(), text.end(), from, to);
    return text;
}

std::string upper(std::string text) {
    for (char& c : text) c = to_upper(c);
    return text;
}

}  // namespace

std::string_view name(Source source) {
    switch (source) {
        case Source::database: return "database";
        case Source::environment: return "environment";
        case Source::default_: break;
    }
    return "default";
}

void Registry::add_entry(Category category, std::string_view member, Field* (*at)(void*)) {
    Entry entry;
    entry.category = category;
    entry.section = sections_.size() - 1;
    entry.at = at;
    entry.key = fmt::format("{}.{}", name(category), member);
    const About& about = initial(entry).about();
    entry.flag =
        about.flag.empty() ? replaced(std::string(member), '_', '-') : std::string(about.flag);
    entry.file_key = replaced(entry.flag, '-', '_');
    entry.variable = "BERTH_" + upper(entry.file_key);
    check(!about.label.empty() && !about.help.empty(), "a setting says what it is for");
    check(!about.secret || !about.pinned.empty(), "a secret setting is not kept in the database");
    for (const Entry& other : entries_)
        check(other.key != entry.key && other.flag != entry.flag, "a setting is declared once");
    entries_.push_back(std::move(entry));
}

const Entry* Registry::find(std::string_view key) const {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.key == key; });
    return found == entries_.end() ? nullptr : &*found;
}

void Registry::check_value(const Entry& entry, const std::string& text) const {
    const std::shared_ptr<void> draft = sections_[entry.section].make();
    entry.at(draft.get())->read(text);
}

void Registry::check_given(const Entry& entry, const std::string& text,
                           const std::string& where) const {
    try {
        check_value(entry, text);
    } catch (const BadValue& bad) {
        throw BadSettings(where + ": " + bad.what());
    }
}

Given Registry::read(const Sources& sources) const {
    Given given;
    if (!sources.config_file.empty()) read_file(sources.config_file, given);
    for (const Entry& entry : entries_) {
        if (const char* value = sources.environment(entry.variable.c_str())) {
            check_given(entry, value, entry.variable);
            given[entry.key] = value;
        }
        if (const auto flag = sources.flags.find(entry.flag); flag != sources.flags.end()) {
            check_given(entry, flag->second, "--" + entry.flag);
            given[entry.key] = flag->second;
        }
    }
    return given;
}

std::shared_ptr<const Snapshot> Registry::snapshot(const Given& given,
                                                   const StoredValues& stored) const {
    const auto made = std::make_shared<Snapshot>();
    made->registry_ = this;
    made->stored_ = stored;
    for (const SectionType& section : sections_) made->sections_.push_back(section.make());
    for (const Entry& entry : entries_) {
        Field& field = *entry.at(made->sections_[entry.section].get());
        if (const auto text = given.find(entry.key); text != given.end()) {
            field.read(text->second);
            made->sources_[entry.key] = Source::environment;
        }
        const auto row = stored.find(entry.key);
        if (row == stored.end() || !row->second.value) continue;
        try {
            if (!field.about().pinned.empty()) throw BadValue("is pinned");
            field.read(*row->second.value);
            made->sources_[entry.key] = Source::database;
        } catch (const BadValue& bad) {
            log(Level::error, "stored_setting_not_used", {{"key", entry.key}, {"why", bad.what()}});
        }
    }
    return made;
}

Source Snapshot::source(const Entry& entry) const {
    const auto found = sources_.find(entry.key);
    return found == sources_.end() ? Source::default_ : found->second;
}

const Stored* Snapshot::stored(const Entry& entry) const {
    const auto found = stored_.find(entry.key);
    return found == stored_.end() ? nullptr : &found->second;
}

const void* Snapshot::find(const void* wanted) const {
    for (std::size_t i = 0; i < sections_.size(); ++i)
        if (registry_->sections_[i].tag == wanted) return sections_[i].get();
    check(false, "a section of settings is in the registry");
    return nullptr;
}

}  // namespace berth::settings
