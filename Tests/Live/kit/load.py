"""Load over HTTP, by processes of its own. Each connection has sessions for itself, and waits for an answer before the next request; or it sends on
schedule, whether or not earlier ones are answered: a server that stalls cannot hide the requests that waited for it."""
import collections, hashlib, json, multiprocessing, re, select, socket, time, urllib.parse
from concurrent.futures import ThreadPoolExecutor

from kit.web import Client, rotation_key

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)
REFRESHED = re.compile(rb'"refresh_token":"([^"]+)"')
SECRET = "load-secret-that-is-long-enough"
# Each may introspect 10,000 times a second.
CLIENTS = [f"load{number}" for number in range(8)]
# The columns of a session that are its own, in copies of a row.
FILLED = {name: "filler." + name for name in ("id", "account", "device_id")}


def launch(server, *flags, **more):
    """Starts a server that is measured: access tokens outlast the load, and clients may introspect."""
    with open(server.folder + "/clients.json", "w") as file:
        secret = hashlib.sha256(SECRET.encode()).hexdigest()
        json.dump([dict(id=name, flows=[], redirectURIs=[], introspects=True, secretSHA256=secret) for name in CLIENTS], file)
    server.launch("--issuer", "http://127.0.0.1", "--access-token-life", "1h", "--clients", file.name, *flags, **more)


def beside(function, count):
    """What the function returns for each number, all at the same time."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, range(count)))


def guests(place, count):
    """The sessions of so many new guests."""
    def sign_in(number):
        client = Client(place, timeout=120)
        return [client.guest() for _ in range(number, count, 8)]

    return sum(beside(sign_in, 8), [])


def copies(table, columns, changed, model):
    """A statement that copies a row for each of the table `filler`, with some columns changed."""
    values = ", ".join(changed.get(name, "one." + name) for name in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM filler, (SELECT * FROM {table} {model} LIMIT 1) one"


def get(path, authorization=""):
    return f"GET {path} HTTP/1.1\r\nHost: a\r\n{authorization}\r\n".encode()


def post(path, body, type="application/x-www-form-urlencoded"):
    return f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {type}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def refresh(token):
    return post("/oauth/token", urllib.parse.urlencode(dict(grant_type="refresh_token", refresh_token=token, rotation_key=rotation_key())))


def refreshed(token, body):
    """The token that follows, or `None`."""
    found = REFRESHED.search(body)
    return found and found[1].decode()


def same(token, body):
    return token


class Connection:
    """One connection, its tokens, and the moments at which its requests are due, if there is a schedule."""

    def __init__(self, port, tokens, gap):
        self.socket, self.tokens, self.gap = socket.create_connection(("127.0.0.1", port)), collections.deque(tokens), gap
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.token, self.begun, self.buffer = None, 0, b""
        # The first ones spread over a gap.
        self.due = time.monotonic() + gap * (hash(self) % 997) / 997 if gap else 0

    def send(self, make, now):
        self.token, self.begun = self.tokens.popleft(), self.due or now
        self.due += self.gap
        self.socket.sendall(make(self.token))

    def answer(self):
        """The status and the body, once there is a whole answer."""
        piece = self.socket.recv(1 << 16)
        if not piece:
            raise ConnectionError("closed")
        self.buffer += piece
        head, _, body = self.buffer.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if not length or len(body) < int(length[1]):
            return None
        self.buffer = b""
        return int(head[9:12]), body


def work(sender, port, make, take, parts, seconds, gap):
    """What one process sends. It tells the times, how long it took, the wrong answers, and the tokens that are left."""
    idle, ready, times, wrong = [Connection(port, tokens, gap) for tokens in parts], select.epoll(), [], []
    connections = {one.socket.fileno(): one for one in idle}
    for file in connections:
        ready.register(file, select.EPOLLIN)
    start = time.monotonic()
    while (now := time.monotonic()) < start + seconds:
        for one in [each for each in idle if each.due <= now and each.tokens]:
            idle.remove(one)
            one.send(make, now)
        wait = min((each.due - now for each in idle if each.tokens), default=0.1)
        for file, _ in ready.poll(max(0, min(wait, 0.1))):
            one = connections[file]
            if not (answer := one.answer()):
                continue
            times.append(time.monotonic() - one.begun)
            following = take(one.token, answer[1]) if answer[0] == 200 else None
            if following:
                one.tokens.append(following)
            else:
                wrong.append(f"{answer[0]} {answer[1][:200]!r}")
            idle.append(one)
    sender.send((times, time.monotonic() - start, wrong, [token for one in connections.values() for token in one.tokens]))


def drive(port, make, take, parts, seconds, rate=0):
    """Sends what `make` makes of a token, over a connection for each part of the tokens; with a rate, so many a second altogether. `take` returns the
    token that follows from a right answer. Returns figures of a request, and the tokens that are left: those of answers that were cut off are not."""
    fork, gap, runs = multiprocessing.get_context("fork"), len(parts) / rate if rate else 0, []
    for some in filter(None, [parts[0::2], parts[1::2]]):
        receiver, sender = fork.Pipe(False)
        fork.Process(target=work, args=(sender, port, make, take, some, seconds, gap), daemon=True).start()
        # Without this one, the end of a process that fails would not be noticed.
        sender.close()
        runs.append(receiver)
    all_times, lengths, wrong, tokens = zip(*[receiver.recv() for receiver in runs])
    times, wrong = sorted(sum(all_times, [])), sum(wrong, [])
    if wrong or not times:
        raise RuntimeError(f"{len(wrong)} of {len(times)} answers were wrong: {''.join(wrong[:1])}")
    at = lambda share: times[min(len(times) - 1, int(len(times) * share))] * 1e3
    return {"requests": len(times), "rate": len(times) / max(lengths), "p50": at(0.5), "p99": at(0.99), "p99.9": at(0.999)}, sum(tokens, [])


def shown(figures):
    return f"{figures['rate']:8.0f}/s  p50 {figures['p50']:.2f} ms  p99 {figures['p99']:.2f} ms"
