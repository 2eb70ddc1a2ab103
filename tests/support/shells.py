# SPDX-License-Identifier: Apache-2.0
"""Real shells at a terminal: what becomes of a line when the completion key is pressed.

    with Bash(env, cwd) as shell:
        shell.complete("sandbox insp") == ["sandbox", "inspect"]
"""
import os
import pty
import re
import select
import signal
import time

MARK = re.compile(rb"<<((?:[^>]|>(?!>))*)>>")


class Shell:
    """A shell behind a pty. `show` prints its arguments, so a line is completed, then shown instead of run."""
    argv, setup = [], ""

    def __init__(self, env, cwd):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(self.argv[0], self.argv, {**env, "TERM": "dumb", "PS1": "$ "})
        self.waiting = b""
        self.type(self.setup + "\nshow ready\n")
        ready = self.shown()
        assert ready == ["ready"], ready

    def type(self, text):
        os.write(self.fd, text.encode())

    def shown(self, seconds=60):
        """The arguments of the next `show`."""
        deadline = time.monotonic() + seconds
        while True:
            found = MARK.search(self.waiting)
            if found:
                self.waiting = self.waiting[found.end():]
                return [word.decode() for word in found[1].split(b"|")]
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.fd], [], [], left)[0], f"nothing shown: {self.waiting!r}"
            self.waiting += os.read(self.fd, 65536).replace(b"\r", b"").replace(b"\n", b"")

    def complete(self, line):
        """The words of `line` once the key was pressed at its end, as the shell would hand them to a program."""
        self.type(line + "\t")
        self.type("\x01show \x05\n")
        return self.shown()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


# Marks are written as numbers, so that the echo of this very line is not taken for one.
SHOW = r"""show() { local IFS='|'; printf '\074\074%s\076\076' "$*"; }"""


class Bash(Shell):
    argv = ["bash", "--norc", "--noprofile", "-i"]
    setup = f"bind 'set enable-bracketed-paste off'; {SHOW}; source <(sandbox completion bash)"


class BashCompletion(Shell):
    """With the bash-completion package, which finds the installed script by itself."""
    argv = ["bash", "--norc", "--noprofile", "-i"]
    setup = f"bind 'set enable-bracketed-paste off'; {SHOW}; source /usr/share/bash-completion/bash_completion"


class Zsh(Shell):
    argv = ["zsh", "-f", "-i"]
    setup = f"{SHOW}; bindkey -e; unsetopt prompt_sp auto_remove_slash; autoload -U compinit; compinit -u -D; source <(sandbox completion zsh)"


class InstalledZsh(Shell):
    """With the installed script in a directory of $fpath, as distributions have it."""
    argv = ["zsh", "-f", "-i"]
    setup = f"{SHOW}; bindkey -e; unsetopt prompt_sp auto_remove_slash; fpath=($SITE_FUNCTIONS $fpath); autoload -U compinit; compinit -u -D"
