#include "host_agent/core/state_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "agent_protocol/hashes.hpp"
#include "base/descriptor.hpp"

namespace berth::host_agent {

namespace files = std::filesystem;

namespace {

// Whoever only looks whether it is locked has it for a moment.
constexpr int lock_tries_max = 20;
constexpr useconds_t lock_pause_us = 5000;

}  // namespace

StateFolder::StateFolder(std::string folder) : folder_(plain_path(folder)) {
    std::error_code ignored;
    files::create_directories(files::path(folder_).parent_path(), ignored);
    make_state_folder(folder_);
    struct stat info {};
    if (::stat(folder_.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
        throw StateLost(folder_ + " is no folder");
    if (info.st_uid != ::geteuid()) throw StateLost(folder_ + " belongs to another user");
    if ((info.st_mode & 077) != 0 && ::chmod(folder_.c_str(), 0700) != 0)
        throw StateLost(folder_ + " can be read by others");
    make_state_folder(jobs_folder());
}

StateFolder::~StateFolder() {
    if (lock_ >= 0) ::close(lock_);
}

void StateFolder::lock() {
    const std::string path = folder_ + "/lock";
    lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_ < 0) throw StateLost(fmt::format("{}: {}", path, std::strerror(errno)));
    for (int tries = 1; ::flock(lock_, LOCK_EX | LOCK_NB) != 0; ++tries) {
        if (tries < lock_tries_max) {
            ::usleep(lock_pause_us);
            continue;
        }
        std::array<char, 24> holder{};
        const ssize_t length = ::pread(lock_, holder.data(), holder.size() - 1, 0);
        throw StateLost(fmt::format("another agent uses {} (process {}); there can be one only",
                                    folder_, length > 0 ? holder.data() : "unknown"));
    }
    const std::string own = std::to_string(::getpid());
    if (::ftruncate(lock_, 0) == 0) (void)!::pwrite(lock_, own.data(), own.size(), 0);
}

std::optional<Identity> StateFolder::identity() const {
    const std::string path = folder_ + "/identity.json";
    const auto text = agent_protocol::read_durable(path);
    if (!text) return std::nullopt;
    auto identity = read_state<Identity>(path, *text);
    const auto seed = from_hex(identity.seed);
    const bool has_server =
        !identity.machine_id || agent_protocol::parse_key(identity.server_public_key).has_value();
    if (!seed || seed->size() != crypto::Secret::size || !has_server)
        throw StateLost(path +
                        " is damaged: a key in it is none. Put back a copy of the folder, "
                        "or enroll the machine anew with an empty one.");
    return identity;
}

void StateFolder::save(const Identity& identity) const {
    agent_protocol::write_durably(folder_ + "/identity.json", wire::encode(identity));
}

void make_state_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) == 0)
        return agent_protocol::sync_folder(files::path(path).parent_path().string());
    if (errno != EEXIST) throw StateLost(fmt::format("{}: {}", path, std::strerror(errno)));
}

std::string plain_path(const std::string& folder) {
    const files::path plain = files::absolute(folder).lexically_normal();
    return plain.has_filename() ? plain.string() : plain.parent_path().string();
}

bool is_locked(const std::string& folder) {
    const Descriptor file(::open((folder + "/lock").c_str(), O_RDONLY | O_CLOEXEC));
    return file.number() >= 0 && ::flock(file.number(), LOCK_SH | LOCK_NB) != 0;
}

crypto::Ed25519Key key_of(const std::string& seed) {
    return crypto::Ed25519Key{crypto::Secret(from_hex(seed).value())};
}

agent_protocol::PinnedKey pinned_of(const Identity& identity) {
    return {identity.server_key_id, agent_protocol::parse_key(identity.server_public_key).value()};
}

std::optional<agent_protocol::PinnedKey> next_pinned_of(const Identity& identity) {
    if (!identity.next_server_key_id || !identity.next_server_public_key) return std::nullopt;
    const auto key = agent_protocol::parse_key(*identity.next_server_public_key);
    if (!key) return std::nullopt;
    return agent_protocol::PinnedKey{*identity.next_server_key_id, *key};
}

bool swap_seeds(Identity& identity) {
    if (identity.next_seed) {
        identity.old_seed = std::exchange(identity.seed, *identity.next_seed);
        identity.next_seed.reset();
        return true;
    }
    if (!identity.old_seed) return false;
    identity.next_seed = std::exchange(identity.seed, *identity.old_seed);
    identity.old_seed.reset();
    return true;
}

}  // namespace berth::host_agent
