#include "server/settings.hpp"

#include <fmt/format.h>

#include <array>
#include <toml++/toml.h>

#include "base/money.hpp"
#include "crypto/uri.hpp"
#include "mail/address.hpp"

namespace berth::server {
namespace {

[[noreturn]] void refuse(const std::string& must) { throw BadSettings(must); }

std::int64_t whole_number(const std::string& text, std::int64_t low, std::int64_t high) {
    const auto value = parse_decimal(text);
    if (!value || *value < low || *value > high)
        refuse(fmt::format("must be a whole number from {} to {}", low, high));
    return *value;
}

Endpoint endpoint(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0)
        refuse("must be ADDRESS:PORT, such as 127.0.0.1:8080");
    std::string address = text.substr(0, colon);
    if (address.front() == '[' && address.back() == ']')
        address = address.substr(1, address.size() - 2);
    const auto port = parse_decimal(text.substr(colon + 1));
    if (!port || *port > 65535) refuse("must be ADDRESS:PORT, such as 127.0.0.1:8080");
    return {address, static_cast<std::uint16_t>(*port)};
}

bool boolean(const std::string& text) {
    if (text == "true") return true;
    if (text == "false") return false;
    refuse("must be true or false");
}

std::vector<std::string> comma_list(const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        if (end > begin) parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

Level level(const std::string& text) {
    constexpr std::array<std::string_view, 4> names{"debug", "info", "warn", "error"};
    for (std::size_t i = 0; i < names.size(); ++i)
        if (text == names[i]) return static_cast<Level>(i);
    refuse("must be debug, info, warn or error");
}

bool is_web_url(std::string_view url) {
    const std::size_t start = url.starts_with("https://") ? 8 : url.starts_with("http://") ? 7 : 0;
    return start != 0 && url.size() > start && url.find_first_of(" ?#") == url.npos;
}

bool is_loopback(std::string_view host) {
    return host == "localhost" || host.starts_with("localhost:") || host.starts_with("127.") ||
           host.starts_with("[::1]");
}

// Browsers, wallets and mail are given this address, so it must be one that all of them can use.
std::string web_url(const std::string& text) {
    const bool secure = text.starts_with("https://");
    const std::size_t start = secure ? 8 : 7;
    if (!is_web_url(text) || text.back() == '/' || !crypto::is_uri(text))
        refuse("must be an http or https address without a slash at its end");
    const std::string host = text.substr(start, text.find('/', start) - start);
    if (!crypto::is_authority(host) || host.find('@') != host.npos)
        refuse("must be an http or https address without a slash at its end");
    if (!secure && !is_loopback(host)) refuse("must be https, except on this machine");
    return text;
}

std::string database_url(const std::string& text) {
    const bool sqlite = text.starts_with("sqlite:") && text.size() > 7;
    if (!sqlite && !text.starts_with("postgres://") && !text.starts_with("postgresql://"))
        refuse("must be sqlite:PATH or postgres://…");
    return text;
}

std::string mail_target(const std::string& text) {
    const bool folder = text.starts_with("file:") && text.size() > 5;
    if (!folder && !text.starts_with("smtp://") && !text.starts_with("smtps://"))
        refuse("must be file:DIR, smtp://… or smtps://…");
    return text;
}

std::vector<std::string> rpc_urls(const std::string& text) {
    auto urls = comma_list(text);
    for (const std::string& url : urls)
        if (!is_web_url(url)) refuse("must be http or https addresses, separated by commas");
    return urls;
}

std::string not_empty(const std::string& text) {
    if (text.empty()) refuse("must not be empty");
    return text;
}

// Puts the setting's name before what is wrong with its value.
void apply(const Setting& setting, Settings& settings, const std::string& value,
           const std::string& where) {
    try {
        setting.set(settings, value);
    } catch (const BadSettings& bad) {
        throw BadSettings(where + ": " + bad.what());
    }
}

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

void apply_file(const std::string& path, Settings& settings) {
    toml::table file;
    try {
        file = toml::parse_file(path);
    } catch (const toml::parse_error& error) {
        throw BadSettings(fmt::format("{}: line {}: {}", path, error.source().begin.line,
                                      error.description()));
    }
    for (const auto& [key, node] : file) {
        const std::string name(key.str());
        const auto& table = setting_table();
        const auto row = std::find_if(table.begin(), table.end(),
                                      [&](const Setting& s) { return file_key(s) == name; });
        const std::string where = path + ": " + name;
        if (row == table.end()) throw BadSettings(where + ": is not a setting");
        apply(*row, settings, file_text(node, where), where);
    }
}

crypto::Address evm_address(const std::string& text) {
    const auto address = crypto::parse_address(text);
    if (!address) refuse("must be 0x and 40 hex digits, with a right checksum if it has one");
    return *address;
}

Micro micro_amount(const std::string& text) {
    constexpr std::int64_t amount_max = 1'000'000'000'000'000;
    return {whole_number(text, 1, amount_max)};
}

// Without a slash at the end: paths are put behind it.
std::string web_page(const std::string& url) {
    if (!is_web_url(url) || url.ends_with('/'))
        refuse("must start with https:// or http:// and not end with a slash");
    return url;
}

std::string default_base_url(const Settings& settings) {
    const std::string& address = settings.listen.address;
    if (address == "0.0.0.0" || address == "::")
        throw BadSettings("--base-url: must be given when --listen takes every address");
    return fmt::format("{}://{}:{}", settings.tls_key.empty() ? "http" : "https",
                       address.find(':') == std::string::npos ? address : "[" + address + "]",
                       settings.listen.port);
}

void check_together(const Settings& settings) {
    if (settings.tls_certificate.empty() != settings.tls_key.empty())
        throw BadSettings("--tls-certificate and --tls-key: must be given together");
}

}  // namespace

const std::vector<Setting>& setting_table() {
    static const std::vector<Setting> table{
        {"listen", "address and port to serve on", "127.0.0.1:8080",
         [](Settings& s, const std::string& v) { s.listen = endpoint(v); }},
        {"base-url", "address under which clients reach the service; empty: that of --listen", "",
         [](Settings& s, const std::string& v) { s.base_url = v.empty() ? v : web_url(v); }},
        {"db", "sqlite:PATH or postgres://…", "sqlite:data/berth.db",
         [](Settings& s, const std::string& v) { s.db = database_url(v); }},
        {"mail", "where mail goes: file:DIR or smtp://…", "file:data/mail",
         [](Settings& s, const std::string& v) { s.mail = mail_target(v); }},
        {"mail-from", "the address mail comes from", "berth@localhost",
         [](Settings& s, const std::string& v) {
             if (!mail::is_email(v)) refuse("must be an email address");
             s.mail_from = v;
         }},
        {"mail-ca-file", "PEM file of whom to trust as the mail server; empty: the system's", "",
         [](Settings& s, const std::string& v) { s.mail_ca_file = v; }},
        {"chain-rpc", "JSON-RPC addresses of Base, separated by commas; empty: no chain", "",
         [](Settings& s, const std::string& v) { s.chain_rpc = rpc_urls(v); }},
        {"chain-confirmations", "blocks wanted on top of a final one; 0 trusts finality alone", "0",
         [](Settings& s, const std::string& v) { s.chain_confirmations = whole_number(v, 0, 10'000); }},
        {"chain-poll-ms", "how often the chain is looked at", "2000",
         [](Settings& s, const std::string& v) {
             s.chain_poll = std::chrono::milliseconds(whole_number(v, 10, 3'600'000));
         }},
        {"treasury", "address that deposits go to; empty: that of treasury.key in --secrets", "",
         [](Settings& s, const std::string& v) {
             s.treasury = v.empty() ? std::nullopt : std::optional(evm_address(v));
         }},
        {"token-usdc", "contract of USDC on Base", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
         [](Settings& s, const std::string& v) { s.token_usdc = evm_address(v); }},
        {"token-usdt", "contract of USDT on Base", "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2",
         [](Settings& s, const std::string& v) { s.token_usdt = evm_address(v); }},
        {"platform-fee-bps", "the platform's part of a charge, in hundredths of a percent", "1000",
         [](Settings& s, const std::string& v) { s.platform_fee_bps = whole_number(v, 0, 10'000); }},
        {"deposit-max-micro", "most that one funding intent may be for", "1000000000000",
         [](Settings& s, const std::string& v) { s.deposit_max = micro_amount(v); }},
        {"gas-fee-max-gwei", "most that is paid per gas for a transfer on chain", "50",
         [](Settings& s, const std::string& v) { s.gas_fee_max_gwei = whole_number(v, 1, 10'000); }},
        {"transfer-min-micro", "least that one withdrawal or payout may be for, unless it is all there is",
         "1000000",
         [](Settings& s, const std::string& v) { s.transfer_min = micro_amount(v); }},
        {"explorer-url", "where people look at transactions", "https://basescan.org",
         [](Settings& s, const std::string& v) { s.explorer_url = web_page(v); }},
        {"support-email", "address on receipts to write to; empty: none", "",
         [](Settings& s, const std::string& v) {
             if (!v.empty() && !mail::is_email(v)) refuse("must be an email address");
             s.support_email = v;
         }},
        {"secrets", "folder of the keys the service signs and encrypts with", "data/secrets",
         [](Settings& s, const std::string& v) { s.secrets = not_empty(v); }},
        {"allow-private-endpoints", "let rentals announce private addresses (development)", "false",
         [](Settings& s, const std::string& v) { s.allow_private_endpoints = boolean(v); }},
        {"metrics-listen", "address and port of /metrics; empty: none", "",
         [](Settings& s, const std::string& v) {
             s.metrics_listen = v.empty() ? std::nullopt : std::optional(endpoint(v));
         }},
        {"tls-certificate", "PEM file; read again on SIGHUP", "",
         [](Settings& s, const std::string& v) { s.tls_certificate = v; }},
        {"tls-key", "PEM file; read again on SIGHUP", "",
         [](Settings& s, const std::string& v) { s.tls_key = v; }},
        {"trusted-proxies", "addresses or blocks whose X-Forwarded-For is believed", "",
         [](Settings& s, const std::string& v) { s.trusted_proxies = comma_list(v); }},
        {"log-level", "debug, info, warn or error", "info",
         [](Settings& s, const std::string& v) { s.log_level = level(v); }},
        {"threads", "threads that carry out requests", "64",
         [](Settings& s, const std::string& v) {
             s.threads = static_cast<std::size_t>(whole_number(v, 1, 1024));
         }},
        {"db-connections", "PostgreSQL connections, or SQLite readers", "16",
         [](Settings& s, const std::string& v) {
             s.db_connections = static_cast<std::size_t>(whole_number(v, 1, 1024));
         }},
        {"worker-threads", "background threads inside serve; 0 leaves the work to berthd worker",
         "4",
         [](Settings& s, const std::string& v) {
             s.worker_threads = static_cast<std::size_t>(whole_number(v, 0, 256));
         }},
        {"rate-public-per-minute", "requests an address may make to public routes", "120",
         [](Settings& s, const std::string& v) {
             s.rate_public_per_minute = whole_number(v, 1, 1'000'000'000);
         }},
        {"rate-account-per-minute", "requests an account may make", "300",
         [](Settings& s, const std::string& v) {
             s.rate_account_per_minute = whole_number(v, 1, 1'000'000'000);
         }},
        {"rate-sign-in-per-hour", "sign-in mails an address may ask for", "20",
         [](Settings& s, const std::string& v) {
             s.rate_sign_in_per_hour = whole_number(v, 1, 1'000'000'000);
         }},
        {"rate-sign-in-codes-per-hour", "sign-in codes an address may ask for one mailbox", "5",
         [](Settings& s, const std::string& v) {
             s.rate_sign_in_codes_per_hour = whole_number(v, 1, 1'000'000'000);
         }},
        {"rate-sign-in-mails-per-hour", "sign-in mails one mailbox may get, whoever asks", "20",
         [](Settings& s, const std::string& v) {
             s.rate_sign_in_mails_per_hour = whole_number(v, 1, 1'000'000'000);
         }},
        {"rate-codes-per-hour", "other code mails one mailbox may get, for each purpose", "5",
         [](Settings& s, const std::string& v) {
             s.rate_codes_per_hour = whole_number(v, 1, 1'000'000'000);
         }},
        {"rate-challenge-per-hour", "agent challenges an address may ask for", "10",
         [](Settings& s, const std::string& v) {
             s.rate_challenge_per_hour = whole_number(v, 1, 1'000'000'000);
         }},
    };
    return table;
}

std::string file_key(const Setting& setting) {
    std::string key = setting.name;
    std::replace(key.begin(), key.end(), '-', '_');
    return key;
}

std::string variable_name(const Setting& setting) {
    std::string name = "BERTH_" + file_key(setting);
    for (char& c : name)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    return name;
}

Settings load_settings(const Sources& sources) {
    Settings settings;
    for (const Setting& row : setting_table()) row.set(settings, row.initial);
    if (!sources.config_file.empty()) apply_file(sources.config_file, settings);
    for (const Setting& row : setting_table()) {
        const std::string variable = variable_name(row);
        if (const char* value = sources.environment(variable.c_str()))
            apply(row, settings, value, variable);
        if (const auto flag = sources.flags.find(row.name); flag != sources.flags.end())
            apply(row, settings, flag->second, "--" + row.name);
    }
    check_together(settings);
    if (settings.base_url.empty()) {
        try {
            settings.base_url = web_url(default_base_url(settings));
        } catch (const BadSettings& bad) {
            const std::string why = bad.what();
            throw BadSettings(why.starts_with("--") ? why : "--base-url: " + why);
        }
    }
    return settings;
}

}  // namespace berth::server
