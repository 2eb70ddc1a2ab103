// SPDX-License-Identifier: Apache-2.0
#include "app/export_scan.hpp"

#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/process.hpp"
#include "util/text.hpp"
#include "util/tree_walk.hpp"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace sandbox::app {
namespace {

constexpr Milliseconds k_glance{50};
constexpr std::size_t k_max_said = 500;
// Stands for a command that nobody knows any more; no program is of this name.
constexpr const char* k_lost = "/lost with the session's manifest";

// Runs the command for one file after the other. (sandbox::quoted is said in full: the JSON library brings in std::quoted.)
class Scanner {
  public:
    Scanner(const std::vector<std::string>& command, const std::function<void()>& check)
        : m_command(command), m_check(check), m_said(::open((m_directory.path() + "/said").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
        if (!m_said) throw errno_error("cannot make a temporary file");
    }

    void scan(int directory, const std::string& name, const std::string& shown) {
        const Fd file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        if (!file) throw errno_error("cannot read " + sandbox::quoted(shown) + " for export.scan");
        if (::ftruncate(m_said.get(), 0) != 0) throw errno_error("cannot empty a temporary file");
        const ExitStatus status = run(file.get(), shown);
        if (status.success()) return;
        throw Error(ErrorCode::denied, "export.scan refused " + sandbox::quoted(shown) + ": " + printable(m_command.front()) + " ended with status " +
                                           std::to_string(status.shell_status()) + said())
            .hint("nothing of this copy has left the session");
    }

  private:
    ExitStatus run(int file, const std::string& shown) {
        SpawnOptions options;
        options.argv = m_command;
        options.in = Stdio::descriptor(file);
        options.out = Stdio::descriptor(m_said.get());
        options.err = Stdio::descriptor(m_said.get());
        try {
            Child child(options);
            std::optional<ExitStatus> status;
            while (!(status = child.wait_for(k_glance))) m_check();
            return *status;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::command_not_found && error.code() != ErrorCode::not_executable) throw;
            throw Error(ErrorCode::denied, "export.scan cannot see " + sandbox::quoted(shown) + ": " + error.message());
        }
    }

    std::string said() const {
        std::string text(k_max_said, '\0');
        const ssize_t count = ::pread(m_said.get(), text.data(), text.size(), 0);
        text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
        while (text.ends_with('\n')) text.pop_back();
        return text.empty() ? "" : " (" + printable(text) + ")";
    }

    const std::vector<std::string>& m_command;
    const std::function<void()>& m_check;
    TempDir m_directory;
    Fd m_said; // by name and not a pipe: what fills nobody's buffer holds up nobody
};

class ScanWalk final : public TreeWalk {
  public:
    explicit ScanWalk(Scanner& scanner) : m_scanner(scanner) {}

  protected:
    bool visit(int directory, const std::string& name, unsigned format) override {
        if (format == S_IFREG) m_scanner.scan(directory, name, path_of(name));
        return format == S_IFDIR;
    }

  private:
    Scanner& m_scanner;
};

} // namespace

std::string lost_scan_json() { return nlohmann::json{{"export", {{"scan", {k_lost}}}}}.dump(); }

ExportScan::ExportScan(const domain::Manifest& manifest) {
    if (manifest.extensions_json.find("\"scan\"") == std::string::npos) return; // the usual case needs no parser
    const auto extensions = nlohmann::json::parse(manifest.extensions_json);
    const auto section = extensions.find("export");
    if (section != extensions.end() && section->contains("scan")) m_command = section->at("scan").get<std::vector<std::string>>();
}

std::function<void(int, const std::string&)> ExportScan::inspector(std::function<void()> check) const {
    return [command = m_command, check = std::move(check)](int directory, const std::string& name) {
        if (command.front() == k_lost) {
            throw Error(ErrorCode::denied, "the session's export.scan was lost with its manifest, so no file leaves the session")
                .hint("a new session, with its scan, may open a persistent workspace; docker cp asks no scan");
        }
        Scanner scanner(command, check);
        struct stat info {};
        if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) throw errno_error("cannot look at the copy");
        if (S_ISREG(info.st_mode)) scanner.scan(directory, name, "the file");
        if (S_ISDIR(info.st_mode)) ScanWalk(scanner).run(open_subdirectory(directory, name));
    };
}

} // namespace sandbox::app
