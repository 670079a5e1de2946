"""Attacks by the bytes of HTTP: slow, large, ambiguous, or in another's name."""
import re, select, shutil, socket, time

from attacks.person import signed_in
from attacks.target import CLIENTS, Browser, Client, Server, authorization, bearer, require


def closed(connection):
    """Whether the server has closed a connection, without receiving from it."""
    events = select.poll()
    events.register(connection, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
    return bool(events.poll(0))


def slow(path, seconds, most, begin, step):
    """Opens 40 connections that begin a request, sends `step` on each from time to time, and waits until the server closes all."""
    server = Server("--sign-up", "open")
    base, start, connections = server.resident(), time.monotonic(), []
    for number in range(40):
        connection = server.connect(f"127.0.{2 + number % 4}.{number + 1}", 5)
        connection.sendall(begin)
        connections.append(connection)
    opened, next_step = len(connections), start + seconds
    while connections and time.monotonic() < start + most + 5:
        time.sleep(0.1)
        for connection in [each for each in connections if closed(each)]:
            connections.remove(connection)
            connection.close()
        if time.monotonic() >= next_step:
            next_step += seconds
            for connection in connections:
                try:
                    connection.send(step)
                except OSError:
                    pass
    took, grown = time.monotonic() - start, (server.resident() - base) / 1024
    for connection in connections:
        connection.close()
    require(grown < 50, f"{grown:.0f} MB more memory")
    require(took <= most, f"{len(connections)} of {opened} connections are open after {took:.0f} s")
    require(Client(server, "127.0.8.1").get(path).status == 200, "an honest request fails")
    return f"{opened} connections closed after {took:.0f} s"


def slow_header():
    """Sends a header a byte a second."""
    return slow("/health", 1, 15, b"GET /health HTTP/1.1\r\nHost: a\r\nX-Slow: ", b"x") + " (limit 10)"


def slow_body():
    """Sends a body a byte every ten seconds, for which the server has all it needs to answer but the end."""
    head = b"POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    return slow("/health", 10, 36, head, b" ") + " (limit 30)"


def endless_chunk():
    """Sends the extension of a chunk without an end, which no limit of a body counts."""
    head = b"POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1;"
    return slow("/health", 0.5, 36, head, b"x" * 8192) + " (limit 30)"


def slow_reader():
    """Asks for large answers, many at once on each connection, and reads none of them."""
    server = Server("--sign-up", "open")
    base, files, connections, start = server.resident(), server.files(), [], time.monotonic()
    for number in range(20):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.bind((f"127.0.{number + 1}.1", 0))
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n" * 400)
        connections.append(connection)
    most, left = 0, len(connections)
    # A client that reads nothing cannot see the end of its connection either: the server's files tell.
    while time.monotonic() < start + 2 or left > 2 and time.monotonic() < start + 45:
        time.sleep(0.2)
        most, left = max(most, server.resident() - base), server.files() - files
    took = time.monotonic() - start
    for connection in connections:
        connection.close()
    require(left <= 2, f"{left} of {len(connections)} connections are open after {took:.0f} s")
    require(most < 200_000, f"{most / 1024:.0f} MB more memory")
    return f"{len(connections)} connections closed after {took:.0f} s (limit 30); at most {most / 1024:.0f} MB more memory"


def status(text):
    """The statuses of all answers in a text."""
    return [int(code) for code in re.findall(rb"(?:^|(?<=\}))HTTP/1\.[01] (\d{3})", text, re.M)]


def huge():
    """Sends more of everything than an honest client: head, fields, body, nesting, form, chunks, address, name."""
    server, tried = Server("--sign-up", "open", "--rate-limits", "none"), 0
    post = b"POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    for name, data, expected in (
        ("head", b"GET /health HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", {431}),
        ("endless head", b"GET /health HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 2_000_000, {431}),
        ("fields", b"GET /health HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 1000 + b"\r\n", {431}),
        ("address", b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", {414, 431}),
        ("body", post + b"Content-Length: 5000000\r\nConnection: close\r\n\r\n" + b" " * 5_000_000, {413}),
        ("promised body", post + b"Content-Length: 99999999999999999999\r\n\r\n", {400, 413}),
        ("negative body", post + b"Content-Length: -1\r\n\r\n", {400}),
        ("chunks", post + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunk * 40 + b"0\r\n\r\n", {413}),
        ("chunk length", post + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", {400}),
        ("trailer", post + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", {400, 431}),
    ):
        codes = status(server.raw(data))
        require(codes and codes[0] in expected, f"{name}: {codes}")
        tried += 1
    client = Client(server, timeout=10)
    arrays, objects = "[" * 60_000, '{"a":' * 12_000
    device = '{"email":"a@example.org","password":%s,"device":{"id":"d","name":"n","platform":"p"}}'
    for name, path, type, body, expected in (
        ("open arrays", "/v1/sign-in", "application/json", arrays, 400),
        ("arrays", "/v1/sign-in", "application/json", "[" * 30_000 + "]" * 30_000, 400),
        ("objects", "/v1/sign-in", "application/json", objects + "1" + "}" * 3_000, 400),
        ("a nested password", "/v1/sign-in", "application/json", device % ("[" * 30_000 + "]" * 30_000), 400),
        ("a long password", "/v1/sign-in", "application/json", device % ('"' + "x" * 60_000 + '"'), 400),
        ("a long number", "/v1/sign-in", "application/json", device % ("9" * 60_000), 400),
        ("form fields", "/oauth/token", "application/x-www-form-urlencoded", "&".join(f"a{n}=1" for n in range(7_000)), 400),
        ("one field", "/oauth/token", "application/x-www-form-urlencoded", "grant_type=" + "x" * 60_000, 400),
    ):
        answer = client.request("POST", path, body, {"Content-Type": type})
        require(answer.status == expected, f"{name}: {answer.status}")
        tried += 1
    # Ranges and accepted codings that multiply an answer, and a token far beyond any that the server makes.
    for name, fields in (("ranges", {"Range": "bytes=" + ",".join("0-" for _ in range(2000))}), ("token", {"Authorization": "Bearer " + "x." * 7000})):
        answer = client.request("GET", "/v1/me" if name == "token" else "/openapi.json", None, fields)
        require(answer.status in (200, 401) and len(answer.body) < 500_000, f"{name}: {answer.status}, {len(answer.body)} bytes")
        tried += 1
    require(client.get("/health").status == 200, "an honest request fails")
    return f"{tried} refused, and the server answers"


def smuggling():
    """Hides a second request in one whose length is ambiguous: a proxy and the server must not disagree about where it ends."""
    server, hidden = Server("--sign-up", "open"), b"GET /v1/app-config HTTP/1.1\r\nHost: a\r\n\r\n"
    line, length = b"POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n", str(5 + len(hidden)).encode()
    ambiguous = {
        "both lengths": b"Content-Length: " + length + b"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "both, the other order": b"Transfer-Encoding: chunked\r\nContent-Length: " + length + b"\r\n\r\n0\r\n\r\n",
        "two lengths": b"Content-Length: 0\r\nContent-Length: " + length + b"\r\n\r\n",
        "a list of lengths": b"Content-Length: 0, " + length + b"\r\n\r\n",
        "a sign": b"Content-Length: +0\r\n\r\n",
        "a hexadecimal length": b"Content-Length: 0x0\r\n\r\n",
        "a space before the colon": b"Transfer-Encoding : chunked\r\nContent-Length: 0\r\n\r\n",
        "a tab in the name": b"Transfer-Encoding\t: chunked\r\nContent-Length: 0\r\n\r\n",
        "another coding": b"Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\n",
        "two codings": b"Transfer-Encoding: chunked, identity\r\nContent-Length: 0\r\n\r\n",
        "two fields of codings": b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n",
        "a coding with a control character": b"Transfer-Encoding: \x0bchunked\r\nContent-Length: 0\r\n\r\n",
        "a folded field": b"Transfer-Encoding:\r\n chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n",
        "a bare carriage return": b"X: y\rTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
        "a chunk with a sign": b"Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n",
        "a chunk with a prefix": b"Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n",
        "a chunk without its end": b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        "a null byte": b"X: \x00\r\nContent-Length: 0\r\n\r\n",
        "two hosts": b"Host: b\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.0 with chunks": None,
    }
    for name, fields in ambiguous.items():
        start = line if fields else line.replace(b"HTTP/1.1", b"HTTP/1.0")
        text = server.raw(start + (fields or b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n") + hidden, timeout=2)
        codes = status(text)
        require(len(codes) == 1 and codes[0] >= 400, f"{name}: {codes}")
    # The control: two requests that are not ambiguous have two answers.
    codes = status(server.raw(line + b"Content-Length: 2\r\n\r\n{}" + hidden.replace(b"Host: a", b"Host: a\r\nConnection: close")))
    require(codes == [400, 200], f"two proper requests: {codes}")
    return f"{len(ambiguous)} ambiguous requests have one answer each, and an end"


def hosts():
    """Names another host, and asks from another site: neither may be in an answer or in a mail."""
    server, evil = Server("--sign-up", "open", "--rate-limits", "none"), "evil.example.com"
    client = Client(server)
    session = client.sign_up("owner@example.org", "a long enough secret")
    names = {"Host": evil, "X-Forwarded-Host": evil, "X-Forwarded-Proto": "gopher", "X-Original-URL": "/admin/v1/stats", "X-Rewrite-URL": "/admin",
             "Forwarded": f"host={evil}", "Origin": f"https://{evil}", "Referer": f"https://{evil}/"}
    tried = 0
    for method, path, body in (
        ("POST", "/v1/password-reset", '{"email":"owner@example.org"}'), ("GET", "/.well-known/oauth-authorization-server", None),
        ("GET", "/oauth/authorize?client_id=cli", None), ("GET", "/device", None), ("GET", "/v1/me", None), ("GET", "/openapi.json", None),
        ("OPTIONS", "/v1/me", None), ("OPTIONS", "/oauth/token", None), ("TRACE", "/v1/me", None), ("CONNECT", "/", None),
        ("GET", "/v1/sessions", None), ("GET", "/nothing", None), ("POST", "/oauth/token", "x"), ("POST", "/oauth/authorize", "action=allow"),
    ):
        headers = dict(names, **{"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"})
        headers["Authorization"] = bearer(session)
        if body:
            headers["Content-Type"] = "application/json" if body[0] == "{" else "application/x-www-form-urlencoded"
        answer = client.request(method, path, body, headers)
        # Metadata and keys are for everyone, without cookies.
        public = ["access-control-allow-origin"] if path.startswith("/.well-known/") else []
        given = [name for name, _ in answer.fields if name.lower().startswith("access-control-") and name.lower() not in public]
        require(not given, f"{method} {path} allows another site: {given}")
        require(evil not in answer.text + str(answer.fields), f"{method} {path} repeats the host: {answer.fields}")
        if method in ("TRACE", "CONNECT"):
            require(answer.status in (400, 404, 405, 501), f"{method}: {answer.status}")
            client.close()
        tried += 1
    mails = server.mailed(1)
    require(mails and not any(evil in mail for mail in mails), "a mail names the host of the request")
    for head in (b"", b"Host: a\r\nHost: b\r\n", b"Host: a/b\r\n", b"Host: a b\r\n", b"Host: a@b\r\n"):
        codes = status(server.raw(b"GET /health HTTP/1.1\r\n" + head + b"\r\n", timeout=2))
        require(codes == [400], f"{head}: {codes}")
        tried += 1
    return f"{tried} requests: no other site is allowed, and no other host is repeated"


def paths():
    """Looks for routes of administrators, and tries to reach protected ones by other spellings."""
    server = Server("--sign-up", "open", "--rate-limits", "none")
    client, tried = Client(server), 0
    token = bearer(client.sign_up("owner@example.org", "a long enough secret"))
    for path in ("accounts", "accounts/1", "accounts/1/disable", "accounts/1/sessions", "accounts/1/export", "clients", "audit", "stats", ""):
        for method in ("GET", "POST", "DELETE"):
            for headers in ({}, {"Authorization": token}, {"Authorization": "Bearer admin"}, {"Authorization": "Basic YWRtaW46YWRtaW4="}):
                answer = client.request(method, "/admin/v1/" + path, None, headers)
                require(answer.status == 404, f"{method} /admin/v1/{path}: {answer.status}")
                tried += 1
    for path in ("/v1/../admin/v1/accounts", "/v1/%2e%2e/admin/v1/accounts", "/%2e/admin/v1/stats", "//admin/v1/stats", "/admin%2fv1%2fstats",
                 "/v1/..;/admin/v1/stats", "/v1/..%2fadmin/v1/stats", "/V1/ME", "/v1/me/", "/v1//me", "/v1/%6de", "/v1/me%00", "/v1/me%20", "/v1/me;x",
                 "/v1/me.json", "/./v1/me", "/x/../v1/me", "/v1/%2e%2e/v1/me", "/v1/%252e%252e/me", "/v1\\me", "/metrics", "/debug", "/.env", "/.git/HEAD",
                 "/mail", "/registry.sqlite", "/..%2f..%2fetc/passwd", "/keys.json", "/signing.pem"):
        text = server.raw(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        codes = status(text)
        require(codes and codes[0] in (400, 401, 404), f"{path}: {codes}")
        tried += 1
    for target in ("http://127.0.0.1/v1/me", "http://evil.example.com/v1/me", "*", "v1/me", "/v1/sessions/%2e%2e"):
        codes = status(server.raw(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()))
        require(codes and codes[0] in (400, 401, 404, 405), f"{target}: {codes}")
        tried += 1
    return f"{tried} requests found nothing"


def heavy():
    """Sends small requests that take long: texts that are slow to normalize, and passwords for accounts without one. The figure is the
    server's CPU time, which needs no quiet machine."""
    server = Server("--sign-up", "open", "--rate-limits", "none")
    client = Client(server, timeout=60)
    guest = bearer(client.guest("d-guest"))
    marks = "a" + "\u0301" * 14_000 + "\u0323" * 14_000 + "@example.org"
    wide, secret, device = "\ufdfa" * 200, "\ufdfa" * 1000, dict(id="d", name="n", platform="p")
    slowest = 0
    for name, count, path, body, headers in (
        ("address of a sign-in", 3, "/v1/sign-in", dict(email=marks, password="a long enough secret", device=device), {}),
        ("address of a reset", 3, "/v1/password-reset", dict(email=marks), {}),
        ("password like the name", 1, "/v1/sign-up", dict(email="a@example.org", username=wide, password=secret, device=device), {}),
        ("guest's password", 40, "/v1/reauthenticate", dict(password="a long enough secret"), {"Authorization": guest}),
    ):
        before = server.seconds()
        for _ in range(count):
            client.post(path, body, **headers)
        took = (server.seconds() - before) / count
        slowest = max(slowest, took)
        require(took < (1 if count < 10 else 0.015), f"{name}: {took:.3f} s of CPU time a request")
    return f"at most {slowest:.3f} s of CPU time a request"


def fields():
    """Looks for an answer without `X-Content-Type-Options` and `Strict-Transport-Security`, at a server with an https issuer."""
    server = Server("--sign-up", "open", "--issuer", "https://id.example.org")
    client, seen = Client(server, "127.0.2.2"), set()
    token = bearer(client.sign_up("owner@example.org", "a long enough secret"))
    json, form = "Content-Type: application/json\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"

    def post(path, type, body):
        return f"POST {path} HTTP/1.1\r\nHost: a\r\n{type}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"

    def get(path, more="", method="GET"):
        return f"{method} {path} HTTP/1.1\r\nHost: a\r\n{more}Connection: close\r\n\r\n"

    requests = [get(path) for path in (
        "/health", "/ready", "/openapi.json", "/v1/me", "/v1/app-config", "/nothing", "/.well-known/jwks.json", "/device",
        "/.well-known/oauth-authorization-server", "/oauth/authorize", "/oauth/authorize?client_id=x", "/v1/sign-in", "/v1/client-address")]
    requests += [get("/v1/me", f"Authorization: {token}\r\n"), get("/v1/me", "Authorization: Bearer x\r\n"), get("/health", method="HEAD"),
                 get("/health", method="PUT"), get("/v1/me", method="OPTIONS"), get("/health", "Expect: 200-maybe\r\n")]
    query = "response_type=token&client_id=cli&redirect_uri=" + CLIENTS[2]["redirectURIs"][0]
    requests += [get("/oauth/authorize?" + query)]
    requests += [post("/v1/sign-in", json, "{"), post("/v1/sign-in", "", "{}"), post("/v1/sign-in", json, "x" * 70_000), post("/oauth/token", form, "x=1"),
                 post("/oauth/token", json, "{}"), post("/oauth/introspect", form, "token=x"), post("/oauth/revoke", form, "token=x"),
                 post("/v1/password-reset", json, '{"email":"a@example.org"}'), post("/device", form, "x=1")]
    requests += ["GET /health HTTP/1.1\r\n\r\n", "GET  /health HTTP/1.1\r\nHost: a\r\n\r\n", "x\r\n\r\n", "GET /health HTTP/9.9\r\nHost: a\r\n\r\n",
                 "GET / HTTP/1.1\r\nHost: a\r\nX: " + "x" * 20_000 + "\r\n\r\n"]
    requests += [post("/v1/sign-in", json, '{"email":"x@example.org","password":"a wrong one","device":{"id":"d","name":"n","platform":"p"}}')] * 12
    for request in requests:
        text = server.raw(request.encode(), "127.0.2.3", timeout=3)
        codes = status(text)
        require(codes, f"{request[:60]!r}: no answer")
        head = text.split(b"\r\n\r\n")[0].lower()
        for field in (b"\r\nx-content-type-options: nosniff", b"\r\nstrict-transport-security: max-age="):
            require(field in head, f"{codes[0]} to {request[:60]!r} lacks {field.decode().strip()}")
        seen.add(codes[0])
    require({200, 202, 303, 400, 401, 404, 405, 413, 429, 431} <= seen, f"only {sorted(seen)} were seen")
    return f"{len(requests)} answers have both, with the statuses {', '.join(map(str, sorted(seen)))}"


def strange_forms():
    """Sends every form of the pages from another site, without its cookie, or with another browser's token; and as an honest browser at
    another name of this server, or one that takes no `Secure` cookie over http, which must be told so."""
    server = Server("--sign-up", "open", "--rate-limits", "none")
    server.stop()
    shutil.rmtree(server.folder + "/data")
    # With its port in the issuer.
    server.start("--sign-up", "open", "--rate-limits", "none", "--port", str(server.port), "--issuer", f"http://127.0.0.1:{server.port}")
    evil, here, there = "https://evil.example.com", f"http://127.0.0.1:{server.port}", f"http://localhost:{server.port}"
    Client(server).sign_up("owner@example.org", "a long enough secret")
    owner, thief, tried = Browser(server), Browser(server), 0
    owner.load("GET", owner.sign_in("/sign-in", "owner@example.org", "a long enough secret"))
    thief.load("GET", "/sign-in")
    fields = dict(email="owner@example.org", password="a long enough secret", new_password="another long secret", name="Eve", token="hsl1.x",
                  new_email="thief@example.com", typed_email="owner@example.org", current_password="a long enough secret", user_code="BCDF-GHJK")
    forms = {"/sign-in": "sign-in", "/sign-up": "sign-up", "/sign-up/confirm": "send", "/forgot-password": "send", "/reset-password": "reset",
             "/recover": "recover", "/device": "look", authorization("web"): "allow", "/oauth/logout": "sign-out", "/sign-out": "sign-out",
             "/account": "save", "/account/email": "change", "/account/email/confirm": "use", "/account/security": "change-password",
             "/account/devices": "end", "/account/devices/end": "end-others", "/account/apps": "remove", "/account/data": "download",
             "/account/delete": "delete"}

    def send(browser, path, csrf, cookies=None, **headers):
        client = Client(server)
        text = "; ".join(f"{name}={value}" for name, value in (cookies if cookies is not None else browser.cookies).items())
        # None of these is an answer that a script or a person would not see.
        return client.form(path, dict(fields, action=forms[path], csrf=csrf), Cookie=text, **headers)

    token = owner.csrf
    for path in forms:
        for csrf, headers in (
            (token, dict(Origin=evil)), (token, dict(Origin=evil, Sec_Fetch_Site="same-origin")), (token, dict(Sec_Fetch_Site="cross-site")),
            (token, dict(Sec_Fetch_Site="same-site", Origin=here)), (token, dict(Origin="null")), (token, dict(Origin=here + ".evil.example.com")),
            (token, dict(Origin=here.replace("http", "https"))), (token, dict(Origin=evil, Host="evil.example.com")),
            (token, dict(Origin="http://evil.example.com", Host="evil.example.com")), (token, dict(Origin=there, Host=f"localhost:{server.port}")),
            (thief.csrf, dict(Origin=here)), ("", dict(Origin=here)), (token[:-1], dict(Origin=here)), (token + "=", {}), ("x", {}),
        ):
            page = send(owner, path, csrf, **headers)
            # Who is signed in already is sent on, by a sign-in that nothing came of.
            idle = path == "/sign-in" and page.status == 303 and page["Location"].endswith("/account")
            # Clients may sign out by a form: the owner is asked.
            idle = idle or path == "/oauth/logout" and page.status == 303 and page["Location"].startswith(here + "/oauth/logout?")
            require(page.status == 403 and not page["Location"] or idle and not page["Set-Cookie"], f"{path} from {headers}: {page.status} {page['Location']}")
            tried += 1
        page = send(owner, path, token, {name: value for name, value in thief.cookies.items()}, Origin=here)
        # Of a browser without a session, such a form may be that of a second tab: it leads to a new one, and does nothing.
        leads = page.status == 303 and page["Location"].startswith(here + "/") and "session" not in (page["Set-Cookie"] or "")
        require(page.status == 403 or leads, f"{path} with another browser's cookies: {page.status} {page['Location']}")
        # Honest ones, who would try for ever if they were only told that the form has expired.
        page = send(owner, path, token, Origin=there, Host=f"localhost:{server.port}", Accept="text/html")
        require(page.status == 403 and here in page.text, f"{path} at {there} does not name {here}: {page.text}")
        page = send(owner, path, token, {}, Origin=here, Accept="text/html")
        # Without a session, a sign-out is done, and the pages of an account lead to the sign-in, which says so.
        leads = page.status == 303 and (path == "/sign-out" or page["Location"].startswith(here + "/sign-in?"))
        says = leads or page.status == 403 and "cookie" in page.text.lower()
        require(says, f"{path} without cookies does not say so: {page.text}")
        tried += 3
    require(signed_in(owner), "the owner is signed out")
    # Honest forms, by the browsers' ways to say where they come from.
    for headers in ({}, dict(Origin=here), dict(Origin=here, Sec_Fetch_Site="same-origin"), dict(Origin="null", Sec_Fetch_Site="same-origin")):
        page = send(owner, "/account", token, **headers)
        require(page.status == 200, f"an honest form with {headers}: {page.status} {page.text[:200]}")
    return f"{tried} strange forms refused, 4 honest ones accepted"


def challenges():
    """Asks for what needs a token or a secret without one: each 401 must say which scheme is missing; and looks for pages that link to
    another site because the address of the request looks like one."""
    server = Server("--sign-up", "open", "--rate-limits", "none", administered=True)
    client, tried = Client(server), 0
    pair, token = {"Authorization": "Basic d2ViOnd4"}, {"Authorization": "Bearer x"}
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    requests = [("POST", path, "token=x", {**form, **more}, "Basic") for path in (
        "/oauth/introspect", "/oauth/revoke", "/oauth/par", "/oauth/token", "/oauth/device_authorization") for more in (pair, form)]
    requests += [("POST", path, "client_id=web&client_secret=guess&token=x&grant_type=refresh_token", form, "Basic") for path in (
        "/oauth/introspect", "/oauth/revoke", "/oauth/par", "/oauth/token", "/oauth/device_authorization")]
    requests += [("GET", "/v1/revocations", None, more, "Basic") for more in ({}, pair, token)]
    requests += [("GET", path, None, more, "Bearer") for path in ("/v1/me", "/v1/sessions", "/v1/passkeys", "/v1/events", "/oauth/userinfo", "/admin/v1/stats",
                                                                  "/admin/v1/accounts/x/export") for more in ({}, token, pair)]
    requests += [(method, path, "{}", {"Content-Type": "application/json", **more}, "Bearer") for method, path in (
        ("DELETE", "/v1/me"), ("POST", "/v1/password"), ("POST", "/v1/upgrade"), ("POST", "/v1/reauthenticate"), ("POST", "/v1/sign-out"),
        ("PUT", "/v1/device/push-token"), ("POST", "/v1/session/confirm"), ("DELETE", "/v1/sessions"), ("POST", "/v1/sessions/end-others"),
        ("POST", "/v1/passkeys"), ("POST", "/v1/passkeys/options"), ("DELETE", "/v1/passkeys/x"), ("POST", "/admin/v1/accounts")) for more in ({}, token)]
    for method, path, body, headers, scheme in requests:
        answer = client.request(method, path, body, headers)
        named = [value for name, value in answer.fields if name.lower() == "www-authenticate"]
        words = f"{method} {path} {headers.get('Authorization', '')}: {answer.status} {named}"
        require(answer.status in (400, 401) or path == "/oauth/revoke", words)
        require(answer.status != 401 or any(value.startswith(scheme) for value in named), words)
        require(answer.status == 401 or path not in ("/oauth/introspect", "/v1/revocations", "/v1/me"), words)
        tried += 1
    links = 0
    for path in ("//evil.example/x", "///evil.example/x", "/\\evil.example/x", "/\\\\evil.example", "/%2f/evil.example/x", "/%5cevil.example", "/\t/evil.example",
                 "//evil.example/sign-in", "//evil.example/oauth/authorize?client_id=x", "https://evil.example/x", "//evil.example/%2e%2e/device",
                 "/sign-in//evil.example", "/;//evil.example", "/.//evil.example", "//user@evil.example/", "/nothing?next=//evil.example", "javascript:alert(1)",
                 "/sign-in?next=//evil.example", "/sign-in?next=/\\evil.example", "/sign-in?next=/%5cevil.example", "/sign-in?next=https://evil.example",
                 "/sign-in?next=/%09/evil.example", "/sign-up?next=//evil.example", "/recover?next=//evil.example", "/device?lang=//evil.example",
                 "/sign-in?next=/%2Fevil.example", "/sign-in?next=%2F%2Fevil.example", "/sign-in?next=/account%0d%0aLocation:%20//evil.example"):
        for method in (b"GET", b"POST"):
            text = server.raw(method + b" " + path.encode() + b" HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\nContent-Length: 0\r\nContent-Type: "
                              b"application/x-www-form-urlencoded\r\nConnection: close\r\n\r\n", timeout=3).decode(errors="replace")
            require(text, f"{path}: no answer")
            for address in re.findall(r'(?:href|action|src|formaction)="([^"]*)"|^location: *(\S+)', text, re.M | re.I):
                # As a browser reads it.
                place = (address[0] or address[1]).replace("&amp;", "&").replace("&#x2F;", "/").replace("&#39;", "'").replace("\\", "/").strip()
                off = re.match(r"//|[a-z][a-z0-9+.-]*:", place, re.I) and not place.startswith(f"http://127.0.0.1:{server.port}/")
                require(not off, f"{path} links to {place}")
                links += 1
            tried += 1
    return f"{tried} requests: each 401 names its scheme, and {links} links stay here"


SLOW = [slow_header, slow_body, endless_chunk, slow_reader]
ATTACKS = [huge, heavy, smuggling, hosts, paths, fields, strange_forms, challenges]
