#include "db/backup.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "db/engine.hpp"
#include "db/file_lock.hpp"

namespace berth::db {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view durable_sql =
    "SELECT current_setting('fsync'), current_setting('full_page_writes'), "
    "current_setting('synchronous_commit')";

struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close(handle); }
};
using Handle = std::unique_ptr<sqlite3, Close>;

[[noreturn]] void fail(const std::string& what, const std::string& why) {
    throw std::runtime_error(fmt::format("{}: {}", what, why));
}

Handle open_file(const std::string& path, int flags) {
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    Handle handle(raw);
    if (code != SQLITE_OK) fail(path, sqlite3_errmsg(handle.get()));
    sqlite3_db_config(handle.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    return handle;
}

// A file that only its owner may read, made before SQLite could make another.
void make_private(const std::string& path) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) fail(path, std::strerror(errno));
    ::close(file);
}

void flush(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail(path, std::strerror(errno));
    const bool flushed = ::fsync(file) == 0;
    ::close(file);
    if (!flushed) fail(path, std::strerror(errno));
}

std::string folder_of(const std::string& path) {
    const fs::path folder = fs::path(path).parent_path();
    return folder.empty() ? "." : folder.string();
}

void move(const std::string& from, const std::string& to) {
    if (std::rename(from.c_str(), to.c_str()) != 0) fail(to, std::strerror(errno));
    flush(folder_of(to));
}

Handle open_alive(const std::string& path) { return open_file(path, SQLITE_OPEN_READONLY); }

// A copy that nobody has open and that has no log beside it: opened like a database it would get
// one.
Handle open_still(const std::string& path) {
    std::string address = "file://";
    for (const char c : fs::absolute(path).string())
        address += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", c) : std::string(1, c);
    return open_file(address + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

void copy_pages(const Handle& source, const std::string& from, const std::string& to) {
    const Handle target = open_file(to, SQLITE_OPEN_READWRITE);
    sqlite3_backup* backup = sqlite3_backup_init(target.get(), "main", source.get(), "main");
    if (backup == nullptr) fail(from, sqlite3_errmsg(target.get()));
    constexpr int all_pages = -1;
    const int code = sqlite3_backup_step(backup, all_pages);
    sqlite3_backup_finish(backup);
    if (code != SQLITE_DONE) fail(from, sqlite3_errstr(code));
}

void prove(const std::string& path) {
    const Handle handle = open_alive(path);
    std::string verdict;
    const auto keep = [](void* into, int, char** values, char**) {
        *static_cast<std::string*>(into) = values[0] != nullptr ? values[0] : "";
        return 1;  // one line is enough
    };
    sqlite3_exec(handle.get(), "PRAGMA quick_check(1)", keep, &verdict, nullptr);
    if (verdict != "ok") fail(path, verdict.empty() ? "is no database" : verdict);
}

// A database that is not to be, with all that stands beside it.
void remove_whole(const std::string& path) {
    for (const char* part : {"", "-wal", "-shm", ".lock"}) fs::remove(path + part);
}

void copy_file(const std::string& from, const std::string& to, Handle (*open)(const std::string&)) {
    configure_sqlite();
    if (!fs::exists(from)) fail(from, "there is no such file");
    if (fs::exists(to)) fail(to, "is there already");
    const std::string partial = to + ".partial";
    remove_whole(partial);
    make_private(partial);
    try {
        copy_pages(open(from), from, partial);
        prove(partial);
        // Who only reads leaves the log behind, empty.
        for (const char* left_over : {"-wal", "-shm"}) fs::remove(partial + left_over);
        flush(partial);
        move(partial, to);
    } catch (...) {
        remove_whole(partial);
        throw;
    }
}

}  // namespace

void copy_sqlite(const std::string& from, const std::string& to) {
    copy_file(from, to, open_alive);
}

void restore_sqlite(const Restore& restore, const std::function<void(Database&)>& prepare) {
    const std::string path = fs::weakly_canonical(restore.path).string();
    const FileLock lock(path);
    const bool exists = fs::exists(path);
    if (exists && !restore.replace)
        fail(path, "there is a database already; --replace puts the copy in its place");
    const std::string coming = path + ".restoring";
    remove_whole(coming);
    try {
        const bool has_log = fs::exists(restore.from + "-wal");
        copy_file(restore.from, coming, has_log ? open_alive : open_still);
        prepare(*open("sqlite:" + coming));  // closing it leaves one whole file
    } catch (...) {
        remove_whole(coming);
        throw;
    }
    for (const char* left_over : {"-wal", "-shm", ".lock"}) fs::remove(coming + left_over);
    flush(coming);
    if (exists) {
        // The log belongs to the old file: beside the new one it would be read into it.
        const std::string old = path + ".replaced";
        for (const char* part : {"", "-wal", "-shm"}) fs::remove(old + part);
        if (fs::exists(path + "-wal")) move(path + "-wal", old + "-wal");
        fs::remove(path + "-shm");
        move(path, old);
    }
    move(coming, path);
}

std::vector<std::string> undurable_settings(Database& database) {
    if (database.engine() == Engine::sqlite) return {};
    return database.read([](Transaction& tx) {
        const auto row = tx.run(durable_sql);
        std::vector<std::string> off;
        constexpr const char* names[] = {"fsync", "full_page_writes", "synchronous_commit"};
        for (std::size_t i = 0; i < std::size(names); ++i)
            if (row[0].get<std::string>(i) == "off") off.emplace_back(names[i]);
        return off;
    });
}

}  // namespace berth::db
