"""Draws docs/tour.svg, docs/refresh.svg and docs/refresh-retry.svg from runs of the real program."""
import difflib, subprocess, sys

from drawing import recording, refresh, tour
from kit import build, server


def options(parser):
    parser.add_argument("--check", action="store_true", help="compare them with a new run")


def main(options):
    server.PROGRAM, program = build.programs("handstamp", "HandstampTour")
    toured, record = subprocess.run([program], stdout=subprocess.PIPE, text=True, timeout=300).stdout, recording.record()
    for path, text in (("docs/tour.svg", tour.draw(toured)), ("docs/refresh.svg", refresh.draw(record)),
                       ("docs/refresh-retry.svg", refresh.draw(record, with_thief=False))):
        if not options.check:
            with open(path, "w") as file:
                file.write(text)
            continue
        with open(path) as file:
            old = file.read()
        if changes := "\n".join(difflib.unified_diff(old.splitlines(), text.splitlines(), path, "now", lineterm="", n=0)):
            sys.exit(f"{changes}\n{path} differs from what the program does\nhint: scripts/dev pictures, and look at them")
    print("the pictures agree with the program" if options.check else "docs/tour.svg and docs/refresh*.svg are written")
