"""Proves that several nodes on PostgreSQL lose nothing.

Starts a primary with a synchronous standby, three nodes and HAProxy, signs in, refreshes and signs out all the while, and breaks one thing after
another. After each, every node is asked: no honest client was signed out, no acknowledged sign-in or end was lost, no ended session is alive, and a theft
is found. Prints a line for each fault. Needs root for the network that is cut and the disk that is filled; without, it says that it leaves them out."""
import base64, functools, json, os, shutil, signal, statistics, sys, tempfile, time

from clusters import network
from clusters.database import Pair
from clusters.load import Client, Load
from clusters.nodes import Node, Proxy, free_ports
from kit import build, server
from kit.report import Report
from kit.web import Lost, require, until

NEEDS = ["--tests"]


def options(parser):
    parser.add_argument("--short", action="store_true", help="without what takes long")
    parser.add_argument("--asynchronous", action="store_true", help="commits do not wait for the standby, and primary_killed must fail: losses are noticed")
    parser.add_argument("names", nargs="*", help="only these")


class Cluster:
    def __init__(self, is_apart, is_synchronous):
        self.folder = tempfile.mkdtemp(prefix="cluster-")
        os.chmod(self.folder, 0o711)
        self.network = network.Network() if is_apart else None
        one, two, three, front, first, second = free_ports(6)
        self.pair = Pair(network.DISK if is_apart else self.folder, (first, second), self.network, is_synchronous)
        issuer = f"http://127.0.0.1:{front}"
        self.nodes = [Node(port, issuer, self.pair.url()) for port in (one, two)]
        self.nodes.append(Node(three, issuer, self.pair.url(self.network.database if is_apart else "127.0.0.1"), self.network))
        self.proxy = Proxy(self.folder, front, self.nodes)
        self.load = Load(self.proxy)

    def start(self):
        self.pair.start()
        self.move_in()
        self.nodes[0].start()
        for node in self.nodes[1:]:
            node.take_keys(self.nodes[0])
            node.start()
        self.proxy.start()
        self.settle()

    def move_in(self):
        """The first sessions begin on SQLite, and are moved: their clients notice nothing."""
        node, database = self.nodes[0], self.nodes[0].database
        node.database = None
        node.start()
        client = Client(node)
        for _ in range(20):
            self.load.refresh(client, self.load.signed_in(client))
        self.load.end(client, self.load.sessions[0])
        node.end()
        require(node.move(node.data, database) == 20, "not all sessions were moved")
        node.database = database

    def settle(self):
        """Until every node is ready, and the proxy passes requests on."""
        for node in self.nodes:
            node.wait()
        self.proxy.wait(len(self.nodes))

    def endure(self, fault):
        """One fault, under load unless it makes its own. Returns its figures."""
        load = self.load
        load.violations.clear()
        try:
            if fault not in ALONE:
                load.start()
                load.flow()
            load.take()
            words = fault(self)
            if fault not in ALONE:
                load.flow()
        finally:
            load.stop()
        counts = load.take()
        self.settle()
        load.audit(self.nodes)
        require(not load.violations, "; ".join(load.violations[:5]))
        return ", ".join([*(f"{count} {name}" for name, count in counts.items()), *filter(None, [words])])

    def remove(self):
        self.load.stop()
        self.proxy.stop()
        server.remove_all()
        self.pair.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def node_killed(cluster):
    """SIGKILL to a node; it starts again."""
    cluster.nodes[0].kill()
    cluster.load.flow()
    cluster.nodes[0].start()


def rolling_restart(cluster):
    """All nodes stop and start, one after another: no request may fail."""
    for node in cluster.nodes:
        node.end()
        node.start()
        cluster.proxy.wait(3)
    counts = cluster.load.counts
    require(not counts["unanswered"] and not counts["unavailable"], f"requests failed during the restarts: {counts}")


def primary_killed(cluster):
    """The primary is killed, and the standby promoted."""
    return f"promoted in {cluster.pair.fail_over():.1f} s"


def standby_rebuilt(cluster):
    """The former primary becomes the standby."""
    cluster.pair.rebuild_standby()


def restored_to_a_time(cluster):
    """All nodes stop, and the database is restored to an earlier time, as docs/several-nodes.md says."""
    load, folder = cluster.load, cluster.folder + "/backup"
    cluster.pair.back_up(folder)
    load.flow()
    mark = load.mark()
    # Each node has ends that only its own log knows.
    sessions = iter(mark.tokens)
    for node in cluster.nodes:
        for _ in range(5):
            load.end(Client(node), next(sessions))
    load.flow()
    for node in cluster.nodes:
        node.end()
    load.stop()
    cluster.pair.restore(mark.at)
    again = [node.restore() for node in cluster.nodes]
    for node in cluster.nodes:
        node.start()
    cluster.settle()
    lost, ends, thefts = load.audit_restored(cluster.nodes, mark)
    require(0 not in again and lost, f"the restore took nothing back: {again}")
    # A stream goes on after an ID that the restored database does not have yet.
    session = load.signed_in(Client(cluster.nodes[0]))
    stream = Client(cluster.nodes[1]).events(session, after=10**9)
    load.end(Client(cluster.nodes[0]), session)
    require(b"session-revoked" in stream.read(), "a stream that goes on did not tell of the end")
    cluster.pair.primary.set("archive_command", "true")
    shutil.rmtree(folder)
    load.start()
    return f"{lost} sign-ins are lost, {' + '.join(map(str, again))} of {ends} ends made again, {thefts} old thefts found"


def node_partitioned(cluster):
    """A node loses the database, and nothing tells it so."""
    node = cluster.nodes[2]
    cluster.network.cut()
    try:
        until(lambda: not node.is_ready(), "a node without its database says that it is ready", 40)
    finally:
        cluster.network.cut(False)
    began = time.monotonic()
    node.wait()
    return f"ready again {time.monotonic() - began:.1f} s after the network"


def disk_filled(cluster):
    """The database's disk is full; then there is room again."""
    path = network.DISK + "/ballast"
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 20))
        except OSError:
            pass
    before, words = cluster.load.counts["unavailable"], "answers were 503 meanwhile"
    try:
        until(lambda: cluster.load.counts["unavailable"] > before, "")
    except Lost:
        words = "the log still had room"
    os.unlink(path)
    # A server that could not write its log has stopped.
    for each in cluster.pair.servers:
        if each.process.poll() is not None:
            each.start()
    cluster.pair.wait_for_standby()
    return words


def clock_skewed(cluster):
    """A node's clock is five minutes ahead, from its start. Its tokens are not."""
    node = cluster.nodes[1]
    node.end()
    # The program is a child of this one, and is to end with it.
    node.wrapper = ["env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "faketime", "-f", "+5m", "setpriv", "--pdeathsig", "KILL"]
    node.start()
    cluster.proxy.wait(3)
    cluster.load.flow(1000)
    session = cluster.load.signed_in(Client(node))
    claims = json.loads(base64.urlsafe_b64decode(session.access.split(".")[1] + "=="))
    require(claims["iat"] <= time.time() + 2, f"a token is dated {claims['iat'] - time.time():.0f} s ahead")
    cluster.load.audit(cluster.nodes)
    node.kill()
    node.wrapper = []
    node.start()


def revocations(cluster):
    """How long after an end at one node the others refuse the session, and end its event streams."""
    clients = [Client(node) for node in cluster.nodes]
    times, streams = [], []
    for turn in range(40):
        here, other = clients[turn % 3], clients[(turn + 1) % 3]
        session = cluster.load.signed_in(here)
        stream = other.events(session)
        began = time.monotonic()
        cluster.load.end(here, session)
        require(other.me(session).status == 401, "another node accepts a session after its end was acknowledged")
        times.append(1000 * (time.monotonic() - began))
        require(b"session-revoked" in stream.read(), "a stream at another node did not tell of the end")
        streams.append(1000 * (time.monotonic() - began))
    words = [f"{statistics.median(values):.0f} ms (at most {max(values):.0f})" for values in (times, streams)]
    require(max(streams) <= 200, f"streams end after {words[1]}")
    return f"refused after {words[0]}, streams end after {words[1]}"


def moved_back(cluster):
    """All nodes stop, and the sessions move to SQLite again."""
    for node in cluster.nodes:
        node.end()
    last = Node(cluster.nodes[0].port, cluster.nodes[0].issuer, None)
    last.take_keys(cluster.nodes[0])
    count = last.move(cluster.nodes[0].database, last.data)
    last.start()
    cluster.nodes = [last]
    return f"{count} sessions"


FAULTS = [revocations, node_killed, rolling_restart, primary_killed, standby_rebuilt, restored_to_a_time, node_partitioned, disk_filled,
          clock_skewed, moved_back]
SHORT = [revocations, node_killed, rolling_restart, primary_killed]
ALONE = [revocations, moved_back]
NEEDS_ROOT = [node_partitioned, disk_filled]


def main(options):
    report = Report(FAULTS, [fault.__name__ for fault in SHORT] if options.short else options.names)
    if words := report.unknown():
        sys.exit("cluster: " + words)
    server.PROGRAM = build.program()
    is_apart = network.leave()
    # Its children end with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    cluster = Cluster(is_apart, not options.asynchronous)
    try:
        cluster.start()
        for fault in FAULTS:
            if fault in NEEDS_ROOT and not is_apart:
                print(f"{'left':7}{fault.__name__:25}needs root")
            elif report.run(functools.update_wrapper(functools.partial(cluster.endure, fault), fault)) is False:
                print(*(node.log() for node in cluster.nodes), sep="\n---\n")
    finally:
        cluster.remove()
    return report.end()
