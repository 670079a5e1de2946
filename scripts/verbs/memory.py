"""Measures the memory of a server's connections.

Opens idle connections and event streams one after the other, and prints the resident memory that one of each takes, and what is left afterwards. Fails
if an idle connection takes more than 24 KB, a stream more than 48 KB, or, of at least 2000, more than 10 % stays."""
import resource, socket, sys, time

from kit import build, server
from kit.web import Client


def options(parser):
    parser.add_argument("count", nargs="?", type=int, default=9000, help="connections, and streams")
    parser.add_argument("--debug", action="store_true", help="of a debug build")


class Connections:
    def __init__(self, count):
        self.count, self.server = count, server.Server()
        self.server.launch("--rate-limits", "none", "--access-token-life", "1h", "--log-level", "error")

    def resident(self):
        """Kilobytes, when they no longer change."""
        last, same = 0, 0
        while same < 5:
            now = self.server.resident()
            same = same + 1 if abs(now - last) < 64 else 0
            last = now
            time.sleep(0.2)
        return last

    def connect(self, number, request, mark):
        """An eighth of all connections may come from one address."""
        connection = socket.create_connection(("127.0.0.1", self.server.port), source_address=(f"127.0.1.{number % 250 + 1}", 0))
        connection.sendall(request)
        text = b""
        while mark not in text:
            piece = connection.recv(65536)
            if not piece:
                sys.exit(f"memory: the server closed a connection after {text!r}")
            text += piece
        return connection

    def idle(self, number):
        return self.connect(number, b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n", b'ok"}')

    def streams(self):
        client = Client(self.server)
        tokens = [client.guest()["access_token"] for _ in range((self.count + 3) // 4 + 13)]
        return lambda number: self.connect(
            number, f"GET /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {tokens[number // 4]}\r\n\r\n".encode(), b"verification")

    def measure(self, name, limit, make):
        for connection in [make(number) for number in range(50)]:
            connection.close()
        start, files = self.resident(), self.server.files() + 10
        connections = [make(number) for number in range(self.count)]
        each = (self.resident() - start) / self.count
        for connection in connections:
            connection.close()
        # The server gives the memory back half a second after it has noticed.
        while self.server.files() > files:
            time.sleep(0.1)
        time.sleep(1)
        end = self.resident()
        left = (end - start) / start * 100
        print(f"{name}: {each:.1f} KB each (limit {limit}), {self.count} of them; {start} KB before, {end} KB after ({left:+.1f} %)")
        return each <= limit and (self.count < 2000 or left <= 10)


def main(options):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < options.count + 200:
        sys.exit(f"memory: {options.count} connections need more descriptors than {hard}\nhint: use a smaller count, or raise ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    server.PROGRAM = build.program(release=not options.debug)
    try:
        here = Connections(options.count)
        good = here.measure("idle connection", 24, here.idle)
        return 0 if here.measure("event stream", 48, here.streams()) and good else 1
    finally:
        server.remove_all()
