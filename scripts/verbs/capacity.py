"""Measures nodes on PostgreSQL (release).

Starts a PostgreSQL of its own, fills its tables up to each number of sessions (10000000 takes 30 GB while it is filled), and refreshes 5,000 of them,
which lie spread among the others. Prints the processor time of a refresh at the node and at the database, latencies, the write-ahead log and the size of
a session, the same for one, two and three nodes, and for pgbench's update of one row. Load, nodes and database share this machine: processor times carry
over to others, throughput does not."""
import os, re, shutil, subprocess, tempfile, threading

from clusters.database import PROGRAMS, Server
from clusters.nodes import Node, free_ports
from kit import build, load, server
from kit.web import Client

NEEDS = ["--tests"]
SECONDS = 8
# Clients of all nodes; each waits for its answer before it sends the next request.
BUSY, CALM = 32, 4


def options(parser):
    parser.add_argument("sessions", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--debug", action="store_true", help="of a debug build")


class Bench:
    def __init__(self, size):
        # So many are refreshed.
        self.real, self.folder = min(5_000, size // 2), tempfile.mkdtemp(prefix="capacity-")
        os.chmod(self.folder, 0o711)
        port, *ports = free_ports(4)
        self.database, self.nodes = Server(self.folder + "/database", port), []
        self.database.make()
        self.database.start(shared_buffers="1GB", max_wal_size="16GB", checkpoint_timeout="1h", autovacuum="off", maintenance_work_mem="1GB")
        self.database.sql("CREATE DATABASE handstamp", "postgres")
        url = f"postgresql://postgres@127.0.0.1:{port}/handstamp"
        self.nodes = [Node(number, self.folder, one, f"http://127.0.0.1:{ports[0]}", url) for number, one in enumerate(ports, 1)]
        self.tokens = []

    def start(self, count):
        for node in self.nodes[:count]:
            if not os.path.exists(node.data) and node is not self.nodes[0]:
                node.take_keys(self.nodes[0])
            node.start()

    def stop(self):
        for node in self.nodes:
            if node.runs():
                node.stop()

    def sign_in(self):
        def body(count):
            client = Client(self.nodes[0])
            for _ in range(count):
                self.tokens.append(client.guest()["refresh_token"])

        threads = [threading.Thread(target=body, args=(self.real // 4,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if len(self.tokens) < self.real:
            raise RuntimeError("not all sign-ins were answered")

    def fill(self, size):
        """Rows like those of a guest, and the rows of sessions in the order of their random IDs."""
        self.database.sql(f"""
            SET session_replication_role = replica;
            DROP INDEX handstamp.session_device, handstamp.session_expiry, handstamp.session_ended, handstamp.session_account;
            CREATE TEMPORARY TABLE filler AS
              SELECT left(md5('account' || number), 22) AS account, decode(md5('session' || number), 'hex') AS id, left(md5('device' || number), 24) AS device
              FROM generate_series((SELECT count(*) FROM handstamp.session) + 1, {size}) number;
            INSERT INTO handstamp.account (id, email, email_typed, identity, username, password_hash, created_at, credentials_changed_at, closed_at, revision)
              SELECT filler.account, email, email_typed, identity, username, password_hash, created_at, credentials_changed_at, closed_at, revision
              FROM filler, (SELECT * FROM handstamp.account WHERE email IS NULL AND identity IS NULL LIMIT 1) one;
            INSERT INTO handstamp.session (id, account, device_id, device_name, platform, kind, counter, ring, created_at, rotated_at, last_seen_at, ended_at,
                end_reason, absolute_expiry, idle_limit, expiry, dpop_thumbprint, push_token, client, scope, audience, authenticated_at, revision)
              SELECT filler.id, filler.account, filler.device, device_name, platform, kind, counter, ring, created_at, rotated_at, last_seen_at, ended_at,
                end_reason, absolute_expiry, idle_limit, expiry, dpop_thumbprint, push_token, client, scope, audience, authenticated_at, revision
              FROM filler, (SELECT * FROM handstamp.session ORDER BY counter DESC LIMIT 1) one;
            CLUSTER handstamp.session USING session_pkey;
            CREATE UNIQUE INDEX session_device ON handstamp.session (account, device_id) WHERE ended_at IS NULL;
            CREATE INDEX session_expiry ON handstamp.session (expiry_day) WHERE ended_at IS NULL AND expiry_day IS NOT NULL;
            CREATE INDEX session_ended ON handstamp.session (ended_at) WHERE ended_at IS NOT NULL;
            CREATE INDEX session_account ON handstamp.session (account);""")
        self.database.sql("VACUUM ANALYZE handstamp.session")
        self.database.sql("VACUUM ANALYZE handstamp.account")
        self.database.sql("CHECKPOINT")

    def database_seconds(self):
        """The processor time of all processes of PostgreSQL, those that have ended too."""
        first, total = self.database.process.pid, 0
        for pid in self.database.pids():
            try:
                total += server.seconds(pid, with_ended_children=pid == first)
            except OSError:
                pass
        return total

    def log_bytes(self):
        return int(self.database.sql("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"))

    def refresh(self, count, clients, seconds=SECONDS):
        """Refreshes at the first nodes, each with its part of the sessions. Returns figures of a refresh."""
        nodes, results = self.nodes[:count], [None] * count

        def drive(index):
            tokens = self.tokens[index::count]
            results[index] = load.drive(nodes[index].port, load.refresh, load.refreshed, [tokens[place::clients] for place in range(clients)], seconds)

        before = (sum(node.seconds() for node in nodes), self.database_seconds(), self.log_bytes())
        threads = [threading.Thread(target=drive, args=(index,)) for index in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = (sum(node.seconds() for node in nodes), self.database_seconds(), self.log_bytes())
        self.tokens = [token for _, tokens in results for token in tokens]
        figures = [each for each, _ in results]
        node, database, log = ((late - early) / sum(each["requests"] for each in figures) for early, late in zip(before, after))
        return dict(rate=sum(each["rate"] for each in figures), node=node * 1e6, database=database * 1e6, log=log,
                    p50=max(each["p50"] for each in figures), p99=max(each["p99"] for each in figures))

    def pgbench(self):
        """The update of one row among a million, over as many connections as a node has."""
        self.database.sql("CREATE TABLE IF NOT EXISTS public.bound (id int PRIMARY KEY, value bigint, rest text) WITH (fillfactor = 70)")
        self.database.sql("INSERT INTO bound SELECT number, 0, repeat('x', 250) FROM generate_series(1, 1000000) number ON CONFLICT DO NOTHING")
        self.database.sql("VACUUM ANALYZE bound")
        self.database.sql("CHECKPOINT")
        with open(self.folder + "/update.sql", "w") as file:
            file.write("\\set n random(1, 5000)\nUPDATE bound SET value = value + 1 WHERE id = :n * 200;\n")
        os.chmod(self.folder + "/update.sql", 0o644)
        figures = []
        # The first run writes whole pages to the log.
        for _ in range(2):
            before = (self.database_seconds(), self.log_bytes())
            text = subprocess.run([PROGRAMS + "/pgbench", "-h", "127.0.0.1", "-p", str(self.database.port), "-U", "postgres", "-n", "-M", "prepared",
                                   "-c", "12", "-j", "1", "-T", str(SECONDS), "-f", self.folder + "/update.sql", "handstamp"],
                                  capture_output=True, text=True, check=True).stdout
            requests = int(re.search(r"transactions actually processed: (\d+)", text)[1])
            figures.append(dict(rate=requests / SECONDS, database=(self.database_seconds() - before[0]) / requests * 1e6,
                                log=(self.log_bytes() - before[1]) / requests))
        return figures[1] | dict(first_log=figures[0]["log"])

    def bytes(self):
        """Of a session, and of the account of a guest, indexes included."""
        size = "SELECT pg_total_relation_size('handstamp.{0}') / (SELECT count(*) FROM handstamp.{0})"
        return [int(self.database.sql(size.format(name))) for name in ("session", "account")]

    def remove(self):
        for node in self.nodes:
            node.kill()
        self.database.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def main(options):
    server.PROGRAM = build.program(release=not options.debug)
    bench = Bench(min(options.sessions))
    try:
        bench.start(1)
        bench.sign_in()
        print(f"{'sessions':>10}{'refreshes/s':>13}{'node µs':>9}{'database µs':>13}{'p50 ms':>8}{'p99 ms':>8}"
              f"{'log, first':>12}{'log, later':>12}{'bytes each':>12}", flush=True)
        for size in sorted(options.sessions):
            bench.stop()
            bench.fill(size)
            bench.start(1)
            sizes_of_rows = bench.bytes()
            first = bench.refresh(1, BUSY)
            busy, calm = bench.refresh(1, BUSY), bench.refresh(1, CALM)
            print(f"{size:10}{busy['rate']:13.0f}{busy['node']:9.0f}{busy['database']:13.0f}{calm['p50']:8.1f}{calm['p99']:8.1f}"
                  f"{first['log']:12.0f}{busy['log']:12.0f}{sizes_of_rows[0]:7}+{sizes_of_rows[1]}", flush=True)
        bound = bench.pgbench()
        print(f"{'pgbench':>10}{bound['rate']:13.0f}{'':9}{bound['database']:13.0f}{'':16}{bound['first_log']:12.0f}{bound['log']:12.0f}\n")
        print(f"{'nodes':>10}{'refreshes/s':>13}{'node µs':>9}{'database µs':>13}{'p50 ms':>8}{'p99 ms':>8}", flush=True)
        for count in (1, 2, 3):
            bench.stop()
            bench.start(count)
            bench.refresh(count, BUSY // count, 2)
            figures = bench.refresh(count, BUSY // count)
            print(f"{count:10}{figures['rate']:13.0f}{figures['node']:9.0f}{figures['database']:13.0f}{figures['p50']:8.1f}{figures['p99']:8.1f}", flush=True)
    finally:
        bench.remove()
    return 0
