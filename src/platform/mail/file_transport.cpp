#include "mail/file_transport.hpp"

#include <fmt/format.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

namespace berth::mail {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string_view what, const fs::path& path) {
    throw NotDelivered(fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

// The mails hold sign-in codes: the folder is for its owner only. One that is there stays as it is.
void make_folder(const fs::path& folder) {
    if (fs::is_directory(folder)) return;
    fs::create_directories(folder);
    fs::permissions(folder, fs::perms::owner_all);
}

// A file of its own beside the final one; removed again unless it got its final name.
class Draft {
public:
    explicit Draft(const fs::path& folder) : path_(folder / ".draft-XXXXXX") {
        file_ = ::mkstemp(path_.data());
        if (file_ < 0) fail("write in", folder);
    }
    ~Draft() {
        ::close(file_);
        if (!renamed_) ::unlink(path_.c_str());
    }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;

    void write(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t written = ::write(file_, bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) fail("write", path_);
            bytes.remove_prefix(static_cast<std::size_t>(written));
        }
        if (::fsync(file_) != 0) fail("save", path_);
    }

    void rename(const fs::path& name) {
        if (::rename(path_.c_str(), name.c_str()) != 0) fail("write", name);
        renamed_ = true;
    }

private:
    std::string path_;
    int file_ = -1;
    bool renamed_ = false;
};

}  // namespace

FileTransport::FileTransport(fs::path folder) : folder_(std::move(folder)) {
    if (folder_.empty()) throw std::invalid_argument("file: needs a folder for the mails");
    try {
        make_folder(folder_);
    } catch (const fs::filesystem_error& error) {
        throw std::invalid_argument(fmt::format("cannot make the folder for mails {}: {}",
                                                folder_.string(), error.code().message()));
    }
}

void FileTransport::deliver(const Envelope& envelope) {
    try {
        make_folder(folder_);  // somebody may have emptied the place meanwhile
    } catch (const fs::filesystem_error& error) {
        throw NotDelivered(error.what());
    }
    Draft draft(folder_);
    draft.write(envelope.message);
    draft.rename(folder_ / (to_string(envelope.id) + ".eml"));
}

}  // namespace berth::mail
