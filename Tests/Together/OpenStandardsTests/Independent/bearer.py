"""A container registry and a Kubernetes API server, reduced to their first requests for credentials. For tests.

It serves https with a self-signed certificate, prints its port, then a line for every request: its path and the client's
credential. It exits when its standard input closes.
"""
import hashlib, os, ssl, subprocess, sys, tempfile
from parties.hostile import Listener

EMPTY = "sha256:" + hashlib.sha256(b"{}").hexdigest()
MANIFEST = (
    '{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":'
    '{"mediaType":"application/vnd.docker.container.image.v1+json","size":2,"digest":"%s"},"layers":[]}' % EMPTY).encode()


def answer(request):
    shown = request.headers.get("Authorization")
    print(request.path, shown or "nothing", flush=True)
    body = MANIFEST if "/manifests/" in request.path else b"{}"
    request.give(
        body, 200 if shown else 401, content_type="application/vnd.docker.distribution.manifest.v2+json",
        docker_content_digest="sha256:" + hashlib.sha256(body).hexdigest(), www_authenticate=[] if shown else 'Basic realm="registry"')


with tempfile.TemporaryDirectory() as folder:
    key, certificate = os.path.join(folder, "key"), os.path.join(folder, "certificate")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key,
         "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
print(Listener(answer, tls=context).port, flush=True)
sys.stdin.read()
