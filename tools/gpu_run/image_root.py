#!/usr/bin/env python3
"""Makes the root of an image for the engine out of the machine it runs on: its Python, the libraries
outside of Python's own folder that the engine loads, a shell, and the engine itself. The folder of a
virtual environment, where PyTorch is, is left out: the image has a link to /cache in its place.

usage: image_root.py ROOT ENGINE_FOLDER BUSYBOX        prints the folder to be bound, or nothing
"""

import importlib
import os
import pathlib
import shutil
import sys
import sysconfig

TOOLS = "sh cat echo id ls env head df mount grep sleep true touch mkdir rm stty tty ps wc sha256sum dd".split()


def copy(root: pathlib.Path, file: str) -> None:
    """The file itself, and every link beside it by which it is loaded."""
    real = os.path.realpath(file)
    to = root / real.lstrip("/")
    to.parent.mkdir(parents=True, exist_ok=True)
    if not to.exists():
        shutil.copy2(real, to)
    folder = os.path.dirname(real)
    names = {file} | {os.path.join(folder, name) for name in os.listdir(folder)
                      if os.path.realpath(os.path.join(folder, name)) == real}
    for name in names:
        link = root / name.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.exists() and not link.is_symlink():
            link.symlink_to(real)


def loaded() -> set[str]:
    """Every file that is mapped once all that the engine imports is there."""
    for module in ("container_engine", "ssl", "ctypes", "sqlite3", "torch", "transformers", "engine"):
        try:
            importlib.import_module(module)
        except ImportError:
            pass
    files = set()
    for line in open("/proc/self/maps"):
        path = line.split(maxsplit=5)[-1].strip()
        if path.startswith("/") and (".so" in path) and os.path.exists(path):
            files.add(path)
    return files


def main() -> None:
    root, engine, busybox = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    sys.path.insert(0, engine)
    # A virtual environment with PyTorch is gigabytes: it is bound, as /cache/NAME.
    bound = None
    if sys.prefix != sys.base_prefix:
        bound = "/" + "/".join(pathlib.Path(sys.prefix).parts[1:3])
    for folder in ("bin", "etc", "tmp", "work", "cache", "proc", "sys", "dev", "run", "var/tmp"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    # An environment's interpreter is a link to that of the system, perhaps by way of others.
    step = sys.executable
    while os.path.islink(step):
        step = os.path.join(os.path.dirname(step), os.readlink(step))
        if not (bound and step.startswith(bound + "/")):
            copy(root, os.path.normpath(step))
    copy(root, os.path.realpath(sys.executable))
    library = sysconfig.get_path("stdlib")
    shutil.copytree(library, root / library.lstrip("/"), symlinks=True, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("test", "idlelib", "tkinter", "__pycache__",
                                                  "site-packages", "dist-packages", "config-*"))
    for path in loaded():
        inside = bound and path.startswith(bound + "/")
        if not inside and "nvidia" not in path:
            copy(root, path)
    # What the driver's own libraries and programs load besides.
    folder = next((os.path.dirname(path) for path in loaded() if path.endswith("/libc.so.6")), "")
    for name in ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1",
                 "libgcc_s.so.1", "libstdc++.so.6"):
        if os.path.exists(os.path.join(folder, name)):
            copy(root, os.path.join(folder, name))
    for loader in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"):
        if os.path.exists(loader):
            to = root / loader.lstrip("/")
            to.parent.mkdir(parents=True, exist_ok=True)
            if not to.exists():
                shutil.copy2(os.path.realpath(loader), to)
    shutil.copy2(busybox, root / "bin/busybox")
    for tool in TOOLS:
        link = root / "bin" / tool
        if not link.exists():
            link.symlink_to("busybox")
    for file in ("container_engine.py", "engine.py"):
        shutil.copy2(os.path.join(engine, file), root / file)
    (root / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\nrenter:x:10001:10001::/work:/bin/sh\n")
    if bound:
        link = root / bound.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to("/cache/" + pathlib.Path(bound).name)
        print(bound)
    for folder, _, _ in os.walk(root):
        os.chmod(folder, 0o755)
    os.chmod(root / "tmp", 0o1777)


if __name__ == "__main__":
    main()
