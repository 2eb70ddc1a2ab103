# SPDX-License-Identifier: Apache-2.0
"""The command line itself: parsing, help, version, near misses."""
import json
import re

import pytest

from runner import BASE

VERBS = ["create", "exec", "ps", "inspect", "destroy", "cp", "gc", "workspace", "image", "version"]


def test_version(shared):
    text = shared.run("version").text
    assert re.search(r"\d+\.\d+\.\d+", text)
    assert shared.run("--version").text.split()[-1] in text
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", shared.json("version")["version"])


def test_help(shared):
    text = shared.run("--help").text
    assert all(re.search(rf"^\s+{verb}\b", text, re.MULTILINE) for verb in VERBS), text
    assert shared.run("help").text == text
    for verb in VERBS:
        assert shared.run(verb, "--help").text == shared.run("help", verb).text != ""
    assert "--memory" in shared.run("create", "--help").text


def test_no_arguments_shows_the_commands(shared):
    result = shared.run(status=None)
    assert result.status in (0, 2) and "create" in result.text + result.errors


def test_help_needs_no_state_nor_engine(shared, tmp_path):
    shared.run("--help", env={"SANDBOX_STATE_DIR": str(tmp_path / "none"), "DOCKER_HOST": "unix:///nonexistent.sock", "HOME": None})
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("typed,meant", [("craete", "create"), ("destory", "destroy"), ("exce", "exec"), ("inspec", "inspect")])
def test_did_you_mean_verbs(shared, typed, meant):
    assert meant in shared.fails(2, typed).errors


def test_did_you_mean_options(shared):
    assert "--memory" in shared.fails(2, "create", "--memroy", "64MB", "--image", BASE).errors


@pytest.mark.parametrize("line,option", [("-H unix:///x ps", "-H"), ("--context=x ps", "--context"), ("-n ns ps", "-n"),
                                         ("-f ticket.yaml", "-f"), ("workspace -n x ls", "-n")])
def test_the_value_of_an_unknown_option_is_no_command(shared, line, option):
    first = shared.fails(2, *line.split()).errors.splitlines()[0]
    assert first.startswith(f"sandbox: error: unknown option {option}") and "command" not in first, first


@pytest.mark.parametrize("line,message", [
    ("create --name", "--name needs a value"), ("ps -l", "-l needs a value"), ("ps -al", "-l needs a value"),
    ("ps --label", "--label needs a value"), ("create --rm --auto-destroy=false", "--rm and --auto-destroy ask for the opposite"),
    ("create --rm --set lifecycle.autoDestroy=false", "--rm and --set lifecycle.autoDestroy ask for the opposite"), ("create --rm --auto-destroy=no", '--auto-destroy: "no" is neither true nor false'),
    ("create --dry-run=client", '--dry-run is true or false, not "client"'),
    ("ps --json=yes", '--json is true or false, not "yes"')])
def test_what_is_wrong_with_a_value_is_said_in_our_words(shared, line, message):
    assert shared.fails(2, *line.split()).errors.splitlines()[0] == f"sandbox: error: {message}"


def test_an_empty_value_takes_no_other_word(shared):
    """--name="$UNSET" in a script."""
    assert "invalid session name" in shared.fails(2, "create", "--name=", "--image", BASE).errors


def test_parsing_stops_at_the_session(shared, session):
    """C3."""
    shared.sh(session, "mkdir -p c3 && touch c3/f")
    assert shared.run("exec", session, "ls", "-l", "c3").text.count("f") >= 1
    assert shared.run("exec", session, "echo", "--json", "--help", "-i").text == "--json --help -i\n"
    assert shared.run("exec", session, "--", "echo", "--", "-x").text == "-- -x\n"
    assert shared.run("exec", session, "--", "sh", "-c", 'echo "$1"', "_", "--timeout").text == "--timeout\n"
    result = shared.fails(127, "exec", session, "--", "-x")
    assert "-x" in result.errors


def test_option_behind_the_session_is_pointed_out(shared, session):
    result = shared.run("exec", session, "--timeout", "5s", "--", "true", status=None)
    assert result.status == 125 and "hint: " in result.errors and "sandbox exec --timeout 5s" in result.errors, result


def test_globals_before_and_after_the_verb(shared, session):
    one = shared.run("--json", "ps").json()["sessions"][0]["id"]
    two = shared.run("ps", "--json").json()["sessions"][0]["id"]
    assert one == two == session
    assert shared.run("exec", "--json", session, "true").json()["exitCode"] == 0


def test_options_with_equals(shared):
    session = shared.run("create", f"--image={BASE}", "--memory=64MB", "--name=equals").text.strip()
    shared.run("destroy", "equals")
    assert session


def test_duration_without_a_unit_is_refused_with_the_right_word(shared, session):
    result = shared.fails(125, "exec", "--timeout", "30", session, "true")
    assert "30s" in result.errors


def test_owner_from_flag_environment_and_uid(shared, session):
    assert shared.run("ps", "-q", env={"SANDBOX_OWNER": "x"}).text == ""
    assert shared.run("--owner", shared.owner, "ps", "-q", env={"SANDBOX_OWNER": "x"}).lines() == [session]
    assert "uid:" in shared.run("ps", env={"SANDBOX_OWNER": None}).errors


def test_never_colour_or_progress_in_a_pipe(shared, session):
    for arguments in (["ps"], ["inspect", session], ["--help"], ["version"]):
        assert b"\x1b" not in shared.run(*arguments).out


def test_broken_pipe_is_quiet(shared):
    child = shared.start("--help")
    child.stdout.close()
    assert child.wait(timeout=60) in (0, 141) and child.stderr.read() == b""


def test_every_json_document_parses(shared, session):
    for arguments in (["ps"], ["inspect", session], ["workspace", "ls"], ["gc", "--dry-run"], ["version"]):
        result = shared.run("--json", *arguments)
        assert isinstance(json.loads(result.out), dict) and result.out.endswith(b"\n") and result.err == b""
