#include "rentals/ssh_greeting.hpp"

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "crypto/ed25519.hpp"
#include "crypto/hash.hpp"
#include "crypto/x25519.hpp"
#include "http/client.hpp"

namespace berth::rentals {
namespace {

constexpr std::string_view our_banner = "SSH-2.0-Berth";
constexpr std::string_view host_key_kind = "ssh-ed25519";
constexpr std::size_t banner_bytes_max = 4096;  // with the lines that may stand before it
constexpr std::size_t packet_bytes_max = 35'000;
constexpr int packets_before_reply_max = 8;

constexpr char message_disconnect = 1;
constexpr char message_kexinit = 20;
constexpr char message_kex_ecdh_init = 30;
constexpr char message_kex_ecdh_reply = 31;

[[noreturn]] void refuse_greeting(const std::string& why) { throw http::TransportError(why); }

std::string number_of(std::size_t value) {
    std::string bytes;
    for (const unsigned shift : {24U, 16U, 8U, 0U})
        bytes += static_cast<char>(static_cast<unsigned char>(value >> shift));
    return bytes;
}

std::size_t number_from(std::string_view bytes) {
    std::size_t value = 0;
    for (const char byte : bytes.substr(0, 4))
        value = value << 8 | static_cast<unsigned char>(byte);
    return value;
}

std::string ssh_text(std::string_view bytes) {
    return number_of(bytes.size()) + std::string(bytes);
}

// A number without its sign, as the exchange hash has the shared secret.
std::string ssh_number(std::string_view bytes) {
    while (!bytes.empty() && bytes.front() == '\0') bytes.remove_prefix(1);
    const bool looks_negative = !bytes.empty() && (bytes.front() & 0x80) != 0;
    return ssh_text((looks_negative ? std::string(1, '\0') : std::string()) + std::string(bytes));
}

std::string_view take_text(std::string_view& rest) {
    const std::size_t size = number_from(rest);
    if (rest.size() < 4 || rest.size() - 4 < size) refuse_greeting("its SSH packets are broken");
    const std::string_view text = rest.substr(4, size);
    rest.remove_prefix(4 + size);
    return text;
}

// Every server that we know has one of each.
std::string our_kexinit(Random& random) {
    constexpr std::string_view ciphers =
        "aes128-ctr,aes256-ctr,aes128-gcm@openssh.com,aes256-gcm@openssh.com,"
        "chacha20-poly1305@openssh.com";
    constexpr std::string_view macs =
        "hmac-sha2-256,hmac-sha2-512,hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com";
    std::string payload(1, message_kexinit);
    payload += random.bytes(16);
    for (const std::string_view list :
         {std::string_view("curve25519-sha256,curve25519-sha256@libssh.org"), host_key_kind,
          ciphers, ciphers, macs, macs, std::string_view("none"), std::string_view("none"),
          std::string_view(), std::string_view()})
        payload += ssh_text(list);
    return payload + '\0' + number_of(0);
}

void send_packet(http::DialledConnection& connection, const std::string& payload) {
    constexpr std::size_t block = 8;
    const std::size_t over = (payload.size() + 5) % block;
    const std::size_t padding = (over == 0 ? 0 : block - over) + block;
    connection.send(number_of(1 + payload.size() + padding) + static_cast<char>(padding) + payload +
                    std::string(padding, '\0'));
}

std::string receive_packet(http::DialledConnection& connection) {
    const std::size_t size = number_from(connection.receive(4));
    if (size < 2 || size > packet_bytes_max) refuse_greeting("its SSH packets are broken");
    const std::string packet = connection.receive(size);
    const std::size_t padding = static_cast<unsigned char>(packet.front());
    if (padding + 2 > size) refuse_greeting("its SSH packets are broken");
    return packet.substr(1, size - 1 - padding);
}

std::string receive_message(http::DialledConnection& connection, char wanted) {
    for (int i = 0; i < packets_before_reply_max; ++i) {
        std::string payload = receive_packet(connection);
        if (payload.front() == wanted) return payload;
        if (payload.front() == message_disconnect) break;
    }
    refuse_greeting("its SSH server does not exchange keys");
}

// Lines may come before it (RFC 4253, 4.2).
std::string receive_banner(http::DialledConnection& connection) {
    std::string line;
    for (std::size_t read = 0; read < banner_bytes_max; ++read) {
        const char byte = connection.receive(1).front();
        if (byte != '\n') {
            line += byte;
            continue;
        }
        if (line.ends_with('\r')) line.pop_back();
        if (line.starts_with("SSH-2.0-") || line.starts_with("SSH-1.99-")) return line;
        line.clear();
    }
    refuse_greeting("it does not speak SSH");
}

}  // namespace

SshGreeting greet_ssh(http::DialledConnection& connection, Random& random) {
    connection.send(std::string(our_banner) + "\r\n");
    const std::string banner = receive_banner(connection);
    const std::string ours = our_kexinit(random);
    send_packet(connection, ours);
    const std::string theirs = receive_message(connection, message_kexinit);
    const crypto::X25519Key key(crypto::Secret::make(random));
    const std::string public_key = key.public_key();
    send_packet(connection, message_kex_ecdh_init + ssh_text(public_key));
    const std::string reply = receive_message(connection, message_kex_ecdh_reply);

    std::string_view rest = std::string_view(reply).substr(1);
    const std::string_view host_key = take_text(rest);
    const std::string_view their_key = take_text(rest);
    std::string_view signature = take_text(rest);
    std::string_view key_rest = host_key;
    const bool is_known_kind =
        take_text(key_rest) == host_key_kind && take_text(signature) == host_key_kind;
    if (!is_known_kind) refuse_greeting("its SSH host key is not of kind ssh-ed25519");
    const auto signer = crypto::Ed25519PublicKey::from_bytes(take_text(key_rest));
    const auto shared = key.shared_with(their_key);
    if (!signer || !shared) refuse_greeting("its SSH server does not exchange keys");
    const Bytes hash = crypto::sha256(ssh_text(our_banner) + ssh_text(banner) + ssh_text(ours) +
                                      ssh_text(theirs) + ssh_text(host_key) + ssh_text(public_key) +
                                      ssh_text(their_key) + ssh_number(*shared));
    if (!signer->verify(hash, take_text(signature)))
        refuse_greeting("its SSH server does not have the host key that it shows");
    std::string print = to_base64(crypto::sha256(host_key));
    while (print.ends_with('=')) print.pop_back();
    return {banner, "SHA256:" + print};
}

}  // namespace berth::rentals
