"""Starts a server, signs in, and proves step by step that the session stays signed in.

Builds only the optional parts that this needs, in a folder of its own, since traits concern every module; in CI all of them, as the tests do."""
import subprocess

from kit import build


def main(options):
    if build.given or build.IN_CI:
        tour = build.programs("handstamp", "HandstampTour")[-1]
    else:
        parts = ["--traits", "Operator,Strict", *build.apart("tour")]
        for product in (*build.PROGRAMS, "HandstampTour"):
            tour = build.build("run", *parts, "--product", product, is_optimized=False) + "/HandstampTour"
    print("the tour", flush=True)
    return subprocess.run([tour]).returncode
