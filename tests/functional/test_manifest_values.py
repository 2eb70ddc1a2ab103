# SPDX-License-Identifier: Apache-2.0
"""Environment, secrets and YAML: what is written is what arrives. Case L."""
import pytest

from runner import BASE


def shown(sb, session, *names):
    return sb.sh(session, 'printf "%s\\036" ' + " ".join(f'"${name}"' for name in names)).out.decode().split("\x1e")[:-1]


def test_odd_env_values(sb):
    """L1."""
    session = sb.create("-e", "A=x\ny", "-e", "B=", "-e", "C=a=b", "-e", "D", "-e", "UNSET_HERE", env={"D": "from host", "UNSET_HERE": None})
    assert shown(sb, session, "A", "B", "C", "D") == ["x\ny", "", "a=b", "from host"]
    assert sb.sh(session, 'echo "${UNSET_HERE-unset}"').text == "unset\n"


def test_env_file_grammar(sb, tmp_path):
    (tmp_path / "env").write_bytes(b"\xef\xbb\xbfFIRST=1\r\n# a comment\r\n\r\nQ=\"quoted\"\r\nHASH=a#b\r\nEQ=a=b\r\nSPACE= x \r\nHOSTED\r\nLAST=no newline")
    session = sb.create("--env-file", tmp_path / "env", env={"HOSTED": "h"})
    first, quoted, hash_, equals, hosted, last = shown(sb, session, "FIRST", "Q", "HASH", "EQ", "HOSTED", "LAST")
    assert (first, hash_, equals, hosted, last) == ("1", "a#b", "a=b", "h", "no newline")
    assert quoted == '"quoted"'  # as docker's: quotes are part of the value


def test_flag_beats_env_file_beats_manifest(sb, tmp_path):
    (tmp_path / "env").write_text("A=file\nB=file\n")
    session = sb.create("--env-file", tmp_path / "env", "-e", "A=flag", manifest={"env": {"A": "m", "B": "m", "C": "m"}})
    assert shown(sb, session, "A", "B", "C") == ["flag", "file", "m"]


def test_secrets_stay_out_of_sight(sb, tmp_path):
    """L2: neither processes, nor messages, nor files, nor any listing show a value."""
    (tmp_path / "secret").write_text("from-file-secret\n")
    manifest = f"version: 1\nimage: {BASE}\nenv:\n  F: {{fromFile: secret}}\n  E: {{fromEnv: E}}\n"
    (tmp_path / "m.yaml").write_text(manifest)
    created = sb.run("--verbose", "create", "-f", tmp_path / "m.yaml", env={"E": "from-env-secret"})
    session = created.text.strip()
    value = sb.sh(session, 'echo "$F|$E"').text
    assert "from-file-secret" in value and "from-env-secret" in value
    executed = sb.run("--verbose", "exec", "-e", "TOKEN", session, "true", env={"TOKEN": "per-exec-secret"})
    seen = b"".join([created.out, created.err, executed.out, executed.err, sb.run("--json", "inspect", session).out,
                     sb.run("--verbose", "ps").out, sb.run("create", "--dry-run", "-f", tmp_path / "m.yaml", env={"E": "from-env-secret"}).out])
    files = b"".join(path.read_bytes() for path in sb.state_dir.rglob("*") if path.is_file())
    for secret in (b"from-file-secret", b"from-env-secret", b"per-exec-secret"):
        assert secret not in seen and secret not in files


def test_no_process_inside_can_read_the_agents_environment(sb):
    session = sb.create("-e", "TOKEN=hunter2")
    result = sb.sh(session, "cat /proc/1/environ 2>&1; cat /.sandbox/sandbox-agent >/dev/null 2>&1 && echo readable", status=None)
    assert "hunter2" not in result.text and "readable" not in result.text


@pytest.mark.parametrize("written,mode", [('"0644"', "644"), ("0644", "644"), ("644", "644"), ("0o644", "644"), ("0755", "755"), ('"4755"', "4755")])
def test_modes_are_read_from_their_text(shared, written, mode):
    """L3."""
    session = shared.create(manifest=f"version: 1\nimage: {BASE}\nfiles:\n  f: {{text: x, mode: {written}}}\n")
    assert shared.run("exec", session, "stat", "-c", "%a", "f").text.strip() in (mode, mode.lstrip("4") if len(mode) == 4 else mode)
    shared.destroy(session)


def test_no_templating(sb):
    """L7."""
    session = sb.create(manifest=f'version: 1\nimage: {BASE}\nenv: {{P: "a$b$$c${{D}}"}}\nfiles: {{f: "$HOME {{{{x}}}}"}}\n')
    assert shown(sb, session, "P") == ["a$b$$c${D}"]
    assert sb.run("exec", session, "cat", "f").text == "$HOME {{x}}"


def test_yaml_block_scalars_are_byte_exact(sb):
    """L8."""
    session = sb.create(manifest=f"version: 1\nimage: {BASE}\nfiles:\n"
                        "  clip: |\n    a\n    b\n\n  strip: |-\n    a\n    b\n  keep: |+\n    a\n\n  fold: >\n    a\n    b\n\n    c\n"
                        '  escapes: "tab\\there\\u00e9\\n"\n')
    files = {name: sb.run("exec", session, "cat", name).out for name in ("clip", "strip", "keep", "fold", "escapes")}
    assert files == {"clip": b"a\nb\n", "strip": b"a\nb", "keep": b"a\n\n", "fold": b"a b\nc\n", "escapes": "tab\there\u00e9\n".encode()}


def test_crlf_and_bom(sb):
    text = f"\ufeffversion: 1\r\nimage: {BASE}\r\nfiles:\r\n  run.sh:\r\n    mode: 755\r\n    text: |\r\n      #!/bin/sh\r\n      echo ok\r\n"
    session = sb.create(manifest=text)
    assert sb.run("exec", session, "./run.sh").text == "ok\n"


def test_json_manifest(sb, tmp_path):
    (tmp_path / "m.json").write_text('{"version": 1, "image": "%s", "env": {"A": "1"}}' % BASE)
    assert shown(sb, sb.create("-f", tmp_path / "m.json", image=BASE), "A") == ["1"]


def test_tabs_are_a_clear_error(shared):
    assert "2:" in shared.fails(2, "create", "-f", "-", input="version: 1\n\timage: x\n").errors
