"""Follows the guides one after the other on one device, ending the app in between."""
import subprocess

from kit import build


def options(parser):
    parser.add_argument("--seed", help="of one order")
    parser.add_argument("--deep", action="store_true", help="every order of up to four")


def main(options):
    build.build("build", *build.ALL, "--build-tests")
    more = ({"HANDSTAMP_DEEP": "1"} if options.deep else {}) | ({"SEED": options.seed} if options.seed else {})
    return subprocess.run([build.SWIFT, "test", *build.ALL, "--skip-build", "--filter", "GuideMovesTests"], env={**build.environment(), **more}).returncode
