"""Measures the server and the client as they run (release), and draws docs/bench.svg and docs/bench-latency.svg.

Starts handstamp serve (SQLite, synchronous=FULL, standard limits, metrics, logs), and sends it requests, each connection with sessions of its own. Prints
for each part the rate, and the processor time of a request, which is the server's own, from /proc. Server and load share the machine: processor times
carry over to others, rates do not. The terms of their bounds come from HandstampBench, in the same run: hello-world by the same framework, a signature,
its check, a grouped commit, the reading of a row."""
import hashlib, json, os, sqlite3, subprocess, sys, threading, time

from drawing import speed as drawing
from kit import build, load, server
from kit.web import Client, install

PARTS = ["refresh", "me", "introspect", "password", "latency", "growth"]
SECRET = "load-secret-that-is-long-enough"
WIDTHS = [1, 8, 32, 128]


def options(parser):
    parser.add_argument("parts", nargs="*", help=f"some of {' '.join(PARTS)}, without the client and the picture")
    parser.add_argument("--seconds", type=int, default=4, help="of each measurement")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="sessions in the file, for growth")
    parser.add_argument("--debug", action="store_true", help="of a debug build")


def me(token):
    return load.get("/v1/me", f"Authorization: Bearer {token}\r\n")


def introspect(token):
    # Several clients, because each may ask 10,000 times a second.
    return load.post("/oauth/introspect", f"client_id=load{hash(token) % 8}&client_secret={SECRET}&token={token}")


def password(email):
    """A sign-in of an account from a device that it knows."""
    return load.post("/v1/sign-in", json.dumps(dict(email=email, password="correct horse battery", device=install("d-load"))), "application/json")


class Speed:
    def __init__(self, seconds, sizes):
        self.seconds, self.sizes, self.figures, self.server = seconds, sizes, {}, server.Server()
        self.access, self.refresh, self.emails = [], [], [f"load{number}@example.org" for number in range(8)]
        # A session may be refreshed 60 times at once, and once a second; the connections use up theirs unevenly.
        self.used = 320 * seconds
        with open(self.server.folder + "/clients.json", "w") as file:
            secret = hashlib.sha256(SECRET.encode()).hexdigest()
            json.dump([dict(id=f"load{number}", flows=[], redirectURIs=[], introspects=True, secretSHA256=secret) for number in range(8)], file)

    @property
    def database(self):
        return sqlite3.connect(self.server.folder + "/data/registry.sqlite", isolation_level=None)

    def start(self, limits):
        self.server.launch("--rate-limits", limits, "--issuer", "http://127.0.0.1", "--access-token-life", "1h", "--metrics-address", "127.0.0.1:0",
                           "--clients", self.server.folder + "/clients.json")

    def sign_in(self):
        self.start("none")
        count = self.used * (len(WIDTHS) + 1 + len(self.sizes)) // 8 + 1

        def body():
            client = Client(self.server)
            for _ in range(count):
                session = client.guest()
                self.access.append(session["access_token"])
                self.refresh.append(session["refresh_token"])

        threads = [threading.Thread(target=body) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.server.end()
        self.figures["fresh"] = self.size(self.database)
        print(f"{self.figures['fresh']:.0f} bytes with indices for each of {len(self.refresh)} sessions that were never refreshed", flush=True)
        self.start("standard")

    def drive(self, kind, width, rate=0):
        make, tokens = dict(refresh=(load.refresh, self.refresh), me=(me, self.access), introspect=(introspect, self.access),
                            password=(password, self.emails))[kind]
        mine = tokens[:max(self.used, width)]
        if kind == "refresh":
            if len(mine) < self.used:
                raise RuntimeError("no sessions are left")
            del tokens[:len(mine)]
        before = self.server.seconds()
        figures, _ = load.drive(self.server.port, make, load.refreshed if kind == "refresh" else load.same,
                                [mine[index::width] for index in range(width)], self.seconds, rate)
        return figures | dict(cost=(self.server.seconds() - before) / figures["requests"] * 1e6)

    def shown(self, part, width):
        figures = self.drive(part, width)
        print(f"{part:10}{width:5} connections {figures['rate']:8.0f}/s {figures['cost']:7.0f} µs  p50 {figures['p50']:.2f} ms  p99 {figures['p99']:.2f} ms", flush=True)
        return figures

    def measure(self, part):
        if part == "password":
            self.figures[part] = {8: self.password()}
        elif part == "growth":
            self.growth()
        elif part == "latency":
            figures = self.figures[part] = self.drive("refresh", 32, self.half())
            print(f"refresh at half of the highest rate, {figures['rate']:.0f}/s: p50 {figures['p50']:.2f} ms, p99 {figures['p99']:.2f} ms, "
                  f"p99.9 {figures['p99.9']:.2f} ms", flush=True)
        else:
            self.figures[part] = {width: self.shown(part, width) for width in (WIDTHS if part == "refresh" else [32])}

    def half(self):
        """Half of the highest rate of refreshes."""
        return max(figures["rate"] for figures in self.figures["refresh"].values()) / 2

    def password(self):
        """The limits would refuse most sign-ins."""
        self.server.end()
        self.start("none")
        client = Client(self.server)
        for email in self.emails:
            client.sign_up(email, "correct horse battery", "d-load")
        figures = self.shown("password", 8)
        self.server.end()
        self.start("standard")
        return figures

    def fill(self, size):
        """Sessions of other guests, like one that was refreshed, up to `size` in the file. Returns the bytes of one with its indices, and their number."""
        database = self.database
        columns = [row[1] for row in database.execute("PRAGMA table_info(session)")]
        accounts = [row[1] for row in database.execute("PRAGMA table_info(account)")]
        have = database.execute("SELECT count(*) FROM session").fetchone()[0]
        database.execute("BEGIN")
        database.execute("CREATE TEMP TABLE filler AS WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?) "
                         "SELECT randomblob(16) AS id, lower(hex(randomblob(11))) AS account, lower(hex(randomblob(12))) AS device_id FROM number", (max(1, size - have),))
        rest = ", ".join("filler.account" if name == "id" else f"one.{name}" for name in accounts)
        database.execute(f"INSERT INTO account ({', '.join(accounts)}) SELECT {rest} FROM filler, (SELECT * FROM account LIMIT 1) one ORDER BY filler.account")
        rest = ", ".join(f"filler.{name}" if name in ("id", "account", "device_id") else f"one.{name}" for name in columns)
        database.execute(f"INSERT INTO session ({', '.join(columns)}) SELECT {rest} FROM filler, (SELECT * FROM session ORDER BY counter DESC LIMIT 1) one "
                         "ORDER BY filler.id")
        database.execute("COMMIT")
        each = self.size(database)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        # The disk is busy for a while with what was filled in; and the sessions of a server that has run for a while are in memory, not on the disk alone.
        os.sync()
        with open(self.server.folder + "/data/registry.sqlite", "rb", buffering=0) as file:
            while file.read(1 << 24):
                pass
        return each, max(size, have)

    @staticmethod
    def size(database):
        """The bytes of a session with its indices."""
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE tbl_name = 'session'")]
        used = sum(database.execute("SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name = ?", (name,)).fetchone()[0] for name in names)
        return used / database.execute("SELECT count(*) FROM session").fetchone()[0]

    def growth(self):
        """Latencies at the same rate, with more and more sessions in the file."""
        rate = self.half()
        self.figures["growth"] = {}
        for size in self.sizes:
            self.server.end()
            each, size = self.fill(size)
            begun = time.monotonic()
            self.start("standard")
            started = time.monotonic() - begun
            figures = self.drive("refresh", 32, rate) | dict(bytes=each, start=started, memory=self.server.resident() / 1024)
            self.figures["growth"][size] = figures
            print(f"{size:10} sessions: p50 {figures['p50']:.2f} ms, p99 {figures['p99']:.2f} ms, p99.9 {figures['p99.9']:.2f} ms at {figures['rate']:.0f}/s; "
                  f"{each:.0f} bytes each, start {started:.2f} s, {figures['memory']:.0f} MB", flush=True)

    def terms(self, bench):
        """What no request can do without."""
        costs = json.loads(subprocess.run([bench, "--terms"], check=True, capture_output=True, text=True).stdout)
        hello = subprocess.Popen([bench, "--hello"], stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        try:
            port = int(hello.stdout.readline().rsplit(":", 1)[1])
            figures, _ = load.drive(port, lambda token: load.get("/"), load.same, [["-"]] * 32, self.seconds)
            costs["hello"] = server.seconds(hello.pid) / figures["requests"] * 1e6
        finally:
            hello.kill()
            hello.wait()
        self.figures["terms"] = costs
        print("terms: " + ", ".join(f"{name} {cost:.0f} µs" for name, cost in sorted(costs.items()) if name != "hashes"), flush=True)
        for part, names in (("refresh", ["hello", "sign", "commit", "read"]), ("me", ["hello", "read"]), ("introspect", ["hello", "read"])):
            bound, cost = sum(costs[name] for name in names), self.figures[part][32]["cost"]
            print(f"{part} at 32 connections: {cost:.0f} µs, {cost / bound:.2f} x {' + '.join(names)} ({bound:.0f} µs)", flush=True)
        rate = self.figures["password"][8]["rate"]
        print(f"sign-ins with a password: {rate:.1f}/s, {rate / costs['hashes']:.2f} of {costs['hashes']:.1f} hashes/s by as many threads, and nothing else")


def main(options):
    if set(options.parts) - set(PARTS):
        sys.exit(f"bench: no such part\nhint: {' '.join(PARTS)}")
    program, bench = build.programs("handstamp", *([] if options.parts else ["HandstampBench"]), release=not options.debug) + ([None] if options.parts else [])
    server.PROGRAM = program
    if bench and subprocess.run([bench]).returncode:
        return 1
    parts = options.parts or PARTS
    speed = Speed(options.seconds, [int(size) for size in options.sizes.split(",")] if "growth" in parts else [])
    try:
        speed.sign_in()
        for part in parts:
            speed.measure(part)
        if bench:
            speed.terms(bench)
    finally:
        server.remove_all()
    if bench:
        for path, draw in (("docs/bench.svg", drawing.cost), ("docs/bench-latency.svg", drawing.latency)):
            with open(path, "w") as file:
                file.write(draw(speed.figures))
            print(path + " is written")
    return 0
