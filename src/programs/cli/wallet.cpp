#include "cli/wallet.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>

#include "crypto/hash.hpp"
#include "crypto/keccak.hpp"
#include "crypto/passphrase.hpp"
#include "crypto/siwe.hpp"

namespace berth::cli {
namespace {

constexpr std::size_t derived_bytes = 32;
constexpr std::size_t passphrase_letters_min = 8;

Failure bad_keystore(std::string_view why) {
    return {Exit::usage, fmt::format("the keystore cannot be read: {}", why)};
}

Bytes hex_member(const Reading& json, std::string_view name) {
    auto bytes = from_hex(json.text(name));
    if (!bytes || bytes->empty()) throw bad_keystore(fmt::format("{} is missing", name));
    return *bytes;
}

std::uint64_t number_member(const Reading& json, std::string_view name) {
    const auto number = parse_decimal(json.text(name));
    if (!number || *number < 1) throw bad_keystore(fmt::format("{} is missing", name));
    return static_cast<std::uint64_t>(*number);
}

Bytes derive(const Reading& json, std::string_view passphrase) {
    const std::string how = json.text("crypto.kdf");
    const Bytes salt = hex_member(json, "crypto.kdfparams.salt");
    if (number_member(json, "crypto.kdfparams.dklen") != derived_bytes)
        throw bad_keystore("dklen must be 32");
    std::optional<Bytes> derived;
    if (how == "scrypt")
        derived = crypto::scrypt(
            passphrase, salt,
            {number_member(json, "crypto.kdfparams.n"), number_member(json, "crypto.kdfparams.r"),
             number_member(json, "crypto.kdfparams.p")});
    else if (how == "pbkdf2" && json.text("crypto.kdfparams.prf") == "hmac-sha256")
        derived =
            crypto::pbkdf2_sha256(passphrase, salt, number_member(json, "crypto.kdfparams.c"));
    else
        throw bad_keystore("its kdf is neither scrypt nor pbkdf2");
    if (!derived) throw bad_keystore("its kdf has parameters out of bounds");
    return *derived;
}

Bytes mac_of(const Bytes& derived, std::string_view sealed) {
    return crypto::keccak256(derived.substr(16, 16) + std::string(sealed));
}

std::string passphrase_for(Context& context, bool is_new) {
    if (const auto file = context.arguments().find("passphrase-file"))
        return read_secret(*file, "--passphrase-file");
    if (const char* const given = ::getenv("BERTH_WALLET_PASSPHRASE"); given != nullptr)
        return given;
    const std::string first = context.console().ask_secret(
        is_new ? "passphrase for the new wallet, 8 letters or more" : "passphrase of the wallet");
    if (is_new && context.console().ask_secret("the same again") != first)
        throw Failure(Exit::usage, "the two are not the same; no wallet was made");
    return first;
}

crypto::SigningKey signing_key(const crypto::Secret& secret) {
    auto key = crypto::SigningKey::from_bytes(secret.view());
    if (!key) throw Failure(Exit::usage, "this is no private key of a wallet");
    return std::move(*key);
}

crypto::SigningKey open_keystore(Context& context, const std::string& file) {
    return signing_key(
        read_keystore(read_input(file, "--keystore"), passphrase_for(context, false)));
}

// The one of --keystore or of the profile, else the place for a new one.
std::string keystore_file(Context& context) {
    if (const auto file = context.arguments().find("keystore")) return *file;
    const auto profile = context.profiles().load();
    if (profile && profile->wallet) return *profile->wallet;
    return context.profiles().folder() + "/wallets/" + context.profiles().name() + ".json";
}

crypto::SigningKey open_key_file(const std::string& file) {
    std::string text = read_secret(file, "--key-file");
    if (text.starts_with("0x")) text.erase(0, 2);
    const auto bytes = from_hex(text);
    if (!bytes || bytes->size() != crypto::Secret::size)
        throw Failure(Exit::usage, "--key-file: must hold 64 hex digits");
    return signing_key(crypto::Secret(*bytes));
}

}  // namespace

std::string make_keystore(const crypto::Secret& key, std::string_view passphrase, Random& random,
                          Cost cost) {
    const crypto::ScryptCost price{cost == Cost::usual ? 1u << 17 : 1u << 12, 8, 1};
    const Bytes salt = random.bytes(32);
    const Bytes start = random.bytes(16);
    const Bytes derived = crypto::scrypt(passphrase, salt, price).value();
    const Bytes sealed = crypto::aes_128_ctr(derived.substr(0, 16), start, key.view());
    const crypto::SigningKey pair = signing_key(key);
    return fmt::format(
        "{{\"version\":3,\"id\":\"{}\",\"address\":\"{}\",\"crypto\":{{\"cipher\":\"aes-128-ctr\","
        "\"cipherparams\":{{\"iv\":\"{}\"}},\"ciphertext\":\"{}\",\"kdf\":\"scrypt\","
        "\"kdfparams\":{{\"dklen\":32,\"n\":{},\"r\":8,\"p\":1,\"salt\":\"{}\"}},\"mac\":\"{}\"}}}}"
        "\n",
        to_string(make_uuid(SystemClock().now(), random)), to_string(pair.address()).substr(2),
        to_hex(start), to_hex(sealed), price.n, to_hex(salt), to_hex(mac_of(derived, sealed)));
}

crypto::Secret read_keystore(const std::string& text, std::string_view passphrase) {
    wire::Document probe;
    if (probe.parse(text)) throw bad_keystore("it is no JSON");
    const Reading json(text);
    if (json.text("version") != "3") throw bad_keystore("its version is not 3");
    if (json.text("crypto.cipher") != "aes-128-ctr")
        throw bad_keystore("its cipher is not aes-128-ctr");
    const Bytes sealed = hex_member(json, "crypto.ciphertext");
    const Bytes start = hex_member(json, "crypto.cipherparams.iv");
    if (sealed.size() != crypto::Secret::size || start.size() != 16)
        throw bad_keystore("it holds no key of 32 bytes");
    const Bytes derived = derive(json, passphrase);
    if (!crypto::equal_in_constant_time(mac_of(derived, sealed), hex_member(json, "crypto.mac")))
        throw Failure(Exit::refused, "the passphrase is another, or the keystore was changed");
    return crypto::Secret(crypto::aes_128_ctr(derived.substr(0, 16), start, sealed));
}

crypto::SigningKey open_wallet(Context& context) {
    if (const auto file = context.arguments().find("key-file")) return open_key_file(*file);
    if (const auto file = context.arguments().find("keystore"))
        return open_keystore(context, *file);
    const auto profile = context.profiles().load();
    if (!profile || !profile->wallet)
        throw Failure(Exit::refused,
                      "this profile has no wallet to sign with; an account of a "
                      "person uses `berth login --session`");
    return open_keystore(context, *profile->wallet);
}

bool has_wallet(Context& context) {
    return context.arguments().has("key-file") || std::filesystem::exists(keystore_file(context));
}

crypto::SigningKey open_or_make_wallet(Context& context, std::string& file) {
    if (const auto bare = context.arguments().find("key-file")) return open_key_file(*bare);
    file = keystore_file(context);
    if (std::filesystem::exists(file)) return open_keystore(context, file);
    const std::string passphrase = passphrase_for(context, true);
    if (passphrase.size() < passphrase_letters_min)
        throw Failure(Exit::usage, "a passphrase has at least 8 letters; no wallet was made");
    const crypto::Secret secret = crypto::Secret::make(context.random());
    crypto::SigningKey key = signing_key(secret);
    write_private(file, make_keystore(secret, passphrase, context.random()), false);
    context.console().say("made the wallet " + crypto::checksummed(key.address()) + " in " + file);
    return key;
}

std::string sign_message(Context& context, const crypto::SigningKey& wallet,
                         const std::string& message) {
    const auto text = crypto::parse_siwe(message);
    const std::string& origin = context.api().target().origin;
    // A signature for another site would let this server sign in there.
    if (!text || text->domain != host_of(origin) || text->address != wallet.address() ||
        (text->uri != origin && !text->uri.starts_with(origin + "/")))
        throw Failure(Exit::unexpected,
                      "the server wants a text signed that is not for it and "
                      "this wallet; nothing was signed");
    return "0x" + to_hex(wallet.sign(crypto::personal_message_hash(message)).bytes());
}

}  // namespace berth::cli
