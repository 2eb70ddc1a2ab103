// SPDX-License-Identifier: Apache-2.0
// Files that are published whole or not at all, kernel locks, and small helpers around them.
//
//   AtomicFile file(directory_fd, "report.md", 0644);
//   write_all(file.fd(), text);
//   file.publish();          // without this the destructor removes the temporary file
#pragma once

#include "util/fd.hpp"
#include "util/staging_directory.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace sandbox {

// A file that takes its name only in publish(): a temporary in the same directory, then rename(2).
class AtomicFile {
  public:
    // `directory_fd` may be AT_FDCWD and `name` a path then. Throws Error.
    AtomicFile(int directory_fd, std::string name, mode_t mode);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    ~AtomicFile();

    int fd() const { return m_file.get(); }
    // Replaces whatever non-directory is at the name. Throws Error and leaves the old one untouched.
    void publish();

  private:
    int m_directory;
    std::string m_name;
    std::string m_temporary;
    Fd m_file;
};

// An exclusive flock(2) on a file, given back when the object or the process ends.
class FileLock {
  public:
    // Waits for the lock. Creates the file with mode 0600 where it is missing. Throws Error: interrupted by INT, TERM and HUP too
    // where they are held back, so that a roll-back follows (util/ending_signals.hpp).
    static FileLock acquire(const std::string& path);
    // Absent when somebody else holds it.
    static std::optional<FileLock> try_acquire(const std::string& path);
    // Whether somebody holds the lock. Never makes the file: no file is no holder. Throws Error.
    static bool is_held(const std::string& path);
    // Removes the lock's file while holding it, for locks whose subject is gone.
    void remove_file();

  private:
    FileLock(Fd file, std::string path) : m_file(std::move(file)), m_path(std::move(path)) {}
    Fd m_file;
    std::string m_path;
};

// A fresh directory (0700) under $TMPDIR or /tmp, removed with all it holds at the end of the scope; what killed processes of this
// user left of theirs goes when the next one is made.
class TempDir {
  public:
    // Throws Error.
    TempDir();
    TempDir(TempDir&& other) noexcept = default;
    const std::string& path() const { return m_path; }

  private:
    StagingDirectory m_directory;
    std::string m_path;
};

// Whole file; absent when it does not exist. More than `limit` bytes throws limit_exceeded.
std::optional<std::string> read_file(const std::string& path, std::size_t limit = 64 << 20);
// Opens for reading what must be a regular file: a FIFO would wait for a writer, a device perhaps for ever. Throws Error: failed
// for anything else, not_found where nothing is.
Fd open_regular_file(const std::string& path);
// The same as read_file(), of a regular file only.
std::optional<std::string> read_regular_file(const std::string& path, std::size_t limit = 64 << 20);
// mkdir -p with `mode` for what it makes. Throws Error.
void make_directories(const std::string& path, mode_t mode);
// rm -rf that never follows a link and never fails on what is already gone. Throws Error on anything else.
void remove_tree(const std::string& path);

} // namespace sandbox
