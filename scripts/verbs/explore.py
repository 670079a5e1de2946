"""Explores every order of events within bounds, client and server together (release; some minutes)."""
import subprocess, sys

from kit import build


def options(parser):
    parser.add_argument("scenarios", nargs="*", help="only those with these names")


def main(options):
    if subprocess.run([sys.executable, "docs/rotation_model.py", "--check"]).returncode:
        return 1
    return subprocess.run([build.program("HandstampExplorer", release=True), *options.scenarios]).returncode
