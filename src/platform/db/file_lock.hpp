// The lock file beside a SQLite database: one process owns the database at a time. The kernel lets
// go of it when the process dies, however it dies.
#pragma once

#include <string>

namespace berth::db {

class FileLock {
public:
    // Throws Held, with one sentence, when another process has `database`.
    explicit FileLock(const std::string& database);
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

private:
    int file_descriptor_;
};

}  // namespace berth::db
