// SPDX-License-Identifier: Apache-2.0
// A client of the Docker Engine API over a unix socket, tcp or TLS, with a deadline on every connect and header, typed
// requests and answers, and "absent" only for a 404 about that very object.
//
//   Client engine(Endpoint::resolve(flag_value));
//   const std::string id = engine.create_container(spec);
//   engine.start_container(id);
#pragma once

#include "util/stream.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sandbox::engine {

using Labels = std::map<std::string, std::string>;

// Where an engine listens.
struct Endpoint {
    enum class Kind { unix_socket, tcp, tls };
    Kind kind = Kind::unix_socket;
    std::string path; // unix: absolute path
    std::string host; // tcp and tls
    std::uint16_t port = 0;
    std::string certificates; // tls: absolute directory of ca.pem, cert.pem and key.pem
    std::string url; // whole, as kept in rows: "unix:///var/run/docker.sock", "tls://build:2376?certificates=/etc/sandbox/tls"

    // For messages: the URL without the certificates.
    std::string address() const;
    // From --engine / SANDBOX_ENGINE, else DOCKER_HOST, else the docker context of DOCKER_CONTEXT or of config.json, else
    // /var/run/docker.sock, else $XDG_RUNTIME_DIR/docker.sock, else Podman's socket where that is installed. DOCKER_TLS_VERIFY
    // makes tcp:// TLS, as for docker. Throws usage for what is not spoken; never falls back to the local socket from a
    // value that was given.
    static Endpoint resolve(const std::optional<std::string>& flag);
    // A URL as it stands, whatever the environment says: a row means the same everywhere.
    static Endpoint parse(std::string_view url);
    // The same where tcp:// means TLS; `certificates` is used unless the URL names its own.
    static Endpoint parse_for_tls(std::string_view url, const std::string& certificates);
};

struct Timeouts {
    std::chrono::milliseconds connect{3000};
    std::chrono::milliseconds header{30000};  // from the request's end to the answer's header; also between bytes of a plain body
    std::chrono::milliseconds slow_header{180000}; // create/start/remove, which wait for the kernel; image import and pull
};

struct EngineInfo {
    std::string id;             // as Client::id() gives it
    std::string version;        // "20.10.24"
    std::string api_version;    // negotiated
    std::string architecture;   // "x86_64", "aarch64"
    std::string default_runtime;
    std::string cgroup_version; // "1" or "2"
    bool rootless = false;
    bool drops_volume_labels = false; // of anonymous volumes: Podman
    std::string system_time;    // the engine's clock when it answered, RFC 3339
    std::vector<std::string> warnings; // limits that the engine says it cannot enforce
    std::string name;           // its host's
    std::string storage_driver; // "overlay2"
    std::string root_directory; // where it keeps its data, on its own host
    std::string cgroup_driver;  // "systemd", "cgroupfs", "none"
    std::string log_driver;     // of containers that ask for none
    std::vector<std::string> runtimes;
    std::vector<std::string> security_options; // "name=seccomp,profile=default"
    // What it says it can do; absent: it does not say.
    std::optional<bool> memory_limit;
    std::optional<bool> swap_limit;
    std::optional<bool> cpu_quota;
    std::optional<bool> pids_limit;
    std::optional<bool> oom_kill_disable;
    std::optional<bool> live_restore;
};

struct Mount {
    enum class Kind { volume, bind, tmpfs };
    Kind kind = Kind::volume;
    std::string source{}; // volume name (empty: anonymous, removed with the container), or host path
    std::string target{};
    bool read_only = false;
    bool no_copy = false;   // volume: do not fill from the image
    Labels volume_labels{}; // of an anonymous or not yet existing volume
    std::uint64_t tmpfs_size = 0;
    std::uint32_t tmpfs_mode = 01777;
};

struct ContainerSpec {
    std::string name;
    std::string image;
    std::string user;
    std::string workdir;
    std::string hostname;
    std::vector<std::string> entrypoint;
    std::vector<std::string> command;
    std::vector<std::string> env;
    Labels labels;
    std::vector<Mount> mounts;
    std::string network; // "none" or a network's name
    std::vector<std::uint16_t> publish; // to 127.0.0.1, host port chosen by the engine
    std::uint64_t memory = 0; // bytes, 0: no limit; swap is not added to it
    double cpus = 0;
    std::uint32_t pids = 0;
    bool readonly_rootfs = false;
    bool auto_remove = false;
    std::vector<std::string> cap_drop;
    std::vector<std::string> cap_add;
    std::vector<std::string> security_opt; // "no-new-privileges", "seccomp=<json>"
    std::string runtime;
    bool open_stdin = false;
    // Always sent: Healthcheck ["NONE"], log driver "none", Init false.
};

struct MountInfo {
    std::string kind;   // "volume", "bind", ...
    std::string name;   // volumes
    std::string target;
    bool read_write = true;
};
// What a container is held to, as the engine knows it now.
struct ContainerSettings {
    std::uint64_t memory = 0;     // bytes; 0: no limit
    std::int64_t memory_swap = 0; // memory and swap together; 0: not said, -1: no limit
    double cpus = 0;              // 0: no limit
    std::int64_t pids = 0;        // 0 and below: no limit
    bool readonly_rootfs = false;
    bool privileged = false;
    bool auto_remove = false;
    std::vector<std::string> cap_add;
    std::vector<std::string> cap_drop;
    std::vector<std::string> security_opt;
    std::string runtime;
    std::string network;                // "none", "host", or a network's name
    std::vector<std::string> host_namespaces; // "pid", "ipc", "uts", "user": those that are the host's
    std::map<std::string, std::string> tmpfs; // path -> options
    std::size_t devices = 0;
    std::string workdir;
};
struct ContainerInfo {
    std::string id;
    std::string name; // without the slash
    std::string image;
    std::string status; // created, running, paused, restarting, removing, exited, dead
    bool running = false;
    bool paused = false;
    bool oom_killed = false;
    int exit_code = 0;
    std::string error; // State.Error
    std::string created_at;
    std::string finished_at;
    std::string user;
    Labels labels;
    std::vector<MountInfo> mounts;
    std::map<std::uint16_t, std::uint16_t> ports; // container port -> host port on 127.0.0.1
    ContainerSettings settings; // by inspect_container() only
};
struct VolumeInfo {
    std::string name;
    std::string created_at;
    Labels labels;
};
struct ImageInfo {
    std::string id;
    std::string architecture;
    std::string user;
    std::vector<std::string> volumes;
    std::vector<std::string> env;
    std::vector<std::string> layers; // digests of their uncompressed archives
    std::int64_t size = 0;           // bytes of all its files; Podman counts descriptions in
};

// Filters of list calls. An empty Filter is refused with `internal`: a scope is never empty by accident (law 5).
struct Filter {
    Labels labels;            // all must match; an empty value matches the key alone
    std::string volume;       // containers that mount this volume
    std::string name;         // exact
};

// Standard output and error of an attached exec, taken apart; written bytes are its standard input.
class ExecStream : public Stream {
  public:
    // The last 4 KiB at most of its standard error; empty with a terminal.
    virtual std::string stderr_tail() const { return {}; }
};

// Not for use by several threads at once. An `id` may also be a full name; a prefix of an id is never taken.
class Client {
  public:
    explicit Client(Endpoint endpoint, Timeouts timeouts = {});
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;
    ~Client();

    const Endpoint& endpoint() const;
    // Negotiates on first use (min(ours, theirs), never below their minimum). Throws engine_unreachable with a hint of
    // its own for ENOENT, EACCES, ECONNREFUSED and silence; engine_error with both versions shown when none fits.
    EngineInfo info();
    // Only /info's ID, to tell whether this is the engine that made a row. Podman invents one for each answer: its
    // host's name and storage directory stand for it.
    std::string id();

    // What the engine warned about in its answer to the last create_container.
    std::vector<std::string> last_warnings() const;

    // Containers. Conflict over a name: ErrorCode::exists. Image missing: image_not_found. Bind
    // source missing where the engine looks: not_found.
    std::string create_container(const ContainerSpec& spec);
    void start_container(std::string_view id);
    void kill_container(std::string_view id, std::string_view signal);
    void stop_container(std::string_view id, std::chrono::seconds grace);
    // Force-removes with its anonymous volumes, and waits until a GET answers 404. Absent already: returns false. 409 "removal in progress" is
    // waited out. Throws cleanup_failed when it is still there after `deadline`.
    bool remove_container(std::string_view id, std::chrono::milliseconds deadline = std::chrono::seconds(30));
    std::optional<ContainerInfo> inspect_container(std::string_view id);
    std::vector<ContainerInfo> list_containers(const Filter& filter); // stopped ones too; mounts, labels, names filled
    // Whether a GET answered 404 before `deadline`.
    bool wait_container_gone(std::string_view id, std::chrono::milliseconds deadline);

    std::optional<VolumeInfo> inspect_volume(std::string_view name);
    // A volume of that name with other labels throws exists: it is somebody else's.
    void create_volume(std::string_view name, const Labels& labels);
    // Retries "in use" (409) with back-off until `deadline`; then throws conflict naming the containers that hold it.
    bool remove_volume(std::string_view name, std::chrono::milliseconds deadline = std::chrono::seconds(5));
    std::vector<VolumeInfo> list_volumes(const Filter& filter);

    // Makes the network where it is missing: driver bridge, given options and labels. Returns its id.
    // One that exists with other options throws conflict.
    std::string ensure_network(std::string_view name, const std::map<std::string, std::string>& options,
                               const Labels& labels);

    std::optional<ImageInfo> inspect_image(std::string_view reference);
    // Progress lines (already safe to print) go to `progress` when it is set. An error inside the 200 stream, or a stream cut before its end,
    // throws image_not_found or engine_error with the engine's text.
    void pull_image(std::string_view reference, const std::function<void(std::string_view)>& progress);
    // POST /images/create?fromSrc=-: a root file system as tar (plain, gzip, xz, ...) read from `archive_fd` to EOF. Returns the id of
    // the image, which has no name yet.
    std::string import_image(int archive_fd, const std::vector<std::string>& changes);
    // Gives an image the name, which another one may have had until now.
    void tag_image(std::string_view id, std::string_view repository_tag);

    // Takes the name away, and the image with its last name. False when there was none; in use throws conflict.
    bool remove_image(std::string_view reference);

    // PUT /containers/{id}/archive: `tar` whole in memory (small things only: the agent, an owner change).
    void put_archive(std::string_view container, std::string_view path, std::string_view tar);
    // GET: streams the tar to `sink`; a stream that is cut throws protocol_error. False when the path does not exist.
    bool get_archive(std::string_view container, std::string_view path,
                     const std::function<void(std::string_view)>& sink);

    struct ExecSpec {
        std::vector<std::string> argv{};
        std::string user{};
        std::string workdir{};
        std::vector<std::string> env{};
        bool attach_stdin = false;
        bool tty = false;
    };
    struct Exec {
        std::string id;
        std::unique_ptr<ExecStream> stream; // stderr of the exec is dropped, bounded; stdout is the stream
    };
    Exec exec(std::string_view container, const ExecSpec& spec);
    // Polls exec-inspect until Running is false and ExitCode is a number. Throws engine_error when that does not happen in time: null is never 0.
    int exec_exit_code(std::string_view exec_id, std::chrono::milliseconds deadline = std::chrono::seconds(10));

  private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

// A ustar archive of one regular file or directory, for put_archive.
std::string tar_of(std::string_view name, std::string_view content, std::uint32_t mode, std::uint32_t uid,
                   std::uint32_t gid, bool directory = false);

} // namespace sandbox::engine
