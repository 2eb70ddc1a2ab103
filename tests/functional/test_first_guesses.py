# SPDX-License-Identifier: Apache-2.0
"""What users of docker, kubectl and git type first: each line does what it says, or the hint names what to type instead."""
import re

import pytest

from runner import BASE, ROOT

CREATE = f"create --image {BASE} --dry-run"

# line -> what it prints on standard output, as a pattern. `web` is a session.
DONE = {
    "ls": r"\bweb\b",
    "ps -a": r"\bweb\b",
    "ps -q": r"^s[0-9a-f]{12}\n$",
    "ps --all": r"\bweb\b",
    "exec -i web echo hello": "hello",
    "exec web -- echo hello": "hello",
    "exec -e A=b web env": "A=b",
    "exec --env A=b web env": "A=b",
    "exec -w /tmp web pwd": "/tmp",
    "exec --workdir /tmp web pwd": "/tmp",
    "inspect web": r"\bweb\b",
    "logs -f web": "",
    "logs --tail 5 web": "",
    "logs --tail=all -t web": "",
    "proc ls web": "",
    "proc start -e A=b -w /tmp web true": r"^p1\n$",
    "--version": r"\d+\.\d+\.\d+",
    "version": r"\d+\.\d+\.\d+",
    "help exec": "--timeout",
    "exec --help": "--timeout",
    "exec -h": "--timeout",
    f"{CREATE} --name x": "x",
    f"{CREATE} --memory 512m": "512MiB",
    f"{CREATE} -m 1g --json": "1GiB",
    f"{CREATE} -m=1g --json": "1GiB",
    f"{CREATE} -l=a=b --json": '"a":"b"',
    f"{CREATE} --rm": r"\blifecycle.autoDestroy +true\b",
    f"{CREATE} --rm=false --set lifecycle.autoDestroy=false": r"\blifecycle.autoDestroy +false\b",
    "exec -it=false web echo hello": "hello",
    "exec -ie=A=b web env": "A=b",
    "exec -ieA=b web env": "A=b",
    f"{CREATE} --cpus 0.5": "0.5",
    f"{CREATE} -u 1000:1000 --json": "1000:1000",
    f"{CREATE} --user 1000 --json": '"1000"',
    f"{CREATE} -w /srv --json": "/srv",
    f"{CREATE} -p 8080 --network bridge --json": "8080",
    f"{CREATE} -l a=b --label c=d --json": '"c":"d"',
    f"{CREATE} --pull always --json": "always",
    f"{CREATE} --tmpfs /scratch=16m --json": "/scratch",
    f"{CREATE} --env-file vars --json": "FROM_FILE",
    "rm nosuch --ignore-missing": "",
}

# line -> (exit status, what the hint names)
HINTS = {
    "run node:22 node -v": (2, "sandbox create --image"),
    "run --rm -it node:22 bash": (2, "sandbox create --image"),
    "create web": (2, "--image"),
    "create node:22": (2, "--image"),
    "create --name web2": (2, "--image"),
    "start web": (2, "sandbox create"),
    "stop web": (2, "sandbox destroy"),
    "restart web": (2, "sandbox destroy"),
    "kill web": (2, "sandbox destroy"),
    "delete web": (2, "sandbox destroy"),
    "down": (2, "sandbox destroy --all"),
    "up -d": (2, "sandbox create -f"),
    "apply -f m.yaml": (2, "sandbox create -f"),
    "list": (2, "sandbox ps"),
    "get pods": (2, "sandbox ps"),
    "describe web": (2, "sandbox inspect"),
    "status": (2, "sandbox ps"),
    "log": (2, "sandbox logs"),
    "processes": (2, "sandbox proc ls"),
    "proc list web": (2, "sandbox proc ls"),
    "proc kill web x": (2, "sandbox proc stop"),
    "proc status web": (2, "sandbox proc ls"),
    "proc start -d web sleep 9": (2, "leave it out"),
    "proc start -it web sh": (2, "leave it out"),
    "proc start --restart always web true": (2, "on-failure:3"),
    "proc start --wait web true": (2, "--ready-port"),
    "proc stop -t 5 web x": (2, "--grace"),
    "proc stop web nosuch": (3, "sandbox proc ls"),
    "proc ls -a web": (2, "leave it out"),
    "proc logs --until 5m web x": (2, "--since"),
    "prc ls web": (2, "proc"),
    "top web": (2, "sandbox exec"),
    "attach web": (2, "sandbox exec -it"),
    "ssh web": (2, "sandbox exec -it"),
    "sh web": (2, "sandbox exec -it"),
    "shell web": (2, "sandbox exec -it"),
    "port web": (2, "sandbox inspect"),
    "commit web me/web": (2, "--workspace"),
    "export web": (2, "sandbox cp"),
    "images": (2, "sandbox image"),
    "image ls": (2, "docker images"),
    "pull node:22": (2, "sandbox create"),
    "build .": (2, "sandbox image import"),
    "login": (2, "docker login"),
    "system prune": (2, "sandbox gc"),
    "prune": (2, "sandbox gc"),
    "container ls": (2, "sandbox ps"),
    "volume ls": (2, "sandbox workspace ls"),
    "workspace delete x": (2, "sandbox workspace rm"),
    "workspace list": (2, "workspace ls"),
    "init": (2, "sandbox manifest init"),
    "validate m.yaml": (2, "sandbox manifest check"),
    "manifest lint m.yaml": (2, "sandbox manifest check"),
    "clone https://example.org/x.git": (2, "sandbox manifest explain"),
    "cretae": (2, "create"),
    "exce web true": (2, "exec"),
    "manfiest check x": (2, "manifest"),
    "manifests": (2, "manifest"),
    "workspce ls": (2, "workspace"),
    "imge": (2, "image"),
    "confg": (2, "config"),
    "ws ls": (2, "sandbox workspace ls"),
    "workspace show x": (2, "sandbox workspace inspect"),
    "image list": (2, "docker images"),
    "image inspect x": (2, "docker image inspect"),
    "image prune": (2, "docker image prune"),
    "config list": (2, "sandbox config show"),
    "update --memory 1g web": (2, "sandbox create"),
    "edit web": (2, "sandbox create"),
    "label web a=b": (2, "--label"),
    "open web": (2, "sandbox exec -it"),
    "port-forward web 80": (2, "--publish"),
    "compose up": (2, "sandbox create -f"),
    "-v": (2, "sandbox --version"),
    "-H unix:///x ps": (2, "--engine URL"),
    "--host=unix:///x ps": (2, "--engine URL"),
    "--context x ps": (2, "DOCKER_CONTEXT"),
    "-c x ps": (2, "DOCKER_CONTEXT"),
    "--namespace x ps": (2, "--owner NAME"),
    "-n ns ps": (2, "--owner NAME"),
    "--output json ps": (2, "--json"),
    "--log-level debug ps": (2, "--verbose"),
    "--log-level=debug ps": (2, "--verbose"),
    "-D ps": (2, "--verbose"),
    "-f ticket.yaml": (2, "sandbox create -f MANIFEST"),
    "-l a=b ps": (2, "sandbox ps -l KEY=VALUE"),
    "--ownr me ps": (2, "--owner"),
    "exec web": (125, "sandbox exec -it web sh"),
    "exec -it web": (125, "sandbox exec -it web sh"),
    "exec web --timeout 5s -- true": (125, "sandbox exec --timeout 5s web -- true"),
    "exec web -it sh": (125, "sandbox exec -it web -- sh"),
    "exec --timeout 30 web true": (125, "30s"),
    "exec -u root web id": (125, "`user:`"),
    "exec -d web sleep 9": (125, "sandbox proc start"),
    "exec --tiemout 5s web true": (125, "--timeout"),
    "exec nosuch true": (125, "sandbox ps"),
    f"{CREATE} -v /src:/src": (2, "sandbox cp"),
    f"{CREATE} --mount type=bind": (2, "sandbox cp"),
    f"{CREATE} --privileged": (2, "--add-capabilities"),
    f"{CREATE} -d": (2, "sandbox exec"),
    f"{CREATE} -it": (2, "sandbox exec -it"),
    f"{CREATE} -p 8080:80": (2, "sandbox inspect"),
    f"{CREATE} --net host": (2, "--network"),
    f"{CREATE} --network host": (2, "bridge"),
    f"{CREATE} --cap-add NET_RAW": (2, "--add-capabilities"),
    f"{CREATE} --read-only": (2, "--readonly-rootfs"),
    f"{CREATE} --entrypoint sh": (2, "sandbox exec"),
    f"{CREATE} --gpus all": (2, "devices"),
    f"{CREATE} --pids-limit 5": (2, "--pids"),
    f"{CREATE} --shm-size 64m": (2, "--tmpfs"),
    f"{CREATE} --timeout 30": (2, "30s"),
    f"{CREATE} --memroy 1g": (2, "--memory"),
    f"{CREATE} --mem 1g": (2, "--memory"),
    f"{CREATE} --idle 5m": (2, "--idle-timeout"),
    f"{CREATE} --cidfile f": (2, "S=$(sandbox create"),
    f"{CREATE} --dns 1.1.1.1": (2, "leave --dns out"),
    f"{CREATE} -P": (2, "--publish PORT"),
    f"{CREATE} -n web": (2, "--name"),
    f"{CREATE} --name": (2, "--name VALUE"),
    f"{CREATE} --memory lots": (2, "512MB"),
    "cp -r web:src .": (2, "leave it out"),
    "cp -a src web:": (2, "owners"),
    "cp -q a web:": (2, "--quiet"),
    "exec -it web true": (125, "leave -t out"),
    "cp a b": (2, "SESSION:PATH"),
    "cp web:file": (2, "sandbox cp"),
    "rm": (2, "--all"),
    "rm -rf nosuch": (2, "leave -rf out"),
    "rm -v nosuch": (2, "sandbox workspace rm"),
    "ps --filter label=a=b": (2, "-l KEY=VALUE"),
    "ps -f name=x": (2, "-l KEY=VALUE"),
    "ps -l": (2, "--label KEY=VALUE"),
    "events --tail 5": (2, "--since"),
    "events --until 5m": (2, "--since"),
    "events --filter type=x": (2, "--kind"),
    "diff --stat web": (2, "--patch"),
    "diff --name-only web": (2, "A, M or D"),
    "diff --name-status web": (2, "A, M or D"),
    "manifest explain limit": (2, '"limits"'),
    "ps -o json": (2, "--json"),
    "inspect -f {{.State}} web": (2, "--json"),
    "gc --all": (2, "--workspaces"),
    "gc web": (2, "sandbox destroy"),
    "info": (2, "sandbox doctor"),
    "health": (2, "sandbox doctor"),
    "repair": (2, "sandbox doctor --repair"),
    "doctor --fix": (2, "--repair"),
    "doctor web": (2, "sandbox inspect --effective"),
}


@pytest.fixture(scope="module")
def web(shared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    (folder / "vars").write_text("FROM_FILE=1\n")
    shared.run("create", "--image", BASE, "--name", "web")
    yield folder
    shared.run("destroy", "web")


def test_there_are_enough():
    assert len(DONE) + len(HINTS) >= 100


@pytest.mark.parametrize("line", DONE)
def test_does_what_it_says(shared, web, line):
    assert re.search(DONE[line], shared.run(*line.split(), cwd=web).text)


@pytest.mark.parametrize("line", HINTS)
def test_is_told_what_to_type(shared, web, line):
    status, named = HINTS[line]
    lines = shared.fails(status, *line.split(), cwd=web).errors.splitlines()
    assert len(lines) == 2 and lines[1].startswith("hint: ") and named in lines[1], lines


def test_every_hint_names_what_there_is(shared):
    """A command or an option that a hint names is one of the table's."""
    cli = shared.run("__dump-cli").json()
    verbs = {command["name"] for command in cli["commands"]} | {"create"}
    groups = {name.split()[0] for name in verbs}
    options = {option["name"] for command in cli["commands"] for option in command["options"]} | {option["name"] for option in cli["globalOptions"]} | {"version"}
    text = (ROOT / "src/cli/first_guesses.cpp").read_text()
    hints = re.findall(r'Guess\{(?:"[^"]*"|k_\w+), "[^"]*", "([^"]*)"\}', text) + re.findall(r'k_\w+ = "([^"]*)"', text)
    assert len(hints) > 100
    for hint in hints:
        for first, second in re.findall(r"sandbox ([a-z]+)(?: ([a-z]+))?", hint):
            assert first in verbs or f"{first} {second}" in verbs or (first in groups and not second), hint
        for option in re.findall(r"--([a-z-]+)", hint.replace("leave --", "")):
            assert option in options, hint
