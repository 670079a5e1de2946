"""Restarts a server under load, with a listening socket that it inherits, as from systemd.

Stops and starts it five times while eight clients send requests on kept connections, and never a second time. Prints what went wrong, and fails if a
request was refused or a connection ended without an answer."""
import shutil, socket, subprocess, sys, tempfile, threading, time

from kit import build


def options(parser):
    parser.add_argument("requests", nargs="?", type=int, default=10_000)


class Manager:
    """What systemd does: holds the socket, and is told of the server's state."""

    def __init__(self, program):
        self.program, self.folder, self.listening = program, tempfile.mkdtemp(), socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.states = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.states.bind(self.folder + "/notify")
        self.states.settimeout(60)

    def start(self):
        self.server = subprocess.Popen(
            ["/bin/sh", "-c", 'exec 3<&0 0</dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@"', self.program, "serve", "--data",
             self.folder + "/data", "--issuer", "http://127.0.0.1", "--log-level", "warning"],
            stdin=self.listening, stdout=subprocess.DEVNULL, env={"NOTIFY_SOCKET": self.folder + "/notify", "PATH": "/usr/bin:/bin"})
        self.expect("READY=1")

    def expect(self, state):
        told = self.states.recv(256).decode()
        if told != state:
            sys.exit(f"restarts: the server told {told!r} instead of {state!r}")

    def stop(self):
        self.server.terminate()
        self.expect("STOPPING=1")
        if self.server.wait(60) != 0:
            sys.exit(f"restarts: the server ended with {self.server.returncode}")


class Load:
    def __init__(self, place, total):
        self.place, self.total, self.sent, self.lock, self.failures = place, total, 0, threading.Lock(), []

    def next_request(self):
        with self.lock:
            self.sent += 1
            return self.sent <= self.total

    def client(self):
        while len(self.failures) < 20:
            try:
                with socket.create_connection(self.place, 60) as connection:
                    answer = b""
                    while b"connection: close" not in answer.lower():
                        if not self.next_request():
                            return
                        connection.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
                        answer = b""
                        while not answer.endswith(b'{"status":"ok"}'):
                            piece = connection.recv(4096)
                            if not piece:
                                raise OSError(f"closed after {answer!r}")
                            answer += piece
            except OSError as error:
                self.failures.append(repr(error))


def main(options):
    manager = Manager(build.program())
    manager.start()
    load = Load(manager.listening.getsockname(), options.requests)
    clients = [threading.Thread(target=load.client, daemon=True) for _ in range(8)]
    for thread in clients:
        thread.start()
    for restart in range(1, 6):
        end = time.monotonic() + 120
        while load.sent < load.total * restart / 6 and time.monotonic() < end:
            time.sleep(0.01)
        manager.stop()
        manager.start()
    for thread in clients:
        thread.join(120)
    manager.stop()
    shutil.rmtree(manager.folder)
    print(f"{min(load.sent, load.total)} requests, 5 restarts, {len(load.failures)} failures", *load.failures[:5], sep="\n")
    return 0 if not load.failures and load.sent >= load.total else 1
