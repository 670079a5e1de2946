"""Proves that several nodes on PostgreSQL lose nothing.

Starts a primary with a synchronous standby, three nodes and HAProxy, signs in, refreshes and signs out all the while, and breaks one thing after
another. After each, every node is asked: no honest client was signed out, no acknowledged sign-in or end was lost, no ended session is alive, and a theft
is found. Prints a line for each fault. Needs root for the network that is cut and the disk that is filled; without, it says that it leaves them out."""
import base64, json, os, resource, shutil, signal, subprocess, sys, tempfile, time

from clusters.database import Pair
from clusters.load import Client, Load
from clusters.network import Network, remove_remains, run
from clusters.nodes import Node, Proxy, free_ports
from kit import build, server
from kit.web import until

NEEDS = ["--tests"]
is_root = os.geteuid() == 0


def options(parser):
    parser.add_argument("--short", action="store_true", help="without what takes long")
    parser.add_argument("--asynchronous", action="store_true", help="commits do not wait for the standby, and primary_killed must fail: losses are noticed")
    parser.add_argument("names", nargs="*", help="only these")


class Cluster:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix=f"cluster-{os.getpid()}-")
        os.chmod(self.folder, 0o711)
        self.network = self.pair = self.load = None
        self.nodes, self.disk = [], None

    def start(self, is_synchronous):
        if is_root:
            # A disk of its own, which can be filled.
            self.disk = self.folder + "/disk"
            os.makedirs(self.disk)
            run("mount", "-t", "tmpfs", "-o", "size=700m,mode=0711", "tmpfs", self.disk)
            self.network = Network()
        one, two, three, front, first, second = free_ports(6)
        self.pair = Pair(self.disk or self.folder, (first, second), self.network, is_synchronous)
        issuer = f"http://127.0.0.1:{front}"
        for number, port in enumerate((one, two, three), 1):
            network = self.network if number == 3 else None
            url = self.pair.url(network.database if network else "127.0.0.1")
            self.nodes.append(Node(number, self.folder, port, issuer, url, network))
        self.load = Load(Proxy(self.folder, front, self.nodes))
        self.move_in()
        self.nodes[0].start()
        for node in self.nodes[1:]:
            node.take_keys(self.nodes[0])
            node.start()
        self.load.place.start()
        self.settle()

    def move_in(self):
        """The first sessions begin on SQLite, and are moved: their clients notice nothing."""
        node, database = self.nodes[0], self.nodes[0].database
        node.database = None
        node.start()
        client = Client(node)
        for _ in range(20):
            self.load.refresh(client, self.load.sign_in(client))
        self.load.end(client, self.load.sessions[0])
        node.stop()
        rows = node.move(node.data, database)
        if rows["session"] != 20:
            raise RuntimeError(f"not all sessions were moved: {rows}")
        node.database = database

    def settle(self, seconds=90):
        """Until every node is ready, and the proxy passes requests on."""
        for node in self.nodes:
            node.wait(seconds)
        client = self.load.client()
        until(lambda: (answer := client.get("/ready")) and answer.status == 200, "the proxy does not pass requests on")
        time.sleep(1)

    def endure(self, fault):
        """One fault, under load unless it makes its own. Returns whether nothing was violated."""
        is_alone = fault in (revocations, moved_back)
        if not is_alone:
            self.load.start()
            time.sleep(1)
        self.load.take()
        words = fault(self) or ""
        if not is_alone:
            time.sleep(2)
        self.load.stop()
        counts, gap, latencies = self.load.take()
        self.settle()
        self.load.audit(self.nodes)
        p99 = 1000 * latencies[int(len(latencies) * 0.99)] if latencies else 0
        wrong, self.load.violations = self.load.violations, []
        print(f"{'FAILED' if wrong else 'ok':8}{fault.__name__:20}{counts['refreshes']:10}{counts['sign_ins']:9}{counts['ends']:6}"
              f"{counts['unavailable']:6}{counts['failed']:6}{gap:7.1f}{p99:8.0f}  {words}", flush=True)
        for text in wrong[:5]:
            print(f"        {text}")
        return not wrong

    def remove(self):
        if self.load:
            self.load.stop()
            self.load.place.stop()
        for node in self.nodes:
            node.kill()
        if self.pair:
            self.pair.stop()
        if self.network:
            self.network.remove()
        if self.disk:
            subprocess.run(["umount", "-l", self.disk])
        shutil.rmtree(self.folder, ignore_errors=True)


def quiet(cluster):
    """Nothing is broken."""
    time.sleep(4)


def node_killed(cluster):
    """SIGKILL to a node; it starts again."""
    time.sleep(1)
    cluster.nodes[0].kill()
    time.sleep(2)
    cluster.nodes[0].start()


def rolling_restart(cluster):
    """All nodes stop and start, one after another: no request may fail."""
    for node in cluster.nodes:
        node.stop()
        node.start()
        time.sleep(1)
    counts, _, _ = cluster.load.take()
    if counts["failed"] or counts["unavailable"]:
        cluster.load.wrong(f"requests failed during the restarts: {counts}")
    return f"{counts['refreshes']} refreshes, none failed"


def primary_killed(cluster):
    """The primary is killed, and the standby promoted."""
    time.sleep(1)
    took = cluster.pair.fail_over()
    return f"promoted in {took:.1f} s"


def standby_rebuilt(cluster):
    """The former primary becomes the standby."""
    cluster.pair.rebuild_standby()


def restored_to_a_time(cluster):
    """All nodes stop, and the database is restored to an earlier time, as docs/operations.md says."""
    load, folder = cluster.load, cluster.folder + "/backup"
    cluster.pair.back_up(folder)
    time.sleep(2)
    mark = load.mark()
    # Each node has ends that only its own log knows.
    sessions = iter(mark.tokens)
    for node in cluster.nodes:
        for _ in range(5):
            load.end(Client(node), next(sessions))
    time.sleep(3)
    for node in cluster.nodes:
        node.stop()
    load.stop()
    cluster.pair.restore(mark.at)
    again = [node.restore() for node in cluster.nodes]
    for node in cluster.nodes:
        node.start()
    cluster.settle()
    lost, ends, thefts = load.audit_restored(cluster.nodes, mark)
    if 0 in again or not lost:
        load.wrong(f"the restore took nothing back: {again}")
    resume(cluster)
    cluster.pair.archive("true")
    shutil.rmtree(folder)
    load.start()
    return f"{lost} sign-ins are lost, {' + '.join(map(str, again))} of {ends} ends made again, {thefts} old thefts found"


def resume(cluster):
    """A stream goes on after an ID that the restored database does not have yet."""
    clients = [Client(node) for node in cluster.nodes]
    session = cluster.load.sign_in(clients[0])
    stream, close = clients[1].events(session.access, after=10**9)
    cluster.load.end(clients[0], session)
    if b"session-revoked" not in stream.read():
        cluster.load.wrong("a stream that goes on did not tell of the end")
    close()


def node_partitioned(cluster):
    """A node loses the database, and nothing tells it so."""
    node = cluster.nodes[2]
    cluster.network.cut()
    end = time.monotonic() + 40
    while node.is_ready():
        if time.monotonic() > end:
            cluster.load.wrong("a node without its database says that it is ready")
            break
        time.sleep(0.2)
    began = time.monotonic()
    cluster.network.cut(False)
    node.wait()
    return f"ready again {time.monotonic() - began:.1f} s after the network"


def disk_filled(cluster):
    """The database's disk is full; then there is room again."""
    path = cluster.disk + "/ballast"
    with open(path, "wb") as file:
        try:
            while True:
                file.write(bytes(1 << 20))
                file.flush()
        except OSError:
            pass
    end = time.monotonic() + 30
    before = cluster.load.counts["unavailable"]
    while cluster.load.counts["unavailable"] == before and time.monotonic() < end:
        time.sleep(0.2)
    was_refused = cluster.load.counts["unavailable"] > before
    os.unlink(path)
    # A server that could not write its log has stopped.
    for each in (cluster.pair.primary, cluster.pair.standby):
        if each.process.poll() is not None:
            each.start()
    cluster.pair.wait_for_standby(cluster.pair.primary)
    return "answers were 503 meanwhile" if was_refused else "the log still had room"


def clock_skewed(cluster):
    """A node's clock is five minutes ahead, from its start. Its tokens are not."""
    node = cluster.nodes[1]
    node.stop()
    node.wrapper = ["env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "faketime", "-f", "+5m"]
    node.start()
    time.sleep(3)
    session = cluster.load.sign_in(Client(node))
    if session != None:
        claims = json.loads(base64.urlsafe_b64decode(session.access.split(".")[1] + "=="))
        if claims["iat"] > time.time() + 2:
            cluster.load.wrong(f"a token is dated {claims['iat'] - time.time():.0f} s ahead")
    cluster.load.audit(cluster.nodes)
    node.kill()
    subprocess.run(["pkill", "-9", "-f", node.data + " "])
    node.wrapper = []
    node.start()


def revocations(cluster):
    """How long after an end at one node the others refuse the session, and end its event streams."""
    clients = [Client(node) for node in cluster.nodes]
    times, streams = [], []
    for round in range(40):
        session = cluster.load.sign_in(clients[round % 3])
        if session == None:
            continue
        other = Client(cluster.nodes[(round + 1) % 3])
        stream, close = other.events(session.access)
        began = time.monotonic()
        cluster.load.end(clients[round % 3], session)
        if other.me(session.access).status == 401:
            times.append(time.monotonic() - began)
        else:
            cluster.load.wrong("another node accepts a session after its end was acknowledged")
        text = stream.read()
        streams.append(time.monotonic() - began)
        if b"session-revoked" not in text:
            cluster.load.wrong("a stream at another node did not tell of the end")
        close()
    times, streams = sorted(times), sorted(streams)
    at = lambda values, part: 1000 * values[min(len(values) - 1, int(len(values) * part))]
    if at(streams, 0.99) > 200 and len(streams) > 30 and not cluster.load.threads:
        cluster.load.wrong(f"streams end after {at(streams, 0.99):.0f} ms")
    return f"refused after {at(times, .5):.0f} ms (p99 {at(times, .99):.0f}), streams end after {at(streams, .5):.0f} ms (p99 {at(streams, .99):.0f})"


def moved_back(cluster):
    """All nodes stop, and the sessions move to SQLite again."""
    for node in cluster.nodes:
        node.stop()
    last = Node(4, cluster.folder, cluster.nodes[0].port, cluster.nodes[0].issuer, None)
    last.take_keys(cluster.nodes[0])
    rows = last.move(cluster.nodes[0].database, last.data)
    last.start()
    cluster.nodes = [last]
    return f"{rows['session']} sessions"


FAULTS = [quiet, revocations, node_killed, rolling_restart, primary_killed, standby_rebuilt, restored_to_a_time, node_partitioned, disk_filled,
          clock_skewed, moved_back]
SHORT = [revocations, node_killed, rolling_restart, primary_killed]
NEEDS_ROOT = [node_partitioned, disk_filled]

def main(options):
    known = [fault.__name__ for fault in FAULTS]
    if wrong := set(options.names) - set(known):
        sys.exit(f"cluster: no fault {' '.join(wrong)}\nhint: some of {' '.join(known)}")
    chosen = SHORT if options.short else [fault for fault in FAULTS if not options.names or fault.__name__ in options.names]
    server.PROGRAM = build.program()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    # Its children end with it; remains are those of a SIGKILL.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if is_root:
        remove_remains()
    began, failed, cluster = time.monotonic(), [], Cluster()
    try:
        cluster.start(not options.asynchronous)
        if options.asynchronous:
            print("commits do not wait for the standby: violations are expected after primary_killed")
        print(f"{'':8}{'fault':20}{'refreshes':>10}{'sign-ins':>9}{'ends':>6}{'503':>6}{'none':>6}{'gap s':>7}{'p99 ms':>8}", flush=True)
        for fault in chosen:
            if fault in NEEDS_ROOT and not is_root:
                print(f"{'left':8}{fault.__name__:20}needs root")
            elif not cluster.endure(fault):
                failed.append(fault.__name__)
    except Exception:
        for node in cluster.nodes:
            print(f"--- node {node.number}", node.log(), sep="\n")
        raise
    finally:
        cluster.remove()
    print(f"{len(chosen)} faults in {time.monotonic() - began:.0f} s, {len(failed)} failed" + (": " + ", ".join(failed) if failed else ""))
    return 1 if failed else 0
