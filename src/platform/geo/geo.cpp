#include "geo/geo.hpp"

#include <maxminddb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <utility>

#include "http/resolve.hpp"

namespace berth::geo {
namespace {

// As GeoNames has them: Russia and Cyprus are in Europe, Turkey and the Caucasus in Asia.
constexpr std::array<std::pair<Continent, std::string_view>, 7> countries{{
    {Continent::AF,
     "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML "
     "MR MU MW MZ NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TG TN TZ UG YT ZA ZM ZW"},
    {Continent::AN, "AQ BV GS HM TF"},
    {Continent::AS,
     "AE AF AM AZ BD BH BN BT CC CN GE HK ID IL IN IO IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN "
     "MO MV MY NP OM PH PK PS QA SA SG SY TH TJ TM TR TW UZ VN YE"},
    {Continent::EU,
     "AD AL AT AX BA BE BG BY CH CY CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT "
     "LU LV MC MD ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK"},
    {Continent::NA,
     "AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA "
     "PM PR SV SX TC TT US VC VG VI"},
    {Continent::OC,
     "AS AU CK CX FJ FM GU KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TL TO TV UM VU WF WS"},
    {Continent::SA, "AR BO BR CL CO EC FK GF GY PE PY SR UY VE"},
}};

// What the library looks up. It wants an IPv4 address as one of IPv6 in its lowest bits.
sockaddr_in6 as_looked_up(const http::Address& address) {
    constexpr std::size_t v4_begins = 12;
    sockaddr_in6 out{};
    out.sin6_family = AF_INET6;
    const bool v4 = IN6_IS_ADDR_V4MAPPED(reinterpret_cast<const in6_addr*>(address.bytes.data()));
    std::copy(address.bytes.begin() + (v4 ? v4_begins : 0), address.bytes.end(),
              out.sin6_addr.s6_addr + (v4 ? v4_begins : 0));
    return out;
}

}  // namespace

struct Table::File {
    MMDB_s map{};

    ~File() { MMDB_close(&map); }
};

std::optional<Continent> continent_of_country(std::string_view country) {
    constexpr std::size_t letters = 2;
    if (country.size() != letters) return std::nullopt;
    for (const auto& [continent, codes] : countries)
        for (std::size_t at = 0; at < codes.size(); at += letters + 1)
            if (codes.substr(at, letters) == country) return continent;
    return std::nullopt;
}

Table::Table(const std::string& path) {
    auto file = std::make_unique<File>();
    const int status = MMDB_open(path.c_str(), MMDB_MODE_MMAP, &file->map);
    if (status == MMDB_SUCCESS) {
        file_ = std::move(file);
        return;
    }
    why_ = MMDB_strerror(status);
    file->map = {};
}

Table::~Table() = default;

std::optional<std::string> Table::country_of(std::string_view address) const {
    const auto parsed = http::parse_address(address);
    if (!file_ || !parsed || !http::is_public(*parsed)) return std::nullopt;
    const sockaddr_in6 peer = as_looked_up(*parsed);
    int status = MMDB_SUCCESS;
    MMDB_lookup_result_s found =
        MMDB_lookup_sockaddr(&file_->map, reinterpret_cast<const sockaddr*>(&peer), &status);
    if (status != MMDB_SUCCESS || !found.found_entry) return std::nullopt;
    MMDB_entry_data_s value{};
    status = MMDB_get_value(&found.entry, &value, "country_code", nullptr);
    const bool text = value.has_data && value.type == MMDB_DATA_TYPE_UTF8_STRING;
    if (status != MMDB_SUCCESS || !text) return std::nullopt;
    return std::string(value.utf8_string, value.data_size);
}

std::optional<Continent> Table::continent_of(std::string_view address) const {
    const auto country = country_of(address);
    return country ? continent_of_country(*country) : std::nullopt;
}

}  // namespace berth::geo
