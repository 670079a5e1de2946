"""Load over HTTP, by processes of its own. Each connection has sessions for itself, and waits for an answer before the next request; or it sends on
schedule, whether or not earlier ones are answered: a server that stalls cannot hide the requests that waited for it."""
import collections, multiprocessing, re, select, socket, time
import urllib.parse

from kit.web import rotation_key

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)
REFRESHED = re.compile(rb'"refresh_token":"([^"]+)"')


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
        if self.gap:
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
    ready, connections = select.epoll(), {}
    for tokens in parts:
        one = Connection(port, tokens, gap)
        connections[one.socket.fileno()] = one
        ready.register(one.socket, select.EPOLLIN)
    start, times, wrong, sample = time.monotonic(), [], 0, ""
    idle = list(connections.values())
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
                wrong, sample = wrong + 1, sample or f"{answer[0]} {answer[1][:200]!r}"
            idle.append(one)
    sender.send((times, time.monotonic() - start, wrong, sample, [token for one in connections.values() for token in one.tokens]))


def drive(port, make, take, parts, seconds, rate=0):
    """Sends what `make` makes of a token, over a connection for each part of the tokens; with a rate, so many a second altogether. `take` returns the
    token that follows from a right answer. Returns figures of a request, and the tokens that are left: those of answers that were cut off are not."""
    fork, gap, runs = multiprocessing.get_context("fork"), len(parts) / rate if rate else 0, []
    for some in [parts[0::2], parts[1::2]]:
        if some:
            receiver, sender = fork.Pipe(False)
            process = fork.Process(target=work, args=(sender, port, make, take, some, seconds, gap), daemon=True)
            process.start()
            sender.close()
            runs.append((process, receiver))
    results = []
    for process, receiver in runs:
        results.append(receiver.recv())
        process.join()
    times = sorted(each for result in results for each in result[0])
    if not times or any(result[2] for result in results):
        raise RuntimeError(f"{sum(result[2] for result in results)} of {len(times)} answers were wrong: {next((r[3] for r in results if r[3]), '')}")
    at = lambda share: times[min(len(times) - 1, int(len(times) * share))] * 1e3
    return {"requests": len(times), "rate": len(times) / max(result[1] for result in results), "p50": at(0.5), "p99": at(0.99), "p99.9": at(0.999)}, [
        token for result in results for token in result[4]]
