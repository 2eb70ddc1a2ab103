# SPDX-License-Identifier: Apache-2.0
"""The image shapes that sessions have to cope with, each made from the local base image without a registry."""
import pathlib

BUSYBOX = pathlib.Path("/bin/busybox")
BASE = "sandbox/base:latest"

# name -> Dockerfile. All are small, so the classic builder makes one in well under a second and its cache in no time.
DOCKERFILES = {
    "entrypoint-false": f'FROM {BASE}\nENTRYPOINT ["/bin/false"]\nCMD ["x"]\n',
    "entrypoint-sh": f'FROM {BASE}\nENTRYPOINT ["/bin/sh", "-c", "exit 3"]\n',
    "healthcheck": f'FROM {BASE}\nHEALTHCHECK --interval=1s --timeout=1s --retries=1 CMD touch /tmp/healthcheck-ran; false\n',
    "volumes": f'FROM {BASE}\nRUN mkdir -p /data /workspace && echo d >/data/seed && echo w >/workspace/seed\n'
               "VOLUME /data\nVOLUME /workspace\n",
    "uid-1000": f"FROM {BASE}\nUSER 1000\n",
    "uid-gid": f"FROM {BASE}\nUSER 1000:100\n",
    "named-user": f"FROM {BASE}\nRUN echo 'dev:x:1234:1234::/home/dev:/bin/sh' >>/etc/passwd "
                  "&& echo 'dev:x:1234:' >>/etc/group && mkdir -p /home/dev && chown 1234:1234 /home/dev\nUSER dev\n",
    "owned-workdir": f"FROM {BASE}\nRUN mkdir -p /workspace/deep && echo old >/workspace/deep/file "
                     "&& chown -R 1000:1000 /workspace && chmod 750 /workspace/deep\nUSER 1000\n",
    "root-owned-workdir": f"FROM {BASE}\nRUN mkdir -p /workspace && echo old >/workspace/file && chmod 755 /workspace\nUSER 1000\n",
    "path": f"FROM {BASE}\nRUN mkdir -p /opt/x/bin && printf '#!/bin/sh\\necho from-x\\n' >/opt/x/bin/xtool "
            "&& chmod 755 /opt/x/bin/xtool\nENV PATH=/opt/x/bin:/bin:/usr/bin:/sbin GREETING=\"from image\"\n",
    "workdir": f"FROM {BASE}\nWORKDIR /srv/app\n",
}
# Nothing but one static program: no shell, no /etc, no /tmp.
SCRATCH = 'FROM scratch\nCOPY busybox /bin/busybox\nCMD ["/bin/busybox"]\n'


def tag(name):
    return f"sandbox-test/{name}:latest"


def build(engine, name):
    if name == "no-shell":
        engine.build(tag(name), "FROM scratch\nCOPY note /note\n", {"note": (b"nothing runs here\n", 0o644)})
    elif name == "scratch":
        engine.build(tag(name), SCRATCH, {"busybox": (BUSYBOX.read_bytes(), 0o755)})
    else:
        engine.build(tag(name), DOCKERFILES[name])
    return tag(name)
