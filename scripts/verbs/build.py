"""Builds the libraries, the programs and the tests, with all traits (INFO=dwarf for a debugger).

With --release, both programs and the bench as deployed: whole-module optimization reports more warnings."""
from kit import build


def options(parser):
    parser.add_argument("--release", action="store_true", help="both programs and the bench as deployed")


def main(options):
    if options.release:
        build.programs("handstamp", "HandstampBench", release=True)
    else:
        build.build("build", *build.ALL, "--build-tests")
