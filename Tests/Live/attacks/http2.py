"""Attacks by requests of HTTP/2 that say two things at once: a proxy and the server must not read them differently."""
import shutil, ssl, subprocess

from attacks.target import Server, require

SETTINGS, HEADERS, RESET, GOAWAY = 4, 1, 3, 7
DIGITS = {**{format(n, "05b"): str(n) for n in range(3)}, **{format(22 + n, "06b"): str(n) for n in range(3, 10)}}


def frame(type, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([type, flags]) + stream.to_bytes(4, "big") + payload


def literal(text):
    """A text without Huffman's code (RFC 7541 section 5.2)."""
    data = text.encode("latin-1")
    if len(data) < 127:
        return bytes([len(data)]) + data
    rest, size = len(data) - 127, b"\x7f"
    while rest > 127:
        size, rest = size + bytes([rest % 128 + 128]), rest // 128
    return size + bytes([rest]) + data


def status(block):
    """The status at the beginning of a block of fields."""
    while block[0] >> 5 == 1:
        block = block[1:]
    if block[0] & 0x80:
        return [200, 204, 206, 304, 400, 404, 500][block[0] - 0x88]
    size, data = block[1] & 0x7F, block[2:2 + (block[1] & 0x7F)]
    if not block[1] & 0x80:
        return int(data)
    bits, text = "".join(format(byte, "08b") for byte in data), ""
    while len(text) < 3:
        length = 5 if bits[:5] in DIGITS else 6
        text, bits = text + DIGITS[bits[:length]], bits[length:]
    return int(text)


def ask(server, fields, body=None):
    """The status of the answer to one request, or what happened instead."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with context.wrap_socket(server.connect(timeout=5)) as connection:
        require(connection.selected_alpn_protocol() == "h2", "the server does not speak HTTP/2")
        block = b"".join(b"\x00" + literal(name) + literal(value) for name, value in fields)
        data = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, b"") + frame(HEADERS, 4 if body else 5, 1, block)
        connection.sendall(data + (frame(0, 1, 1, body) if body else b""))
        buffer = b""
        try:
            while True:
                while len(buffer) < 9 or len(buffer) < 9 + int.from_bytes(buffer[:3], "big"):
                    piece = connection.recv(65536)
                    if not piece:
                        return "closed"
                    buffer += piece
                length, type = int.from_bytes(buffer[:3], "big"), buffer[3]
                payload, buffer = buffer[9:9 + length], buffer[9 + length:]
                if type == HEADERS:
                    return status(payload)
                if type in (RESET, GOAWAY):
                    return "refused"
        except OSError as error:
            return "closed" if isinstance(error, (ConnectionError, ssl.SSLError)) else f"{error!r}"


def second_version():
    """Names two hosts, no path, or a length that is not the body's in a request of HTTP/2, and fields that only HTTP/1.1 has."""
    server = Server("--sign-up", "open")
    server.stop()
    certificate, key = server.folder + "/certificate.pem", server.folder + "/key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj",
                    "/CN=localhost", "-out", certificate, "-keyout", key], check=True, capture_output=True)
    # The issuer of a database does not change.
    shutil.rmtree(server.folder + "/data")
    server.start("--sign-up", "open", "--tls-certificate", certificate, "--tls-key", key)
    own = f"localhost:{server.port}"

    def request(path="/health", authority=own, method="GET", scheme="https", *more):
        pseudo = [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)]
        return [(name, value) for name, value in pseudo if value is not None] + list(more)

    for fields in (request(), request("/health", own, "GET", "https", ("host", own)), request("/health", None, "GET", "https", ("host", own))):
        require(ask(server, fields) == 200, f"a proper request: {ask(server, fields)}")
    cases = {f"the path {path!r}": request(path) for path in (
        "", "health", "*", "http://a/health", "https://evil.example.com/health", "?/health", "\\health", " /health", "/health x", "/he\x00alth",
        "/health\r\nx: y", "/health\t", "//health", "//admin/v1/stats")}
    cases |= {f"the host {host!r}": request("/health", host) for host in ("a@" + own, "user:pw@" + own, own + "/x", own + " x", own + "?x", "a\r\nx: y", "a, b")}
    for host in ("evil.example.com", own + ".", "a", "", "localhost", own + ",evil.example.com"):
        cases[f"host {host!r} beside another"] = request("/health", own, "GET", "https", ("host", host))
    cases |= {
        "two fields of hosts": request("/health", None, "GET", "https", ("host", own), ("host", "evil.example.com")),
        "two fields of hosts beside one": request("/health", own, "GET", "https", ("host", own), ("host", "evil.example.com")),
        "no path": request(None), "no method": request(method=None), "no scheme": request(scheme=None),
        "two paths": request() + [(":path", "/ready")], "two methods": request() + [(":method", "POST")],
        "two hosts": request() + [(":authority", "evil.example.com")],
        "a pseudo-field after others": [*request(None), ("x", "y"), (":path", "/health")],
        "an unknown pseudo-field": request() + [(":x", "y")], "one of answers": request() + [(":status", "200")],
        "a protocol": request(method="CONNECT") + [(":protocol", "websocket")],
        "a name in upper case": request() + [("X-Upper", "y")], "a name with a space": request() + [("x y", "z")],
        "a name with a colon": request() + [("x:y", "z")], "no name": request() + [("", "z")], "a name with a line": request() + [("x\r\ny", "z")],
        "a value with a line": request() + [("x", "y\r\nhost: evil.example.com")], "a value with a null": request() + [("x", "y\x00z")],
        "a method with a space": request(method="GET /x"), "a method with a line": request(method="GET\r\n"),
    }
    cases |= {name: request() + [(name, value)] for name, value in (
        ("connection", "close"), ("transfer-encoding", "chunked"), ("upgrade", "h2c"), ("keep-alive", "1"), ("proxy-connection", "x"), ("te", "gzip"))}
    json = [("content-type", "application/json")]
    bodies = {"a longer body": request("/v1/sign-in", own, "POST") + json + [("content-length", "1")],
              "a shorter body": request("/v1/sign-in", own, "POST") + json + [("content-length", "99")],
              "two lengths": request("/v1/sign-in", own, "POST") + json + [("content-length", "2"), ("content-length", "3")],
              "a length with a sign": request("/v1/sign-in", own, "POST") + json + [("content-length", "+2")]}
    taken = []
    for name, fields in cases.items():
        answer = ask(server, fields)
        if answer not in (400, 404, 405, "refused", "closed"):
            taken.append(f"{name}: {answer}")
    device = b'{"email":"a@example.org","password":"a wrong password","device":{"id":"d","name":"n","platform":"p"}}'
    for name, fields in bodies.items():
        answer = ask(server, fields, device)
        # The whole body would be 401.
        if answer not in (400, "refused", "closed"):
            taken.append(f"{name}: {answer}")
    require(ask(server, request("/v1/sign-in", own, "POST") + json, device) == 401, "a proper body is refused")
    require(not taken, "; ".join(taken))
    return f"{len(cases) + len(bodies)} requests refused"


ATTACKS = [second_version]
