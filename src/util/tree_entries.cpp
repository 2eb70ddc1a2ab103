// SPDX-License-Identifier: Apache-2.0
#include "util/error.hpp"
#include "util/random.hpp"
#include "util/text.hpp"
#include "util/tree_writer.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sandbox {
namespace {

// What is at an entry's name and cannot be replaced by a file or a link is a conflict.
void check_replaceable(int directory, const std::string& name, std::string_view path) {
    struct stat info {};
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
    refuse_special(info.st_mode, path);
    if (S_ISDIR(info.st_mode)) {
        throw Error(ErrorCode::conflict, "cannot replace directory " + quoted(path) + " with something that is none");
    }
}

bool is_directory(int directory, const std::string& name) {
    struct stat info {};
    return ::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

} // namespace

EntryWriter::~EntryWriter() {
    if (!m_temporary.empty()) ::unlinkat(m_parent.get(), m_temporary.c_str(), 0);
}

void EntryWriter::open_parent(const std::string& path) {
    const auto slash = path.rfind('/');
    m_name = slash == std::string::npos ? path : path.substr(slash + 1);
    const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
    if (m_parent && parent == m_parent_path) return;
    m_parent = make_directories_in(m_base, parent);
    m_parent_path = parent;
}

void EntryWriter::on_record(const TreeRecord& record) {
    m_record = record;
    if (record.type == TreeType::hard_link) throw Error(ErrorCode::protocol_error, "malformed entries: a hard link stands alone");
    open_parent(record.path);
    if (record.type == TreeType::directory) return make_directory(record);
    ++m_counts.files;
    check_replaceable(m_parent.get(), m_name, record.path);
    const std::string temporary = ".sandbox-tmp-" + random_hex(8);
    if (record.type == TreeType::file) {
        m_file.create(m_parent.get(), temporary, record.path);
        m_temporary = temporary;
        return;
    }
    if (::symlinkat(record.link.c_str(), m_parent.get(), temporary.c_str()) != 0) {
        throw errno_error("cannot make link " + quoted(record.path));
    }
    m_temporary = temporary;
    publish();
}

void EntryWriter::make_directory(const TreeRecord& record) {
    const bool made = ::mkdirat(m_parent.get(), m_name.c_str(), S_IRWXU) == 0;
    if (!made && errno != EEXIST) throw errno_error("cannot make directory " + quoted(record.path));
    if (!made && record.mode_is_default && is_directory(m_parent.get(), m_name)) return;
    // By descriptor: what stands at the name may be a link that leads elsewhere.
    const Fd directory(::openat(m_parent.get(), m_name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory && (errno == ENOTDIR || errno == ELOOP)) {
        throw Error(ErrorCode::conflict, quoted(record.path) + " is no directory");
    }
    if (!directory) throw errno_error("cannot open directory " + quoted(record.path));
    if (::fchmod(directory.get(), record.mode) != 0) throw errno_error("cannot set the mode of " + quoted(record.path));
}

void EntryWriter::on_data(std::uint64_t offset, std::string_view bytes) {
    m_file.write(offset, bytes);
    m_counts.bytes += bytes.size();
}

void EntryWriter::on_file_end() {
    m_file.finish(m_record, m_record.mode, false);
    publish();
}

void EntryWriter::publish() {
    if (::renameat(m_parent.get(), m_temporary.c_str(), m_parent.get(), m_name.c_str()) != 0) {
        throw errno_error("cannot put " + quoted(m_record.path) + " in place");
    }
    m_temporary.clear();
}

} // namespace sandbox
