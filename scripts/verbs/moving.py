"""Measures an import of accounts (release).

Writes a file of so many accounts with bcrypt hashes, imports it twice with `handstamp admin import`, exports it again, and prints the seconds and
the memory of each. Fails if the first takes more than 10 minutes or 500 MB for each million accounts, or the file of the export has fewer accounts.
The database is SQLite in a folder of its own, or, with --database, an empty PostgreSQL database, in which the accounts stay."""
import json, os, subprocess, sys, time

from kit import build, server

# A hash of bcrypt at cost 10; the import does not verify it.
HASH = "$2b$10$abcdefghijklmnopqrstuuAbcdefghijklmnopqrstuvwxyzABCDE"


def options(parser):
    parser.add_argument("accounts", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--database", help="address of an empty PostgreSQL database")
    parser.add_argument("--csv", action="store_true", help="as CSV of GoTrue instead of JSON lines")
    parser.add_argument("--debug", action="store_true", help="of a debug build")


def write(path, count, csv):
    with open(path, "w") as file:
        if csv:
            file.write("id,email,encrypted_password,email_confirmed_at,created_at,raw_user_meta_data\n")
        for number in range(count):
            name, address = f"User {number}", f"user{number}@example.org"
            if csv:
                file.write(f'u{number:09},{address},{HASH},2024-03-01 10:20:30+00,2024-03-01 10:20:00+00,"{{""full_name"":""{name}""}}"\n')
            else:
                file.write(f'{{"id":"u{number:09}","email":"{address}","email_verified":true,"name":"{name}","created_at":"2024-03-01T10:20:30Z",'
                           f'"groups":["customers"],"password_hash":"{HASH}"}}\n')


def run(name, *words):
    """The JSON that the command prints, with its seconds and megabytes."""
    start = time.monotonic()
    process = subprocess.Popen([server.PROGRAM, "admin", *words, "--json"], stdout=subprocess.PIPE)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds, megabytes = time.monotonic() - start, usage.ru_maxrss / 1000
    if status:
        sys.exit(f"moving: {name} failed: {text.decode()[:2000]}")
    print(f"{name}: {seconds:.1f} s, {megabytes:.0f} MB")
    return json.loads(text), seconds, megabytes


def main(options):
    server.PROGRAM = build.program(release=not options.debug)
    place = server.Server()
    try:
        more = ["--database", options.database] if options.database else []
        place.launch(*more)
        place.end()
        words = ["--data", place.folder + "/data", *more]
        path, system = place.folder + "/accounts", "gotrue" if options.csv else "handstamp"
        write(path, options.accounts, options.csv)
        first, seconds, megabytes = run("import", "import", path, "--from", system, *words)
        again, *_ = run("import again", "import", path, "--from", system, *words)
        export, *_ = run("export", "export", place.folder + "/export", "--with-password-hashes", *words)
        print(f"{options.accounts / seconds:.0f} accounts a second")
        is_whole = first["created"] == again["unchanged"] == options.accounts <= export["accounts"]
        return 0 if is_whole and seconds <= 600 * max(1, options.accounts / 1e6) and megabytes <= 500 else 1
    finally:
        place.remove()
