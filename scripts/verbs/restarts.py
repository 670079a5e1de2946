"""Makes the attack `restarts` alone: a test of the program runs it by this name."""
import argparse

from verbs import attack


def options(parser):
    parser.add_argument("requests", nargs="?", help="has no effect")


def main(options):
    return attack.main(argparse.Namespace(short=False, names=["restarts"]))
