"""An index of Python packages and a registry of cargo's, which ask for credentials, reduced to one package each. For tests.

    python3 index.py

It serves http on loopback, prints its port, then a line for every request: its path and the client's credential. It exits when its
standard input closes.
"""
import base64
import http.server
import io
import json
import sys
import threading
import zipfile

WHEEL = "demo-1.0-py3-none-any.whl"


def wheel():
    """A package without files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
        archive.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("demo-1.0.dist-info/RECORD", "")
    return content.getvalue()


def is_name_alone(credential):
    """Whether it is a user without a password, which pip and uv try first."""
    kind, _, text = credential.partition(" ")
    return kind == "Basic" and base64.b64decode(text).endswith(b":")


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        shown = self.headers.get("Authorization")
        if shown and is_name_alone(shown):
            shown = None
        print(self.path, shown or "nothing", flush=True)
        if not shown:
            return self.answer(401, "text/plain", b"", [("WWW-Authenticate", 'Basic realm="index"'), ("WWW-Authenticate", "Cargo")])
        here = "http://127.0.0.1:%d" % self.server.server_port
        if self.path.endswith(WHEEL):
            return self.answer(200, "application/octet-stream", wheel())
        if self.path == "/simple/demo/":
            return self.answer(200, "text/html", ('<!DOCTYPE html><a href="%s/files/%s">%s</a>' % (here, WHEEL, WHEEL)).encode())
        if self.path == "/index/config.json":
            return self.answer(200, "application/json", json.dumps({"dl": here + "/dl", "api": here, "auth-required": True}).encode())
        if self.path == "/api/v1/crates/demo/owners":
            return self.answer(200, "application/json", b'{"users":[{"id":1,"login":"ada","name":"Ada"}]}')
        self.answer(404, "text/plain", b"")

    do_HEAD = do_GET

    def answer(self, status, kind, body, more=()):
        self.send_response(status)
        for name, value in [("Content-Type", kind), ("Content-Length", str(len(body))), *more]:
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *arguments): pass


listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=listener.serve_forever, daemon=True).start()
print(listener.server_port, flush=True)
sys.stdin.read()
