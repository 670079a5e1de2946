"""Attacks by the bytes of HTTP: slow, large, ambiguous, or in another's name."""
import concurrent.futures, contextlib, html, json, re, select, socket, time

from kit.p256 import Key
from kit.server import free_port
from kit.web import FORM, JSON
from attacks.person import signed_in
from attacks.target import CLIENTS, FREE, OWNER, PASSWORD, Browser, Client, Server, authorization, bearer, require

EVIL = "https://evil.example.com"
POST = "POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
DEVICE = dict(id="d", name="n", platform="p")


def request(path, *fields, method="GET", body=None):
    """The only request of a connection, as it is sent."""
    length = [] if body is None else [f"Content-Length: {len(body)}"]
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: a", "Connection: close", *fields, *length, "", body or ""]).encode()


def statuses(text):
    """The statuses of all answers in a text."""
    return [int(code) for code in re.findall(rb"(?:^|(?<=\}))HTTP/1\.[01] (\d{3})", text, re.M)]


def closed(connection):
    """Whether the server has closed a connection, without receiving from it."""
    events = select.poll()
    events.register(connection, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
    return bool(events.poll(0))


def slow(server, begin, piece, pause, most):
    """Begins a request on 40 connections and sends a piece on each from time to time. Returns after how many seconds the server has closed all."""
    start, connections = time.monotonic(), [server.connect(f"127.0.{2 + number % 4}.{number + 1}", 5) for number in range(40)]
    for connection in connections:
        connection.sendall(begin.encode())
    due = start + pause
    while connections and time.monotonic() < start + most:
        time.sleep(0.1)
        for connection in [each for each in connections if closed(each)]:
            connections.remove(connection)
            connection.close()
        if time.monotonic() >= due:
            due += pause
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.send(piece)
    require(not connections, f"{len(connections)} of 40 connections with {begin[-20:]!r} are open after {most} s")
    return f"{time.monotonic() - start:.0f}"


def slow_requests():
    """Sends a header a byte a second; a body a byte every ten seconds, for which the server has all it needs to answer but the end; and the extension
    of a chunk without an end, which no limit of a body counts."""
    server = Server("--sign-up", "open")
    base = server.resident()
    ways = [("GET /health HTTP/1.1\r\nHost: a\r\nX-Slow: ", b"x", 1, 15), (POST + "Content-Length: 1000\r\n\r\n", b" ", 10, 36),
            (POST + "Transfer-Encoding: chunked\r\n\r\n1;", b"x" * 8192, 0.5, 36)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        seconds = list(pool.map(lambda way: slow(server, *way), ways))
    grown = (server.resident() - base) / 1024
    require(grown < 50, f"{grown:.0f} MB more memory")
    require(Client(server, "127.0.8.1").get("/health").status == 200, "an honest request fails")
    return f"all connections closed after {', '.join(seconds)} s (limits 10, 30, 30)"


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


def huge():
    """Sends more of everything than an honest client: head, length, trailer, nesting, number, fields, ranges, token."""
    server, long = Server(*FREE), "X: " + "x" * 200_000
    chunked = POST + "Transfer-Encoding: chunked\r\n\r\n"
    for name, data, expected in (
        ("endless head", "GET /health HTTP/1.1\r\nHost: a\r\n" + long * 10, {431}),
        ("promised body", POST + "Content-Length: 99999999999999999999\r\n\r\n", {400, 413}),
        ("negative body", POST + "Content-Length: -1\r\n\r\n", {400}),
        ("chunk length", chunked + "ffffffffffffffffff\r\n", {400}), ("trailer", chunked + f"0\r\n{long}\r\n\r\n", {400, 431}),
    ):
        codes = statuses(server.raw(data.encode()))
        require(codes and codes[0] in expected, f"{name}: {codes}")
    client, signing = Client(server, timeout=10), '{"email":"a@example.org","password":%s,"device":{"id":"d","name":"n","platform":"p"}}'
    arrays = "[" * 30_000 + "]" * 30_000
    bodies = {"arrays": arrays, "objects": '{"a":' * 12_000 + "1" + "}" * 3_000, "a nested password": signing % arrays,
              "a long password": signing % ('"' + "x" * 60_000 + '"'), "a long number": signing % ("9" * 60_000)}
    forms = {"form fields": "&".join(f"a{n}=1" for n in range(7_000)), "one field": "grant_type=" + "x" * 60_000}
    for name, body in {**bodies, **forms}.items():
        answer = client.request("POST", "/v1/sign-in", body, JSON) if name in bodies else client.request("POST", "/oauth/token", body, FORM)
        require(answer.status == 400, f"{name}: {answer.status}")
    # Ranges and accepted codings that multiply an answer, and a token far beyond any that the server makes.
    for path, status, fields in (("/openapi.json", 200, {"Range": "bytes=" + ",".join(["0-"] * 2000)}),
                                 ("/v1/me", 401, {"Authorization": "Bearer " + "x." * 7000})):
        answer = client.request("GET", path, None, fields)
        require(answer.status == status and len(answer.body) < 500_000, f"{path}: {answer.status}, {len(answer.body)} bytes")
    require(client.get("/health").status == 200, "an honest request fails")
    return f"{len(bodies) + len(forms) + 7} refused, and the server answers"


def smuggling():
    """Hides a second request in one whose length is ambiguous: a proxy and the server must not disagree about where it ends."""
    server, hidden = Server("--sign-up", "open"), "GET /v1/app-config HTTP/1.1\r\nHost: a\r\n\r\n"
    size, chunked, none, last = 5 + len(hidden), "Transfer-Encoding: chunked\r\n", "Content-Length: 0\r\n", "\r\n0\r\n\r\n"
    length = f"Content-Length: {size}\r\n"
    ambiguous = {
        "both lengths": length + chunked + last, "both, the other order": chunked + length + last, "two lengths": f"{none}{length}\r\n",
        "a list of lengths": f"Content-Length: 0, {size}\r\n\r\n", "a sign": "Content-Length: +0\r\n\r\n",
        "a hexadecimal length": "Content-Length: 0x0\r\n\r\n", "HTTP/1.0 with chunks": chunked + last,
        "a space before the colon": f"Transfer-Encoding : chunked\r\n{none}\r\n", "a tab in the name": f"Transfer-Encoding\t: chunked\r\n{none}\r\n",
        "another coding": f"Transfer-Encoding: xchunked\r\n{none}\r\n", "two codings": f"Transfer-Encoding: chunked, identity\r\n{none}\r\n",
        "two fields of codings": "Transfer-Encoding: identity\r\n" + chunked + none + last, "two hosts": f"Host: b\r\n{none}\r\n",
        "a coding with a control character": f"Transfer-Encoding: \x0bchunked\r\n{none}\r\n",
        "a folded field": "Transfer-Encoding:\r\n chunked\r\n" + none + last, "a bare carriage return": f"X: y\r{chunked}{none}\r\n",
        "a chunk with a sign": chunked + "\r\n+0\r\n\r\n", "a chunk with a prefix": chunked + "\r\n0x0\r\n\r\n",
        "a chunk without its end": chunked + "\r\n1\r\nab\r\n0\r\n\r\n", "a null byte": f"X: \x00\r\n{none}\r\n",
    }
    for name, fields in ambiguous.items():
        begin = POST.replace("HTTP/1.1", "HTTP/1.0") if name.startswith("HTTP/1.0") else POST
        codes = statuses(server.raw((begin + fields + hidden).encode(), timeout=2))
        require(len(codes) == 1 and codes[0] >= 400, f"{name}: {codes}")
    # The control: two requests that are not ambiguous have two answers.
    codes = statuses(server.raw(f"{POST}Content-Length: 2\r\n\r\n{{}}".encode() + request("/v1/app-config")))
    require(codes == [400, 200], f"two proper requests: {codes}")
    return f"{len(ambiguous)} ambiguous requests have one answer each, and an end"


def hosts():
    """Names another host, and asks from another site: neither may be in an answer or in a mail."""
    server, evil = Server(*FREE), "evil.example.com"
    client = Client(server)
    headers = {"Host": evil, "X-Forwarded-Host": evil, "X-Forwarded-Proto": "gopher", "X-Original-URL": "/admin/v1/stats", "X-Rewrite-URL": "/admin",
               "Forwarded": f"host={evil}", "Origin": EVIL, "Referer": EVIL + "/", "Access-Control-Request-Method": "POST",
               "Access-Control-Request-Headers": "authorization", "Authorization": bearer(client.sign_up(OWNER, PASSWORD))}
    requests = [("POST", "/v1/password-reset", json.dumps(dict(email=OWNER)), JSON), ("POST", "/oauth/token", "x", FORM),
                ("POST", "/oauth/authorize", "action=allow", FORM), *((method, path, None, {}) for method, path in (
                    ("GET", "/.well-known/oauth-authorization-server"), ("GET", "/oauth/authorize?client_id=cli"), ("GET", "/device"), ("GET", "/v1/me"),
                    ("GET", "/openapi.json"), ("OPTIONS", "/v1/me"), ("OPTIONS", "/oauth/token"), ("TRACE", "/v1/me"), ("CONNECT", "/"),
                    ("GET", "/v1/sessions"), ("GET", "/nothing")))]
    for method, path, body, more in requests:
        answer = client.request(method, path, body, {**headers, **more})
        # Metadata and keys are for everyone, without cookies.
        public = ["access-control-allow-origin"] if path.startswith("/.well-known/") else []
        given = [name for name, _ in answer.fields if name.lower().startswith("access-control-") and name.lower() not in public]
        require(not given, f"{method} {path} allows another site: {given}")
        require(evil not in answer.text + str(answer.fields), f"{method} {path} repeats the host: {answer.fields}")
        if method in ("TRACE", "CONNECT"):
            require(answer.status in (400, 404, 405, 501), f"{method}: {answer.status}")
            client.close()
    require(not any(evil in mail for mail in server.mailed(1)), "a mail names the host of the request")
    return f"{len(requests)} requests: no other site is allowed, and no other host is repeated"


def paths():
    """Looks for files and routes that are not public, tries to reach protected ones by other spellings, and, with the token of an administrator, the
    administrators' by those that a proxy's rule for /admin/ does not fit."""
    server = Server(*FREE, administered=True)
    require(server.administer("GET", "/stats").status == 200, "the administrator is refused")
    hidden = ["/V1/ME", "/v1/me/", "/v1//me", "/v1/%6de", "/v1/me%00", "/v1/me%20", "/v1/me;x", "/v1/me.json", "/./v1/me", "/x/../v1/me", "/v1/%2e%2e/v1/me",
              "/v1/%252e%252e/me", "/v1\\me", "/metrics", "/debug", "/.env", "/.git/HEAD", "/mail", "/registry.sqlite", "/..%2f..%2fetc/passwd", "/keys.json",
              "/signing.pem", "http://127.0.0.1/v1/me", "http://evil.example.com/v1/me", "*", "v1/me", "/v1/sessions/%2e%2e"]
    for path in hidden:
        codes = statuses(server.raw(request(path)))
        require(codes and codes[0] in (400, 401, 404, *([405] if "sessions" in path else [])), f"{path}: {codes}")
    route = "/admin/v1/stats"
    spelled = [before + route for before in (
        "/", "//", "/.", "/x/..", "/%2e", "/x/%2e%2e", "/%2f", "/%5c", "\\", "/\\", "/;", "/;x=y", "/%20", "/ ", "/%00", "/.;", "/v1/..", "/v1/..;",
        "/v1/%2e%2e", "http://a/", "http://a/.", "http:", "?", "/?", "/#", "*", "/v1%2f..", "/./..")]
    spelled += [before + route[1:] for before in ("/%2f", "/%5c", "\\", "/\\", "", "/.%2f")]
    spelled += [f"/{name}/v1/stats" for name in ("%61dmin", "%61%64%6d%69%6e", "ADMIN", "Admin", "admin;x", "admin%2f", "admin%00", "admin.", "admin%20",
                                                 "adm%69n", "%2561dmin", "\u0430dmin", "ａdmin", "admın")]
    spelled += ["/admin%2fv1%2fstats", "/admin%2Fv1/stats", "/admin\\v1\\stats", "/admin;/v1/stats", "/admin?/v1/stats"]
    for path in spelled:
        for accept in ("*/*", "text/html"):
            text = server.raw(request(path, "Authorization: Bearer " + server.token, "Accept: " + accept), timeout=3)
            # The root leads to the account, or says where it is.
            root = [200] if path.startswith(("?", "/?", "/#")) else []
            require(statuses(text) and statuses(text)[0] in (400, 404, 303, *root), f"{path}: {text[:60]}")
            require(b"live_sessions" not in text, f"{path} reaches the route")
    return f"{len(hidden)} requests found nothing, and {len(spelled)} spellings reach nothing"


def heavy():
    """Sends small requests that take long: deeply nested bodies and forms of many fields, proofs of a throw-away key, texts that are slow to normalize, and
    passwords for accounts without one. The figure is the server's CPU time, which needs no quiet machine."""
    server = Server(*FREE)
    client = Client(server, timeout=60)
    guest, marks, wide = bearer(client.guest("d-guest")), "a" + "\u0301" * 14_000 + "\u0323" * 14_000 + "@example.org", "\ufdfa" * 200
    form, base, slowest = "&".join(f"f{number}=1" for number in range(300)), server.resident(), 0
    address, refresh = f"http://127.0.0.1:{server.port}/oauth/token", f"grant_type=refresh_token&refresh_token=hst1.k1.{'A' * 55}&rotation_key={'A' * 22}"
    nonce = client.request("POST", "/oauth/token", refresh, {**FORM, "DPoP": Key().proof("POST", address, "")})["DPoP-Nonce"]
    proof = Key().proof("POST", address, nonce)
    for name, count, most, path, body, headers in (
        ("nested body", 200, 0.015, "/v1/sign-in", '{"email":' * 6000 + "1" + "}" * 6000, JSON), ("form", 200, 0.015, "/oauth/token", form, FORM),
        ("proof of a throw-away key", 200, 0.015, "/oauth/token", refresh, {**FORM, "DPoP": proof}),
        ("address of a sign-in", 3, 1, "/v1/sign-in", dict(email=marks, password=PASSWORD, device=DEVICE), JSON),
        ("address of a reset", 3, 1, "/v1/password-reset", dict(email=marks), JSON),
        ("password like the name", 1, 1, "/v1/sign-up", dict(email="a@example.org", username=wide, password=wide * 5, device=DEVICE), JSON),
        ("guest's password", 40, 0.015, "/v1/reauthenticate", dict(password=PASSWORD), {**JSON, "Authorization": guest}),
    ):
        before = server.seconds()
        for _ in range(count):
            answer = client.request("POST", path, body if isinstance(body, str) else json.dumps(body), headers)
        took = (server.seconds() - before) / count
        slowest = max(slowest, took)
        require(took < most, f"{name}: {took:.3f} s of CPU time a request")
        require(not isinstance(body, str) or answer.status == 400 and answer.error != "use_dpop_nonce", f"{name}: {answer}")
    grown = (server.resident() - base) / 1024
    require(grown < 200, f"{grown:.0f} MB more memory")
    return f"at most {slowest:.3f} s of CPU time a request, {grown:+.0f} MB"


def fields():
    """Looks for an answer without `X-Content-Type-Options` and `Strict-Transport-Security`, at a server with an https issuer, and for a 401 that does not
    say which scheme is missing."""
    server, seen, challenged = Server("--sign-up", "open", "--issuer", "https://id.example.org", administered=True), set(), set()
    token = bearer(Client(server, "127.0.2.2").sign_up(OWNER, PASSWORD))
    as_json, form, wrong = "Content-Type: application/json", "Content-Type: application/x-www-form-urlencoded", "Authorization: Basic d2ViOnd4"
    bad_redirect = "/oauth/authorize?response_type=token&client_id=cli&redirect_uri=" + CLIENTS[2]["redirectURIs"][0]
    basic = ["/oauth/introspect", "/oauth/par", "/oauth/token", "/oauth/device_authorization", "/v1/revocations"]
    asked = "client_id=web&client_secret=guess&token=x&grant_type=refresh_token"
    requests = [request(path, wrong) for path in ("/v1/revocations", "/v1/me", "/oauth/userinfo", "/admin/v1/stats", "/admin/v1/accounts/x/export")]
    requests += [request(path, form, *more, method="POST", body=asked) for path in basic[:4] for more in ([wrong], [])]
    requests += [request(path) for path in (
        "/health", "/ready", "/openapi.json", "/v1/me", "/v1/app-config", "/nothing", "/.well-known/jwks.json", "/device", bad_redirect, "/v1/revocations",
        "/.well-known/oauth-authorization-server", "/oauth/authorize", "/oauth/authorize?client_id=x", "/v1/sign-in", "/v1/client-address")]
    requests += [request("/v1/me", "Authorization: " + token), request("/v1/me", "Authorization: Bearer x"), request("/health", method="HEAD"),
                 request("/health", method="PUT"), request("/v1/me", method="OPTIONS"), request("/health", "Expect: 200-maybe")]
    requests += [request(path, *more, method="POST", body=body) for path, more, body in (
        ("/v1/sign-in", [as_json], "{"), ("/v1/sign-in", [], "{}"), ("/v1/sign-in", [as_json], "x" * 70_000), ("/oauth/token", [form], "x=1"),
        ("/oauth/token", [as_json], "{}"), ("/oauth/revoke", [form], "token=x"), ("/v1/password-reset", [as_json], '{"email":"a@example.org"}'),
        ("/device", [form], "x=1"), *[("/v1/sign-in", [as_json], json.dumps(dict(email="x@example.org", password="a wrong one", device=DEVICE)))] * 12)]
    requests += [text.encode() for text in ("GET /health HTTP/1.1\r\n\r\n", "GET  /health HTTP/1.1\r\nHost: a\r\n\r\n", "x\r\n\r\n",
                                            "GET /health HTTP/9.9\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: " + "x" * 20_000 + "\r\n\r\n")]
    for each in requests:
        text = server.raw(each, "127.0.2.3", timeout=10)
        require(codes := statuses(text), f"{each[:60]!r}: no answer")
        head, path = text.split(b"\r\n\r\n")[0].lower(), each.decode().partition(" ")[2].split(" ")[0]
        wanted = [b"x-content-type-options: nosniff", b"strict-transport-security: max-age="]
        if codes[0] == 401 and path != "/v1/sign-in":
            challenged.add(path)
            wanted.append(b"www-authenticate: basic" if path in basic else b"www-authenticate: bearer")
        for field in wanted:
            require(b"\r\n" + field in head, f"{codes[0]} to {each[:60]!r} lacks {field.decode()}")
        seen.add(codes[0])
    require({200, 202, 303, 400, 401, 404, 405, 413, 429, 431} <= seen, f"only {sorted(seen)} were seen")
    require(challenged == {*basic, "/v1/me", "/oauth/userinfo", "/admin/v1/stats", "/admin/v1/accounts/x/export"}, f"401 came from {challenged}")
    return f"{len(requests)} answers have both, with the statuses {', '.join(map(str, sorted(seen)))}"


def strange_forms():
    """Sends every form of the pages from another site, without its cookie, or with another browser's token; and as an honest browser at
    another name of this server, or one that takes no `Secure` cookie over http, which must be told so."""
    port = free_port()
    here, there = f"http://127.0.0.1:{port}", f"http://localhost:{port}"
    server = Server(*FREE, "--port", str(port), "--issuer", here)
    Client(server).sign_up(OWNER, PASSWORD)
    owner, thief, tried = Browser(server), Browser(server), 0
    owner.load("GET", owner.sign_in("/sign-in", OWNER, PASSWORD))
    thief.load("GET", "/sign-in")
    filled = dict(email=OWNER, password=PASSWORD, new_password="another long secret", name="Eve", token="hsl1.x", new_email="thief@example.com",
                  typed_email=OWNER, current_password=PASSWORD, user_code="BCDF-GHJK")
    forms = {"/sign-in": "sign-in", "/sign-up": "sign-up", "/sign-up/confirm": "send", "/forgot-password": "send", "/reset-password": "reset",
             "/recover": "recover", "/device": "look", authorization("web"): "allow", "/oauth/logout": "sign-out", "/sign-out": "sign-out",
             "/account": "save", "/account/email": "change", "/account/email/confirm": "use", "/account/security": "change-password",
             "/account/devices": "end", "/account/devices/end": "end-others", "/account/apps": "remove", "/account/data": "download",
             "/account/delete": "delete"}

    def send(path, csrf, cookies=owner.cookies, **headers):
        text = "; ".join(f"{name}={value}" for name, value in cookies.items())
        return Client(server).form(path, dict(filled, action=forms[path], csrf=csrf), Cookie=text, **headers)

    token = owner.csrf
    strange = [(token, dict(Origin=origin)) for origin in (EVIL, "null", here + ".evil.example.com", here.replace("http", "https"))]
    strange += [(token, dict(Origin=EVIL, Sec_Fetch_Site="same-origin")), (token, dict(Sec_Fetch_Site="cross-site")),
                (token, dict(Sec_Fetch_Site="same-site", Origin=here)), (token, dict(Origin=EVIL, Host="evil.example.com")),
                (token, dict(Origin="http://evil.example.com", Host="evil.example.com")), (token, dict(Origin=there, Host=f"localhost:{port}")),
                (thief.csrf, dict(Origin=here)), ("", dict(Origin=here)), (token[:-1], dict(Origin=here)), (token + "=", {}), ("x", {})]
    for path in forms:
        for csrf, headers in strange:
            page = send(path, csrf, **headers)
            # Who is signed in already is sent on, by a sign-in that nothing came of.
            idle = path == "/sign-in" and page.status == 303 and page["Location"].endswith("/account")
            # Clients may sign out by a form: the owner is asked.
            idle = idle or path == "/oauth/logout" and page.status == 303 and page["Location"].startswith(here + "/oauth/logout?")
            require(page.status == 403 and not page["Location"] or idle and not page["Set-Cookie"], f"{path} from {headers}: {page.status} {page['Location']}")
            tried += 1
        page = send(path, token, thief.cookies, Origin=here)
        # Of a browser without a session, such a form may be that of a second tab: it leads to a new one, and does nothing.
        leads = page.status == 303 and page["Location"].startswith(here + "/") and "session" not in (page["Set-Cookie"] or "")
        require(page.status == 403 or leads, f"{path} with another browser's cookies: {page.status} {page['Location']}")
        # Honest ones, who would try for ever if they were only told that the form has expired.
        page = send(path, token, Origin=there, Host=f"localhost:{port}", Accept="text/html")
        require(page.status == 403 and here in page.text, f"{path} at {there} does not name {here}: {page.text}")
        page = send(path, token, {}, Origin=here, Accept="text/html")
        # Without a session, a sign-out is done, and the pages of an account lead to the sign-in, which says so.
        leads = page.status == 303 and (path == "/sign-out" or page["Location"].startswith(here + "/sign-in?"))
        require(leads or page.status == 403 and "cookie" in page.text.lower(), f"{path} without cookies does not say so: {page.text}")
        tried += 3
    require(signed_in(owner), "the owner is signed out")
    # Honest forms, by the browsers' ways to say where they come from.
    for headers in ({}, dict(Origin=here), dict(Origin=here, Sec_Fetch_Site="same-origin"), dict(Origin="null", Sec_Fetch_Site="same-origin")):
        page = send("/account", token, **headers)
        require(page.status == 200, f"an honest form with {headers}: {page}")
    return f"{tried} strange forms refused, 4 honest ones accepted"


def links():
    """Looks for pages that link to another site because the address of the request looks like one."""
    server, links = Server(*FREE), 0
    paths = [before + "evil.example/x" for before in (
        "//", "///", "/\\", "/\\\\", "/%2f/", "/%5c", "/\t/", "https://", "/;//", "/.//", "//user@", "/sign-in//")]
    paths += ["//evil.example/sign-in", "//evil.example/oauth/authorize?client_id=x", "//evil.example/%2e%2e/device", "javascript:alert(1)"]
    paths += [f"/{page}=//evil.example" for page in ("nothing?next", "sign-in?next", "sign-up?next", "recover?next", "device?lang")]
    paths += ["/sign-in?next=" + place for place in ("/\\evil.example", "/%5cevil.example", "https://evil.example", "/%09/evil.example", "/%2Fevil.example",
                                                     "%2F%2Fevil.example", "/account%0d%0aLocation:%20//evil.example")]
    for path in paths:
        for method, body in (("GET", None), ("POST", "")):
            sent = request(path, "Accept: text/html", "Content-Type: " + FORM["Content-Type"], method=method, body=body)
            require(text := server.raw(sent, timeout=3).decode(errors="replace"), f"{path}: no answer")
            for address in re.findall(r'(?:href|action|src|formaction)="([^"]*)"|^location: *(\S+)', text, re.M | re.I):
                # As a browser reads it.
                place = html.unescape(address[0] or address[1]).replace("\\", "/").strip()
                off = re.match(r"//|[a-z][a-z0-9+.-]*:", place, re.I) and not place.startswith(f"http://127.0.0.1:{server.port}/")
                require(not off, f"{path} links to {place}")
                links += 1
    return f"{2 * len(paths)} requests: {links} links stay here"


SLOW = [slow_requests, slow_reader]
ATTACKS = [huge, heavy, smuggling, hosts, paths, fields, strange_forms, links]
