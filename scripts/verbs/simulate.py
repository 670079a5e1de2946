"""Runs histories of client, server, user and thief on all cores (release)."""
import subprocess

from kit import build


def options(parser):
    parser.add_argument("--seeds", default="20000", metavar="N", help="so many histories")
    parser.add_argument("--seed", metavar="N", help="shows one, step by step")
    parser.add_argument("--faults", action="store_true", help="shows how soon each planted fault is found")


def main(options):
    words = ["--faults"] if options.faults else ["--seed", options.seed] if options.seed else ["--seeds", options.seeds]
    return subprocess.run([build.program("HandstampSimulator", release=True), *words]).returncode
