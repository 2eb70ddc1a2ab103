# SPDX-License-Identifier: Apache-2.0
"""The man pages: whole, without warnings, true. Everything that the command line offers is in them."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import runner
from runner import ROOT
from served import started

MAN = ROOT / "man"
PAGES = subprocess.run(["/usr/bin/python3", MAN / "make_man.py", "--pages"], capture_output=True, text=True, check=True).stdout.split()


def prose(page):
    return (MAN / f"{page}.md").read_text()


def runnable(page):
    """The examples of a page, in their order: fences that say sh."""
    return re.findall(r"^```sh\n(.*?)^```$", prose(page), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def cli(shared):
    return shared.run("__dump-cli").json()


@pytest.fixture(scope="module")
def manual(shared, tmp_path_factory):
    """Each page's file, made from the binary under test."""
    folder = tmp_path_factory.mktemp("man")
    dump = folder / "cli.json"
    dump.write_bytes(shared.run("__dump-cli").out)
    for page in PAGES:
        subprocess.run(["/usr/bin/python3", MAN / "make_man.py", dump, MAN / f"{page}.md", folder / page], check=True)
    return folder


@pytest.fixture(scope="module")
def shown(manual):
    """page -> its text as a reader sees it, in one line."""
    def text(page):
        done = subprocess.run(["mandoc", "-Tascii", "-O", "width=900", manual / page], capture_output=True, text=True, check=True)
        return " ".join(re.sub(".\b", "", done.stdout).split())
    return {page: text(page) for page in PAGES}


@pytest.mark.parametrize("page", PAGES)
def test_pages_render_without_warnings(manual, page):
    path = manual / page
    groff = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-z", path], capture_output=True, text=True)
    assert groff.returncode == 0 and groff.stderr == "", groff.stderr
    man = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", path], capture_output=True, text=True, env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "80"})
    assert man.returncode == 0 and man.stderr == "" and len(man.stdout) > 500, man.stderr
    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", path], capture_output=True, text=True)
    assert lint.returncode == 0 and lint.stdout == "", lint.stdout


def page_of(command):
    return f"sandbox-{command['name'].split()[0]}.1"


def test_every_command_has_a_page_with_an_example_and_all_its_options(cli, shown):
    for command in cli["commands"]:
        page = page_of(command)
        assert page in shown, f"man/{page}.md is missing"
        assert f"sandbox {command['name']}" in shown[page]
        fences = re.findall(r"^```.*?^```$", prose(page), re.MULTILINE | re.DOTALL)
        assert any(f"sandbox {command['name']}" in re.sub(r"--json ", "", fence) for fence in fences), f"no example of {command['name']}"
        for option in command["options"]:
            assert re.search(rf"(?<![\w-])--{option['name']}(?![\w-])", shown[page]), (page, option["name"])
        assert page.removesuffix(".1") + "(1)" in shown["sandbox.1"]


def test_no_page_without_a_command(cli):
    assert {page for page in PAGES if page.endswith(".1")} == {page_of(command) for command in cli["commands"]} | {"sandbox.1"}


def test_nothing_of_the_overview_is_missing(cli, shown):
    text = shown["sandbox.1"]
    for option in cli["globalOptions"]:
        assert f"--{option['name']}" in text
        assert option["environment"] is None or option["environment"] in [one["name"] for one in cli["environment"]]
    for variable in cli["environment"]:
        assert f"{variable['name']} " in text
    for status in cli["exitStatuses"]:
        assert re.search(rf"\b{status['status']} {re.escape(status['help'][0].upper() + status['help'][1:])}", text), status
    for code in cli["errorCodes"]:
        assert f"{code['name']} ({code['status']}" in text, code


def test_every_variable_that_is_read_is_listed(cli):
    """By the sources: what getenv() is asked for."""
    read = set()
    for path in (ROOT / "src").rglob("*.cpp"):
        if path.parts[-2] != "agent":
            read |= set(re.findall(r'(?:getenv|environment)\("([A-Z_]+)"\)', path.read_text()))
    listed = {one["name"] for one in cli["environment"]}
    assert read - {"PATH"} == listed, (read - listed, listed - read)


def test_every_manifest_key_is_explained(cli, shown):
    text = shown["sandbox-manifest.5"]
    for key in cli["manifestKeys"]:
        assert re.search(rf"(?<![\w.]){re.escape(key['path'])} \(", text), key["path"]
        assert key["flag"] is None or key["path"] == "labels" or f"Flag: {key['flag']}." in text, key


def test_references_lead_somewhere():
    for page in PAGES:
        for name, section in re.findall(r"\b(sandbox(?:-[a-z]+)*)\(([15])\)", prose(page)):
            assert f"{name}.{section}" in PAGES, (page, name, section)


# --- JSON ----------------------------------------------------------------------------------------------------------

def documented():
    """section of JSON -> the fields that it names."""
    part = prose("sandbox.1").split("\n## JSON\n")[1].split("\n## ")[0]
    sections = {}
    for text in part.split("\n### ")[1:]:
        title, body = text.split("\n", 1)
        sections[title.strip()] = set(re.findall(r"`([A-Za-z0-9.]+)(?:\[\])?`", body))
    return sections


FREE = {"labels", "manifest", "ports"}  # objects whose keys are the user's


def fields(document, prefix=""):
    """Every field below a document, by its last two names where it is nested: "workspace.mode", "stdout"."""
    found = set()
    for key, value in document.items():
        found.add(prefix + key)
        inner = value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else value
        if isinstance(inner, dict) and key not in FREE:
            found |= fields(inner, "" if isinstance(value, list) or key in ("stdout", "stderr", "error") else f"{key}.")
    return found


def check(section, document, *more):
    known = set().union(*(documented()[name] for name in (section, *more)))
    parents = {name.split(".")[0] for name in known if "." in name}
    printed = fields(document)
    assert printed <= known | parents, f"{section}: not documented: {printed - known - parents}"
    return printed, known


def test_json_fields_are_those_that_are_printed(sb, base):
    error = {name.removeprefix("error.") for name in documented()["Errors, of every command"]}
    assert set(sb.fails_json(3, "inspect", "nosuch")) == error

    created = sb.json("create", "--image", base, "--name", "web", "--workspace", "kept")
    check("create", created)
    check("create --dry-run", sb.json("create", "--image", base, "--dry-run"))
    done = sb.json("exec", "web", "sh", "-c", "echo out; printf '\\377' >&2")
    printed, known = check("exec", done)
    values = {"utf-8", "exited", "signaled", "aborted", "expired"}
    assert known - values - printed <= {"timed_out", "start_failed", "detached", "limits.maxOutput", "code", "message", "hint", "retryable", "oom"}
    assert {"text", "base64"} <= printed
    ps, ps_known = check("ps", sb.json("ps"))
    assert {"idleLeftMs", "stateKnown", "workspace.mode", "operations"} <= ps
    check("inspect", sb.json("inspect", "--effective", "web"), "ps", "events")
    changes = "pause, resume, stop, start, extend"
    for words in (("extend", "web", "1h"), ("pause", "web"), ("resume", "web"), ("start", "web")):
        check(changes, sb.json(*words))
    check(changes, sb.run("--json", "stop", "web", status=4).json(), "exec")
    check("wait", sb.run("--json", "wait", "--timeout", "1ms", "web", status=124).json(), "exec")
    check("stats", sb.json("stats", "--interval", "100ms", "web"))
    check("cp", sb.json("cp", "/etc/hostname", "web:"))
    check("fs write", sb.run("--json", "fs", "write", "web:note", input="x\n").json())
    check("fs read", sb.json("fs", "read", "--lines", "1", "web:note"))
    check("fs ls", sb.json("fs", "ls", "web:"))
    check("fs ls", sb.run("--json", "fs", "ls", "web:", "web:nosuch", status=3).json(), "exec")
    check("fs mkdir", sb.run("--json", "fs", "mkdir", "web:d", "web:d", status=4).json(), "fs ls", "exec")
    check("fs rm", sb.run("--json", "fs", "rm", "web:d", "web:note", status=4).json(), "fs ls", "exec")
    sb.sh("web", "ln -s hostname link; printf x >\"$(printf 'b\\377d')\"")
    printed, known = check("diff", sb.json("diff", "--patch", "web"))
    words = {"file", "directory", "symlink", "fifo", "socket", "device", "content", "Base64"}
    assert known - printed - words <= {"what", "size", "target", "oldType", "oldMode", "oldSize", "oldTarget", "targetBase64", "oldTargetBase64", "patchBase64"}
    check("proc start, proc wait", sb.json("proc", "start", "--name", "job", "--ready-log", "out", "web", "sh", "-c", "echo out; sleep 1"), "proc ls", "exec")
    check("proc start, proc wait", sb.json("proc", "wait", "web", "job"), "proc ls", "exec")
    printed, known = check("proc ls", sb.json("proc", "ls", "web"))
    assert known - printed <= {"running", "restarting", "exited", "stopped", "aborted"}
    check("proc logs, logs", sb.json("logs", "web"))
    check("proc stop", sb.run("--json", "proc", "stop", "web", "job", "nosuch", status=3).json(), "proc ls", "exec")
    sb.sh("web", "httpd -p 127.0.0.1:8000")
    check("ports, wait-port", sb.json("ports", "web"))
    view, = sb.json("wait-port", "web", "8000")["ports"]
    printed, known = check("ports, wait-port", view)
    assert known - printed <= {"ports", "publish"}
    for verb in ("forward", "preview"):
        with started(sb, verb, "web", "0:8000" if verb == "forward" else "8000") as (_, ready):
            check(verb, ready)
    check("workspace ls", sb.json("workspace", "ls"), "workspace inspect")
    check("workspace inspect", sb.json("workspace", "inspect", "kept"))
    check("version", sb.json("version"))
    refused = sb.run("--json", "workspace", "rm", "kept", "nosuch", status=None)
    check("workspace rm", refused.json(), "exec")
    check("destroy", sb.json("destroy", "web"))
    check("destroy", sb.run("--json", "destroy", "nosuch", status=3).json(), "exec")
    check("gc", sb.json("gc", "--dry-run", "--workspaces", "--older-than", "0s"), "exec")
    check("workspace rm", sb.json("workspace", "rm", "kept"))
    check("doctor", sb.run("--json", "doctor", "--quick", "--repair", status=None).json())
    check("image bootstrap, image import", sb.json("image", "bootstrap", "--tag", base))


def test_every_documented_field_is_one_that_the_binary_knows():
    """The other way round: each name in the page stands in the code that makes the documents."""
    code = "\n".join(path.read_text() for path in (ROOT / "src/cli").glob("*.cpp"))
    names = {part for section in documented().values() for name in section for part in name.split(".") if re.search("[A-Z]", part)}
    assert names and not [name for name in sorted(names) if f'"{name}"' not in code and name not in ("maxOutput",)]


# --- examples ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("page", PAGES)
def test_examples_do_what_they_say(page, make_sandbox, engine, tmp_path):
    """All examples of a page in one bash that stops at the first failure, beside a session called web."""
    sb = make_sandbox()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sandbox").symlink_to(runner.binary())
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "src" / "main.c").write_text("int main(void) { return 0; }\n")
    (work / "ticket.txt").write_text("It does not work.\n")
    shutil.copy(ROOT / "examples/ticket.yaml", work)
    sb.run("create", "--image", runner.BASE, "--name", "web", "-l", "app=web")
    sb.sh("web", "mkdir -p output input src && echo done >output/report.md")
    script = "set -euo pipefail\n" + "\n".join(runnable(page))
    env = {**sb.environ(), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], cwd=work, env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{script}\n--\n{done.stdout}\n{done.stderr}"
    for image in re.findall(r"--tag (my/\S+)", script):
        engine.remove_image(image)
    runner.close(sb, engine)


# --- installed -----------------------------------------------------------------------------------------------------

def test_pages_are_installed(tmp_path):
    build = pathlib.Path(runner.binary()).parents[2]
    done = subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {path.name for path in tmp_path.rglob("man/man[15]/*")}
    assert found == set(PAGES)
