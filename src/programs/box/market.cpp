#include "box/market.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "base/ids.hpp"
#include "base/json_text.hpp"
#include "base/line_socket.hpp"
#include "base/money.hpp"
#include "cli/reading.hpp"
#include "crypto/evm.hpp"
#include "crypto/secp256k1.hpp"

namespace berth::box {
namespace {

using cli::Reading;

constexpr auto offered_for = std::chrono::hours(24 * 30);
constexpr std::int64_t notice_s = 120;
constexpr std::int64_t disk_shares = 8;  // as many hosts as the box has, and room for others
constexpr std::int64_t disk_gib_max = 100;
constexpr int unavailable_tries_max = 200;  // ten seconds

std::string sign_text(const crypto::SigningKey& wallet, const std::string& text) {
    const crypto::Signature signature = wallet.sign(crypto::personal_message_hash(text));
    Bytes bytes(signature.r.begin(), signature.r.end());
    bytes.append(signature.s.begin(), signature.s.end());
    bytes += static_cast<char>(27 + signature.recovery_id);
    return "0x" + to_hex(bytes);
}

}  // namespace

std::string read_private(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

void write_private(const std::string& path, const std::string& text) {
    const std::string draft = path + ".draft";
    ::unlink(draft.c_str());
    const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const std::string line = text + "\n";
    const bool written =
        file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    if (file >= 0) ::close(file);
    if (!written || ::rename(draft.c_str(), path.c_str()) != 0)
        throw std::runtime_error(path + ": cannot be written");
}

std::string Market::send(const std::string& method, const std::string& target,
                         const std::string& body, const std::string& key) {
    http::Outbound request{.method = method, .url = parts_.url + target, .headers = {}};
    if (!key.empty()) request.headers.add("Authorization", "Bearer " + key);
    if (method != "GET")
        request.headers.add("Idempotency-Key", to_string(make_uuid(clock_.now(), random_)));
    if (!body.empty()) request.headers.add("Content-Type", "application/json");
    request.body = body;
    http::Response response = client_.send(request);
    // A server that has just begun says so where it cannot answer yet; whether it has is asked of
    // it elsewhere.
    for (int i = 0; i < unavailable_tries_max && response.status == 503 && target != "/readyz";
         ++i) {
        parts_.pause();
        response = client_.send(request);
    }
    if (response.status >= 300)
        throw std::runtime_error(fmt::format("{} {}: {}", method, target, response.body));
    return response.body;
}

Person Market::find_or_register(const std::string& name) {
    const std::string key_file = parts_.folder + "/" + name + ".key";
    const std::string address_file = parts_.folder + "/" + name + ".address";
    if (const std::string key = read_private(key_file); !key.empty())
        return {key, read_private(address_file)};
    const Person made = register_account(name);
    write_private(address_file, made.address);
    write_private(key_file, made.api_key);
    return made;
}

Person Market::register_account(const std::string& name) {
    const std::string wallet_file = parts_.folder + "/" + name + ".wallet";
    if (read_private(wallet_file).empty()) write_private(wallet_file, to_hex(random_.bytes(32)));
    const auto wallet =
        crypto::SigningKey::from_bytes(from_hex(read_private(wallet_file)).value_or(""));
    if (!wallet) throw std::runtime_error(wallet_file + ": is no private key");
    const std::string address = crypto::checksummed(wallet->address());
    const Reading asked(send("POST", "/api/v1/agents/accounts/challenge",
                             fmt::format(R"({{"address":"{}"}})", address), ""));
    const std::string message = asked.text("message");
    const Reading made(
        send("POST", "/api/v1/agents/accounts",
             fmt::format(R"({{"message":{},"signature":"{}","agent":{{"name":"{} of the box",)"
                         R"("vendor":"Berth"}},"scopes":["renter","host"]}})",
                         json_quoted(message), sign_text(*wallet, message), name),
             ""));
    return {made.text("api_key.secret"), address};
}

void Market::fund(const Person& person, std::int64_t micro) {
    const auto has_money = [&] {
        const Reading balance(send("GET", "/api/v1/billing", "", person.api_key));
        return balance.text("spendable_micro") != "0" || balance.text("held_micro") != "0";
    };
    if (has_money()) return;
    const Reading wallets(send("GET", "/api/v1/wallets", "", person.api_key));
    const Reading intent(send("POST", "/api/v1/funding-intents",
                              fmt::format(R"({{"wallet_binding_id":"{}","amount_micro":"{}"}})",
                                          wallets.text("binding_id", wallets.rows().at(0)), micro),
                              person.api_key));
    const std::string socket = parts_.folder + "/simulated.sock";
    ask_line(socket, fmt::format("mint {} {}", person.address, micro));
    const std::string paid = ask_line(socket, fmt::format("transfer {} {} {}", person.address,
                                                          intent.text("treasury_address"), micro));
    const std::size_t space = paid.find(' ');
    send("POST", fmt::format("/api/v1/funding-intents/{}/claim", intent.text("intent_id")),
         fmt::format(R"({{"tx_hash":"{}","log_index":{}}})", paid.substr(0, space),
                     paid.substr(space + 1)),
         person.api_key);
    while (!has_money()) parts_.pause();
}

std::string Market::make_enrollment(const Person& host, const std::string& tier) {
    const Reading made(send("POST", "/api/v1/hosts/enrollments",
                            fmt::format(R"({{"tier":"{}"}})", tier), host.api_key));
    return made.text("token");
}

void Market::take_custom_images(const Person& host, const std::string& machine) {
    send("PUT", "/api/v1/hosts/machines/" + machine + "/custom-images", R"({"accept":true})",
         host.api_key);
}

std::string Market::offer_of(const std::string& model) {
    const Reading page(send("GET", "/api/v1/catalog?limit=100", "", ""));
    for (const Reading::Place offer : page.rows())
        if (page.text("model", offer) == model) return page.text("offer_id", offer);
    return "ID";
}

std::string Market::machine_state(const Person& host, const std::string& machine) {
    return Reading(send("GET", "/api/v1/hosts/machines/" + machine, "", host.api_key))
        .text("state");
}

void Market::publish(const Person& host, const std::string& machine, const Terms& terms) {
    const std::string place = "/api/v1/hosts/machines/" + machine;
    const Reading shown(send("GET", place, "", host.api_key));
    std::string version = shown.text("current_offer.offer_version");
    if (version.empty()) version = "0";
    // All hosts of the box share one disk: what they promise is a part of what was found free.
    const auto free_bytes = parse_decimal(shown.text("disk_bytes")).value_or(0);
    const std::int64_t disk_gib =
        std::clamp<std::int64_t>((free_bytes >> 30) / disk_shares, 1, disk_gib_max);
    send("PATCH", place + "/offer",
         fmt::format(
             R"({{"expected_version":"{}","rate_micro_per_hour":"{}",)"
             R"("included_disk_gib":{},"included_egress_gib":1000,)"
             R"("available_from":"{}","available_until":"{}",)"
             R"("availability_class":"{}"{}}})",
             version, terms.rate_micro_per_hour, disk_gib,
             to_rfc3339(clock_.now() - std::chrono::hours(1)),
             to_rfc3339(clock_.now() + offered_for),
             terms.interruptible ? "interruptible" : "dedicated",
             terms.interruptible ? fmt::format(R"(,"preemption_notice_s":{})", notice_s) : ""),
         host.api_key);
    send("POST", place + "/list", "", host.api_key);
}

std::size_t Market::count_offers() {
    const Reading page(send("GET", "/api/v1/offers?limit=100", "", ""));
    const auto list = page.find("items");
    return list ? page.items(*list).size() : 0;
}

bool Market::is_gate_live() {
    const Reading page(send("GET", "/api/v1/gates", "", ""));
    const auto list = page.find("items");
    if (!list) return false;
    const auto gates = page.items(*list);
    return std::any_of(gates.begin(), gates.end(), [&](const Reading::Place gate) {
        return page.text("live", gate) == "true";
    });
}

}  // namespace berth::box
