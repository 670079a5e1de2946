"""A container registry and a Kubernetes API server, reduced to their first requests for credentials. For tests.

    python3 bearer.py

It serves https with a self-signed certificate, prints its port, then a line for every request: its path and the client's
credential. It exits when its standard input closes.
"""
import hashlib
import http.server
import os
import ssl
import subprocess
import sys
import tempfile
import threading

EMPTY = "sha256:" + hashlib.sha256(b"{}").hexdigest()
MANIFEST = (
    '{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":'
    '{"mediaType":"application/vnd.docker.container.image.v1+json","size":2,"digest":"%s"},"layers":[]}' % EMPTY).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        shown = self.headers.get("Authorization")
        print(self.path, shown or "nothing", flush=True)
        body = MANIFEST if "/manifests/" in self.path else b"{}"
        self.send_response(200 if shown else 401)
        if not shown:
            self.send_header("WWW-Authenticate", 'Basic realm="registry"')
        self.send_header("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
        self.send_header("Docker-Content-Digest", "sha256:" + hashlib.sha256(body).hexdigest())
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *arguments): pass


with tempfile.TemporaryDirectory() as folder:
    key, certificate = os.path.join(folder, "key"), os.path.join(folder, "certificate")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key,
         "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
listener.socket = context.wrap_socket(listener.socket, server_side=True)
threading.Thread(target=listener.serve_forever, daemon=True).start()
print(listener.server_port, flush=True)
sys.stdin.read()
