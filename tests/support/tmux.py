# SPDX-License-Identifier: Apache-2.0
"""A terminal as a person has one: tmux keeps the screen, the tests type and look.

    with Tmux(sb.argv("shell", session), sb.environ()) as screen:
        screen.wait_for("$ "); screen.type("echo hi", "Enter")
"""
import itertools
import os
import subprocess
import tempfile
import time

_numbers = itertools.count(1)


class Tmux:
    def __init__(self, argv, env, rows=24, columns=100):
        self.socket = f"sandbox-{os.getpid()}-{next(_numbers)}"
        self.env = {**env, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as config:
            # The pane stays after its command, so that what it said and its status can be read.
            config.write("set-option -g remain-on-exit on\n")
            config.flush()
            self._tmux("-f", config.name, "new-session", "-d", "-x", str(columns), "-y", str(rows), *[str(a) for a in argv])

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
        return self._tmux("capture-pane", "-p", "-J")

    def resize(self, rows, columns):
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def wait_for(self, *texts, seconds=20):
        return self._wait(lambda screen: all(text in screen for text in texts), f"{texts} on the screen", seconds)

    def _wait(self, condition, what, seconds):
        until = time.monotonic() + seconds
        while not condition(screen := self.screen()):
            assert time.monotonic() < until, f"no {what}:\n{screen}"
            time.sleep(0.05)
        return screen

    def status(self, seconds=20):
        """The status of the command once it has ended."""
        until = time.monotonic() + seconds
        while len(answer := self._tmux("display-message", "-p", "#{pane_dead} #{pane_dead_status}").split()) < 2:
            assert time.monotonic() < until, f"still running, or ended by a signal:\n{self.screen()}"
            time.sleep(0.05)
        return int(answer[1])

    def child(self):
        """The pid of the one process that the pane's shell has started."""
        pane = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        with open(f"/proc/{pane}/task/{pane}/children") as file:
            return int(file.read())
