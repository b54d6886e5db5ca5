#!/usr/bin/env python3
"""Plants what tools/tidy must find, and what it must let pass, in a small tree of its own.

usage: tests/tidy/planted.py TIDY
"""

import pathlib
import subprocess
import sys
import tempfile


def body(lines):
    return "{\n" + "    work();\n" * (lines - 2) + "}\n"


def member(lines):
    return "{\n" + "        work();\n" * (lines - 2) + "    }\n"


FOUND = {
    "src/wide.cpp": ("// " + "x" * 98 + "\n", "has 101 columns"),
    "src/tab.cpp": ("//\tx\n", "has a tab"),
    "src/blank.cpp": ("// x \n", "has a tab, or a blank"),
    "src/open.cpp": ("// x", "does not end its last line"),
    "src/spacing.cpp": ("int  f();\n", "clang-format would write it otherwise"),
    "src/function.cpp": ("void work();\nvoid f() " + body(71), "f has 71 lines"),
    "src/member.cpp": ("struct A {\n    void f() const " + member(71) + "};\n", "f has 71 lines"),
    "src/list.cpp": ("A::A(int a) : a_{a}, b_(2) " + body(71), "A::A has 71 lines"),
    "src/after.cpp": ("BOOST_DESCRIBE_STRUCT(A, (), (a))\n\nnamespace {\n\nvoid f() " + body(71) +
                      "\n}  // namespace\n", "f has 71 lines"),
    "docs/merged.md": ("<" * 7 + " HEAD\na\n", "a merge has left its mark"),
    "tests/long_test.cpp": ("// x\n" * 601, "has 601 lines"),
}
PASSED = {
    "docs/heading.md": "Title\n=======\n",
    "src/short.cpp": "void work();\nvoid f() " + body(70),
    "src/routes.cpp": "void A::add_routes(Router& router) const " + body(90) +
                      "\nvoid A::add_sign_in_routes(Router& router) const " + body(90),
    "src/table.cpp": "const int rows[] = {\n" + "    1,  // {\n" * 90 + "};\n",
    "src/sql.cpp": "const char* const sql = R\"(\n" + "SELECT '{'\n" * 90 + ")\";\n",
    "src/namespace.cpp": "namespace a {\n\n" + "int f();\n" * 90 + "\n}  // namespace a\n",
    "tests/short_test.cpp": "// x\n" * 600,
    "tests/function_test.cpp": "void work();\nvoid f() " + body(71),
}


def main():
    tidy = pathlib.Path(sys.argv[1]).resolve()
    files = {path: text for path, (text, _) in FOUND.items()}
    files.update(PASSED)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        style = tidy.parent.parent / ".clang-format"
        (folder / ".clang-format").write_text(style.read_text())
        for path, text in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        subprocess.run(["git", "add", "."], cwd=folder, check=True)
        done = subprocess.run([tidy], cwd=folder, capture_output=True, text=True, check=False)
    said = done.stdout.splitlines()
    wrong = [f"not found: {path}: {words}" for path, (_, words) in FOUND.items()
             if not any(line.startswith(path) and words in line for line in said)]
    wrong += [f"found: {line}" for line in said if line.split(":")[0] not in FOUND]
    if done.returncode != 1:
        wrong.append(f"it ended with {done.returncode}: {done.stderr}")
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


main()
