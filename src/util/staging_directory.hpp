// SPDX-License-Identifier: Apache-2.0
// Where something is made ready before it gets its place; gone after it, also when its maker was killed.
//
//   const StagingDirectory staging(parent.get()); ... ::renameat(staging.fd(), "tree", parent.get(), "report");
#pragma once

#include "util/fd.hpp"

#include <string>
#include <string_view>

namespace sandbox {

// A directory of random name in which things are made ready; removed with what is left in it. It is locked (flock) while it is in
// use; making one removes unlocked ones of this user beside it, which killed copies have left.
class StagingDirectory {
  public:
    StagingDirectory() = default;
    // `where` stands in errors. Throws Error.
    explicit StagingDirectory(int parent, std::string_view where = "beside the target");
    StagingDirectory(StagingDirectory&& other) noexcept;
    StagingDirectory& operator=(StagingDirectory&& other) noexcept;
    StagingDirectory(const StagingDirectory&) = delete;
    ~StagingDirectory() { remove(); }
    int fd() const { return m_directory.get(); }
    const std::string& name() const { return m_name; }
    explicit operator bool() const { return static_cast<bool>(m_directory); }

  private:
    bool make(std::string_view where);
    void remove() noexcept;
    Fd m_parent;
    Fd m_directory;
    std::string m_name;
};

// Whether it is the name of one.
bool is_staging_name(std::string_view name);

} // namespace sandbox
