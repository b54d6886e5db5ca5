#include "server/secrets.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "server/settings.hpp"

namespace berth::server {
namespace {

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
    throw BadSettings(fmt::format("--secrets: {}: {}", path, why));
}

// Written in full under another name and then linked: a key file is whole or not there, and of two
// processes that start at once one wins.
void make_secret(const std::string& path, Random& random) {
    const std::string draft = fmt::format("{}.{}", path, to_hex(random.bytes(8)));
    const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) refuse(draft, std::strerror(errno));
    const std::string text = to_hex(random.bytes(secret_bytes)) + "\n";
    const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const bool synced = written && ::fsync(file) == 0;
    ::close(file);
    const bool linked = synced && (::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
    const int why = errno;
    ::unlink(draft.c_str());
    if (!linked) refuse(path, std::strerror(why));
}

Bytes read_secret(const std::string& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) refuse(path, std::strerror(errno));
    if ((facts.st_mode & 077) != 0) refuse(path, "must be readable by its owner alone (chmod 600)");
    std::ifstream file(path);
    std::string text;
    std::getline(file, text);
    const auto secret = from_hex(text);
    if (!secret || secret->size() != secret_bytes)
        refuse(path, fmt::format("must hold {} hex digits", secret_bytes * 2));
    return *secret;
}

}  // namespace

Bytes load_secret(const std::string& folder, const std::string& name, Random& random) {
    std::error_code error;
    if (std::filesystem::create_directories(folder, error))
        std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
    if (error) refuse(folder, error.message());
    const std::string path = folder + "/" + name;
    if (!std::filesystem::exists(path)) make_secret(path, random);
    return read_secret(path);
}

std::optional<Bytes> find_secret(const std::string& folder, const std::string& name) {
    const std::string path = folder + "/" + name;
    return std::filesystem::exists(path) ? std::optional(read_secret(path)) : std::nullopt;
}

}  // namespace berth::server
