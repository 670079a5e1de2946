"""Draws the states of a session, as an exploration of the machine finds them: docs/session-machine.md and .svg."""
import difflib, subprocess

from drawing import states
from kit import build

PAGE = "docs/session-machine.md"


def options(parser):
    parser.add_argument("--check", action="store_true", help="only compare the table")


def main(options):
    def explored(form):
        return subprocess.run([explorer, form, "20000"], check=True, stdout=subprocess.PIPE, text=True).stdout

    explorer = build.program("HandstampExplorer", release=True)
    with open(PAGE) as file:
        page = file.read()
    made = page[:page.index("\n|") + 1] + "| state | is followed by |\n|---|---|\n" + explored("--transitions")
    if options.check:
        changes = "".join(difflib.unified_diff(page.splitlines(True), made.splitlines(True), PAGE, "now"))
        return changes + "hint: scripts/dev diagram, and correct the doc comments of the states" if changes else 0
    graph = subprocess.run(["dot", "-Tsvg"], input=explored("--graph"), check=True, stdout=subprocess.PIPE, text=True).stdout
    for path, text in ((PAGE, made), (PAGE.replace(".md", ".svg"), states.recolored(graph))):
        with open(path, "w") as file:
            file.write(text)
    print("docs/session-machine.md and .svg are written; correct the doc comments of the states if they differ")
