// The continent of an address, from a table of countries on disk. It is asked with the address a
// connection came from, never with what the other side says of itself. Nothing leaves the machine.
#pragma once

#include <boost/describe/enum.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace berth::geo {

enum class Continent { AF, AN, AS, EU, NA, OC, SA };
BOOST_DESCRIBE_ENUM(Continent, AF, AN, AS, EU, NA, OC, SA)

// Of a country's two letters (ISO 3166-1, and XK for Kosovo); empty for anything else.
std::optional<Continent> continent_of_country(std::string_view country);

// A country file in the MaxMind format, mapped into memory. Without one every address is unknown.
// May be asked from several threads at once.
class Table {
public:
    // A file that is missing or no such table leaves the table empty; why() says the reason.
    explicit Table(const std::string& path);
    ~Table();
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    bool loaded() const { return file_ != nullptr; }
    const std::string& why() const { return why_; }

    // Of an IPv4 or IPv6 address as text. Private and reserved addresses have
    // none, whatever the file says of them.
    std::optional<std::string> country_of(std::string_view address) const;
    std::optional<Continent> continent_of(std::string_view address) const;

private:
    struct File;

    std::unique_ptr<const File> file_;
    std::string why_;
};

}  // namespace berth::geo
