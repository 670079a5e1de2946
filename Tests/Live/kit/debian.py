"""Packages of Debian that a check needs, and a Debian in a folder, made as root."""
import os, pathlib, platform, shutil, subprocess, sys

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


def release():
    """The code name of this system's release; `None` where there is none."""
    try:
        return platform.freedesktop_os_release().get("VERSION_CODENAME")
    except OSError:
        return None


def make_system(work, include, prepare, mark=""):
    """A minimal Debian of this release in `work`/system, with these packages; kept for the next time, as long as they and the mark are the same."""
    system, made, current = work + "/system", pathlib.Path(work, "include"), f"{release()} {include} {mark}"
    if made.exists() and made.read_text() == current:
        return system
    made.unlink(missing_ok=True)
    mirrors = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", "Codename: " + release(), "Component: main"],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
    print(f"fetches a minimal Debian {release()}", flush=True)
    shutil.rmtree(system, ignore_errors=True)
    os.makedirs(work, exist_ok=True)
    with open(work + "/debootstrap.log", "w+") as log:
        done = subprocess.run(["debootstrap", "--variant=minbase", *(["--include=" + include] if include else []), release(), system, min(mirrors.split())],
                              stdout=log, stderr=log)
        if done.returncode:
            log.seek(0)
            sys.exit("\n".join(log.read().splitlines()[-5:]))
    prepare(system)
    made.write_text(current)
    return system
