"""Measures nodes on PostgreSQL (release).

Starts a PostgreSQL of its own, fills its tables up to each number of sessions (10000000 takes 30 GB while it is filled), and refreshes 5,000 of them,
which lie spread among the others. Prints the processor time of a refresh at the node and at the database, latencies, the write-ahead log and the size of
a session, the same for one, two and three nodes, and for pgbench's update of one row. Load, nodes and database share this machine: processor times carry
over to others, throughput does not."""
import os, re, shutil, subprocess, tempfile

from clusters.database import PROGRAMS, Server
from clusters.nodes import Node, free_ports
from kit import build, load, server

NEEDS = ["--tests"]
SECONDS = 8
# Clients of all nodes; each waits for its answer before it sends the next request.
BUSY, CALM = 32, 4


def options(parser):
    parser.add_argument("sessions", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])


class Bench:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="capacity-")
        os.chmod(self.folder, 0o711)
        port, *ports = free_ports(4)
        self.database = Server(self.folder + "/database", port)
        self.database.make()
        self.database.start(shared_buffers="1GB", max_wal_size="16GB", checkpoint_timeout="1h", autovacuum="off", maintenance_work_mem="1GB")
        self.database.sql("CREATE DATABASE handstamp", "postgres")
        url = f"postgresql://postgres@127.0.0.1:{port}/handstamp"
        self.nodes = [Node(one, f"http://127.0.0.1:{ports[0]}", url) for one in ports]

    def start(self, count):
        """So many nodes and no more."""
        for node in self.nodes:
            if node.runs():
                node.end()
        for node in self.nodes[:count]:
            if not os.path.exists(node.data) and node is not self.nodes[0]:
                node.take_keys(self.nodes[0])
            node.start()

    def fill(self, size):
        """Rows like those of a guest, and the rows of sessions in the order of their random IDs."""
        def columns(table):
            return self.database.sql("SELECT string_agg(column_name, ' ') FROM information_schema.columns WHERE table_schema = 'handstamp' "
                                     f"AND table_name = '{table}' AND is_generated = 'NEVER'").split()

        self.database.sql(f"""
            SET session_replication_role = replica;
            CREATE TEMPORARY TABLE filler AS
              SELECT left(md5('account' || number), 22) AS account, decode(md5('session' || number), 'hex') AS id,
                left(md5('device' || number), 24) AS device_id
              FROM generate_series((SELECT count(*) FROM handstamp.session) + 1, {size}) number;
            {load.copies("handstamp.account", columns("account"), dict(id="filler.account"), "WHERE email IS NULL AND identity IS NULL")};
            {load.copies("handstamp.session", columns("session"), load.FILLED, "ORDER BY counter DESC")};
            CLUSTER handstamp.session USING session_pkey""")
        for text in ("VACUUM ANALYZE handstamp.session", "VACUUM ANALYZE handstamp.account", "CHECKPOINT"):
            self.database.sql(text)

    def used(self, count):
        """The processor times of so many nodes and of all processes of PostgreSQL, those that have ended too, and the bytes of the log."""
        first, total = self.database.process.pid, 0
        for pid in self.database.pids():
            try:
                total += server.seconds(pid, with_ended_children=pid == first)
            except OSError:
                pass
        log = int(self.database.sql("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"))
        return sum(node.seconds() for node in self.nodes[:count]) * 1e6, total * 1e6, log

    def refresh(self, count, clients, seconds=SECONDS):
        """Refreshes at the first nodes, each with its part of the sessions. Returns figures of a refresh."""
        def drive(index):
            tokens = self.tokens[index::count]
            return load.drive(self.nodes[index].port, load.refresh, load.refreshed, [tokens[place::clients] for place in range(clients)], seconds)

        before = self.used(count)
        figures, tokens = zip(*load.beside(drive, count))
        after, self.tokens = self.used(count), sum(tokens, [])
        each = [(late - early) / sum(one["requests"] for one in figures) for early, late in zip(before, after)]
        return dict(zip(("node", "database", "log"), each), rate=sum(one["rate"] for one in figures),
                    p50=max(one["p50"] for one in figures), p99=max(one["p99"] for one in figures))

    def pgbench(self):
        """The update of one row among a million, over as many connections as a node has. The first run writes whole pages to the log."""
        for text in ("CREATE TABLE public.bound (id int PRIMARY KEY, value bigint, rest text) WITH (fillfactor = 70)",
                     "INSERT INTO bound SELECT number, 0, repeat('x', 250) FROM generate_series(1, 1000000) number", "VACUUM ANALYZE bound", "CHECKPOINT"):
            self.database.sql(text)
        with open(self.folder + "/update.sql", "w") as file:
            file.write("\\set n random(1, 5000)\nUPDATE bound SET value = value + 1 WHERE id = :n * 200;\n")
        os.chmod(file.name, 0o644)
        figures = []
        for _ in range(2):
            before = self.used(0)
            text = subprocess.run([PROGRAMS + "/pgbench", "-h", "127.0.0.1", "-p", str(self.database.port), "-U", "postgres", "-n", "-M", "prepared",
                                   "-c", "12", "-j", "1", "-T", str(SECONDS), "-f", file.name, "handstamp"], capture_output=True, text=True, check=True).stdout
            requests = int(re.search(r"transactions actually processed: (\d+)", text)[1])
            _, database, log = ((late - early) / requests for early, late in zip(before, self.used(0)))
            figures.append(dict(rate=requests / SECONDS, database=database, log=log))
        return figures

    def bytes(self):
        """Of a session, and of the account of a guest, indexes included."""
        size = "SELECT pg_total_relation_size('handstamp.{0}') / (SELECT count(*) FROM handstamp.{0})"
        return "+".join(self.database.sql(size.format(name)) for name in ("session", "account"))

    def remove(self):
        server.remove_all()
        self.database.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def show(*cells):
    print("".join(f"{cell:>13}" for cell in cells), flush=True)


def shown(figures, calm=None):
    """The cells that all tables have; the latencies may be of another measurement."""
    times = [f"{(calm or figures)[name]:.1f}" for name in ("p50", "p99")]
    return [f"{figures[name]:.0f}" for name in ("rate", "node", "database")] + times


def main(options):
    server.PROGRAM = build.program(release=True)
    bench = Bench()
    heads = ["refreshes/s", "node µs", "database µs", "p50 ms", "p99 ms"]
    try:
        bench.start(1)
        # So many are refreshed.
        bench.tokens = [session["refresh_token"] for session in load.guests(bench.nodes[0], min(5_000, min(options.sessions) // 2))]
        show("sessions", *heads, "log, first", "log, later", "bytes each")
        for size in sorted(options.sessions):
            bench.fill(size)
            bench.start(1)
            sizes = bench.bytes()
            first, busy, calm = bench.refresh(1, BUSY), bench.refresh(1, BUSY), bench.refresh(1, CALM)
            show(size, *shown(busy, calm), f"{first['log']:.0f}", f"{busy['log']:.0f}", sizes)
        first, later = bench.pgbench()
        show("pgbench", f"{later['rate']:.0f}", "", f"{later['database']:.0f}", "", "", f"{first['log']:.0f}", f"{later['log']:.0f}")
        show("nodes", *heads)
        for count in (1, 2, 3):
            bench.start(count)
            bench.refresh(count, BUSY // count, 2)
            show(count, *shown(bench.refresh(count, BUSY // count)))
    finally:
        bench.remove()
