"""Measures the memory of a server's connections (release), and how soon event streams hear of an end.

Opens idle connections and event streams one after the other, and prints the resident memory that one of each takes, and what is left afterwards. Fails
if an idle connection takes more than 24 KB, a stream more than 24 KB, or, of at least 2000, more than 10 % stays.

With --soak, loads a server for long at half of its highest rate: refreshes, /v1/me and introspections in turn. Prints latencies, memory and descriptors of
ten parts, each with a backup and a checkpoint; the server starts anew in the middle. Fails at a wrong answer, and if after the third part of a start
memory grows by more than 2 %, or descriptors stay open."""
import json, resource, shutil, socket, sqlite3, sys, time
from concurrent.futures import ThreadPoolExecutor

from kit import build, load, server
from kit.web import Client, require, until
from verbs import bench


def options(parser):
    parser.add_argument("count", nargs="?", type=int, default=9000, help="connections, and streams")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="a load for so long instead")


def resident(place):
    """Kilobytes, when they have not changed for a second."""
    last, same = 0, 0
    while same < 5:
        now = place.resident()
        same, last = same + 1 if abs(now - last) < 64 else 0, now
        time.sleep(0.2)
    return last


def connect(place, number, request, mark):
    """A connection, after an answer. An eighth of all may come from one address."""
    connection = socket.create_connection((place.host, place.port), source_address=(f"127.0.1.{number % 250 + 1}", 0))
    connection.sendall(request)
    wait(connection, mark)
    return connection


def wait(connection, mark):
    text = b""
    while mark not in text:
        piece = connection.recv(65536)
        if not piece:
            sys.exit(f"memory: the server closed a connection after {text!r}")
        text += piece


def end(place, streams, tokens):
    """Ends sessions, and prints how soon the four streams of each know."""
    client, times = Client(place), []
    for number, token in enumerate(tokens[:min(300, len(streams) // 4)]):
        began = time.monotonic()
        require(client.post("/v1/sign-out", Authorization="Bearer " + token).status == 204, "no sign-out")
        for stream in streams[4 * number:4 * number + 4]:
            wait(stream, b"session-revoked")
        times.append((time.monotonic() - began) * 1000)
    times.sort()
    print(f"an end reaches its streams in {times[len(times) // 2]:.1f} ms, 99th percentile {times[len(times) * 99 // 100]:.1f} ms")


def measure(place, name, limit, count, request, mark, then=None):
    for connection in [connect(place, number, request(number), mark) for number in range(50)]:
        connection.close()
    start, files = resident(place), place.files() + 10
    connections = [connect(place, number, request(number), mark) for number in range(count)]
    each = (resident(place) - start) / count
    if then:
        then(connections)
    for connection in connections:
        connection.close()
    # The server gives the memory back half a second after it has noticed.
    until(lambda: place.files() <= files, "the server keeps connections")
    end = resident(place)
    left = (end - start) / start * 100
    print(f"{name}: {each:.1f} KB each (limit {limit}), {count} of them; {start} KB before, {end} KB after ({left:+.1f} %)")
    return each <= limit and (count < 2000 or left <= 10)


def disturb(place, seconds):
    """A backup and a checkpoint, as operators make them."""
    time.sleep(seconds)
    place.admin("database", "backup", place.folder + "/backup")
    shutil.rmtree(place.folder + "/backup")
    sqlite3.connect(place.folder + "/data/registry.sqlite").execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()


def soak(place, seconds):
    """Ten parts of so many seconds."""
    def make(token):
        access, refresh, turn = token
        return load.refresh(refresh) if turn % 3 == 0 else bench.me(access) if turn % 3 == 1 else bench.introspect(access)

    def take(token, body):
        access, refresh, turn = token
        fields = json.loads(body)
        # A user's fields, new tokens, or whether the token is good.
        good = fields.get("active", True)
        return (fields.get("access_token", access), fields.get("refresh_token", refresh), turn + 1) if good else None

    def loaded(seconds, rate=0):
        nonlocal tokens
        figures, tokens = load.drive(place.port, make, take, [tokens[index::32] for index in range(32)], seconds, rate)
        return figures

    launch = lambda: load.launch(place, "--rate-limits", "none", "--metrics-address", "127.0.0.1:0")
    launch()
    tokens, good = [(one["access_token"], one["refresh_token"], 0) for one in load.guests(place, 2000)], True
    rate = loaded(5)["rate"] / 2
    for part in range(10):
        if part == 5:
            place.end()
            launch()
        with ThreadPoolExecutor() as pool:
            meanwhile = pool.submit(disturb, place, seconds / 2)
            figures = loaded(seconds, rate)
        meanwhile.result()
        # When the connections of the load are closed.
        memory, files = resident(place), place.files()
        print(f"{load.shown(figures)}  p99.9 {figures['p99.9']:.2f} ms  {memory} KB  {files} descriptors", flush=True)
        # Caches fill after a start.
        if part % 5 < 3:
            first = memory * 1.02, files
        good = good and memory <= first[0] and files <= first[1]
    return good


def main(options):
    # A soak opens few connections.
    count, hard = 0 if options.soak else options.count, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < count + 200:
        sys.exit(f"memory: {count} connections need more descriptors than {hard}\nhint: use a smaller count, or raise ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    server.PROGRAM, place = build.program(release=True), server.Server()
    try:
        if options.soak:
            return 0 if soak(place, options.soak * 6) else 1
        place.launch("--rate-limits", "none", "--access-token-life", "1h", "--log-level", "error")
        good = measure(place, "idle connection", 24, count, lambda number: load.get("/health"), b'ok"}')
        tokens = [session["access_token"] for session in load.guests(place, (max(count, 50) + 3) // 4)]
        bearer = lambda number: f"Authorization: Bearer {tokens[number // 4]}\r\n"
        # What the server keeps of a token would lie among the connections' memory, and keep pages of it.
        client = Client(place)
        for token in tokens:
            client.get("/v1/me", Authorization="Bearer " + token)
        return 0 if measure(place, "event stream", 24, count, lambda number: load.get("/v1/events", bearer(number)), b"verification",
                            lambda streams: end(place, streams, tokens)) and good else 1
    finally:
        server.remove_all()
