# SPDX-License-Identifier: Apache-2.0
"""Completion: the binary's answers, and what real shells make of them."""
import os
import pathlib
import subprocess

import pytest

import runner
import shells
from fault_proxy import Drop
from runner import ROOT, wait_until

# A case for each command: what is typed, and one value that must be offered.
CASES = {
    "create": (["create", "--netw"], "--network"),
    "run": (["run", "--on-failure", "ke"], "keep"),
    "with": (["with", "--exp"], "--export"),
    "exec": (["exec", "we"], "web"),
    "shell": (["shell", "we"], "web"),
    "ps": (["ps", "-l", "app"], "app="),
    "inspect": (["inspect", ""], "web"),
    "destroy": (["rm", "we"], "web"),
    "pause": (["pause", "we"], "web"),
    "resume": (["resume", "we"], "web"),
    "stop": (["stop", "-l", "app"], "app="),
    "start": (["start", "--allow"], "--allow-path"),
    "extend": (["extend", "--tt"], "--ttl"),
    "wait": (["wait", "--time"], "--timeout"),
    "stats": (["stats", "we"], "web"),
    "cp": (["cp", "web:out"], "web:output/"),
    "diff": (["diff", "we"], "web"),
    "ports": (["ports", "we"], "web"),
    "wait-port": (["wait-port", "we"], "web"),
    "forward": (["forward", "we"], "web"),
    "preview": (["preview", "we"], "web"),
    "fs ls": (["fs", "ls", "web:out"], "web:output/"),
    "fs read": (["fs", "read", "web:output/"], "web:output/report.md"),
    "fs write": (["fs", "write", "--app"], "--append"),
    "fs mkdir": (["fs", "mkdir", "-p", "w"], "web:"),
    "fs rm": (["fs", "rm", "web:output/report.md", "web:out"], "web:output/"),
    "logs": (["logs", "we"], "web"),
    "proc start": (["proc", "start", "--ready-p"], "--ready-port"),
    "proc ls": (["proc", "ls", "we"], "web"),
    "proc logs": (["proc", "logs", "web", "serv"], "server"),
    "proc stop": (["proc", "stop", "web", ""], "server"),
    "proc wait": (["proc", "wait", "web", "p"], "p1"),
    "workspace ls": (["workspace", "ls", "--all"], "--all-owners"),
    "workspace inspect": (["workspace", "inspect", ""], "project-42"),
    "workspace rm": (["workspace", "rm", "proj"], "project-42"),
    "gc": (["gc", "--older"], "--older-than"),
    "doctor": (["doctor", "--qu"], "--quick"),
    "image bootstrap": (["image", "bootstrap", "--su"], "--suite"),
    "image import": (["image", "import", "--t"], "--tag"),
    "events": (["events", "we"], "web"),
    "manifest init": (["manifest", "init", "--f"], "--force"),
    "manifest check": (["manifest", "ch"], "check"),
    "manifest explain": (["manifest", "explain", "limits.mem"], "limits.memory"),
    "manifest schema": (["manifest", "sch"], "schema"),
    "config show": (["config", "show", "--network", "br"], "bridge"),
    "completion": (["completion", "z"], "zsh"),
    "help": (["help", "destr"], "destroy"),
    "version": (["version", "--verb"], "--verbose"),
}
EVIL = "evil$(touch pwned);touch pwned"


def offered(sb, *words, **kw):
    result = sb.run("__complete", "--", *words, **kw)
    assert result.err == b"", result
    return {line.split("\t")[0] for line in result.lines()}


@pytest.fixture(scope="module")
def web(shared):
    """A session with files, a label and a workspace to be found."""
    session = shared.create("--name", "web", "-l", "app=ci", "--workspace", "project-42", "--idle-timeout", "1h")
    shared.sh(session, f"mkdir -p output; touch output/report.md output/.hidden 'my file' '{EVIL}'")
    shared.sh(session, r"""touch "$(printf 'esc\033[31m')" "$(printf 'two\nlines')" "$(printf 'bad\377')" """)
    shared.run("proc", "start", "--name", "server", session, "sleep", "600")
    yield session
    shared.destroy(session)
    shared.run("workspace", "rm", "project-42")


def test_every_command_has_a_case(shared):
    assert set(CASES) == {command["name"] for command in shared.run("__dump-cli").json()["commands"]}


@pytest.mark.parametrize("command", CASES)
def test_cases(shared, web, command):
    line, value = CASES[command]
    assert value in offered(shared, *line)


def test_sessions_of_this_owner_by_name_and_id(shared, web, make_sandbox):
    assert offered(shared, "exec", "") == {"web"}
    assert offered(shared, "exec", web[:4]) == {web}
    assert offered(shared, "--owner", "somebody", "exec", "") == set()
    assert offered(shared, "exec", "", env={"SANDBOX_OWNER": "somebody"}) == set()
    assert offered(shared, "inspect", "web", "") == set()
    assert offered(shared, "--owner", "") == {shared.owner}


def test_labels_by_key_then_value(shared, web):
    assert offered(shared, "destroy", "-l", "") == {"app="}
    assert offered(shared, "destroy", "-l", "app=") == {"app=ci"}
    assert offered(shared, "destroy", "--label=app=") == {"--label=app=ci"}


def test_files_in_a_session(shared, web):
    assert offered(shared, "cp", "w") >= {"web:"}
    assert offered(shared, "cp", "web:output/") == {"web:output/report.md"}
    assert offered(shared, "cp", "web:output/.") == {"web:output/.hidden"}
    assert offered(shared, "cp", "web:/et") == {"web:/etc/"}
    assert offered(shared, "cp", f"{web}:out") == {f"{web}:output/"}
    assert offered(shared, "cp", "report.md", "web:out") == {"web:output/"}
    assert offered(shared, "cp", "web:output/report.md", "w") == {":files"}
    assert offered(shared, "cp", "nosuch:") == offered(shared, "cp", "web:nosuch/") == set()


def test_the_file_tools_want_a_session_in_every_word(shared, web):
    assert offered(shared, "fs", "rm", "") == {"web:"}
    assert offered(shared, "fs", "rm", "web:output/report.md", "") == {"web:"}
    assert offered(shared, "fs", "read", "output") == set()


def test_processes_of_a_session(shared, web):
    assert offered(shared, "proc", "logs", "web", "") == {"server"}
    assert offered(shared, "proc", "logs", "web", "p") == {"p1"}
    assert offered(shared, "proc", "stop", "web", "server", "") == set()
    assert offered(shared, "proc", "logs", "nosuch", "") == set()
def test_paths_for_a_diff(shared, web):
    assert offered(shared, "diff", "web", "out") == {"output/"}
    assert offered(shared, "diff", "web", "output/") == {"output/report.md"}
    assert offered(shared, "diff", "web", "output/report.md", "output/r") == set()
    assert offered(shared, "diff", "web", "output/report.md", "my") == {"my file"}
    assert offered(shared, "diff", "nosuch", "o") == set()


def test_kinds_of_events(shared):
    assert offered(shared, "events", "--kind", "exec.") == {"exec.started", "exec.ended"}
    assert offered(shared, "events", "--kind=gc") == {"--kind=gc.removed"}
    assert offered(shared, "events", "--kind=process") == {"--kind=process.started", "--kind=process.stopped"}
    assert offered(shared, "proc", "start", "--restart", "") == {"no", "on-failure:"}


def test_names_that_a_terminal_would_obey_are_not_offered(shared, web):
    names = offered(shared, "cp", "web:")
    assert f"web:{EVIL}" in names and "web:my file" in names
    assert not any(name.startswith(("web:esc", "web:two", "web:bad", "lines")) for name in names), names


@pytest.mark.parametrize("channel", ["socket", "bridge"])
def test_looking_renews_no_idle_time(shared, channel):
    session = shared.create("--name", "idler", "--channel", channel, "--idle-timeout", "1h")
    shared.sh(session, "touch seen")

    def idle_left():
        return shared.json("inspect", session)["idleLeftMs"]
    before = wait_until(lambda: (left := idle_left()) is not None and left <= 3600_000 - 1000 and left)
    assert offered(shared, "cp", "idler:s") == {"idler:seen"}
    assert idle_left() <= before
    shared.destroy(session)


def test_no_engine_is_asked_for_names(shared, web, proxy):
    """What was made through a proxy is known without it; what must be asked is silent."""
    session = shared.create("--name", "far", env={"SANDBOX_ENGINE": proxy.url})
    bridged = shared.create("--name", "farther", "--channel", "bridge", env={"SANDBOX_ENGINE": proxy.url})
    calls = []
    choose, proxy.choose = proxy.choose, lambda method, target: calls.append(target) or choose(method, target)
    assert offered(shared, "exec", "far") == {"far", "farther"}
    assert offered(shared, "cp", "far:/et") == {"far:/etc/"}
    assert calls == []
    proxy.choose = choose
    proxy.rule(Drop())
    assert offered(shared, "cp", "farther:/et") == set()
    proxy.reset()
    shared.destroy(session, bridged)


def test_an_agent_that_does_not_answer_costs_two_seconds_and_no_word(shared, engine):
    session = shared.create("--name", "frozen")
    container = shared.json("inspect", session)["container"]["id"]
    engine.pause(container)
    try:
        result = shared.run("__complete", "--", "cp", "frozen:")
        assert result.out == b"" == result.err and result.seconds < 10, result
    finally:
        engine.unpause(container)
    shared.destroy(session)


def test_nothing_is_made_or_said_where_there_is_no_state(shared, tmp_path):
    state = tmp_path / "state"
    for words in (["exec", ""], ["cp", "x:"], ["workspace", "rm", ""], ["ps", "-l", ""], ["--owner", ""]):
        assert offered(shared, *words, env={"SANDBOX_STATE_DIR": str(state)}) <= {":files"}
    state.mkdir()
    (state / "state.db").write_bytes(b"no database")
    assert offered(shared, "exec", "", env={"SANDBOX_STATE_DIR": str(state)}) == set()
    assert [entry.name for entry in state.iterdir()] == ["state.db"]


def test_completion_refuses_other_shells(shared):
    assert "bash, zsh or fish" in shared.fails(2, "completion", "ksh").errors


# What is typed before the key is pressed, and the words that it becomes.
LINES = [
    ("sandbox insp", ["sandbox", "inspect"]),
    ("sandbox workspace ins", ["sandbox", "workspace", "inspect"]),
    ("sandbox exec --timeo", ["sandbox", "exec", "--timeout"]),
    ("sandbox create --network=br", ["sandbox", "create", "--network=bridge"]),
    ("sandbox create --set limits.mem", ["sandbox", "create", "--set", "limits.memory="]),
    ("sandbox exec we", ["sandbox", "exec", "web"]),
    ("sandbox ps -l ap", ["sandbox", "ps", "-l", "app="]),
    ("sandbox ps -l app=", ["sandbox", "ps", "-l", "app=ci"]),
    ("sandbox cp web:outp", ["sandbox", "cp", "web:output/"]),
    ("sandbox cp web:output/re", ["sandbox", "cp", "web:output/report.md"]),
    ("sandbox cp web:my", ["sandbox", "cp", "web:my file"]),
    ("sandbox cp web:evi", ["sandbox", "cp", f"web:{EVIL}"]),
    ("sandbox cp tick", ["sandbox", "cp", "ticket one.txt"]),
    ("sandbox cp 'ticket one.txt' web:outp", ["sandbox", "cp", "ticket one.txt", "web:output/"]),
    ("sandbox create -f manif", ["sandbox", "create", "-f", "manifests/"]),
    ("sandbox create --manifest=manifests/ba", ["sandbox", "create", "--manifest=manifests/base.yaml"]),
    ("sandbox run --export out=res -f manif", ["sandbox", "run", "--export", "out=res", "-f", "manifests/"]),
    ("sandbox with --on-failure ke", ["sandbox", "with", "--on-failure", "keep"]),
    ("sandbox shell we", ["sandbox", "shell", "web"]),
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The build, installed below a directory as a package would be made."""
    build = pathlib.Path(runner.binary()).parents[2]
    assert (build / "build.ninja").exists(), f"{build} is no build directory"
    root = tmp_path_factory.mktemp("root")
    done = subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", root], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "usr/local"


@pytest.fixture(scope="module")
def place(shared, web, installed, tmp_path_factory):
    """Environment and directory for a shell: the binary on PATH, some files to be completed."""
    folder = tmp_path_factory.mktemp("cwd")
    (folder / "ticket one.txt").touch()
    (folder / "manifests").mkdir()
    (folder / "manifests" / "base.yaml").touch()
    data = installed / "share"
    env = {**shared.environ(), "PATH": f"{installed}/bin:{os.environ['PATH']}", "HOME": str(folder), "LC_ALL": "C.UTF-8",
           "XDG_DATA_DIRS": f"{data}:/usr/share", "BASH_COMPLETION_USER_DIR": str(data / "bash-completion"),
           "SITE_FUNCTIONS": str(data / "zsh/site-functions")}
    return {"env": env, "cwd": folder}


@pytest.mark.parametrize("kind", [shells.Bash, shells.BashCompletion, shells.Zsh, shells.InstalledZsh])
def test_shells_at_a_terminal(place, kind):
    with kind(**place) as shell:
        assert {line: shell.complete(line) for line, _ in LINES} == dict(LINES)
    assert not (place["cwd"] / "pwned").exists()


@pytest.mark.parametrize("line,words", LINES)
def test_fish(place, line, words):
    """fish completes without a terminal too; it prints the word as it is, with its description."""
    done = subprocess.run(["fish", "--no-config", "-c", f"source {ROOT}/completions/sandbox.fish; complete -C$LINE"],
                          env={**place["env"], "LINE": line}, cwd=place["cwd"], capture_output=True, text=True, timeout=60)
    assert done.stderr == "" and words[-1] in [found.split("\t")[0] for found in done.stdout.splitlines()], done
    assert not (place["cwd"] / "pwned").exists()


def test_installed_scripts_are_those_that_the_binary_prints(shared, installed):
    for shell, path in (("bash", "bash-completion/completions/sandbox"), ("zsh", "zsh/site-functions/_sandbox"),
                        ("fish", "fish/vendor_completions.d/sandbox.fish")):
        assert (installed / "share" / path).read_text() == shared.run("completion", shell).text


def test_fish_finds_the_installed_script(place):
    done = subprocess.run(["fish", "-c", "complete -C'sandbox insp'"], env=place["env"], cwd=place["cwd"], capture_output=True,
                          text=True, timeout=60)
    assert done.stdout.startswith("inspect\t"), done
