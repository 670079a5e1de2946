"""Programs from PyPI, each set in a virtual environment that is kept in the user's cache."""
import hashlib, os, shutil, subprocess, sys


def cache():
    folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "handstamp-checks")
    os.makedirs(folder, exist_ok=True)
    return folder


def interpreter(name, packages, *options):
    """The interpreter of the virtual environment with these packages; options are those of `venv`."""
    mark = hashlib.sha256(" ".join([*packages.split(), *options]).encode()).hexdigest()[:8]
    tools = os.path.join(cache(), f"{name}-{mark}")
    if not os.path.exists(tools):
        shutil.rmtree(tools + ".new", ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", *options, tools + ".new"], check=True)
        subprocess.run([tools + ".new/bin/pip", "install", "-q", "--disable-pip-version-check", *packages.split()], check=True)
        os.rename(tools + ".new", tools)
    return tools + "/bin/python"
