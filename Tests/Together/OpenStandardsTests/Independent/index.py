"""An index of Python packages and a registry of cargo's, which ask for credentials, reduced to one package each. For tests.

It serves http on loopback, prints its port, then a line for every request: its path and the client's credential. It exits when its
standard input closes.
"""
import base64, io, sys, zipfile
from parties.hostile import Listener

WHEEL = "demo-1.0-py3-none-any.whl"


def wheel():
    """A package without files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
        archive.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("demo-1.0.dist-info/RECORD", "")
    return content.getvalue()


def answer(request):
    shown = request.headers.get("Authorization")
    # A user without a password, which pip and uv try first.
    if shown and shown.startswith("Basic ") and base64.b64decode(shown[6:]).endswith(b":"):
        shown = None
    print(request.path, shown or "nothing", flush=True)
    if not shown:
        return request.give(status=401, www_authenticate=['Basic realm="index"', "Cargo"])
    if request.path.endswith(WHEEL):
        return request.give(wheel(), content_type="application/octet-stream")
    if request.path == "/simple/demo/":
        page = f'<!DOCTYPE html><a href="{listener.url}/files/{WHEEL}">{WHEEL}</a>'
        return request.give(page.encode(), content_type="text/html")
    if request.path == "/index/config.json":
        return request.give({"dl": listener.url + "/dl", "api": listener.url, "auth-required": True})
    if request.path == "/api/v1/crates/demo/owners":
        return request.give(b'{"users":[{"id":1,"login":"ada","name":"Ada"}]}')
    request.give(status=404)


listener = Listener(answer)
print(listener.port, flush=True)
sys.stdin.read()
