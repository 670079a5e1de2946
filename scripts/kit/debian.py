"""Packages of Debian that a check needs, installed as root."""
import os, shutil, subprocess

from kit.web import Lost


def apt(*words):
    """Runs apt-get; returns its status, and the last line of its output."""
    root = ["sudo", "-n"] if os.geteuid() else []
    # In a session of its own, so that it ends well also if this is interrupted: packages would be left half installed.
    done = subprocess.run([*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-qq", "--no-install-recommends", *words],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    return done.returncode, (done.stdout.strip().splitlines() or ["failed"])[-1]


def install(*packages):
    if not shutil.which("apt-get") or not shutil.which("dpkg-query"):
        raise Lost("this is not Debian")
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *packages], capture_output=True, text=True).stdout
    missing = sorted(set(packages) - {line.split()[0] for line in shown.splitlines() if line.endswith(" installed")})
    if missing and apt("install", *missing)[0]:
        # The lists of a fresh machine are empty or old.
        apt("update")
        status, words = apt("install", *missing)
        if status:
            raise Lost(f"apt-get install {' '.join(missing)}: {words}")
