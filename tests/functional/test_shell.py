# SPDX-License-Identifier: Apache-2.0
"""shell and exec -it as a person sees them, in tmux; exec -u, which goes through the engine. Both channels."""
import os
import signal

import pytest

from runner import wait_until
from tmux import Tmux

# A prompt of its own, so that nothing depends on the image's.
PROMPT = "ready> "


@pytest.fixture
def open_shell(shared, session):
    opened = []

    def open(*args, command=None, **kw):
        argv = command or shared.argv("shell", *args, session)
        screen = Tmux(argv, shared.environ({"PS1": PROMPT}), **kw)
        opened.append(screen)
        return screen
    yield open
    for screen in opened:
        screen.__exit__()


def at_prompt(screen):
    screen.wait_for("workspace")
    screen.type(f"PS1='{PROMPT}'; clear", "Enter")
    screen.wait_until(lambda text: f"\n{PROMPT.strip()}" in text, "prompt")


def state_of(shared, session, command):
    """S or T of a process in the session; None where there is none."""
    script = f"for p in /proc/[0-9]*; do [ \"$(tr '\\0' ' ' <$p/cmdline 2>/dev/null)\" = '{command} ' ] && sed 's/^[0-9]* ([^)]*) \\(.\\).*/\\1/' $p/stat; done; true"
    return shared.sh(session, script).text.strip() or None


def test_size_resize_keys_and_status(open_shell, shared, session):
    screen = open_shell(rows=30, columns=90)
    at_prompt(screen)
    screen.type("stty size", "Enter")
    screen.wait_for("30 90")
    screen.resize(20, 70)
    screen.type("stty size", "Enter")
    screen.wait_for("20 70")
    screen.type("sleep 300", "Enter")
    wait_until(lambda: state_of(shared, session, "sleep 300") == "S")
    screen.type("C-c")
    screen.type("echo after-$((40+2))", "Enter")
    screen.wait_for("after-42")
    screen.type("sleep 301", "Enter")
    wait_until(lambda: state_of(shared, session, "sleep 301") == "S")
    screen.type("C-z")
    screen.wait_for("Stopped")
    screen.type("fg", "Enter")
    wait_until(lambda: state_of(shared, session, "sleep 301") == "S")
    screen.type("C-c")
    screen.type("echo gone-$((1+1)); exit 7", "Enter")
    assert screen.status() == 7
    assert "gone-2" in screen.screen()


def test_ctrl_d_ends_it_with_the_last_status(open_shell):
    screen = open_shell()
    at_prompt(screen)
    screen.type("false", "Enter", "C-d")
    assert screen.status() == 1
    assert {"icanon", "echo", "isig"} <= screen.settings()


@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_signal_from_elsewhere_ends_it_and_gives_the_terminal_back(open_shell, number, status):
    screen = open_shell()
    at_prompt(screen)
    os.kill(screen.child(), number)
    assert screen.status() == status
    assert {"icanon", "echo", "isig"} <= screen.settings()


def test_two_people_at_once(open_shell, shared, session):
    one, other = open_shell(), open_shell()
    for screen in (one, other):
        at_prompt(screen)
    one.type("echo from-one >shared-note", "Enter")
    wait_until(lambda: shared.run("exec", session, "cat", "shared-note", status=None).out == b"from-one\n")
    other.type("cat shared-note", "Enter")
    other.wait_for("from-one")
    one.type("exit", "Enter")
    assert one.status() == 0
    other.type("echo still-$((2+3)); exit", "Enter")
    assert other.status() == 0 and "still-5" in other.screen()


def test_the_detach_keys_leave_what_runs(open_shell, shared, session):
    screen = open_shell()
    at_prompt(screen)
    screen.type("sleep 3333", "Enter")
    wait_until(lambda: b"sleep 3333" in shared.run("exec", session, "ps").out)
    screen.type("C-p", "C-q")
    assert screen.status() == 0
    assert "detached" in screen.screen()
    assert b"sleep 3333" in shared.run("exec", session, "ps").out
    shared.sh(session, "kill $(ps | sed -n 's/^ *\\([0-9]*\\) .*sleep 3333$/\\1/p')")


def test_the_first_of_the_detach_keys_works_as_ever(open_shell):
    """ctrl-p is the last command to every shell: it is not held back."""
    screen = open_shell()
    at_prompt(screen)
    screen.type("echo once-$((3+4))", "Enter")
    screen.wait_for("once-7")
    screen.type("clear", "Enter", "C-p", "C-p")
    screen.wait_for("echo once-")
    screen.type("Enter")
    screen.wait_for("once-7")
    screen.type("exit", "Enter")
    assert screen.status() == 0


def test_other_keys_and_none(open_shell, shared, session):
    screen = open_shell("--detach-keys", "ctrl-]")
    at_prompt(screen)
    screen.type("C-]")
    assert screen.status() == 0
    screen = open_shell("--detach-keys", "none")
    at_prompt(screen)
    screen.type("C-p", "C-q", "Enter", "echo here-$((1+2)); exit 3", "Enter")
    assert screen.status() == 3
    shared.fails(125, "exec", "--detach-keys", "ctrl-", session, "true")


def test_exec_it_is_a_terminal_too(open_shell, shared, session):
    screen = open_shell(command=shared.argv("exec", "-it", session, "sh", "-c", "tty; stty size; read x; echo got-$x; exit 9"), rows=25, columns=80)
    screen.wait_for("/dev/pts/", "25 80")
    screen.type("word", "Enter")
    assert screen.status() == 9
    assert "got-word" in screen.screen()


def test_an_image_without_a_shell(sb, image):
    bare = sb.create(image=image("scratch"))
    with Tmux(sb.argv("shell", bare), sb.environ()) as screen:
        screen.wait_for("BusyBox")  # no link is called sh, and there is no PATH
    session = sb.create(image=image("no-shell"))
    with Tmux(sb.argv("shell", session), sb.environ()) as screen:
        assert screen.status() == 127
        assert "no shell" in screen.screen()


def test_no_terminal_no_shell(shared, session):
    assert "exec -i" in shared.fails(125, "shell", session).errors
    shared.fails(125, "shell", "nosuch")


def test_a_failed_run_opens_a_shell(sb, engine):
    with Tmux(sb.argv("run", "--image", sb.base_image, "--on-failure", "shell", "--", "sh", "-c", "echo x >left; exit 4"), sb.environ()) as screen:
        screen.wait_for("status 4", "workspace")
        screen.type("cat left; exit", "Enter")
        assert screen.status() == 4
    assert sb.json("ps")["sessions"] == []


# exec -u

def test_another_user_through_the_engine(shared, session):
    done = shared.run("exec", "-u", "1234:99", "-e", "A=b", "-w", "/tmp", session, "sh", "-c", "id -u; id -g; pwd; echo $A; exit 6", status=6)
    assert done.out == b"1234\n99\n/tmp\nb\n"
    assert shared.run("exec", "-i", "-u", "1234", session, "cat", input=b"through").out == b"through"
    shared.fails(125, "exec", "-u", "no-such-user", session, "true")
    assert shared.run("exec", "-u", "1234", session, "nosuch", status=127)


def test_another_users_time_out_ends_the_tree(shared, session):
    shared.run("exec", "-u", "1234", "--timeout", "1s", session, "sh", "-c", "setsid sleep 4444 & sleep 4445", status=124)
    assert b"444" not in shared.run("exec", session, "ps").out


def test_another_users_command_goes_with_its_client(shared, session):
    running = shared.start("exec", "-u", "1234", session, "sh", "-c", "echo up; setsid sleep 5555 & sleep 5556")
    assert running.stdout.readline() == b"up\n"
    running.kill()
    running.communicate()
    wait_until(lambda: b"555" not in shared.run("exec", session, "ps").out)


@pytest.mark.parametrize("attack", ["kill -STOP $PPID", "kill -9 $PPID"])
def test_a_command_of_another_user_that_attacks_its_supervisor_ends_all_the_same(shared, session, attack):
    done = shared.run("exec", "-u", "1234", "--timeout", "1s", session, "sh", "-c", f"{attack}; setsid sleep 6666 & sleep 6667", status=None)
    assert done.status in (124, 125), done
    assert b"666" not in shared.run("exec", session, "ps").out


def test_the_sessions_own_user_needs_no_engine(shared, session):
    assert shared.run("exec", "-u", "root", "-e", "A=b", session, "sh", "-c", "id -u; echo $A").out == b"0\nb\n"


def test_a_time_out_cannot_be_left_by_detaching(open_shell, shared, session):
    screen = open_shell(command=shared.argv("exec", "-it", "--timeout", "3s", session, "sh"))
    screen.wait_for("workspace")
    screen.type("C-p", "C-q")
    assert screen.status() == 124


def test_another_user_gets_literals_and_no_references(sb):
    sb.env["SECRET_HERE"] = "hidden"
    session = sb.create(manifest={"env": {"PLAIN": "seen", "TOKEN": {"fromEnv": "SECRET_HERE"}}})
    out = sb.run("exec", "-u", "1234", session, "env").out
    assert b"PLAIN=seen" in out and b"hidden" not in out
    assert b"TOKEN=hidden" in sb.run("exec", session, "env").out


def test_the_session_does_not_idle_under_another_users_command(sb):
    session = sb.create("--idle-timeout", "1s")
    assert sb.run("exec", "-u", "1234", session, "sh", "-c", "sleep 3; echo done").out == b"done\n"


def test_another_users_command_hears_of_the_sessions_end(sb):
    session = sb.create("--ttl", "3s")
    assert "expired" in sb.run("exec", "-u", "1234", session, "sleep", "60", status=124).errors
