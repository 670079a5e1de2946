"""One process at a time in a folder that verbs share."""
import contextlib, fcntl, os, sys


@contextlib.contextmanager
def alone(folder):
    """Waits until no other process is in the folder. The lock is beside it, because a verb may delete the folder."""
    os.makedirs(os.path.dirname(folder) or ".", exist_ok=True)
    with open(folder + ".lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another process, which uses {folder}", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
