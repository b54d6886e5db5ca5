#include "host_agent/access/handover.hpp"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <array>

#include "base/check.hpp"

namespace berth::host_agent {
namespace {

using Control = std::array<char, CMSG_SPACE(sizeof(int) * handed_files_max)>;

}  // namespace

bool hand_over(int socket, std::string_view bytes, std::span<const int> files) {
    check(files.size() <= handed_files_max, "few descriptors are handed over at once");
    iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) Control control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (!files.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(files.size_bytes());
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(files.size_bytes());
        ::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
    }
    return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

std::optional<Handed> take_handed(int socket, std::size_t bytes_max) {
    Handed out;
    out.bytes.resize(bytes_max);
    iovec piece{out.bytes.data(), out.bytes.size()};
    alignas(cmsghdr) Control control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t count = -1;
    do count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    const cmsghdr* const first = CMSG_FIRSTHDR(&message);
    if (count >= 0 && first != nullptr && first->cmsg_type == SCM_RIGHTS) {
        std::array<int, handed_files_max> numbers{};
        const std::size_t bytes = first->cmsg_len - CMSG_LEN(0);
        ::memcpy(numbers.data(), CMSG_DATA(first), bytes);
        for (std::size_t i = 0; i < bytes / sizeof(int); ++i)
            out.files.emplace_back(Descriptor(numbers[i]));
    }
    if (count <= 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return {};
    out.bytes.resize(static_cast<std::size_t>(count));
    return out;
}

}  // namespace berth::host_agent
