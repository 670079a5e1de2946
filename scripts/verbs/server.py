"""Runs a test server on http://localhost:8080."""
import os

from kit import build


def main(options):
    program = build.operators(build.program())
    os.execv(program, [program, "serve", "--data", ".build/server", "--port", "8080", "--issuer", "http://localhost:8080"])
