# SPDX-License-Identifier: Apache-2.0
"""What a fake engine knows: containers, volumes, networks, images, execs and files, in memory.

Every method answers like dockerd does, as an Answer; nothing here knows about sockets or faults.
"""
import dataclasses
import io
import json
import os
import re
import secrets
import tarfile
import time


@dataclasses.dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict = dataclasses.field(default_factory=dict)
    chunked: bool = False
    hijack: object = None  # for an attached exec: gives the bytes that come after the header
    is_raw: bool = False   # for an attached exec: a terminal's, not frames
    play: object = None    # for an attached exec: called with (reader, connection) after those


def json_answer(value, status=200):
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"})


def error(status, message):
    return json_answer({"message": message}, status)


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def progress(*objects):
    body = b"".join(json.dumps(item).encode() + b"\r\n" for item in objects)
    return Answer(200, body, {"Content-Type": "application/json"}, chunked=True)


class Model:
    def __init__(self):
        self.containers = {}  # id -> dict
        self.volumes = {}     # name -> dict, with "files"
        self.networks = {}    # name -> dict
        self.images = {}      # reference -> inspect answer
        self.execs = {}       # id -> dict
        self.omits_empty = False # 1.52: an image's config has no empty fields, and no null
        # Called with a container that was started: a test may play the agent here.
        self.on_start = lambda container: None
        self.asked = []  # every container spec that came, in order
        # Called with (container, exec's create body); returns (stdout, stderr, exit status).
        self.run_exec = lambda container, spec: (b"", b"", 0)

    def add_image(self, reference, **config):
        self.images[reference] = {"Id": "sha256:" + secrets.token_hex(32), "Architecture": "amd64", "Config": config}

    # Containers

    def find(self, key):
        for container in self.containers.values():
            if key in (container["Id"], container["Name"]):
                return container
        return None

    def create_container(self, name, spec):
        self.asked.append(spec)
        if self._image(spec["Image"]) is None:
            return error(404, f"No such image: {spec['Image']}")
        if name and self.find(name):
            holder = self.find(name)["Id"]
            return error(409, f'Conflict. The container name "/{name}" is already in use by container "{holder}".')
        host = spec.get("HostConfig", {})
        for mount in host.get("Mounts") or []:
            if mount["Type"] == "bind" and not os.path.exists(mount["Source"]):
                return error(400, f'invalid mount config for type "bind": bind source path does not exist: {mount["Source"]}')
        container = {"Id": secrets.token_hex(32), "Name": name or secrets.token_hex(4), "Created": now(), "Spec": spec,
                     "Status": "created", "ExitCode": 0, "Mounts": [self._mount(m) for m in host.get("Mounts") or []],
                     "files": {}}
        self.containers[container["Id"]] = container
        return json_answer({"Id": container["Id"], "Warnings": None}, 201)

    def _mount(self, mount):
        name = mount.get("Source", "")
        if mount["Type"] == "volume":
            anonymous = not name
            name = name or secrets.token_hex(32)
            labels = mount.get("VolumeOptions", {}).get("Labels") or {}
            self.volumes.setdefault(name, {"Name": name, "Labels": labels, "CreatedAt": now(), "files": {}})
            return {"Type": "volume", "Name": name, "Destination": mount["Target"], "RW": not mount.get("ReadOnly"),
                    "anonymous": anonymous}
        return {"Type": mount["Type"], "Source": name, "Destination": mount["Target"], "RW": not mount.get("ReadOnly")}

    def inspect_container(self, key):
        container = self.find(key)
        if container is None:
            return error(404, f"No such container: {key}")
        status, spec = container["Status"], container["Spec"]
        state = {"Status": status, "Running": status in ("running", "paused"), "Paused": status == "paused",
                 "OOMKilled": False, "ExitCode": container["ExitCode"], "Error": "", "FinishedAt": now()}
        return json_answer({"Id": container["Id"], "Name": "/" + container["Name"], "Created": container["Created"],
                            "State": state, "Config": spec, "Mounts": container["Mounts"], "HostConfig": spec.get("HostConfig"),
                            "NetworkSettings": {"Ports": {}}})

    def list_containers(self, filters):
        found = [c for c in self.containers.values() if self._matches(filters, c["Spec"].get("Labels"), c)]
        return json_answer([{"Id": c["Id"], "Names": ["/" + c["Name"]], "Image": c["Spec"]["Image"], "State": c["Status"],
                             "Labels": c["Spec"].get("Labels"), "Mounts": c["Mounts"], "Ports": [],
                             "Created": int(time.time())} for c in found])

    @staticmethod
    def _matches(filters, labels, container=None):
        labels = labels or {}
        for wanted in filters.get("label", []):
            key, equals, value = wanted.partition("=")
            if key not in labels or (equals and labels[key] != value):
                return False
        if container is not None:
            mounted = [m.get("Name") for m in container["Mounts"]]
            if not all(v in mounted for v in filters.get("volume", [])):
                return False
            return all(re.search(n, container["Name"]) for n in filters.get("name", [])[:1])
        return True

    def start_container(self, key):
        container = self.find(key)
        if container is None:
            return error(404, f"No such container: {key}")
        if container["Status"] == "running":
            return Answer(304)
        container["Status"] = "running"
        self.on_start(container)
        return Answer(204)

    def end_container(self, key, exit_code=137):
        container = self.find(key)
        if container is None:
            return error(404, f"No such container: {key}")
        if container["Status"] not in ("running", "paused"):
            return error(409, f"Container {key} is not running")
        container.update(Status="exited", ExitCode=exit_code)
        if container["Spec"].get("HostConfig", {}).get("AutoRemove"):
            self._forget(container)
        return Answer(204)

    def remove_container(self, key):
        container = self.find(key)
        if container is None:
            return error(404, f"No such container: {key}")
        self._forget(container)
        return Answer(204)

    def _forget(self, container):
        del self.containers[container["Id"]]
        for mount in container["Mounts"]:
            if mount.get("anonymous"):
                self.volumes.pop(mount["Name"], None)

    def set_paused(self, key, paused):
        container = self.find(key)
        if container is None:
            return error(404, f"No such container: {key}")
        container["Status"] = "paused" if paused else "running"
        return Answer(204)

    # Files: {absolute path: (TarInfo, bytes)} in the volume that is mounted there, else in the container

    def _store(self, container, path):
        best, store = "", container["files"]
        for mount in container["Mounts"]:
            target = mount["Destination"]
            inside = path == target or path.startswith(target.rstrip("/") + "/")
            if mount["Type"] == "volume" and inside and len(target) > len(best):
                best, store = target, self.volumes[mount["Name"]]["files"]
        return store

    def put_archive(self, key, path, tar):
        container = self.find(key)
        if container is None:
            return error(404, f"No such container: {key}")
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            for entry in archive:
                full = os.path.normpath(os.path.join(path, entry.name))
                content = archive.extractfile(entry).read() if entry.isreg() else b""
                self._store(container, full)[full] = (entry, content)
        return Answer(200)

    def get_archive(self, key, path):
        container = self.find(key)
        if container is None:
            return error(404, f"No such container: {key}")
        path = os.path.normpath(path)
        store = self._store(container, path)
        found = {p: e for p, e in store.items() if p == path or p.startswith(path.rstrip("/") + "/")}
        if not found:
            return error(404, f"Could not find the file {path} in container {key}")
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for full, (entry, content) in sorted(found.items()):
                entry.name = os.path.relpath(full, os.path.dirname(path))
                archive.addfile(entry, io.BytesIO(content))
        return Answer(200, buffer.getvalue(), {"Content-Type": "application/x-tar"}, chunked=True)

    # Volumes and networks

    def create_volume(self, spec):
        volume = self.volumes.setdefault(spec["Name"], {"Name": spec["Name"], "Labels": spec.get("Labels"),
                                                        "CreatedAt": now(), "files": {}})
        return json_answer(self._shown(volume), 201)

    @staticmethod
    def _shown(volume):
        return {key: value for key, value in volume.items() if key != "files"}

    def inspect_volume(self, name):
        if name not in self.volumes:
            return error(404, f"get {name}: no such volume")
        return json_answer(self._shown(self.volumes[name]))

    def list_volumes(self, filters):
        found = [self._shown(v) for v in self.volumes.values() if self._matches(filters, v["Labels"])]
        return json_answer({"Volumes": found or None, "Warnings": None})

    def remove_volume(self, name):
        if name not in self.volumes:
            return error(404, f"get {name}: no such volume")
        users = [c["Id"] for c in self.containers.values() if any(m.get("Name") == name for m in c["Mounts"])]
        if users:
            return error(409, f"remove {name}: volume is in use - [{', '.join(users)}]")
        del self.volumes[name]
        return Answer(204)

    def inspect_network(self, name):
        if name not in self.networks:
            return error(404, f"network {name} not found")
        return json_answer(self.networks[name])

    def create_network(self, spec):
        if spec["Name"] in self.networks:
            return error(409, f"network with name {spec['Name']} already exists")
        self.networks[spec["Name"]] = {"Id": secrets.token_hex(32), **spec}
        return json_answer({"Id": self.networks[spec["Name"]]["Id"], "Warning": ""}, 201)

    # Images

    def _image(self, reference):
        if reference in self.images:
            return self.images[reference]
        return next((i for r, i in self.images.items() if i["Id"] == reference or r == reference + ":latest"), None)

    def inspect_image(self, reference):
        image = self._image(reference)
        if not image:
            return error(404, f"No such image: {reference}")
        config = image["Config"] if self.omits_empty else {"User": "", "Env": None, "Volumes": None, "Entrypoint": None, **image["Config"]}
        return json_answer({**image, "Config": config})

    def create_image(self, query, body):
        if "fromSrc" in query:
            return error(501, "this engine imports nothing")
        reference = f"{query['fromImage']}:{query['tag']}"
        if reference not in self.images:
            return error(404, f"manifest for {reference} not found: manifest unknown: manifest unknown")
        return progress({"status": "Pulling from " + query["fromImage"], "id": query["tag"]}, {"status": "Download complete"})

    # Execs

    def create_exec(self, key, spec):
        container = self.find(key)
        if container is None:
            return error(404, f"No such container: {key}")
        if container["Status"] != "running":
            return error(409, f"Container {container['Id']} is not running")
        exec_id = secrets.token_hex(32)
        self.execs[exec_id] = {"Spec": spec, "Container": container, "Running": True, "ExitCode": None}
        return json_answer({"Id": exec_id}, 201)

    def inspect_exec(self, exec_id):
        if exec_id not in self.execs:
            return error(404, f"No such exec instance: {exec_id}")
        item = self.execs[exec_id]
        return json_answer({"ID": exec_id, "Running": item["Running"], "ExitCode": item["ExitCode"]})

    def finish_exec(self, exec_id):
        """Runs it and returns the bytes of its attached stream."""
        item = self.execs[exec_id]
        out, err, status = self.run_exec(item["Container"], item["Spec"])
        item.update(Running=False, ExitCode=status)
        if item["Spec"].get("Tty"):
            return out + err
        frames = [(1, out), (2, err)]
        return b"".join(bytes([s, 0, 0, 0]) + len(p).to_bytes(4, "big") + p for s, p in frames if p)
