# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests of TLS, right and wrong ones, made by the openssl tool.

    authority = Authority(tmp_path / "ca")
    server = authority.directory("server", "subjectAltName=IP:127.0.0.1", usage="serverAuth")   # ca.pem, cert.pem, key.pem
"""
import pathlib
import shutil
import subprocess

DAY = "1"


def _openssl(*args, **kw):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, **kw)


def _make_key(path):
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)
    path.chmod(0o600)


class Authority:
    def __init__(self, root, name="sandbox test CA"):
        self.root = pathlib.Path(root)
        self.root.mkdir(parents=True)
        self.certificate, self._key = self.root / "ca.pem", self.root / "ca-key.pem"
        _make_key(self._key)
        _openssl("req", "-x509", "-new", "-key", self._key, "-days", DAY, "-subj", f"/CN={name}", "-out", self.certificate,
                 "-addext", "basicConstraints=critical,CA:true", "-addext", "keyUsage=critical,keyCertSign")

    def directory(self, name, *extensions, usage="clientAuth", dates=None, trusted=None):
        """A directory as docker wants it. `dates`: "20200101000000Z 20200102000000Z" instead of today and tomorrow;
        `trusted`: another authority in its ca.pem."""
        made = self.root / name
        made.mkdir()
        shutil.copy((trusted or self).certificate, made / "ca.pem")
        _make_key(made / "key.pem")
        _openssl("req", "-new", "-key", made / "key.pem", "-subj", f"/CN={name}", "-out", made / "request.pem")
        (made / "extensions").write_text("\n".join([f"extendedKeyUsage={usage}", *extensions]) + "\n")
        if dates:
            self._sign_dated(made, dates.split())
        else:
            _openssl("x509", "-req", "-in", made / "request.pem", "-CA", self.certificate, "-CAkey", self._key,
                     "-CAcreateserial", "-days", DAY, "-extfile", made / "extensions", "-out", made / "cert.pem")
        return made

    # Only `openssl ca` of version 3.0 takes dates.
    def _sign_dated(self, made, dates):
        (made / "index").touch()
        (made / "ca.cnf").write_text(
            f"[ca]\ndefault_ca = it\n[it]\ndatabase = {made}/index\nnew_certs_dir = {made}\nrand_serial = yes\n"
            "default_md = sha256\npolicy = any\n[any]\ncommonName = supplied\n")
        _openssl("ca", "-batch", "-notext", "-config", made / "ca.cnf", "-cert", self.certificate, "-keyfile", self._key,
                 "-in", made / "request.pem", "-extfile", made / "extensions", "-startdate", dates[0], "-enddate", dates[1],
                 "-out", made / "cert.pem")
