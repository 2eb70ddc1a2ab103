# SPDX-License-Identifier: Apache-2.0
"""200 creates at once under a ceiling: never more containers than it allows, and everybody's turn comes."""
from conftest import IMAGE


def test_200_creates_under_a_ceiling(fake, sb):
    config = sb.state_dir.parent / "config/sandbox/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("ceilings: {sessions: 12, sessionsPerOwner: 6}\n")
    most = [0]
    fake.model.on_start = lambda _: most.__setitem__(0, max(most[0], len(fake.model.containers)))
    children = [sb.start("create", "--image", IMAGE, "--wait", "500s", env={"SANDBOX_OWNER": f"owner-{n % 5}"}) for n in range(200)]
    outcomes = [(child.communicate(timeout=500)[1].decode(), child.returncode) for child in children]
    # No agent answers here: whoever got a place fails at the hand-shake, and nobody for want of one.
    assert not [outcome for outcome in outcomes if outcome[1] == 7], outcomes[:3]
    assert len([call for call in fake.calls if str(call).startswith("POST /containers/create")]) >= 200
    assert 2 <= most[0] <= 12
    assert not list((sb.state_dir / "locks").glob(".waiter-*")) and not sb.sessions("--all-owners")
