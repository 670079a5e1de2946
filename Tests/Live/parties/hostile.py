"""Servers that answer as they like: places that hang, redirect and never end, and a provider that lies, with an issuer for each lie."""
import collections, contextlib, http.server, json, re, secrets, threading, time, urllib.parse

from kit.p256 import Key
from kit.web import base64url, fields, require

Seen = collections.namedtuple("Seen", "path headers body")


class Request(http.server.BaseHTTPRequestHandler):
    # Heads and bodies are sent apart.
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

    def do_GET(self):
        self.body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode(errors="replace")
        # This object serves all requests of its connection.
        self.server.seen.append(Seen(self.path, self.headers, self.body))
        self.server.answer(self)

    do_HEAD = do_POST = do_GET

    def handle(self):
        # A client may not wait for the end.
        with contextlib.suppress(OSError):
            super().handle()

    def give(self, body=b"", status=200, **headers):
        """Answers with bytes or a document. A header may have a list of values."""
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, values in dict({"content_length": len(body), "content_type": "application/json"}, **headers).items():
            for value in values if isinstance(values, list) else [values]:
                self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *words):
        pass


class Listener:
    """An HTTP server on a port of its own, and the requests that it has seen. `answer` is a function of a request, `tls` a context."""

    def __init__(self, answer, host="127.0.0.1", tls=None):
        self.server = http.server.ThreadingHTTPServer((host, 0), Request)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.server.daemon_threads = True
        self.server.seen, self.server.answer = [], answer
        self.seen, self.port = self.server.seen, self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


# Answers that no client should wait for, follow or keep.

def well(request):
    request.give(status=204)


def hang(request):
    """Says nothing, until the client has gone."""
    request.connection.settimeout(120)
    request.connection.recv(1)
    request.close_connection = True


def trickle(request):
    """Sends a byte of its document every now and then, for two minutes."""
    request.send_response(200)
    request.send_header("content-length", "100000")
    request.end_headers()
    for _ in range(600):
        request.wfile.write(b" ")
        time.sleep(0.2)


def endless(request):
    """Sends a document of 512 MiB, whose length it does not say."""
    request.send_response(200)
    request.send_header("content-type", "application/json")
    request.send_header("connection", "close")
    request.end_headers()
    request.close_connection, request.server.sent = True, 0
    piece = b'{"issuer": "' + b"x" * (1 << 16)
    for _ in range(8192):
        request.wfile.write(piece)
        request.server.sent += len(piece)


def garbage(request):
    request.wfile.write(b"\x16\x03\x01\x02\x00SSH-2.0-none\r\n\r\n")
    request.close_connection = True


def drop(request):
    request.close_connection = True


def document(body, status=200):
    return lambda request: request.give(body, status)


def redirect(url, status=302):
    return lambda request: request.give(status=status, location=url)


class Issuer:
    """An issuer of the provider. What it says at a place is the answer in `says`, if there is one: of `metadata`, `keys`, `token`, `userinfo`."""
    client = "handstamp"

    def __init__(self, provider, name, **metadata):
        self.provider, self.name, self.url = provider, name, f"{provider.listener.url}/{name}"
        self.id, self.key, self.kid, self.tokens, self.says = name, Key(), "first", {}, {}
        self.metadata = dict({
            "issuer": self.url, "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"], "code_challenge_methods_supported": ["S256"],
            **{place: f"{self.url}/{end}" for place, end in (
                ("authorization_endpoint", "authorize"), ("token_endpoint", "token"), ("jwks_uri", "keys"),
                ("userinfo_endpoint", "userinfo"))}}, **metadata)

    def rotate(self, kid):
        """Signs with another key from now on, and returns the former one, which is no longer published."""
        former, self.key, self.kid = (self.key, self.kid), Key(), kid
        return former

    def answer(self, place, request):
        if place in self.says:
            return self.says[place](request)
        if place == "metadata":
            return request.give(without_none(self.metadata))
        if place == "keys":
            return request.give({"keys": [dict(self.key.jwk, kid=self.kid, use="sig", alg="ES256")]}, cache_control="max-age=3600")
        if place == "token":
            code = dict(urllib.parse.parse_qsl(request.body)).get("code")
            return request.give(dict({"access_token": "a" * 32, "token_type": "Bearer", "expires_in": 300}, **self.tokens.get(code, {})))
        request.give(status=404)

    def sign(self, claims, key=None, **header):
        """A token, by the issuer's own key. A member of the header that is `None` is left out."""
        header = dict({"alg": "ES256", "kid": self.kid, "typ": "JWT"}, **header)
        return (key or self.key).token(without_none(header), without_none(claims))

    def claims(self, asked, **changes):
        now = int(time.time())
        return dict({"iss": self.url, "sub": "ada", "aud": self.client, "iat": now, "exp": now + 300, "nonce": asked["nonce"], "name": "Ada",
                     "email": "ada@example.com"}, **changes)

    def grant(self, token, **more):
        """A code that the token endpoint exchanges for this ID token."""
        code = secrets.token_hex(8)
        self.tokens[code] = dict({"id_token": token} if token is not None else {}, **more)
        return code

    def asked(self, page):
        """The parameters of the request that a page sends the browser away with; none if it does not."""
        found = re.match(r"0; url=(.*)", page["Refresh"] or "")
        return fields(found[1]) if found else None

    # As a browser does.

    def begin(self, browser, path="/sign-in"):
        browser.load("GET", path)
        return browser.submit(path, main="provider", provider=self.id)

    def back(self, browser, **query):
        return browser.load("GET", f"/sign-in/with/{self.id}/callback?" + urllib.parse.urlencode(query))

    def sign_in(self, browser, **changes):
        """An honest sign-in, with these claims."""
        page = self.begin(browser)
        asked = self.asked(page)
        require(asked, f"the browser is not sent to {self.name}: {page}")
        return self.back(browser, state=asked["state"], code=self.grant(self.sign(self.claims(asked, **changes))))


class Lies:
    """A provider with an issuer of each name."""

    def __init__(self, *names):
        self.listener = Listener(self.answer)
        self.issuers = {}
        for name in names:
            self.add(name)

    def add(self, name, **metadata):
        self.issuers[name] = Issuer(self, name, **metadata)
        return self.issuers[name]

    def __getitem__(self, name):
        return self.issuers[name]

    def answer(self, request):
        parts = request.path.split("?")[0].strip("/").split("/")
        for part in parts:
            if part in self.issuers:
                return self.issuers[part].answer("metadata" if ".well-known" in parts else parts[-1], request)
        request.give(status=404)

    def asked(self, name, place):
        """How often an issuer was asked."""
        return sum(f"/{name}/{place}" in request.path for request in self.listener.seen)

    def entries(self, **more):
        """The providers as the server's file has them."""
        return [dict({"id": each.id, "name": "The " + each.name, "issuer": each.url, "clientID": each.client}, **more) for each in self.issuers.values()]

    def close(self):
        self.listener.close()


def without_none(members):
    return {name: value for name, value in members.items() if value is not None}


def raw(header, claims, signature=b""):
    """A token with any header and signature."""
    return ".".join([base64url(json.dumps(header).encode()), base64url(json.dumps(claims).encode()), base64url(signature)])
