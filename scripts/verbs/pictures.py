"""Draws docs/tour.svg and docs/refresh.svg from runs of the real program."""
import difflib, re, sys

from drawing import recording, refresh, tour
from kit import build, server


def options(parser):
    parser.add_argument("--check", action="store_true", help="compare them with a new run: the refresh exactly, the tour without its measurements")


def plain(text):
    """Without measurements."""
    return re.sub(r" +", " ", re.sub(r"N min( N s)?", "N s", re.sub(r"[0-9][0-9.,]*", "N", text)))


def main(options):
    server.PROGRAM, program = build.programs("handstamp", "HandstampTour")
    for path, text, compared in (("docs/tour.svg", tour.draw(tour.run(program)), plain), ("docs/refresh.svg", refresh.draw(recording.record()), str)):
        if not options.check:
            with open(path, "w") as file:
                file.write(text)
            continue
        with open(path) as file:
            old, new = compared(file.read()).splitlines(), compared(text).splitlines()
        if changes := "\n".join(difflib.unified_diff(old, new, path, "now", lineterm="", n=0)):
            sys.exit(f"{changes}\n{path} differs from what the program does\nhint: scripts/dev pictures, and look at them")
    print("the pictures agree with the program" if options.check else "docs/tour.svg and docs/refresh.svg are written")
    return 0
