"""Formats the Swift sources."""
import glob, subprocess

from kit import build

SOURCES = ["Package.swift", "Sources", "Programs", "Tests", *(
    path for kind in ("Package.swift", "Sources", "Server", "Tests") for path in sorted(glob.glob("Examples/*/" + kind)))]


def run(*words):
    return subprocess.run([build.SWIFT, "format", *words, "--recursive", "--parallel", *SOURCES]).returncode


def main(options):
    return run("--in-place")
