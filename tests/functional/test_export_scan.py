# SPDX-License-Identifier: Apache-2.0
"""export.scan: what a session gives out passes the caller's command first, on every way out of cp."""
import io
import os
import tarfile

import pytest

# A scanner that reads its input, refuses what holds "virus", and keeps a list of how much it saw.
SCANNER = """#!/bin/sh
content=$(cat)
echo "${#content} $1" >>"$SEEN"
case $content in *virus*) echo "found something"; exit 1;; esac
"""


@pytest.fixture
def scanner(tmp_path):
    path = tmp_path / "scanner"
    path.write_text(SCANNER)
    path.chmod(0o755)
    return path


@pytest.fixture
def scanned(sb, scanner, tmp_path):
    sb.env["SEEN"] = str(tmp_path / "seen")
    session = sb.create(manifest={"export": {"scan": [str(scanner), "-"]}})
    sb.sh(session, "mkdir -p good/sub bad; echo fine >good/sub/a; echo alike >good/b; ln -s b good/l; echo fine >bad/a; echo a virus >bad/b; cp bad/b single")
    return session


def seen(tmp_path):
    return sorted((tmp_path / "seen").read_text().splitlines())


def test_what_passes_arrives(sb, scanned, tmp_path):
    sb.run("cp", f"{scanned}:good", tmp_path / "out")
    assert (tmp_path / "out/sub/a").read_text() == "fine\n" and os.readlink(tmp_path / "out/l") == "b"
    assert seen(tmp_path) == ["4 -", "5 -"]  # each file's content on stdin, links and directories not
    names = tarfile.open(fileobj=io.BytesIO(sb.run("cp", f"{scanned}:good", "-").out)).getnames()
    assert sorted(names) == ["good", "good/b", "good/l", "good/sub", "good/sub/a"]
    other = sb.create()
    sb.run("cp", f"{scanned}:good", f"{other}:")
    assert sb.sh(other, "cat good/sub/a good/l").text == "fine\nalike\n"


def test_what_is_refused_stays(sb, scanned, tmp_path):
    (tmp_path / "kept").write_text("kept")
    other = sb.create()
    for source in ("bad", "bad/.", "single"):
        error = sb.fails(6, "cp", f"{scanned}:{source}", tmp_path / ("kept" if source == "single" else "out")).errors
        assert "export.scan" in error and "found something" in error
        assert sb.fails(6, "cp", f"{scanned}:{source}", "-").out == b""
        sb.fails(6, "cp", f"{scanned}:{source}", f"{other}:")
    assert not (tmp_path / "out").exists() and (tmp_path / "kept").read_text() == "kept"
    assert sorted(os.listdir(tmp_path)) == ["kept", "scanner", "seen"]
    assert sb.sh(other, "ls -A").text == ""


def test_a_scanner_that_is_not_there_lets_nothing_pass(sb, scanned, scanner, tmp_path):
    scanner.unlink()
    assert "export.scan" in sb.fails(6, "cp", f"{scanned}:good", tmp_path / "out").errors
    assert sb.fails(6, "cp", f"{scanned}:good", "-").out == b"" and not (tmp_path / "out").exists()


def test_what_goes_in_is_not_scanned(sb, scanned, tmp_path):
    (tmp_path / "f").write_text("a virus")
    sb.run("cp", tmp_path / "f", f"{scanned}:f")
    assert not (tmp_path / "seen").exists()
