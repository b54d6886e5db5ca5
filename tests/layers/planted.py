#!/usr/bin/env python3
"""Plants one violation of each kind in a small sound tree; tools/layers must find it, and only it.

usage: planted.py path/to/tools/layers
"""

import pathlib
import subprocess
import sys
import tempfile

LAYERS = "base:\ndb: base\nhttp: base\ncats: base db\ndogs: base db cats\n"
SOUND = {
    "base/text.hpp": "#include <string>\n#include <fmt/format.h>\n#include <sys/stat.h>\n",
    "db/db.hpp": '#include "base/text.hpp"\nauto a = row.get<Time>(3);\n',
    "db/sqlite.cpp": '#include "db/db.hpp"\n#include <sqlite3.h>\n',
    "http/server.cpp": '#include "base/text.hpp"\n#include <boost/asio/post.hpp>\n',
    "cats/store.hpp": '#include "db/db.hpp"\n',
    "cats/cats.hpp": '#include "cats/store.hpp"\n#include "base/text.hpp"\n',
    "cats/store.cpp": 'auto a = "CREATE TABLE cats (name @text) @strict";\n'
                      'auto b = "INSERT INTO cats (name)";\n',
    "dogs/dogs.cpp": '#include "base/text.hpp"\n#include "cats/cats.hpp"\n#include "db/db.hpp"\n'
                     'auto b = settings.get<Settings>();\nauto c = std::get<0>(pair);\n'
                     'auto a = "SELECT name FROM cats";\n// UPDATE cats SET nothing: a comment\n',
}
# What is planted (file: text added to it, or None for the layers), and what is said of it.
PLANTED = [
    ("an include of a module that is not in DEPENDS",
     "cats/cats.hpp", '#include "http/server.hpp"\n', "cats may not include http"),
    ("a module in DEPENDS that nothing includes",
     None, LAYERS.replace("cats: base db", "cats: base db http"),
     "cats depends on http and includes nothing of it"),
    ("a loop", None, LAYERS.replace("db: base", "db: base cats"),
     "db depends on cats, which stands above it"),
    ("a folder that is no module", "birds/birds.cpp", "\n", "birds/ is no module"),
    ("another feature's store", "dogs/dogs.cpp", '#include "cats/store.hpp"\n',
     "cats/store.hpp is cats's own"),
    ("an INSERT into another feature's table", "dogs/dogs.cpp", 'auto b = "INSERT INTO cats (name)";\n',
     "writes cats, which is cats's"),
    ("an UPDATE of another feature's table, broken over two literals", "dogs/dogs.cpp",
     'auto b = "UPDATE "\n    "cats SET name = $1";\n', "writes cats, which is cats's"),
    ("a DELETE from another feature's table", "dogs/dogs.cpp", 'auto b = "DELETE FROM cats WHERE";\n',
     "writes cats, which is cats's"),
    ("Asio outside http", "dogs/dogs.cpp", "#include <boost/asio/post.hpp>\n",
     "<boost/asio/post.hpp> does not belong here"),
    ("a driver outside its files", "db/db.hpp", "#include <sqlite3.h>\n",
     "<sqlite3.h> does not belong here"),
    ("a library that nobody has allowed", "dogs/dogs.cpp", "#include <lzma.h>\n",
     "<lzma.h> is of a library"),
    ("a column read by its number", "dogs/dogs.cpp",
     "auto b = rows[0].get<std::optional<Time>>(3);\n", "reads a column by its number"),
]


def run(tool, layers, files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "layers.txt").write_text(layers)
        for name, text in files.items():
            path = root / "src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([tool, root / "layers.txt", root / "src"], capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def main():
    tool = sys.argv[1]
    failed = 0
    status, said = run(tool, LAYERS, SOUND)
    if status != 0:
        failed += 1
        print(f"the sound tree is refused:\n{said}")
    for what, name, text, wanted in PLANTED:
        files = dict(SOUND)
        if name:
            files[name] = files.get(name, "") + text
        status, said = run(tool, LAYERS if name else text, files)
        faults = [line for line in said.splitlines() if wanted not in line]
        if status != 1 or wanted not in said or (faults and what != "a loop"):
            failed += 1
            print(f"{what}: exit {status}, said:\n{said}")
        else:
            print(f"found: {what}: {said.splitlines()[0]}")
    sys.exit(1 if failed else 0)


main()
