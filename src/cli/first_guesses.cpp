// SPDX-License-Identifier: Apache-2.0
#include "cli/first_guesses.hpp"

#include <array>

namespace sandbox::cli {
namespace {

struct Guess {
    std::string_view command; // empty: any
    std::string_view word;
    std::string_view hint;
};

constexpr std::string_view k_move = "sandbox exec SESSION mv FROM TO, where the image has it";
constexpr std::string_view k_read_tail = "sandbox fs read --tail LINES SESSION:PATH";
constexpr std::string_view k_empty_file = "sandbox fs write SESSION:PATH </dev/null makes an empty file";

// What docker, kubectl, git and npm call it, and what it is here. A verb of two words is one of a group.
constexpr std::array k_verbs{
    Guess{"", "restart", "sandbox stop, then sandbox start, where --auto-destroy is false; else sandbox destroy and sandbox create"},
    Guess{"", "freeze", "sandbox pause SESSION"},
    Guess{"", "suspend", "sandbox pause SESSION"},
    Guess{"", "thaw", "sandbox resume SESSION"},
    Guess{"", "renew", "sandbox extend SESSION, with 1h behind it to move its end"},
    Guess{"", "touch", "sandbox extend SESSION renews its idle time; sandbox fs write SESSION:PATH </dev/null makes a file"},
    Guess{"", "ttl", "sandbox extend SESSION 1h moves its end"},
    Guess{"", "kill", "sandbox destroy ends a session and everything in it"},
    Guess{"", "terminate", "sandbox destroy SESSION"},
    Guess{"", "delete", "sandbox destroy SESSION"},
    Guess{"", "remove", "sandbox destroy SESSION"},
    Guess{"", "down", "sandbox destroy SESSION, or sandbox destroy --all"},
    Guess{"", "up", "sandbox create -f sandbox.yaml"},
    Guess{"", "apply", "sandbox create -f sandbox.yaml"},
    Guess{"", "new", "sandbox create"},
    Guess{"", "add", "sandbox create"},
    Guess{"", "compose", "a session is one container: sandbox create -f sandbox.yaml makes one"},
    Guess{"", "fork", "sandbox create --workspace NAME shares files between sessions, one after the other"},
    Guess{"", "clone", "fromGit in the manifest brings a repository in: sandbox manifest explain files.NAME.fromGit"},
    Guess{"", "init", "sandbox manifest init writes a manifest to start from"},
    Guess{"", "validate", "sandbox manifest check FILE"},
    Guess{"", "lint", "sandbox manifest check FILE"},
    Guess{"", "list", "sandbox ps lists sessions"},
    Guess{"", "get", "sandbox ps lists sessions, sandbox inspect SESSION shows one"},
    Guess{"", "status", "sandbox ps lists sessions, sandbox inspect SESSION shows one"},
    Guess{"", "describe", "sandbox inspect SESSION"},
    Guess{"", "show", "sandbox inspect SESSION"},
    Guess{"", "process", "sandbox proc ls SESSION lists a session's managed processes"},
    Guess{"", "processes", "sandbox proc ls SESSION lists a session's managed processes"},
    Guess{"", "top", "sandbox exec SESSION ps, where the image has it; sandbox ps tells what each session has left"},
    Guess{"", "log", "sandbox logs SESSION shows what its processes print; sandbox events tells what happened"},
    Guess{"", "history", "sandbox events tells what happened"},
    Guess{"", "attach", "sandbox shell SESSION"},
    Guess{"", "sh", "sandbox shell SESSION"},
    Guess{"", "bash", "sandbox shell SESSION"},
    Guess{"", "ssh", "sandbox shell SESSION"},
    Guess{"", "enter", "sandbox shell SESSION"},
    Guess{"", "connect", "sandbox shell SESSION"},
    Guess{"", "open", "sandbox shell SESSION; sandbox preview --open SESSION PORT shows a server in it"},
    Guess{"", "port", "sandbox ports SESSION"},
    Guess{"", "port-forward", "sandbox forward SESSION HOST_PORT:PORT"},
    Guess{"", "proxy", "sandbox preview SESSION PORT; sandbox forward SESSION HOST_PORT:PORT for what is not a web server"},
    Guess{"", "browse", "sandbox preview --open SESSION PORT"},
    Guess{"", "tunnel", "sandbox forward SESSION HOST_PORT:PORT"},
    Guess{"", "expose", "sandbox forward SESSION PORT"},
    Guess{"", "publish", "sandbox forward SESSION PORT; sandbox create --network bridge --publish PORT asks the engine"},
    Guess{"", "listen", "sandbox ports SESSION shows who listens"},
    Guess{"", "netstat", "sandbox ports SESSION shows who listens"},
    Guess{"", "wait-for", "sandbox wait-port SESSION PORT"},
    Guess{"", "copy", "sandbox cp SOURCE TARGET"},
    Guess{"", "push", "sandbox cp FILE SESSION:PATH brings files in"},
    Guess{"", "pull", "sandbox create pulls what its manifest names; sandbox image import brings a file"},
    Guess{"", "export", "sandbox cp SESSION:. - writes the workspace as a tar stream"},
    Guess{"", "import", "sandbox image import makes an image from a file, sandbox cp - SESSION:. unpacks a tar stream"},
    Guess{"", "save", "sandbox cp SESSION:. - writes the workspace as a tar stream; --workspace NAME keeps it"},
    Guess{"", "load", "sandbox image import makes an image from a file"},
    Guess{"", "commit", "sessions don't become images; --workspace NAME keeps their files"},
    Guess{"", "build", "build images with your own tools; sandbox image import brings the result"},
    Guess{"", "tag", "images are the engine's; sandbox image import --tag NAME names a new one"},
    Guess{"", "rmi", "images are the engine's: docker rmi"},
    Guess{"", "images", "images are the engine's; sandbox image bootstrap and sandbox image import make new ones"},
    Guess{"", "info", "sandbox doctor says what engine and machine are like"},
    Guess{"", "check", "sandbox doctor looks at the machine, sandbox manifest check at a manifest"},
    Guess{"", "health", "sandbox doctor ends with 0 when nothing is a problem"},
    Guess{"", "diagnose", "sandbox doctor"},
    Guess{"", "debug", "sandbox doctor looks at the machine, sandbox inspect SESSION at a session"},
    Guess{"", "repair", "sandbox doctor --repair"},
    Guess{"", "login", "credentials are docker's: docker login"},
    Guess{"", "rename", "a session keeps its name: sandbox create --name NAME"},
    Guess{"", "label", "a session keeps its labels: sandbox create --label KEY=VALUE"},
    Guess{"", "update", "a session keeps what it was made with: sandbox destroy, then sandbox create"},
    Guess{"", "edit", "a session keeps what it was made with: sandbox destroy, then sandbox create"},
    Guess{"", "prune", "sandbox gc clears what expired or leaked"},
    Guess{"", "clean", "sandbox gc clears what expired or leaked"},
    Guess{"", "cleanup", "sandbox gc clears what expired or leaked"},
    Guess{"", "system", "sandbox gc clears what expired or leaked"},
    Guess{"", "container", "sandbox ps lists sessions"},
    Guess{"", "volume", "sandbox workspace ls lists persistent workspaces"},
    Guess{"", "volumes", "sandbox workspace ls lists persistent workspaces"},
    Guess{"", "ws", "sandbox workspace ls lists persistent workspaces"},
    Guess{"", "network", "--network none or --network bridge, at sandbox create"},
    Guess{"", "context", "docker's contexts hold here too: DOCKER_CONTEXT, or docker context use"},
    Guess{"", "schema", "sandbox manifest schema"},
    Guess{"", "explain", "sandbox manifest explain KEY"},
    Guess{"", "cat", "sandbox fs read SESSION:PATH"},
    Guess{"", "read", "sandbox fs read SESSION:PATH"},
    Guess{"", "head", "sandbox fs read --lines 1,10 SESSION:PATH"},
    Guess{"", "tail", k_read_tail},
    Guess{"", "write", "sandbox fs write SESSION:PATH takes what comes on standard input"},
    Guess{"", "mkdir", "sandbox fs mkdir SESSION:PATH"},
    Guess{"", "mv", k_move},
    Guess{"", "stat", "sandbox fs ls -d SESSION:PATH"},
    Guess{"", "file", "sandbox fs ls, read, write, mkdir and rm work on SESSION:PATH"},
    Guess{"", "files", "sandbox fs ls SESSION:PATH"},
    Guess{"", "fs cat", "sandbox fs read SESSION:PATH"},
    Guess{"", "fs get", "sandbox fs read SESSION:PATH"},
    Guess{"", "fs head", "sandbox fs read --lines 1,10 SESSION:PATH"},
    Guess{"", "fs tail", k_read_tail},
    Guess{"", "fs put", "sandbox fs write SESSION:PATH takes what comes on standard input"},
    Guess{"", "fs append", "sandbox fs write --append SESSION:PATH"},
    Guess{"", "fs touch", k_empty_file},
    Guess{"", "fs cp", "sandbox cp SOURCE TARGET"},
    Guess{"", "fs copy", "sandbox cp SOURCE TARGET"},
    Guess{"", "fs mv", k_move},
    Guess{"", "fs stat", "sandbox fs ls -d SESSION:PATH"},
    Guess{"", "fs list", "sandbox fs ls SESSION:PATH"},
    Guess{"", "fs find", "sandbox fs ls -R SESSION:PATH"},
    Guess{"", "fs tree", "sandbox fs ls -R SESSION:PATH"},
    Guess{"", "fs remove", "sandbox fs rm SESSION:PATH"},
    Guess{"", "fs delete", "sandbox fs rm SESSION:PATH"},
    Guess{"", "fs rmdir", "sandbox fs rm -r SESSION:PATH"},
    Guess{"", "fs chmod", "sandbox exec SESSION chmod MODE FILE, where the image has it"},
    Guess{"", "image ls", "images are the engine's: docker images"},
    Guess{"", "image list", "images are the engine's: docker images"},
    Guess{"", "image inspect", "images are the engine's: docker image inspect"},
    Guess{"", "image prune", "images are the engine's: docker image prune"},
    Guess{"", "image rm", "images are the engine's: docker rmi"},
    Guess{"", "image pull", "sandbox create pulls what its manifest names"},
    Guess{"", "image build", "build images with your own tools; sandbox image import brings the result"},
    Guess{"", "image load", "sandbox image import makes an image from a file"},
    Guess{"", "workspace delete", "sandbox workspace rm"},
    Guess{"", "workspace remove", "sandbox workspace rm"},
    Guess{"", "workspace show", "sandbox workspace inspect WORKSPACE"},
    Guess{"", "workspace prune", "sandbox gc --workspaces --older-than 30d"},
    Guess{"", "workspace create", "sandbox create --workspace NAME makes it with its first session"},
    Guess{"", "manifest validate", "sandbox manifest check FILE"},
    Guess{"", "manifest lint", "sandbox manifest check FILE"},
    Guess{"", "manifest new", "sandbox manifest init"},
    Guess{"", "proc run", "sandbox proc start SESSION COMMAND"},
    Guess{"", "proc list", "sandbox proc ls SESSION"},
    Guess{"", "proc ps", "sandbox proc ls SESSION"},
    Guess{"", "proc status", "sandbox proc ls SESSION tells how each is"},
    Guess{"", "proc inspect", "sandbox proc ls --json SESSION tells all of each"},
    Guess{"", "proc log", "sandbox proc logs SESSION PROCESS"},
    Guess{"", "proc tail", "sandbox proc logs -f --tail 10 SESSION PROCESS"},
    Guess{"", "proc attach", "sandbox proc logs -f SESSION PROCESS"},
    Guess{"", "proc kill", "sandbox proc stop --grace 0s SESSION PROCESS"},
    Guess{"", "proc rm", "sandbox proc stop SESSION PROCESS ends one; an ended one goes with its session"},
    Guess{"", "proc restart", "sandbox proc stop, then sandbox proc start; --restart on-failure:N starts one again that fails"},
    Guess{"", "config get", "sandbox config show"},
    Guess{"", "config list", "sandbox config show"},
    Guess{"", "config ls", "sandbox config show"},
    Guess{"", "config view", "sandbox config show"},
    Guess{"", "config set", "write ~/.config/sandbox/config.yaml; sandbox config show tells what holds"},
};

constexpr std::string_view k_no_mounts = "host directories are never mounted: bring files in with `files:` in the manifest or sandbox cp";
constexpr std::string_view k_returns = "create always returns at once, and what runs is started by sandbox exec";
constexpr std::string_view k_terminal = "create starts nothing: sandbox exec -it SESSION sh";
constexpr std::string_view k_host_command = "the command runs here, with this terminal and these streams: leave it out";
constexpr std::string_view k_foreground = "run waits for its command; sandbox create, then sandbox proc start, runs one in the background";
constexpr std::string_view k_background = "sandbox proc start SESSION COMMAND returns at once, and keeps its output and its status";
constexpr std::string_view k_its_user = "managed processes run as the session's user; sandbox exec -u runs a command as another one";
constexpr std::string_view k_starts = "proc start always returns at once, and gives no terminal: leave it out";
constexpr std::string_view k_whole = "directories are copied whole anyway: leave it out";
constexpr std::string_view k_kept = "modes and times are kept anyway; owners become the session's user";
constexpr std::string_view k_gone_whole = "destroy asks nothing and takes all of a session: leave -rf out, or write -f; sandbox fs rm -r SESSION:PATH removes files";
constexpr std::string_view k_on_stdin = "the content comes on standard input: echo TEXT | sandbox fs write SESSION:PATH";
constexpr std::string_view k_paths_told = "diff prints no more than paths and A, M or D unless --patch or --json is given";
constexpr std::string_view k_contexts = "docker's contexts hold here too: DOCKER_CONTEXT; --engine URL names an engine";
constexpr std::string_view k_whose_sessions = "--owner NAME says whose sessions are meant";
constexpr std::string_view k_own_grace = "what runs has 2 seconds between TERM and KILL: leave it out";
constexpr std::string_view k_own_names = "sessions share no network: they reach neither each other nor the host by name";

constexpr std::array k_options{
    Guess{"", "-V", "sandbox --version"},
    Guess{"destroy", "-v", "the workspace goes with its session; a persistent one goes by sandbox workspace rm"},
    Guess{"destroy", "--volumes", "the workspace goes with its session; a persistent one goes by sandbox workspace rm"},
    Guess{"destroy", "-r", k_gone_whole},
    Guess{"destroy", "-rf", k_gone_whole},
    Guess{"destroy", "-fr", k_gone_whole},
    Guess{"destroy", "-fv", "-f"},
    Guess{"destroy", "-t", "sandbox destroy waits for nothing that runs"},
    Guess{"with", "-i", k_host_command},
    Guess{"with", "-t", k_host_command},
    Guess{"with", "-it", k_host_command},
    Guess{"with", "-ti", k_host_command},
    Guess{"with", "--interactive", k_host_command},
    Guess{"with", "--tty", k_host_command},
    Guess{"with", "-d", k_host_command},
    Guess{"with", "--detach", k_host_command},
    Guess{"run", "-d", k_foreground},
    Guess{"run", "--detach", k_foreground},
    Guess{"stop", "-t", k_own_grace},
    Guess{"stop", "--time", k_own_grace},
    Guess{"stop", "-f", "sandbox destroy -f ends a session and everything in it"},
    Guess{"start", "-a", "start runs nothing but the agent: sandbox exec SESSION COMMAND"},
    Guess{"start", "-i", "start runs nothing but the agent: sandbox exec SESSION COMMAND"},
    Guess{"wait", "--for", "wait has one thing to wait for, the end: leave --for out"},
    Guess{"stats", "--no-stream", "stats prints once unless -f is given"},
    Guess{"stats", "-a", "stats shows all of the owner's when none is named"},
    Guess{"stats", "--all", "stats shows all of the owner's when none is named"},
    Guess{"extend", "--for", "sandbox extend SESSION 1h, or --ttl 1h"},
    Guess{"create", "-v", k_no_mounts},
    Guess{"", "-v", "--verbose says more; sandbox --version tells the version"},
    Guess{"", "--volume", k_no_mounts},
    Guess{"", "--mount", k_no_mounts},
    Guess{"", "--privileged", "sessions are never privileged; --add-capabilities adds a single one"},
    Guess{"create", "-d", k_returns},
    Guess{"create", "--detach", k_returns},
    Guess{"create", "-i", k_terminal},
    Guess{"create", "-t", k_terminal},
    Guess{"create", "-it", k_terminal},
    Guess{"create", "-ti", k_terminal},
    Guess{"create", "--interactive", k_terminal},
    Guess{"create", "--tty", k_terminal},
    Guess{"create", "--restart", "a session ends once and for all: leave --restart out"},
    Guess{"create", "--init", "PID 1 is an init in every session: leave --init out"},
    Guess{"create", "--entrypoint", "an image's entry point is not run: sandbox exec runs what you name"},
    Guess{"create", "--cmd", "sandbox exec SESSION COMMAND runs what you name"},
    Guess{"create", "--net", "--network none or --network bridge"},
    Guess{"create", "--dns", "with --network bridge names are resolved as the engine is set up to: leave --dns out"},
    Guess{"create", "--add-host", k_own_names},
    Guess{"create", "--link", k_own_names},
    Guess{"create", "--hostname", "the session's name is its host name: --name NAME"},
    Guess{"create", "--expose", "--publish PORT"},
    Guess{"create", "-P", "--publish PORT, for each port"},
    Guess{"create", "--publish-all", "--publish PORT, for each port"},
    Guess{"create", "--cidfile", "the id is what create prints: S=$(sandbox create --image IMAGE)"},
    Guess{"create", "-n", "--name NAME"},
    Guess{"create", "--cap-add", "--add-capabilities NAME"},
    Guess{"create", "--cap-drop", "--drop-capabilities NAME (ALL by default)"},
    Guess{"create", "--read-only", "--readonly-rootfs"},
    Guess{"create", "--security-opt", "--seccomp default or a profile; no new privileges is the default"},
    Guess{"create", "--pids-limit", "--pids N"},
    Guess{"create", "--ulimit", "--pids N, --memory SIZE and --max-file SIZE are the limits there are"},
    Guess{"create", "--cpu-shares", "--cpus N"},
    Guess{"create", "--memory-swap", "--memory is the limit with swap included"},
    Guess{"create", "--shm-size", "--tmpfs /dev/shm=64MB"},
    Guess{"create", "--disk", "there is no portable limit on a volume's size; bound single files with --max-file"},
    Guess{"create", "--storage-opt", "there is no portable limit on a volume's size; bound single files with --max-file"},
    Guess{"create", "--gpus", "devices are not passed into sessions"},
    Guess{"create", "--device", "devices are not passed into sessions"},
    Guess{"create", "--platform", "the image decides: name one for the engine's architecture"},
    Guess{"create", "--expires", "--ttl DURATION"},
    Guess{"create", "--dir", "files in the manifest, or sandbox cp DIR SESSION:"},
    Guess{"exec", "-d", k_background},
    Guess{"exec", "--detach", k_background},
    Guess{"exec", "-c", "sandbox exec SESSION -- sh -c '...'"},
    Guess{"proc start", "-d", k_starts},
    Guess{"proc start", "--detach", k_starts},
    Guess{"proc start", "-i", k_starts},
    Guess{"proc start", "-t", k_starts},
    Guess{"proc start", "-it", k_starts},
    Guess{"proc start", "-u", k_its_user},
    Guess{"proc start", "--user", k_its_user},
    Guess{"proc start", "--rm", "an ended process stays for its log, and goes with its session: leave --rm out"},
    Guess{"proc start", "--wait", "--ready-port PORT or --ready-log TEXT waits until it serves; sandbox proc wait for its end"},
    Guess{"proc start", "--timeout", "sandbox proc wait --timeout DURATION, then sandbox proc stop"},
    Guess{"proc stop", "-t", "--grace DURATION"},
    Guess{"proc stop", "--timeout", "--grace DURATION"},
    Guess{"proc stop", "--time", "--grace DURATION"},
    Guess{"proc stop", "-f", "--grace 0s kills at once"},
    Guess{"proc stop", "--force", "--grace 0s kills at once"},
    Guess{"proc ls", "-a", "those that have ended are listed too: leave it out"},
    Guess{"proc ls", "--all", "those that have ended are listed too: leave it out"},
    Guess{"logs", "--until", "--since WHEN says where it begins"},
    Guess{"proc logs", "--until", "--since WHEN says where it begins"},
    Guess{"cp", "-a", k_kept},
    Guess{"cp", "--archive", k_kept},
    Guess{"cp", "-p", k_kept},
    Guess{"cp", "-q", "--quiet"},
    Guess{"cp", "-r", k_whole},
    Guess{"cp", "-R", k_whole},
    Guess{"cp", "-rf", k_whole},
    Guess{"cp", "--recursive", k_whole},
    Guess{"fs ls", "-r", "-R"},
    Guess{"fs ls", "-a", "names that begin with a dot are listed anyway: leave -a out"},
    Guess{"fs ls", "-1", "--quiet gives the names alone, one a line"},
    Guess{"fs ls", "--max-depth", "--depth N"},
    Guess{"fs read", "-n", "--lines 1,COUNT for the first lines, --tail LINES for the last"},
    Guess{"fs read", "-f", "sandbox proc logs -f SESSION PROCESS follows a managed process; a file is read on with --lines or --bytes"},
    Guess{"fs read", "-c", "--bytes 0,COUNT"},
    Guess{"fs read", "--offset", "--bytes START,COUNT or --lines START,COUNT"},
    Guess{"fs read", "--limit", "--lines START,COUNT, and --max-bytes SIZE"},
    Guess{"fs write", "--content", k_on_stdin},
    Guess{"fs write", "--text", k_on_stdin},
    Guess{"fs write", "-f", "a file that is there is replaced anyway: leave -f out"},
    Guess{"fs rm", "-R", "-r"},
    Guess{"fs rm", "--ignore-missing", "-f"},
    Guess{"ps", "--filter", "-l KEY=VALUE selects by label; sandbox inspect NAME shows one session"},
    Guess{"ps", "-f", "-l KEY=VALUE selects by label; sandbox inspect NAME shows one session"},
    Guess{"ps", "-A", "--all-owners lists everybody's"},
    Guess{"ps", "--no-trunc", "nothing is cut: leave --no-trunc out"},
    Guess{"ps", "-o", "--json gives every field"},
    Guess{"ps", "-w", "sandbox events -f tells what happens from now on"},
    Guess{"ps", "--watch", "sandbox events -f tells what happens from now on"},
    Guess{"", "--format", "--json gives every field"},
    Guess{"", "--output", "--json gives every field"},
    Guess{"inspect", "-f", "--json gives every field"},
    Guess{"doctor", "--fix", "sandbox doctor --repair brings back what was lost; sandbox gc clears what is left over"},
    Guess{"doctor", "--deep", "it looks at everything unless --quick is given"},
    Guess{"gc", "--force", "gc asks nothing: leave --force out"},
    Guess{"gc", "-f", "gc asks nothing: leave -f out"},
    Guess{"gc", "-a", "--workspaces --older-than 30d takes retained workspaces too"},
    Guess{"gc", "--all", "--workspaces --older-than 30d takes retained workspaces too"},
    Guess{"gc", "--volumes", "--workspaces --older-than 30d takes retained workspaces too"},
    Guess{"events", "--tail", "--since 10m shows what is recent"},
    Guess{"events", "-n", "--since 10m shows what is recent"},
    Guess{"events", "--until", "events ends with the last one; --since WHEN says where it begins"},
    Guess{"events", "--filter", "--kind KIND selects, and so does the name of a session: sandbox events SESSION"},
    Guess{"forward", "--address", "the address stands before the ports: sandbox forward SESSION ADDRESS:HOST_PORT:PORT"},
    Guess{"forward", "-L", "leave -L out: sandbox forward SESSION HOST_PORT:PORT"},
    Guess{"forward", "-p", "leave -p out: sandbox forward SESSION HOST_PORT:PORT"},
    Guess{"preview", "-p", "--listen PORT"},
    Guess{"preview", "--port", "--listen PORT"},
    Guess{"preview", "--host-port", "--listen PORT"},
    Guess{"wait-port", "-t", "--timeout DURATION"},
    Guess{"wait-port", "--wait", "it waits anyway, no longer than --timeout DURATION"},
    Guess{"preview", "--timeout", "--wait DURATION waits first until something listens; a preview has no end of its own"},
    Guess{"forward", "--listen", "the address stands before the ports: sandbox forward SESSION ADDRESS:HOST_PORT:PORT, or '[::1]:80:80' for IPv6"},
    Guess{"forward", "--wait", "sandbox wait-port SESSION PORT waits until something listens"},
    Guess{"diff", "--stat", "--patch shows what changed in texts, --json types and sizes"},
    Guess{"diff", "--name-only", k_paths_told},
    Guess{"diff", "--name-status", k_paths_told},
    Guess{"", "-H", "--engine URL"},
    Guess{"", "--host", "--engine URL"},
    Guess{"", "--context", k_contexts},
    Guess{k_before_commands, "-c", k_contexts},
    Guess{"", "--namespace", k_whose_sessions},
    Guess{k_before_commands, "-n", k_whose_sessions},
    Guess{"", "--log-level", "--verbose says more, --quiet less"},
    Guess{"", "--debug", "--verbose says more"},
    Guess{"", "-D", "--verbose says more"},
    Guess{k_before_commands, "-o", "--json gives every field"},
    Guess{"", "-q", "--quiet"},
};

constexpr std::array k_arguments{
    Guess{"create", "", "the image is an option: sandbox create --image IMAGE; a name is one too: --name NAME"},
    Guess{"ps", "", "sandbox inspect SESSION shows one session"},
    Guess{"fs write", "", k_on_stdin},
    Guess{"fs read", "", "one file at a time; sandbox cp SESSION:PATH - gives a whole tree"},
    Guess{"doctor", "", "sandbox inspect --effective SESSION looks at one session"},
    Guess{"gc", "", "sandbox destroy SESSION ends one session"},
    Guess{"logs", "", "sandbox proc logs SESSION PROCESS shows what one process prints"},
};

// What holds for create's options holds for those of run and with, which make a session as well.
bool makes_session(std::string_view command) { return command == "run" || command == "with"; }

template <typename Table>
std::optional<std::string> look_up(const Table& table, std::string_view command, std::string_view word) {
    for (const Guess& guess : table) {
        if ((guess.command.empty() || guess.command == command || (guess.command == "create" && makes_session(command))) && (guess.word.empty() || guess.word == word)) {
            return std::string(guess.hint);
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<std::string> hint_for_verb(std::string_view verb) { return look_up(k_verbs, "", verb); }

std::optional<std::string> hint_for_option(std::string_view command, std::string_view option) {
    const bool is_negative = option.size() > 1 && option[1] >= '0' && option[1] <= '9';
    if (command == "extend" && is_negative) {
        const std::string time(option.substr(1));
        return "the end becomes now and that long, sooner or later than it was: sandbox extend SESSION " + time + " ends it " + time + " from now";
    }
    return look_up(k_options, command, option);
}

std::optional<std::string> hint_for_argument(std::string_view command, std::string_view argument) {
    // `ls` lists sessions, unless it is files that are meant.
    if (command == "ps" && argument.find(':') != std::string_view::npos) return "sandbox fs ls SESSION:PATH lists files";
    return look_up(k_arguments, command, argument);
}

} // namespace sandbox::cli
