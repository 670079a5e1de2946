"""Attacks by requests of HTTP/2 that say two things at once: a proxy and the server must not read them differently."""
import ssl, subprocess, tempfile

from attacks.target import Server, require

SETTINGS, HEADERS, RESET, GOAWAY = 4, 1, 3, 7
# The beginning of a block of fields with a status: by its index (RFC 7541 appendix A), or as the value of the field 8, in Huffman's code.
STATUSES = {**{bytes([0x88 + index]): code for index, code in enumerate((200, 204, 206, 304, 400, 404, 500))},
            b"\x48\x82\x68\x01": 401, b"\x48\x83\x68\x06\xff": 405}


def frame(type, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([type, flags]) + stream.to_bytes(4, "big") + payload


def literal(text):
    """A text without Huffman's code (RFC 7541 section 5.2)."""
    data = text.encode("latin-1")
    require(len(data) < 127, f"a text of {len(data)} bytes")
    return bytes([len(data)]) + data


def ask(server, fields, body=None):
    """The status of the answer to one request, or what happened instead."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    block = b"".join(b"\x00" + literal(name) + literal(value) for name, value in fields)
    data = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, b"") + frame(HEADERS, 4 if body else 5, 1, block)
    with context.wrap_socket(server.connect(timeout=5)) as connection, connection.makefile("rb") as answers:
        require(connection.selected_alpn_protocol() == "h2", "the server does not speak HTTP/2")
        connection.sendall(data + (frame(0, 1, 1, body) if body else b""))
        try:
            while len(head := answers.read(9)) == 9:
                payload = answers.read(int.from_bytes(head[:3], "big"))
                if head[3] == HEADERS:
                    # After an update of the table's size.
                    block = payload[1:] if payload[0] >> 5 == 1 else payload
                    return next((code for start, code in STATUSES.items() if block.startswith(start)), f"{block[:5]}")
                if head[3] in (RESET, GOAWAY):
                    return "refused"
        except (ConnectionError, ssl.SSLError):
            pass
        except OSError as error:
            return f"{error!r}"
        return "closed"


def second_version():
    """Names two hosts, no path, or a length that is not the body's in a request of HTTP/2, and fields that only HTTP/1.1 has."""
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        certificate, key = folder + "/certificate.pem", folder + "/key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj",
                        "/CN=localhost", "-out", certificate, "-keyout", key], check=True, capture_output=True)
        server = Server("--sign-up", "open", "--tls-certificate", certificate, "--tls-key", key)
    own = f"localhost:{server.port}"

    def request(path="/health", *more, authority=own, method="GET", scheme="https"):
        pseudo = [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)]
        return [(name, value) for name, value in pseudo if value is not None] + list(more)

    for fields in (request(), request("/health", ("host", own)), request("/health", ("host", own), authority=None)):
        require(ask(server, fields) == 200, f"a proper request: {ask(server, fields)}")
    cases = {f"the path {path!r}": request(path) for path in (
        "", "health", "*", "http://a/health", "https://evil.example.com/health", "?/health", "\\health", " /health", "/health x", "/he\x00alth",
        "/health\r\nx: y", "/health\t", "//health", "//admin/v1/stats")}
    cases |= {f"the host {host!r}": request(authority=host) for host in (
        "a@" + own, "user:pw@" + own, own + "/x", own + " x", own + "?x", "a\r\nx: y", "a, b")}
    cases |= {f"host {host!r} beside another": request("/health", ("host", host)) for host in (
        "evil.example.com", own + ".", "a", "", "localhost", own + ",evil.example.com")}
    cases |= {f"{pair} beside what is there": request("/health", pair) for pair in (
        (":path", "/ready"), (":method", "POST"), (":authority", "evil.example.com"), (":x", "y"), (":status", "200"), ("X-Upper", "y"), ("x y", "z"),
        ("x:y", "z"), ("", "z"), ("x\r\ny", "z"), ("x", "y\r\nhost: evil.example.com"), ("x", "y\x00z"), ("connection", "close"),
        ("transfer-encoding", "chunked"), ("upgrade", "h2c"), ("keep-alive", "1"), ("proxy-connection", "x"), ("te", "gzip"))}
    two = [("host", own), ("host", "evil.example.com")]
    cases |= {
        "two fields of hosts": request("/health", *two, authority=None), "two fields of hosts beside one": request("/health", *two),
        "no path": request(None), "no method": request(method=None), "no scheme": request(scheme=None),
        "a pseudo-field after others": request(None, ("x", "y"), (":path", "/health")),
        "a protocol": request("/health", (":protocol", "websocket"), method="CONNECT"),
        "a method with a space": request(method="GET /x"), "a method with a line": request(method="GET\r\n")}
    taken = [f"{name}: {answer}" for name, fields in cases.items() if (answer := ask(server, fields)) not in (400, 404, 405, "refused", "closed")]
    bodies = {"a longer body": ["1"], "a shorter body": ["99"], "two lengths": ["2", "3"], "a length with a sign": ["+2"], "a proper body": []}
    device = b'{"email":"a@example.org","password":"a wrong password","device":{"id":"d","name":"n","platform":"p"}}'
    for name, lengths in bodies.items():
        lengths = [("content-length", length) for length in lengths]
        answer = ask(server, request("/v1/sign-in", ("content-type", "application/json"), *lengths, method="POST"), device)
        # The whole body is 401.
        if answer not in ((400, "refused", "closed") if lengths else (401,)):
            taken.append(f"{name}: {answer}")
    require(not taken, "; ".join(taken))
    return f"{len(cases) + len(bodies) - 1} requests refused"


ATTACKS = [second_version]
