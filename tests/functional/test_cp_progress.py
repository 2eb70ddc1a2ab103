# SPDX-License-Identifier: Apache-2.0
"""How far a long copy is: one line on a terminal, erased at the end, and nothing anywhere else."""
import os
import pty
import select
import tarfile


def feed_until(child_input, terminal, seen, enough, limit):
    """Writes content as long as `enough()` is false, 4 KB each 2 ms at most: a copy that takes its time because its input does."""
    written = 0
    while not enough() and written < limit:
        _, writable, _ = select.select([], [child_input], [], 0.05)
        if writable:
            written += os.write(child_input, bytes(min(4096, limit - written)))
        select.select([terminal], [], [], 0.002)
        seen()
    return written


def copy_slowly(shared, session, words, size=60_000_000):
    """Runs a copy whose input is fed slowly until the line shows, or to its end; what the terminal got."""
    terminal, theirs = pty.openpty()
    read, write = os.pipe()
    info = tarfile.TarInfo("f")
    info.size = size
    header = info.tobuf(tarfile.USTAR_FORMAT)
    child = shared.start("cp", *words, "-", f"{session}:", stdin=read, stderr=theirs)
    os.close(read)
    os.close(theirs)
    output = bytearray()

    def look():
        while select.select([terminal], [], [], 0)[0]:
            try:
                output.extend(os.read(terminal, 4096))
            except OSError:
                return
    os.write(write, header)
    written = feed_until(write, terminal, look, lambda: b"copied" in output, size)
    rest = size - written
    while rest:
        rest -= os.write(write, bytes(min(rest, 65536)))
    os.write(write, bytes(-size % 512 + 1024))
    os.close(write)
    child.stdout.read()
    assert child.wait(timeout=60) == 0
    look()
    os.close(terminal)
    child.stdout.close()
    shared.run("exec", session, "rm", "f")
    return bytes(output)


def test_a_line_that_is_erased(shared, session):
    output = copy_slowly(shared, session, [])
    assert b"copied, " in output and b"/s" in output and b"\n" not in output
    assert output.endswith(b"\r\x1b[K")


def test_nothing_with_quiet_or_json(shared, session):
    for words in (["--quiet"], ["--json"]):
        assert copy_slowly(shared, session, words, 4_000_000) == b""
