// Every setting of the program, collected from the structs that features declare, and the values
// that they have: a value stored in the database beats a flag, a flag a variable, a variable the
// file of --config, and that the default. A Snapshot is the values of one moment and never changes.
#pragma once

#include <boost/describe/class.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/described.hpp"
#include "base/time.hpp"
#include "settings/setting.hpp"

namespace berth::settings {

// The configuration is wrong; the message is one sentence that names the setting.
class BadSettings : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// A setting as the world knows it.
struct Entry {
    std::string key;       // "money.platform_fee_bps"
    std::string flag;      // "platform-fee-bps"
    std::string variable;  // "BERTH_PLATFORM_FEE_BPS"
    std::string file_key;  // "platform_fee_bps"
    Category category{};
    std::size_t section = 0;
    Field* (*at)(void* section) = nullptr;
};

// What a process was started with.
struct Sources {
    std::map<std::string, std::string> flags = {};  // by flag, without the dashes
    std::string config_file = {};
    // getenv, or a test's own
    std::function<const char*(const char*)> environment = [](const char*) { return nullptr; };
};

// The values among them, by key.
using Given = std::map<std::string, std::string, std::less<>>;

// What the database says of a setting.
struct Stored {
    std::optional<std::string> value;  // none: it was set once, and is not any more
    std::int64_t version = 0;          // counts its changes
    Time updated_at;
    std::string updated_by;
};
using StoredValues = std::map<std::string, Stored, std::less<>>;

enum class Source { database, environment, default_ };
std::string_view name(Source source);

class Snapshot;

class Registry {
public:
    // A section is a described struct of settings with a `category`.
    template <class Section>
    Registry& add();

    const std::vector<Entry>& entries() const { return entries_; }  // in the order of declaration
    const Entry* find(std::string_view key) const;                  // null when there is none
    // With its default.
    const Field& initial(const Entry& entry) const { return *entry.at(initial_at(entry)); }

    // Throws BadSettings for what is no setting, or not a value of one.
    Given read(const Sources& sources) const;
    // A stored value that is not good, or whose setting is pinned, is told to the log and not used.
    std::shared_ptr<const Snapshot> snapshot(const Given& given,
                                             const StoredValues& stored = {}) const;

    // Throws BadValue when the setting cannot have it.
    void check_value(const Entry& entry, const std::string& text) const;

private:
    friend class Snapshot;

    struct SectionType {
        const void* tag;
        std::shared_ptr<void> (*make)();
        std::shared_ptr<void> initial;
    };

    void add_entry(Category category, std::string_view member, Field* (*at)(void*));
    void* initial_at(const Entry& entry) const { return sections_[entry.section].initial.get(); }
    void check_given(const Entry& entry, const std::string& text, const std::string& where) const;
    void read_file(const std::string& path, Given& given) const;

    std::vector<SectionType> sections_;
    std::vector<Entry> entries_;
};

// Its address stands for the type.
template <class Section>
inline constexpr char tag = 0;

class Snapshot {
public:
    template <class Section>
    const Section& get() const {
        return *static_cast<const Section*>(find(&tag<Section>));
    }

    // For those who show settings: a setting's value and where it comes from.
    const Field& field(const Entry& entry) const {
        return *entry.at(sections_[entry.section].get());
    }
    Source source(const Entry& entry) const;
    const Stored* stored(const Entry& entry) const;  // null when it never was
    const Registry& registry() const { return *registry_; }

private:
    friend class Registry;
    const void* find(const void* wanted) const;

    const Registry* registry_ = nullptr;
    std::vector<std::shared_ptr<void>> sections_;
    std::map<std::string, Source, std::less<>> sources_;  // none: the default
    StoredValues stored_;
};

template <class Section>
Registry& Registry::add() {
    static_assert(every_member_described<Section>);
    const auto make = []() -> std::shared_ptr<void> { return std::make_shared<Section>(); };
    sections_.push_back({&tag<Section>, make, make()});
    boost::mp11::mp_for_each<Descriptions<Section>>([&](auto member) {
        add_entry(Section::category, member.name, [](void* section) -> Field* {
            return &(static_cast<Section*>(section)->*decltype(member)::pointer);
        });
    });
    return *this;
}

}  // namespace berth::settings
