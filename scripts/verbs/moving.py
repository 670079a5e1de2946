"""Measures an import of accounts into SQLite (release).

Writes a file of so many accounts with bcrypt hashes, imports it twice with `handstamp-server admin import`, exports it again, and prints the seconds and the
memory of each. Fails if the first takes more than 10 minutes or 500 MB for each million accounts, or the file of the export has fewer accounts."""
import json, os, subprocess, time

from kit import build, server
from kit.web import require

# At cost 10; the import does not verify it.
HASH = "$2b$10$abcdefghijklmnopqrstuuAbcdefghijklmnopqrstuvwxyzABCDE"


def options(parser):
    parser.add_argument("accounts", nargs="?", type=int, default=1_000_000)


def run(place, name, *words):
    """The JSON that the command prints, with its seconds and megabytes."""
    start = time.monotonic()
    process = subprocess.Popen([build.operators(server.PROGRAM), "admin", *words, "--data", place.folder + "/data", "--json"], stdout=subprocess.PIPE)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds, megabytes = time.monotonic() - start, usage.ru_maxrss / 1000
    require(status == 0, f"{name} failed: {text[:2000]}")
    print(f"{name}: {seconds:.1f} s, {megabytes:.0f} MB")
    return json.loads(text), seconds, megabytes


def main(options):
    server.PROGRAM, place = build.program(release=True), server.Server()
    path, count = place.folder + "/accounts", options.accounts
    try:
        place.launch()
        place.end()
        with open(path, "w") as file:
            for number in range(count):
                account = dict(id=f"u{number:09}", email=f"user{number}@example.org", email_verified=True, name=f"User {number}",
                               created_at="2024-03-01T10:20:30Z", groups=["customers"], password_hash=HASH)
                file.write(json.dumps(account) + "\n")
        first, seconds, megabytes = run(place, "import", "import", path, "--from", "handstamp")
        again, *_ = run(place, "import again", "import", path, "--from", "handstamp")
        export, *_ = run(place, "export", "export", place.folder + "/export", "--with-secrets")
        print(f"{count / seconds:.0f} accounts a second")
        is_whole = first["created"] == again["unchanged"] == count <= export["accounts"]
        return 0 if is_whole and seconds <= 600 * max(1, count / 1e6) and megabytes <= 500 else 1
    finally:
        place.remove()
