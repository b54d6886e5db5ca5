#include "agent_protocol/durable.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace berth::agent_protocol {
namespace {

[[noreturn]] void fail(const std::string& path) {
    throw StateLost(fmt::format("{}: {}", path, std::strerror(errno)));
}

}  // namespace

void write_durably(const std::string& path, std::string_view text) {
    const std::string draft = path + ".new";
    const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) fail(draft);
    const bool written =
        ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const bool synced = written && ::fsync(file) == 0;
    if (::close(file) != 0 || !synced) fail(draft);
    if (::rename(draft.c_str(), path.c_str()) != 0) fail(path);
    sync_folder(std::filesystem::path(path).parent_path().string());
}

std::optional<std::string> read_durable(const std::string& path) {
    if (!std::filesystem::exists(path)) return std::nullopt;
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    if (!file || !(text << file.rdbuf())) throw StateLost(path + ": cannot be read");
    return text.str();
}

void sync_folder(const std::string& folder) {
    const int handle = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (handle < 0) fail(folder);
    const bool synced = ::fsync(handle) == 0;
    ::close(handle);
    if (!synced) fail(folder);
}

}  // namespace berth::agent_protocol
