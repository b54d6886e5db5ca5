#!/usr/bin/env python3
"""Plants one violation of each kind in a small sound tree; tools/layers must find it, and only it.

usage: planted.py path/to/tools/layers
"""

import pathlib
import subprocess
import sys
import tempfile

LAYERS = ("ground/base:\nground/db: base\nground/http: base\n"
          "pets/cats: base db\npets/dogs: base db cats\npets/fish: base db\n"
          "pets/zoo/cages: base\npets/zoo/keepers: base zoo/cages\n")
SOUND = {
    "ground/README.md": "what others stand on\n",
    "pets/README.md": "animals\n",
    "ground/base/text.hpp": "#include <string>\n#include <fmt/format.h>\n#include <sys/stat.h>\n",
    "ground/db/db.hpp": '#include "base/text.hpp"\nauto a = row.get<Time>(3);\n',
    "ground/db/sqlite.cpp": '#include "db/db.hpp"\n#include <sqlite3.h>\n',
    "ground/http/server.cpp": '#include "base/text.hpp"\n#include <boost/asio/post.hpp>\n',
    "pets/cats/store.hpp": '#include "db/db.hpp"\n',
    "pets/cats/cats.hpp": '#include "cats/store.hpp"\n#include "base/text.hpp"\n',
    "pets/cats/store.cpp": 'auto a = "CREATE TABLE cats (name @text) @strict";\n'
                      'auto b = "INSERT INTO cats (name)";\n',
    "pets/dogs/dogs.cpp": '#include "base/text.hpp"\n#include "cats/cats.hpp"\n#include "db/db.hpp"\n'
                     'auto b = settings.get<Settings>();\nauto c = std::get<0>(pair);\n'
                     'auto a = "SELECT name FROM cats";\n// UPDATE cats SET nothing: a comment\n',
    "pets/zoo/README.md": "a folder with rooms\n",
    "pets/zoo/cages/cage.hpp": '#include "base/text.hpp"\n',
    "pets/zoo/keepers/keeper.cpp": '#include "base/text.hpp"\n#include "zoo/cages/cage.hpp"\n',
    "pets/zoo/gate/main.cpp": "int main() {}\n",
    # Its own table, a column and a word that are named as another feature's table are.
    "pets/fish/fish.cpp": '#include "base/text.hpp"\n#include "db/db.hpp"\n'
                     'auto a = "CREATE TABLE fish (name @text, cats @int) @strict";\n'
                     'auto b = "SELECT f.cats, name FROM fish f WHERE cats > $1 ORDER BY cats";\n'
                     'auto c = "SELECT {} FROM (SELECT cats FROM fish) AS pond";\n'
                     '// SELECT name FROM cats: a comment\nauto d = "cats";\n'
                     'auto e = "keeps fish away from cats";\n',
}
# What is planted (file: text added to it, or None to
# remove it; no file: the layers), and what is said of it.
PLANTED = [
    ("an include of a module that is not in DEPENDS",
     "pets/cats/cats.hpp", '#include "http/server.hpp"\n', "cats may not include http"),
    ("a module in DEPENDS that nothing includes",
     None, LAYERS.replace("cats: base db", "cats: base db http"),
     "cats depends on http and includes nothing of it"),
    ("a loop", None, LAYERS.replace("db: base", "db: base cats"),
     "db depends on cats, which stands above it"),
    ("a loop of rooms", None, LAYERS.replace("zoo/cages: base", "zoo/cages: base zoo/keepers"),
     "zoo/cages depends on zoo/keepers, which stands above it"),
    ("an include of a room that is not in DEPENDS", "pets/zoo/cages/cage.hpp",
     '#include "zoo/keepers/keeper.hpp"\n', "zoo/cages may not include zoo/keepers"),
    ("a room in DEPENDS that nothing includes", None,
     LAYERS.replace("cages: base\n", "cages: base\npets/zoo/shop: base zoo/cages\n"),
     "zoo/shop depends on"),
    ("a folder among rooms that is no room", "pets/zoo/pond/pond.cpp", "\n",
     "pets/zoo/pond/ is no module"),
    ("a file beside the rooms", "pets/zoo/map.hpp", "\n",
     "pets/zoo/map.hpp lies beside the rooms of zoo"),
    ("a folder that is no module", "pets/birds/birds.cpp", "\n", "pets/birds/ is no module"),
    ("a folder that is no wing", "plants/README.md", "\n", "plants/ is no wing"),
    ("a wing without a README", "pets/README.md", None, "pets/ has no README.md"),
    ("a wing that uses one above it", None, LAYERS + "ground/late: dogs\n",
     "ground/late depends on dogs, whose wing pets stands above ground"),
    ("another feature's store", "pets/dogs/dogs.cpp", '#include "cats/store.hpp"\n',
     "cats/store.hpp is cats's own"),
    ("an INSERT into another feature's table", "pets/dogs/dogs.cpp",
     'auto b = "INSERT INTO cats (name)";\n', "writes cats, which is cats's"),
    ("an UPDATE of another feature's table, broken over two literals", "pets/dogs/dogs.cpp",
     'auto b = "UPDATE "\n    "cats SET name = $1";\n', "writes cats, which is cats's"),
    ("a DELETE from another feature's table", "pets/dogs/dogs.cpp",
     'auto b = "DELETE FROM cats WHERE";\n', "writes cats, which is cats's"),
    ("a SELECT from the table of a feature that is not in DEPENDS", "pets/fish/fish.cpp",
     'auto f = "SELECT name FROM cats";\n', "reads cats, which is cats's, and may not use cats"),
    ("a JOIN with one", "pets/fish/fish.cpp",
     'auto f = "SELECT 1 FROM fish f LEFT JOIN cats AS c ON c.name = f.name";\n', "reads cats"),
    ("a comma instead of a JOIN", "pets/fish/fish.cpp",
     'auto f = "SELECT 1 FROM fish f, cats c";\n', "reads cats"),
    ("a subquery", "pets/fish/fish.cpp",
     'auto f = "DELETE FROM fish WHERE name IN (SELECT name FROM cats)";\n', "reads cats"),
    ("a read that is broken over two literals", "pets/fish/fish.cpp",
     'auto f = "SELECT name FROM "\n    "cats WHERE name = $1";\n', "reads cats"),
    ("a read in a literal of several lines", "pets/fish/fish.cpp",
     'auto f = R"(SELECT name\n    FROM cats)";\n', "reads cats"),
    ("a constant that begins with the table", "pets/fish/fish.cpp",
     'constexpr auto hungry = "cats c WHERE c.hungry = 1";\n', "reads cats"),
    ("a constant that is the table's name", "pets/fish/fish.cpp",
     'auto f = fmt::format("SELECT {{}} FROM {} WHERE name = $1", "cats");\n', "reads cats"),
    ("a question of the census", "pets/fish/fish.cpp",
     'constexpr db::CensusQuestion census[] = {{.name = "cats", .from = "cats"}};\n',
     "reads cats"),
    ("a table's name that is glued on", "pets/fish/fish.cpp",
     'auto f = std::string("SELECT name FROM ") + "cats";\n', "reads cats"),
    ("Asio outside http", "pets/dogs/dogs.cpp", "#include <boost/asio/post.hpp>\n",
     "<boost/asio/post.hpp> does not belong here"),
    ("a driver outside its files", "ground/db/db.hpp", "#include <sqlite3.h>\n",
     "<sqlite3.h> does not belong here"),
    ("a library that nobody has allowed", "pets/dogs/dogs.cpp", "#include <lzma.h>\n",
     "<lzma.h> is of a library"),
    ("a column read by its number", "pets/dogs/dogs.cpp",
     "auto b = rows[0].get<std::optional<Time>>(3);\n", "reads a column by its number"),
]
# What a loop is called depends on where one enters it, and a module that is not there is unused.
LEADS_TO_OTHERS = ("a loop", "a loop of rooms", "a wing that uses one above it")


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
        if name and text:
            files[name] = files.get(name, "") + text
        elif name:
            del files[name]
        status, said = run(tool, LAYERS if name else text, files)
        faults = [line for line in said.splitlines() if wanted not in line]
        if status != 1 or wanted not in said or (faults and what not in LEADS_TO_OTHERS):
            failed += 1
            print(f"{what}: exit {status}, said:\n{said}")
        else:
            print(f"found: {what}: {said.splitlines()[0]}")
    sys.exit(1 if failed else 0)


main()
