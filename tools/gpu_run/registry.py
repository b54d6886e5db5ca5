#!/usr/bin/env python3
"""An image made of a folder, and a registry over TLS that has it and nothing else; and, where a machine
has no network, a name server that knows no name.

usage: registry.py --root FOLDER --name NAME --command JSON --folder FOLDER --port N --certificate FILE --key FILE
                   [--names]
  --root      what is in the image
  --command   what it starts, as a JSON array
  --folder    where the image is put; `digest` in it has the digest once it is served
  --names     also answers name queries at 127.0.0.1:53, that there is no such name
"""

import argparse
import gzip
import hashlib
import json
import pathlib
import re
import socket
import ssl
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


class Hashing:
    """A file that knows the digest of what was written to it."""

    def __init__(self, file):
        self.file, self.hash, self.size = file, hashlib.sha256(), 0

    def write(self, data):
        self.hash.update(data)
        self.size += len(data)
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def make_image(root: str, command: list[str], folder: pathlib.Path) -> str:
    blobs = folder / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    with open(blobs / "layer", "wb") as file:
        packed = Hashing(file)
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1, mtime=0) as zipped:
            plain = Hashing(zipped)
            with tarfile.open(fileobj=plain, mode="w|", format=tarfile.PAX_FORMAT) as tar:
                tar.add(root, arcname=".")
    (blobs / "layer").rename(blobs / packed.hash.hexdigest())
    machine = {"x86_64": "amd64", "aarch64": "arm64"}
    config = json.dumps({
        "architecture": machine.get(__import__("os").uname().machine, "amd64"),
        "os": "linux",
        "config": {"Cmd": command, "WorkingDir": "/work",
                   "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", "PYTHONUNBUFFERED=1"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + plain.hash.hexdigest()]},
    }).encode()
    manifest = json.dumps({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": digest(config), "size": len(config)},
        "layers": [{"mediaType": LAYER, "digest": "sha256:" + packed.hash.hexdigest(),
                    "size": packed.size}],
    }).encode()
    for data in (config, manifest):
        (blobs / digest(data).removeprefix("sha256:")).write_bytes(data)
    return digest(manifest)


class Registry(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder: pathlib.Path
    name: str
    manifest: str

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        if self.path in ("/v2/", "/v2"):
            return self.give("application/json", b"{}")
        wanted = re.fullmatch(rf"/v2/{re.escape(self.name)}/(manifests|blobs)/sha256:([0-9a-f]{{64}})",
                              self.path)
        file = self.folder / "blobs" / wanted[2] if wanted else None
        if not file or not file.exists():
            error = {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}
            return self.give("application/json", json.dumps(error).encode(), 404)
        is_manifest = "sha256:" + wanted[2] == self.manifest
        self.send_response(200)
        self.send_header("Content-Type", MANIFEST if is_manifest else "application/octet-stream")
        self.send_header("Docker-Content-Digest", "sha256:" + wanted[2])
        self.send_header("Content-Length", str(file.stat().st_size))
        self.end_headers()
        if self.command == "HEAD":
            return
        with open(file, "rb") as data:
            while piece := data.read(1 << 20):
                self.wfile.write(piece)

    def give(self, kind: str, body: bytes, status: int = 200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def answer_names() -> None:
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    while True:
        query, client = server.recvfrom(512)
        # The same question, as an answer that says: no such name.
        server.sendto(query[:2] + b"\x81\x83" + query[4:6] + bytes(6) + query[12:], client)


def main() -> None:
    options = argparse.ArgumentParser()
    for name in ("root", "name", "command", "folder", "certificate", "key"):
        options.add_argument("--" + name, required=True)
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--names", action="store_true")
    given = options.parse_args()
    folder = pathlib.Path(given.folder)
    Registry.folder, Registry.name = folder, given.name
    Registry.manifest = make_image(given.root, json.loads(given.command), folder)
    server = ThreadingHTTPServer(("127.0.0.1", given.port), Registry)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(given.certificate, given.key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    if given.names:
        threading.Thread(target=answer_names, daemon=True).start()
    (folder / "digest").write_text(Registry.manifest)
    server.serve_forever()


if __name__ == "__main__":
    main()
