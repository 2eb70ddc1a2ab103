// SPDX-License-Identifier: Apache-2.0
#include "app/git_source.hpp"

#include "app/git_repository.hpp"
#include "util/error.hpp"
#include "util/process.hpp"
#include "util/shell.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <unistd.h>

namespace sandbox::app {
namespace {

using domain::Seed;

constexpr Milliseconds k_glance{100};
constexpr std::size_t k_max_complaint = 2000;
// With a file:// URL: exactly the directory that was checked. Given a path, git clone looks for ".git" in it and beside it first.
constexpr const char* k_upload_pack = "--upload-pack=git-upload-pack --strict";

// What ties git to a repository that sandbox happens to be called in, from a hook for instance (git rev-parse --local-env-vars).
constexpr std::array<std::string_view, 15> k_local_variables{
    "GIT_ALTERNATE_OBJECT_DIRECTORIES=", "GIT_CONFIG=",           "GIT_CONFIG_PARAMETERS=", "GIT_CONFIG_COUNT=", "GIT_OBJECT_DIRECTORY=",
    "GIT_DIR=",                          "GIT_WORK_TREE=",        "GIT_IMPLICIT_WORK_TREE=", "GIT_GRAFT_FILE=",  "GIT_INDEX_FILE=",
    "GIT_NO_REPLACE_OBJECTS=",           "GIT_REPLACE_REF_BASE=", "GIT_PREFIX=",            "GIT_SHALLOW_FILE=", "GIT_COMMON_DIR="};

std::vector<std::string> environment() {
    std::vector<std::string> kept;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        const bool is_local = std::any_of(k_local_variables.begin(), k_local_variables.end(), [&](std::string_view name) { return text.starts_with(name); });
        const bool is_ours = text.starts_with("GIT_TERMINAL_PROMPT=") || text.starts_with("GIT_ALLOW_PROTOCOL=") || text.starts_with("GIT_NO_LAZY_FETCH=");
        if (!is_local && !is_ours) kept.emplace_back(text);
    }
    kept.emplace_back("GIT_TERMINAL_PROMPT=0");
    kept.emplace_back("GIT_ALLOW_PROTOCOL=file:https:ssh");
    kept.emplace_back("GIT_NO_LAZY_FETCH=1"); // a partial repository would have its missing objects fetched from anywhere
    if (::getenv("GIT_SSH_COMMAND") == nullptr && ::getenv("GIT_SSH") == nullptr) kept.emplace_back("GIT_SSH_COMMAND=ssh -o BatchMode=yes");
    return kept;
}

bool is_object_id(std::string_view ref) {
    return (ref.size() == 40 || ref.size() == 64) && ref.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

std::string file_url(const std::string& path) {
    std::string url = "file://";
    for (const char c : path) {
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' || c == '-' || c == '_';
        url += is_plain ? std::string(1, c) : "%" + to_hex(std::string_view(&c, 1));
    }
    return url;
}

// One clone at work.
class Clone {
  public:
    Clone(const Seed& seed, const std::string& directory, const std::function<void()>& check)
        : m_seed(seed), m_is_local(!is_git_url(seed.content)),
          m_repository(m_is_local ? git_directory_of(seed.content) : std::string()), m_url(m_is_local ? file_url(m_repository) : seed.content), m_base(directory),
          m_directory(directory + "/clone"), m_complaints(directory + "/stderr"), m_check(check) {}

    void make() {
        if (is_object_id(m_seed.ref)) fetch_commit();
        else clone_branch();
        // The session is to be told no path of the host.
        if (m_is_local) git({"-C", m_directory, "remote", "remove", "origin"});
    }

  private:
    void clone_branch() {
        std::vector<std::string> words{"clone", "--quiet", "--depth=1", "--no-local", "--no-recurse-submodules", "--template="};
        if (!m_seed.ref.empty()) words.push_back("--branch=" + m_seed.ref);
        if (m_is_local) words.emplace_back(k_upload_pack);
        words.insert(words.end(), {"--", m_url, m_directory});
        git(words);
    }

    // clone takes names only.
    void fetch_commit() {
        git({"init", "--quiet", "--template=", "--", m_directory});
        git({"-C", m_directory, "remote", "add", "--", "origin", m_url});
        std::vector<std::string> words{"-C", m_directory, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"};
        if (m_is_local) words.emplace_back(k_upload_pack);
        words.insert(words.end(), {"origin", m_seed.ref});
        git(words);
        git({"-C", m_directory, "checkout", "--quiet", "--detach", "FETCH_HEAD"});
    }

    void git(const std::vector<std::string>& words) {
        const Fd complaints(::open(m_complaints.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (!complaints) throw errno_error("cannot make a temporary file");
        SpawnOptions options;
        options.argv = {"git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false"};
        options.argv.insert(options.argv.end(), words.begin(), words.end());
        options.env = environment();
        if (m_is_local) options.cwd = m_base; // where no directory is called "file:", which git would take for the repository
        options.in = Stdio::null();
        options.out = Stdio::null();
        options.err = Stdio::descriptor(complaints.get());
        Child child(options);
        std::optional<ExitStatus> status;
        while (!(status = child.wait_for(k_glance))) m_check();
        if (!status->success()) fail(complaints.get());
    }

    [[noreturn]] void fail(int complaints) const {
        std::string text(k_max_complaint, '\0');
        const ssize_t count = ::pread(complaints, text.data(), text.size(), 0);
        text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
        text = masked_urls(text); // the host's insteadOf may have put a token into it
        while (text.ends_with('\n')) text.pop_back();
        std::replace(text.begin(), text.end(), '\n', ' ');
        throw Error(ErrorCode::failed, "files." + printable(m_seed.path) + ": git cannot clone " + printable(m_seed.content) +
                                           (m_seed.ref.empty() ? "" : " at " + printable(m_seed.ref)) + ": " + printable(text))
            .hint(hint_for(text));
    }

    std::string hint_for(const std::string& complaint) const {
        // Git's advice has this word in every language.
        if (complaint.find("safe.directory") != std::string::npos) {
            return "the repository is another user's, which git does not read unless it is told to: git config --global --add safe.directory " +
                   shell_quoted(m_repository);
        }
        if (complaint.find("not found in upstream") != std::string::npos) return "ref is a branch, a tag or a full commit id";
        return m_is_local ? "" : "nobody is asked for a password: a credential helper or an ssh agent has to know it";
    }

    const Seed& m_seed;
    bool m_is_local;
    std::string m_repository;
    std::string m_url;
    std::string m_base;
    std::string m_directory;
    std::string m_complaints;
    const std::function<void()>& m_check;
};

} // namespace

// As git tells them apart: a host ends at a colon that comes before any slash.
bool is_git_url(const std::string& source) {
    const auto colon = source.find(':');
    return colon != std::string::npos && source.substr(0, colon).find('/') == std::string::npos;
}

GitClones::GitClones(const std::vector<Seed>& seeds, const std::function<void()>& check) {
    for (const Seed& seed : seeds) {
        if (seed.kind != Seed::Kind::from_git) continue;
        const TempDir& directory = m_clones.try_emplace(seed.path).first->second;
        try {
            Clone(seed, directory.path(), check).make();
        } catch (const Error& error) {
            if (error.code() != ErrorCode::command_not_found) throw;
            throw Error(ErrorCode::failed, "files." + printable(seed.path) + ": fromGit needs git on this machine, and there is none").hint("install git");
        }
    }
}

} // namespace sandbox::app
