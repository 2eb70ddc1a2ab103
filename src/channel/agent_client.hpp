// SPDX-License-Identifier: Apache-2.0
// The host side of the agent protocol: the hand-shake at creation, then one connection for each operation, over the
// session's socket or through an engine exec ("bridge"). Whatever the agent says is hostile: bounded and checked.
//
//   Link link = socket_link(session_directory);
//   const ExecResult result = exec(link, request, io);
#pragma once

#include "util/fd.hpp"
#include "util/stream.hpp"
#include "util/time.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sandbox::channel {

// How to reach one session's agent.
struct Link {
    std::function<std::unique_ptr<Stream>()> dial; // throws session_unreachable
    std::string secret;                            // bridge only: keys the HMAC over the agent's nonce
    // Called when a new connection has got no hello for a moment: throws session_unreachable when it never will (the container is
    // frozen, or gone). When it returns, the machine is busy, and the hello is waited for ten times as long.
    std::function<void()> on_silence{};
};
// The link over <session_directory>/agent.sock. Works for paths longer than sun_path. dial() throws
// session_unreachable when nothing listens (the session is gone or going).
Link socket_link(const std::string& session_directory);

using Environment = std::vector<std::pair<std::string, std::string>>;

// What the agent is told once, before any command runs.
struct SessionSetup {
    Environment env;                 // resolved; kept in the agent's memory only
    std::string workdir;
    std::int64_t ttl_boot_ms = 0;    // absolute, CLOCK_BOOTTIME; 0: none
    std::int64_t idle_timeout_ms = 0; // 0: none
    std::int64_t grace_ms = 2000;    // between TERM and KILL when a deadline fires
    std::string secret;              // 32 bytes; authenticates later bridge connections
    bool ends_with_creator = false;  // the session lives no longer than Hello::creator is open, whatever becomes of this process
};
struct Hello {
    std::string agent_version;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    bool workspace_writable = false;
    bool home_writable = false; // false: HOME was moved to `home`
    std::string home;
    // Of a session that ends with its creator: what is written to it lets the session live on without it.
    std::shared_ptr<Stream> creator{};
};

// The creator's end of the fast channel: a hello socket in the directory that is mounted into the container, and the
// session's listening socket beside it, handed to the agent by SCM_RIGHTS.
class HelloListener {
  public:
    // Makes <session_directory>/channel/hello.sock (0666) and <session_directory>/agent.sock. Throws Error.
    explicit HelloListener(const std::string& session_directory);
    ~HelloListener(); // removes hello.sock
    // The directory to bind-mount read-only at /.sandbox/channel.
    const std::string& mount_directory() const;
    // Waits for the agent, hands everything over. Absent when no agent came within `timeout` (use the bridge then); one that came is
    // given half a minute to answer.
    std::optional<Hello> accept(const SessionSetup& setup, Milliseconds timeout);

  private:
    std::string m_directory;
    std::string m_mount;
    Fd m_hello;
    Fd m_listener;
};
// The same hand-shake over a first bridge connection; the agent takes the secret from it and from then on refuses any other.
Hello bridge_handshake(std::unique_ptr<Stream> stream, const SessionSetup& setup);

struct WindowSize {
    std::uint16_t rows = 24;
    std::uint16_t columns = 80;
};

struct ExecRequest {
    std::vector<std::string> argv;
    Environment env;      // over the session's
    std::string cwd;      // absolute, or relative to the workdir; empty: the workdir
    bool stdin_open = false;
    std::optional<WindowSize> tty;
    std::string term;     // TERM for a tty
    Milliseconds timeout{0}; // 0: none
    Milliseconds grace{2000}; // between TERM and KILL on time-out, signal or lost client
};

enum class Outcome { exited, signaled, timed_out, oom, aborted, expired, start_failed, detached };
std::string_view outcome_name(Outcome outcome); // snake_case, as in --json

struct ExecResult {
    Outcome outcome = Outcome::aborted;
    int exit_status = -1;  // exited: 0..255
    int signal = 0;        // signaled, and what ended it for timed_out/oom
    int start_errno = 0;   // start_failed: ENOENT, EACCES, ENOEXEC, E2BIG, ENOTDIR (cwd), EAGAIN (pids), ...
    std::string message;   // start_failed: which step failed; otherwise empty. From the container: print it safely
    std::int64_t wall_ms = 0;
    std::int64_t user_cpu_us = 0;
    std::int64_t system_cpu_us = 0;
    std::int64_t peak_rss_kib = 0;
    std::uint64_t stdout_bytes = 0; // produced
    std::uint64_t stderr_bytes = 0;
    bool oom = false;      // the kernel killed a process for memory meanwhile; the outcome says whether that ended it
    int left_running = 0;  // processes of the tree that could not be ended (never, unless another uid's)
};

enum class OutputStream { out, err };

// The caller's ends of a running exec. exec() owns the calling thread until the result is in.
struct ExecIo {
    // Read only when request.stdin_open; end of file is passed on, the rest of the stream goes on. A read error ends the
    // command's whole tree, and is thrown from exec().
    int stdin_fd = -1;
    // Called once, when the agent has taken the command: a caller's terminal is its own until then.
    std::function<void()> on_begin;
    // Called for each piece of output in order. May block (back-pressure reaches the command). What it throws ends the
    // command's whole tree, and is thrown on from exec().
    std::function<void(OutputStream, std::string_view)> on_output;
    // Signals to pass on (INT, TERM, HUP, QUIT, USR1, USR2 and WINCH for a tty) are taken by exec() while it runs. The
    // first INT/TERM/HUP ends the tree (that signal first, KILL after grace); a second one ends it at once. exec() then throws
    // interrupted with that signal, once the agent has confirmed that nothing is left. ALRM, XCPU and the like, which would
    // end the process by default, are taken as well and end the tree with TERM.
    bool take_signals = true;
    // Bytes of stdin_fd that leave the command to itself (Outcome::detached), in a session that knows how; empty: none. All but the last are
    // passed on as they come, so that a key which only begins them works as ever.
    std::string detach_keys{};
    // Set by exec() before the first output, for an on_output whose reader is slow: waits until the descriptor can be written
    // to, passing signals on meanwhile. False when a signal has ended the command, so that nobody needs to wait any more.
    std::function<bool(int)> wait_writable;
    std::function<WindowSize()> window_size; // asked on WINCH
};

// Runs one command to its end. A stream that ends without a result is never success: Outcome::aborted when the agent still answers on
// a new connection, else session_unreachable. Frames that break the protocol: protocol_error.
ExecResult exec(const Link& link, const ExecRequest& request, ExecIo& io);

struct Status {
    std::int64_t boot_now_ms = 0;
    std::int64_t ttl_boot_ms = 0;
    std::int64_t idle_timeout_ms = 0;
    std::int64_t idle_left_ms = 0; // -1: busy or no idle limit
    std::uint32_t operations = 0;  // open connections that count as activity
    std::uint32_t processes = 0;   // in the container, the agent not counted
    bool workspace_writable = false;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
};
// Looking: never counts as activity. Throws session_unreachable.
Status status(const Link& link, Milliseconds deadline = Milliseconds(2000));
// Sets the absolute end (CLOCK_BOOTTIME; 0: none) or the idle limit, each only where given, and starts the idle time anew.
void set_deadlines(const Link& link, std::optional<std::int64_t> ttl_boot_ms, std::optional<std::int64_t> idle_timeout_ms);
// Many at once over their sockets, within one deadline for all; absent where no answer came.
std::vector<std::optional<Status>> status_many(std::span<const std::string> session_directories, Milliseconds deadline);

// Trees. A container path is absolute, or relative to the workdir. Inside the workdir nothing resolves to outside of it
// (denied); other absolute paths resolve as any program in the container would.
// Called with how many more bytes of a tree were moved, files' names and modes included; the work goes on when it returns.
using Progress = std::function<void(std::uint64_t bytes)>;
struct PutOptions {
    std::string target;          // container path, as docker cp: an existing directory receives the source under its name,
                                 // else the source takes this name; its parent must exist unless make_parents
    std::string source_name;     // base name used inside an existing directory; empty: the contents go in ("dir/.")
    bool target_must_be_directory = false; // trailing slash
    bool make_parents = false;
    std::optional<std::uint64_t> max_file; // limit_exceeded before anything is replaced
    std::vector<std::string> exclude;      // names or globs left out while reading the host tree
    std::optional<std::uint32_t> mode; // of a single file: permission bits instead of the source's
    Progress progress = {};
};
struct TransferStats {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    std::uint64_t skipped = 0; // sockets and named pipes
};
// Host -> session. A link at the end of `source_path` goes as a link, unless a slash follows. Sockets and named pipes are skipped,
// devices refused; an existing directory at the target is merged into and keeps its own mode.
TransferStats put_tree(const Link& link, const std::string& source_path, const PutOptions& options);
// Many small entries made from memory in one connection: what seeding needs. Parents are made.
struct Entry {
    enum class Kind { file, directory, symlink };
    std::string path;   // relative to the workdir
    Kind kind = Kind::file;
    std::string content; // bytes or link target
    std::optional<std::uint32_t> mode;
};
void put_entries(const Link& link, std::span<const Entry> entries);

struct GetOptions {
    std::string source;         // container path; a trailing "/." means the contents
    std::string target;         // host path, docker cp's rules as above
    std::optional<std::uint64_t> max_file;
    bool follow_link = false;   // a link at the end of `source` is followed, as far as the path itself may lead
    Progress progress = {};
    // Sees the staged tree (`name` in a directory) before anything is published; what it throws leaves the target as it was.
    std::function<void(int directory, const std::string& name)> inspect = {};
};
// Session -> host: staged beside the target, published by rename when all has come; a cut stream leaves the target as it was.
// Nothing outside the target is touched whatever the container sends. Owner becomes the caller, setuid and setgid bits are dropped.
TransferStats get_tree(const Link& link, const GetOptions& options);

struct ListedName {
    std::string name; // any bytes but '/' and NUL
    bool is_directory = false;
};
// The names in a directory (container path) that begin with `prefix`, in no order, the first few thousand. Looking: never counts
// as activity. Throws session_unreachable when no answer comes within `deadline`.
std::vector<ListedName> list_names(const Link& link, const std::string& directory, const std::string& prefix, Milliseconds deadline);
// Session -> session, streaming through the host: nothing is kept there, and the target is published when all has come.
// Either side's rules are those of get_tree and put_tree.
struct RelayOptions {
    std::string source;
    PutOptions put;
    bool follow_link = false;
};
TransferStats copy_tree(const Link& from, const Link& to, const RelayOptions& options);

// Where an archive comes from: gives its next bytes, 0 at its end. Before it reads a descriptor that may keep it waiting it calls
// `wait_readable`, which throws when the session or the user ends the transfer meanwhile.
using ArchiveInput = std::function<std::size_t(std::span<char> buffer, const std::function<void(int fd)>& wait_readable)>;
// A tar archive (tar_decoder.hpp) into a directory of the session, which must be there unless make_parents. Published when
// the archive's end mark and the end of the input have come. Throws what TarDecoder throws.
struct ArchivePutOptions {
    std::string target;
    bool make_parents = false;
    std::optional<std::uint64_t> max_file;
    Progress progress = {};
};
TransferStats put_archive(const Link& link, const ArchiveInput& input, const ArchivePutOptions& options);

// A path of the session as a tar archive, its root called as the source is ("." for the contents). A failure leaves the archive without
// its end mark.
struct ArchiveGetOptions {
    std::string source;
    std::optional<std::uint64_t> max_file;
    bool follow_link = false;
    // Writes everything; `wait_writable` as in ExecIo, and throws interrupted.
    std::function<void(std::string_view bytes, const std::function<bool(int)>& wait_writable)> write;
    Progress progress = {};
};
TransferStats get_archive(const Link& link, const ArchiveGetOptions& options);

} // namespace sandbox::channel
