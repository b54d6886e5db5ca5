#include "server/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "accounts/settings.hpp"
#include "agent_accounts/settings.hpp"
#include "api/settings.hpp"
#include "block_list/settings.hpp"
#include "chain/settings.hpp"
#include "closing/settings.hpp"
#include "credits/settings.hpp"
#include "crypto/uri.hpp"
#include "delivery/settings.hpp"
#include "four_eyes/settings.hpp"
#include "funding/settings.hpp"
#include "gates/settings.hpp"
#include "ledger/settings.hpp"
#include "liabilities/settings.hpp"
#include "machines/settings.hpp"
#include "mail/settings.hpp"
#include "offers/settings.hpp"
#include "recovery/settings.hpp"
#include "relay/settings.hpp"
#include "rentals/settings.hpp"
#include "reports/settings.hpp"
#include "server/simulation.hpp"
#include "tickets/settings.hpp"
#include "transfers/settings.hpp"

namespace berth::server {
namespace {

using settings::BadValue;

// Browsers, wallets and mail are given this address, so it must be one that all of them can use.
std::string web_url(const std::string& text) {
    if (!settings::is_web_url(text) || text.ends_with('/'))
        throw BadValue("must be an http or https address without a slash at its end");
    const auto uri = crypto::parse_uri(text);
    const auto where = crypto::parse_authority(*uri->authority);
    if (where->user) throw BadValue("must be an address without a name or password");
    if (uri->scheme == "http" && !crypto::is_this_machine(where->host))
        throw BadValue("must be https, except on this machine");
    return text;
}

void check_together(const Settings& settings) {
    if (settings.tls_certificate->empty() != settings.tls_key->empty())
        throw BadSettings("--tls-certificate and --tls-key: must be given together");
    try {
        web_url(base_url_of(settings));
    } catch (const BadValue& bad) {
        throw BadSettings(fmt::format("--base-url: {}", bad.what()));
    }
}

}  // namespace

Endpoint parse_endpoint(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0)
        throw BadValue("must be ADDRESS:PORT, such as 127.0.0.1:8080");
    std::string address = text.substr(0, colon);
    if (address.front() == '[' && address.back() == ']')
        address = address.substr(1, address.size() - 2);
    const auto port = parse_decimal(text.substr(colon + 1));
    if (!port || *port > 65535) throw BadValue("must be ADDRESS:PORT, such as 127.0.0.1:8080");
    return {address, static_cast<std::uint16_t>(*port)};
}

std::optional<Endpoint> parse_optional_endpoint(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(parse_endpoint(text));
}

std::string parse_base_url(const std::string& text) { return text.empty() ? text : web_url(text); }

std::string parse_database(const std::string& text) {
    const bool sqlite = text.starts_with(sqlite_scheme) && text.size() > sqlite_scheme.size();
    if (!sqlite && !text.starts_with("postgres://") && !text.starts_with("postgresql://"))
        throw BadValue("must be sqlite:PATH or postgres://…");
    return text;
}

std::optional<Duration> parse_drain(const std::string& text) {
    constexpr std::int64_t seconds_max = 600;
    if (text.empty()) return std::nullopt;
    const auto seconds = parse_decimal(text);
    if (!seconds || *seconds > seconds_max)
        throw BadValue("must be empty or seconds from 0 to 600");
    return std::chrono::seconds(*seconds);
}

Level parse_level(const std::string& text) {
    constexpr std::array<std::string_view, 4> names{"debug", "info", "warn", "error"};
    for (std::size_t i = 0; i < names.size(); ++i)
        if (text == names[i]) return static_cast<Level>(i);
    throw BadValue("must be debug, info, warn or error");
}

const settings::Registry& registry() {
    static const settings::Registry all = settings::Registry()
                                              .add<Settings>()
                                              .add<api::Settings>()
                                              .add<accounts::Settings>()
                                              .add<agent_accounts::Settings>()
                                              .add<accounts::Branding>()
                                              .add<accounts::Contact>()
                                              .add<ledger::Settings>()
                                              .add<block_list::Settings>()
                                              .add<credits::Settings>()
                                              .add<funding::Settings>()
                                              .add<transfers::Settings>()
                                              .add<liabilities::Settings>()
                                              .add<tickets::Settings>()
                                              .add<reports::Settings>()
                                              .add<closing::Settings>()
                                              .add<four_eyes::Settings>()
                                              .add<recovery::Settings>()
                                              .add<chain::Settings>()
                                              .add<machines::Settings>()
                                              .add<gates::Settings>()
                                              .add<offers::Settings>()
                                              .add<rentals::Settings>()
                                              .add<relay::Settings>()
                                              .add<delivery::Settings>()
                                              .add<mail::Settings>();
    return all;
}

settings::Given load_settings(const settings::Sources& sources) {
    settings::Given given = registry().read(sources);
    const auto start = registry().snapshot(given);
    check_together(start->get<Settings>());
    check_simulated(start->get<Settings>(), start->get<chain::Settings>());
    return given;
}

Settings start_settings(const settings::Given& given) {
    return registry().snapshot(given)->get<Settings>();
}

std::string base_url_of(const Settings& settings) {
    if (!settings.base_url->empty()) return *settings.base_url;
    const auto& [address, port] = *settings.listen;
    if (address == "0.0.0.0" || address == "::")
        throw BadValue("must be given when --listen takes every address");
    return fmt::format("{}://{}:{}", settings.tls_key->empty() ? "http" : "https",
                       address.find(':') == std::string::npos ? address : "[" + address + "]",
                       port);
}

}  // namespace berth::server
