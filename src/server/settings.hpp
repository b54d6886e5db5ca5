// Every setting of the program, in one table: a flag, a BERTH_* variable and a key of the TOML file
// each. A flag beats a variable, a variable beats the file, the file beats the default.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/money.hpp"
#include "base/time.hpp"
#include "crypto/evm.hpp"

namespace berth::server {

// The configuration is wrong; the message is one sentence that names the setting.
class BadSettings : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct Endpoint {
    std::string address;
    std::uint16_t port = 0;
};

struct Settings {
    Endpoint listen;
    std::string base_url;  // empty in the table means http(s)://<listen>
    std::string db;
    std::string mail;
    std::string mail_from;
    std::string mail_ca_file;
    std::vector<std::string> chain_rpc;
    std::int64_t chain_confirmations = 0;
    Duration chain_poll{};
    std::optional<crypto::Address> treasury;  // none: the address of the key in --secrets
    crypto::Address token_usdc;
    crypto::Address token_usdt;
    std::int64_t platform_fee_bps = 0;
    Micro deposit_max;
    Micro transfer_min;
    std::int64_t gas_fee_max_gwei = 0;
    std::string explorer_url;
    std::string support_email;
    std::string secrets;
    bool allow_private_endpoints = false;
    std::optional<Endpoint> metrics_listen;
    std::string tls_certificate;
    std::string tls_key;
    std::vector<std::string> trusted_proxies;
    Level log_level = Level::info;
    std::size_t threads = 0;
    std::size_t db_connections = 0;
    std::size_t worker_threads = 0;
    std::int64_t rate_public_per_minute = 0;
    std::int64_t rate_account_per_minute = 0;
    std::int64_t rate_sign_in_per_hour = 0;
    std::int64_t rate_sign_in_codes_per_hour = 0;
    std::int64_t rate_sign_in_mails_per_hour = 0;
    std::int64_t rate_codes_per_hour = 0;
    std::int64_t rate_challenge_per_hour = 0;
};

// One row of the table.
struct Setting {
    std::string name;  // "base-url": the flag is --base-url, the variable BERTH_BASE_URL, the TOML
                       // key base_url
    std::string help;
    std::string initial;  // the default, as text
    std::function<void(Settings&, const std::string&)> set;  // throws BadSettings
};
const std::vector<Setting>& setting_table();

std::string variable_name(const Setting& setting);
std::string file_key(const Setting& setting);

// Values by setting name, as given on the command line; `config_file` may be empty.
struct Sources {
    std::map<std::string, std::string> flags;
    std::string config_file;
    std::function<const char*(const char*)> environment;  // getenv, or a test's own
};
Settings load_settings(const Sources& sources);

}  // namespace berth::server
