# SPDX-License-Identifier: Apache-2.0
"""A terminal as a person has one: tmux keeps the screen, the tests type and look.

    with Tmux(sb.argv("shell", session), sb.environ()) as screen:
        screen.wait_for("$ ")
        screen.type("exit 3", "Enter")
        assert screen.status() == 3
"""
import itertools
import os
import re
import subprocess
import time

_numbers = itertools.count(1)
# The shell around the command stays, and tells how it ended and what it left of the terminal.
AROUND = '"$@"; status=$?; echo; echo "status=$status"; stty -a; exec sleep 3600'


class Tmux:
    def __init__(self, argv, env, rows=24, columns=100):
        self.socket = f"sandbox-{os.getpid()}-{next(_numbers)}"
        self.env = {**env, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "sh", "-c", AROUND, "sh", *[str(a) for a in argv])

    def _tmux(self, *args):
        return subprocess.run(["tmux", "-L", self.socket, *args], env=self.env, check=True, capture_output=True, text=True, timeout=20).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], env=self.env, capture_output=True, timeout=20)

    def type(self, *keys):
        """Text as it is, or the names of keys: Enter, C-c."""
        self._tmux("send-keys", *keys)

    def screen(self):
        """All that was on it, what has scrolled away included."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-")

    def resize(self, rows, columns):
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def wait_for(self, *texts, seconds=20):
        return self.wait_until(lambda screen: all(text in screen for text in texts), f"{texts} on the screen", seconds)

    def wait_until(self, condition, what, seconds=20):
        until = time.monotonic() + seconds
        while not condition(screen := self.screen()):
            assert time.monotonic() < until, f"no {what}:\n{screen}"
            time.sleep(0.05)
        return screen

    def status(self):
        """The status of the command once it has ended; settings() are there then, too."""
        return int(re.search(r"^status=(\d+)$", self._ended(), re.MULTILINE)[1])

    def settings(self):
        """The terminal's settings after the end, as words of stty."""
        return set(re.split(r"[\s;]+", self._ended().split("status=")[-1]))

    def _ended(self):
        return self.wait_until(lambda screen: re.search(r"^status=\d+$", screen, re.MULTILINE) and "echoctl" in screen.split("status=")[-1], "end of the command")

    def child(self):
        """The pid of the command."""
        pane = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        with open(f"/proc/{pane}/task/{pane}/children") as file:
            return int(file.read())
