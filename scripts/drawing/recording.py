"""Records refreshes of a real client at a real server: what a proxy between them sees, and what the vault and the database hold."""

import hashlib
import http.client
import http.server
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import threading
import time
import urllib.parse

from kit import server


class Proxy(http.server.ThreadingHTTPServer):
    """Passes requests on, and keeps the requests for tokens. Holds one response back if `hold` is set."""

    daemon_threads = True

    def handle_error(self, *_):
        """A client that is killed breaks its connection."""

    def __init__(self, server, stores):
        super().__init__(("127.0.0.1", 0), Handler)
        self.server_url = urllib.parse.urlsplit(server)
        self.stores = stores
        self.exchanges = []
        self.hold = False
        self.held = threading.Event()
        self.release = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def pass_on(self):
        proxy = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_refresh = self.path == "/oauth/token"
        exchange = {"form": dict(urllib.parse.parse_qsl(body.decode())), "before": proxy.stores()} if is_refresh else {}
        upstream = http.client.HTTPConnection(proxy.server_url.hostname, proxy.server_url.port, timeout=30)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
        upstream.request(self.command, self.path, body, headers)
        response = upstream.getresponse()
        content = response.read()
        if is_refresh:
            exchange |= {"status": response.status, "answer": json.loads(content), "after": proxy.stores()}
            proxy.exchanges.append(exchange)
            if proxy.hold:
                proxy.hold = False
                proxy.held.set()
                proxy.release.wait(30)
                self.close_connection = True
                return
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "server", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = pass_on


def record():
    """Returns the exchanges of five steps, in order, and what the programs said."""
    here = server.Server()
    try:
        here.launch("--access-token-life", "1s")
        return play(here.url, pathlib.Path(here.folder))
    finally:
        here.remove()


def play(url, folder):
    home = folder / "home"

    def stores():
        vaults = [hashlib.sha256(path.read_bytes()).hexdigest() for path in home.glob("vault/*.vault")]
        with sqlite3.connect(f"file:{folder}/data/registry.sqlite?mode=ro", uri=True) as database:
            row = database.execute("SELECT counter, end_reason FROM session").fetchone() or (None, None)
        return {"vault": vaults, "counter": row[0], "ended": row[1]}

    proxy = Proxy(url, stores)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    environment = {**os.environ, "HANDSTAMP_HOME": str(home)}
    for name in ("HANDSTAMP_TOKEN", "HANDSTAMP_ACCOUNT"):
        environment.pop(name, None)

    def start(*arguments):
        return subprocess.Popen(
            [server.PROGRAM, *arguments], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def token():
        child = start("token")
        out, words = child.communicate(timeout=30)
        return {"status": child.returncode, "out": out.strip(), "words": words.strip()}

    child = start("signup", "--server", proxy.url, "ada@example.org")
    _, words = child.communicate("correct horse battery\n", timeout=30)
    assert child.returncode == 0, words
    time.sleep(1.1)  # the lifetime of an access token
    calm = stores()

    proxy.hold = True
    child = start("token")
    assert proxy.held.wait(30), "no refresh"
    child.send_signal(signal.SIGKILL)
    child.wait(30)
    proxy.release.set()
    killed = stores()

    again = token()
    settled = stores()

    lost = proxy.exchanges[0]["form"]
    thief = http.client.HTTPConnection("127.0.0.1", proxy.server_address[1], timeout=30)
    thief.request(
        "POST", "/oauth/token", urllib.parse.urlencode({**lost, "rotation_key": "AAAAAAAAAAAAAAAAAAAAAA"}),
        {"Content-Type": "application/x-www-form-urlencoded"})
    thief.getresponse().read()

    time.sleep(1.1)
    last = token()
    proxy.shutdown()
    return {
        "exchanges": proxy.exchanges, "calm": calm, "killed": killed, "again": again, "settled": settled, "last": last,
    }
