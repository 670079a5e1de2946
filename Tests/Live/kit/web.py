"""Requests over HTTP: answers, clients that keep their connection, and browsers without script."""
import base64, hashlib, html, http.client, json, re, secrets, time, urllib.parse

FORM, JSON = {"Content-Type": "application/x-www-form-urlencoded"}, {"Content-Type": "application/json"}


class Lost(Exception):
    """Something is not as it has to be."""


def require(condition, words):
    if not condition:
        raise Lost(words)


def until(condition, words, seconds=30, pause=0.05):
    """Waits until a condition holds, and returns what it gave. Words, or a function that makes them, say what is missing. A place that does not
    answer yet counts as one that says no."""
    end = time.monotonic() + seconds
    while True:
        try:
            if found := condition():
                return found
        except (OSError, http.client.HTTPException):
            pass
        if time.monotonic() > end:
            raise Lost(words() if callable(words) else words)
        time.sleep(pause)


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def __getitem__(self, name):
        return self.headers[name]

    def __str__(self):
        return f"{self.status} {self.text[:200]}"

    @property
    def fields(self):
        return self.headers.items()

    @property
    def text(self):
        return self.body.decode(errors="replace")

    @property
    def json(self):
        try:
            return json.loads(self.body or b"{}")
        except ValueError:
            return {}

    @property
    def error(self):
        """The stable code of an error, of the API or of OAuth."""
        return self.json.get("code") or self.json.get("error")


class Client:
    """A client of a server, which has a `port` and may have a `host`, on one connection as long as the server keeps it."""
    retries = True

    def __init__(self, server, source=None, timeout=30):
        self.server, self.source, self.timeout, self.connection = server, source, timeout, None

    def request(self, method, path, body=None, headers=None):
        while True:
            is_new = not self.connection
            if is_new:
                self.connection = http.client.HTTPConnection(
                    getattr(self.server, "host", "127.0.0.1"), self.server.port, timeout=self.timeout, source_address=self.source and (self.source, 0))
            try:
                self.connection.request(method, path, body, headers or {})
                return Answer(self.connection.getresponse())
            except (http.client.HTTPException, ConnectionError):
                # An idle connection may be closed at any time; a new one must be answered.
                self.close()
                if is_new or not self.retries:
                    raise

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def get(self, path, **headers):
        return self.request("GET", path, None, named(headers))

    def post(self, path, fields=None, **headers):
        return self.request("POST", path, json.dumps(fields or {}), {**JSON, **named(headers)})

    def form(self, path, fields, **headers):
        """`fields` is a dictionary, or pairs if a name is repeated."""
        return self.request("POST", path, urllib.parse.urlencode(fields), {**FORM, **named(headers)})

    # The API of the server.

    def sign_up(self, email, password, device="d-owner"):
        answer = self.post("/v1/sign-up", dict(email=email, password=password, username="Ada", device=install(device)))
        require(answer.status == 201, f"sign-up: {answer}")
        return answer.json

    def sign_in(self, email, password, device, **headers):
        return self.post("/v1/sign-in", dict(email=email, password=password, device=install(device)), **headers)

    def guest(self, device=None, **headers):
        answer = self.post("/v1/sign-in/anonymous", dict(device=install(device or "d-" + secrets.token_hex(8))), **headers)
        require(answer.status == 201, f"guest: {answer}")
        return answer.json

    def refresh(self, token, key=None):
        return self.form("/oauth/token", dict(grant_type="refresh_token", refresh_token=token, rotation_key=key or rotation_key()))


def call(method, url, headers=None, form=None):
    """One request over a connection of its own. `form` is a dictionary, or text that is sent as it is."""
    parts = urllib.parse.urlsplit(url)
    sent, body = dict(headers or {}), None
    if form is not None:
        body = form if isinstance(form, str) else urllib.parse.urlencode(form)
        sent |= FORM
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    try:
        connection.request(method, (parts.path or "/") + ("?" + parts.query if parts.query else ""), body, sent)
        return Answer(connection.getresponse())
    finally:
        connection.close()


class Page:
    """What a browser shows. An address at which it stopped has the status 0."""

    def __init__(self, url, status=0, headers=None, text=""):
        self.url, self.status, self.headers, self.text = url, status, headers or {}, text
        title = re.search(r"<title>([^<]*)</title>", text)
        self.title = html.unescape(title[1]).split(" · ")[0] if title else ""

    def hidden(self):
        """The hidden fields of the first form."""
        form = self.text.split("<form", 1)[-1].split("</form>", 1)[0]
        return {name: html.unescape(value) for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form)}

    def has(self, action):
        return f'value="{action}"' in self.text


class Person:
    """A person at a browser, who keeps cookies, follows redirects and fills in forms, without script."""

    def __init__(self, email, password):
        self.email, self.password, self.cookies, self.seen = email, password, {}, []

    def load(self, method, url, fields=None, headers=None):
        """One request, without following its answer."""
        jar = self.cookies.setdefault(urllib.parse.urlsplit(url).netloc, {})
        answer = call(method, url, {"Accept": "text/html,*/*", **(headers or {}), **cookie(jar)}, fields)
        keep(jar, answer)
        return Page(url, answer.status, answer.headers, answer.text)

    def open(self, url, until=None, method="GET", fields=None):
        """Follows redirects until a page, or an address that begins with `until`, which is not loaded."""
        for _ in range(20):
            page = self.load(method, url, fields)
            self.seen.append((page.status, page.title or url.split("?")[0]))
            if page.status not in (301, 302, 303, 307, 308):
                return page
            url = urllib.parse.urljoin(url, page.headers["Location"])
            if until and url.startswith(until):
                return Page(url)
            method, fields = "GET", None
        raise Lost(f"too many redirects: {self.seen[-20:]}")

    def submit(self, page, action, until=None, **fields):
        """Sends the form of a page."""
        return self.open(page.url, until, "POST", {**page.hidden(), **fields, "action": action})

    def pass_through(self, url, until=None):
        """Opens an address of an application, signs in and allows what it asks for."""
        return self.go_on(self.open(url, until), until)

    def go_on(self, page, until=None):
        """From a page of the server."""
        for _ in range(4):
            if page.has("sign-in"):
                page = self.submit(page, "sign-in", until, email=self.email, password=self.password)
            elif page.has("allow"):
                page = self.submit(page, "allow", until)
            else:
                return page
        return page


def cookie(jar):
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in jar.items())} if jar else {}


def keep(jar, answer):
    """Puts the cookies of an answer into a jar."""
    for text in answer.headers.get_all("Set-Cookie") or []:
        name, value = text.split(";", 1)[0].split("=", 1)
        if not value or "max-age=0" in text.lower() or "01 Jan 1970" in text:
            jar.pop(name, None)
        else:
            jar[name] = value


def named(headers):
    return {name.replace("_", "-"): value for name, value in headers.items()}


def install(device):
    """An installation of an app."""
    return dict(id=device, name="load", platform="Python")


def bearer(session):
    return "Bearer " + session["access_token"]


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def rotation_key():
    return base64url(secrets.token_bytes(16))


def basic(id, secret):
    """Credentials of a client, whose parts are form-encoded first (RFC 6749 section 2.3.1)."""
    pair = ":".join(urllib.parse.quote_plus(part) for part in (id, secret))
    return "Basic " + base64.b64encode(pair.encode()).decode()


def pkce(verifier=None):
    """A verifier, and the parameters of its challenge (RFC 7636 section 4)."""
    verifier = verifier or secrets.token_urlsafe(48)
    return verifier, dict(code_challenge=base64url(hashlib.sha256(verifier.encode()).digest()), code_challenge_method="S256")


def fields(url):
    """The query of an address."""
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
