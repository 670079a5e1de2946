"""Measures the server and the client as they run (release), and draws docs/bench.svg and docs/bench-latency.svg.

Starts handstamp-server serve (SQLite, synchronous=FULL, standard limits, metrics, logs), and sends it requests, each connection with sessions of its own. Prints
for each part the rate, and the processor time of a request, which is the server's own, from /proc. Server and load share the machine: processor times
carry over to others, rates do not. The terms of their bounds come from HandstampBench, in the same run: hello-world by the same framework, a signature,
its check, a grouped commit, the reading of a row."""
import json, os, sqlite3, subprocess, sys, time

from drawing import speed as drawing
from kit import build, load, server
from kit.web import Client, install

WIDTHS = [1, 8, 32, 128]
EMAILS = [f"load{number}@example.org" for number in range(8)]


def options(parser):
    parser.add_argument("--seconds", type=int, default=4, help="of each measurement")
    parser.add_argument("--storm", type=int, help="only a storm of so many sessions; docs/storm.svg shows one of 100,000")
    parser.add_argument("--strict", action="store_true", help="with --storm: clients without rotation keys, at a server that serves no token twice")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000, 1_000_000], help="sessions in the file")


def me(token):
    return load.get("/v1/me", f"Authorization: Bearer {token}\r\n")


def introspect(token):
    return load.post("/oauth/introspect", f"client_id={load.CLIENTS[hash(token) % 8]}&client_secret={load.SECRET}&token={token}")


def password(email):
    """A sign-in of an account from a device that it knows."""
    return load.post("/v1/sign-in", json.dumps(dict(email=email, password="correct horse battery", device=install("d-load"))), "application/json")


class Speed:
    def __init__(self, seconds, sizes):
        self.seconds, self.sizes, self.figures, self.server = seconds, sizes, {}, server.Server()
        # A session may be refreshed 60 times at once, and once a second; the connections use up theirs unevenly.
        self.used = 320 * seconds

    def open(self):
        return sqlite3.connect(self.server.folder + "/data/registry.sqlite", isolation_level=None)

    def start(self, limits="standard"):
        if self.server.runs():
            self.server.end()
        load.launch(self.server, "--rate-limits", limits, "--metrics-address", "127.0.0.1:0")

    def sign_in(self):
        """The limits would refuse most sign-ins."""
        self.start("none")
        sessions = load.guests(self.server, self.used * (len(WIDTHS) + len(self.sizes)))
        self.access, self.refresh = ([session[name] for session in sessions] for name in ("access_token", "refresh_token"))
        print(f"{size(self.open()):.0f} bytes with indices for each of {len(sessions)} sessions that were never refreshed", flush=True)
        for email in EMAILS:
            Client(self.server).sign_up(email, "correct horse battery", "d-load")
        self.measure("password", 8)
        self.start()

    def drive(self, part, width, rate=0):
        make, tokens = dict(refresh=(load.refresh, self.refresh), me=(me, self.access), introspect=(introspect, self.access), password=(password, EMAILS))[part]
        mine, take = tokens[:max(self.used, width)], load.same
        if part == "refresh":
            del tokens[:len(mine)]
            take = load.refreshed
        before = self.server.seconds()
        figures, _ = load.drive(self.server.port, make, take, [mine[index::width] for index in range(width)], self.seconds, rate)
        return figures | dict(cost=(self.server.seconds() - before) / figures["requests"] * 1e6)

    def measure(self, part, width):
        figures = self.figures[part, width] = self.drive(part, width)
        print(f"{part:10}{width:5} connections {load.shown(figures)}  {figures['cost']:.0f} µs", flush=True)

    def fill(self, wanted):
        """Sessions of other guests, like one that was refreshed, up to so many in the file. Returns the bytes of one with its indices, and their number."""
        database = self.open()
        have = database.execute("SELECT count(*) FROM session").fetchone()[0]
        database.execute("BEGIN")
        database.execute("CREATE TEMP TABLE filler AS WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?) SELECT "
                         "randomblob(16) AS id, lower(hex(randomblob(11))) AS account, lower(hex(randomblob(12))) AS device_id FROM number",
                         (max(1, wanted - have),))
        for table, changed, order, model in (("account", dict(id="filler.account"), "account", "WHERE email IS NULL"),
                                             ("session", load.FILLED, "id", "ORDER BY counter DESC")):
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            database.execute(load.copies(table, columns, changed, model) + f" ORDER BY filler.{order}")
        database.execute("COMMIT")
        each = size(database)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        # The disk is busy for a while with what was filled in; and the sessions of a server that has run for a while are in memory, not on the disk alone.
        os.sync()
        with open(self.server.folder + "/data/registry.sqlite", "rb", buffering=0) as file:
            while file.read(1 << 24):
                pass
        return each, max(wanted, have)

    def growth(self):
        """Latencies at half of the highest rate, with more and more sessions in the file."""
        rate = max(figures["rate"] for (part, _), figures in self.figures.items() if part == "refresh") / 2
        self.figures["growth"] = {}
        for wanted in self.sizes:
            self.server.end()
            each, sessions = self.fill(wanted)
            begun = time.monotonic()
            self.start()
            started = time.monotonic() - begun
            figures = self.figures["growth"][sessions] = self.drive("refresh", 32, rate)
            print(f"{sessions:10} sessions {load.shown(figures)}  p99.9 {figures['p99.9']:.2f} ms; {each:.0f} bytes each, start {started:.2f} s, "
                  f"{self.server.resident() / 1024:.0f} MB", flush=True)

    def terms(self, bench):
        """What no request can do without."""
        costs = self.figures["terms"] = json.loads(subprocess.run([bench, "--terms"], check=True, capture_output=True, text=True).stdout)
        hello = subprocess.Popen([bench, "--hello"], stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        try:
            port = int(hello.stdout.readline().rsplit(":", 1)[1])
            figures, _ = load.drive(port, lambda token: load.get("/"), load.same, [["-"]] * 32, self.seconds)
            costs["hello"] = server.seconds(hello.pid) / figures["requests"] * 1e6
        finally:
            hello.kill()
            hello.wait()
        print("terms: " + ", ".join(f"{name} {cost:.0f} µs" for name, cost in sorted(costs.items()) if name != "hashes"), flush=True)
        for part, _, names in drawing.REQUESTS:
            bound, cost = sum(costs[name] for name in names), self.figures[part, 32]["cost"]
            print(f"{part} at 32 connections: {cost:.0f} µs, {cost / bound:.2f} x {' + '.join(names)} ({bound:.0f} µs)", flush=True)
        rate = self.figures["password", 8]["rate"]
        print(f"sign-ins with a password: {rate:.1f}/s, {rate / costs['hashes']:.2f} of {costs['hashes']:.1f} hashes/s by as many threads, and nothing else")


def size(database):
    """The bytes of a session with its indices."""
    used = database.execute("SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_master WHERE tbl_name = 'session')").fetchone()[0]
    return used / database.execute("SELECT count(*) FROM session").fetchone()[0]


def main(options):
    server.PROGRAM, bench = build.programs("handstamp", "HandstampBench", release=True)
    if options.strict and not options.storm:
        sys.exit("bench: --strict is for a storm\nhint: scripts/dev bench --strict --storm 2000")
    if options.storm:
        more = ["--strict"] if options.strict else ["--picture", "docs/storm.svg"] if options.storm == 100_000 else []
        return subprocess.run([bench, "--storm", str(options.storm), "--server", build.operators(server.PROGRAM), *more]).returncode
    if subprocess.run([bench]).returncode:
        return 1
    speed = Speed(options.seconds, options.sizes)
    try:
        speed.sign_in()
        for width in WIDTHS:
            speed.measure("refresh", width)
        speed.measure("me", 32)
        speed.measure("introspect", 32)
        speed.growth()
        speed.terms(bench)
    finally:
        server.remove_all()
    for path, draw in (("docs/bench.svg", drawing.cost), ("docs/bench-latency.svg", drawing.latency)):
        with open(path, "w") as file:
            file.write(draw(speed.figures))
        print(path + " is written")
