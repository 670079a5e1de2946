"""Draws the states of a session, as an exploration of the machine finds them: docs/session-machine.md and .svg."""
import difflib, shutil, subprocess, sys

from drawing import states
from kit import build

PAGE = "docs/session-machine.md"


def options(parser):
    parser.add_argument("--check", action="store_true", help="only compare the table")


def main(options):
    explorer = build.program("HandstampExplorer", release=True)

    def explored(*words):
        return subprocess.run([explorer, *words], check=True, stdout=subprocess.PIPE, text=True).stdout

    with open(PAGE) as file:
        page = file.read()
    made = page[:page.index("\n|") + 1] + "| state | is followed by |\n|---|---|\n" + explored("--transitions", "20000")
    if options.check:
        if changes := "".join(difflib.unified_diff(page.splitlines(True), made.splitlines(True), PAGE, "now")):
            sys.exit(changes + "hint: scripts/dev diagram, and correct the doc comments of the states")
        print("the diagram agrees with the machine")
        return 0
    if not shutil.which("dot"):
        sys.exit("diagram: Graphviz is missing\nhint: apt-get install graphviz")
    with open(PAGE, "w") as file:
        file.write(made)
    graph = subprocess.run(["dot", "-Tsvg"], input=explored("--graph", "20000"), check=True, stdout=subprocess.PIPE, text=True).stdout
    with open(PAGE.replace(".md", ".svg"), "w") as file:
        file.write(states.recolored(graph))
    print("docs/session-machine.md and .svg are written; correct the doc comments of the states if they differ")
    return 0
