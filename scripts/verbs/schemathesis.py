"""Sends generated requests to a server, valid and not, and compares its answers with its OpenAPI document.

First without limits, then with them. Fails at an error of the server, or an answer that the document does not have. The same seed makes the same
requests."""
import os, subprocess

from kit import build, server
from kit.pypi import interpreter
from kit.web import Client

NEEDS = ["--tests"]
VERSION, SEED = "4.32.5", "20261123"
HOOKS = os.path.abspath("Tests/Live/kit/schemathesis_hooks.py")


def options(parser):
    parser.add_argument("--short", action="store_true", help="few examples, without limits alone")


def run(limits, phases, examples):
    os.environ["HANDSTAMP_SERVE_ADMIN_TOKEN"] = "schemathesis-is-an-administrator"
    here = server.Server()
    here.launch("--rate-limits", limits, "--log-level", "error")
    try:
        environment = dict(os.environ, HANDSTAMP_SERVER=here.url, SCHEMATHESIS_HOOKS=HOOKS)
        if limits == "standard":
            environment["HANDSTAMP_TOKEN"] = Client(here).guest()["access_token"]
        print(f"schemathesis: limits {limits}", flush=True)
        # Random data is rarely a genuine token, so valid requests may be refused; beyond a limit no token is looked at; a stream of
        # events has no end, and an import takes JSON lines, which the tool cannot write.
        unfit = "positive_data_acceptance" + (",ignored_auth" if limits == "standard" else "")
        return subprocess.run(
            [interpreter("schemathesis", "schemathesis==" + VERSION), "-m", "schemathesis.cli", "run", here.url + "/openapi.json",
             "--seed", SEED, "--max-examples", str(examples), "--phases", phases, "--exclude-checks", unfit,
             "--exclude-path", "/v1/events", "--exclude-path", "/admin/v1/accounts/import", "--request-timeout", "60", "--generation-database", "none",
             "--no-color", "--suppress-health-check", "all", "--warnings", "off"],
            env=environment, cwd=here.folder).returncode
    finally:
        here.remove()


def main(options):
    server.PROGRAM = build.program()
    if options.short:
        return 1 if run("none", "fuzzing", 2) else 0
    return 1 if run("none", "coverage,fuzzing", 8) or run("standard", "fuzzing", 4) else 0
