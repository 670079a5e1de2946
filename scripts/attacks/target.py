"""The server under attack, and clients of it."""
import base64, hashlib, http.client, json, os, re, resource, secrets, shutil, signal, socket, subprocess, tempfile, threading, time, urllib.parse

PROGRAM = ""
servers, lock = [], threading.Lock()

API = "https://api.example.org"
SECRETS = {"web": "a secret of the web client", "other": "a secret of the other client"}
REDIRECTS = {"web": "https://web.example.org/callback", "other": "https://other.example.org/callback", "cli": "http://127.0.0.1/callback"}
CLIENTS = [
    dict(id=id, secretSHA256=hashlib.sha256(secret.encode()).hexdigest(), redirectURIs=[REDIRECTS[id]], flows=["authorization_code"],
         scopes=["profile"], audiences=[API])
    for id, secret in SECRETS.items()
] + [dict(id="cli", redirectURIs=[REDIRECTS["cli"]], flows=["authorization_code", "device_code"], scopes=["profile"])]


class Server:
    """A server on a free port, with a folder of its own that is removed at the end."""

    def __init__(self, *flags, descriptors=None, clients=CLIENTS, administered=False):
        self.folder, self.flags, self.descriptors = tempfile.mkdtemp(prefix="attack-"), flags, descriptors
        self.process, self.token = None, secrets.token_hex(32) if administered else None
        self.configure(clients)
        if administered:
            with open(os.open(self.folder + "/token", os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write(self.token)
        with lock:
            servers.append(self)
        self.start(*flags)

    def start(self, *flags):
        limit = self.descriptors
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--data", self.folder + "/data", "--port", "0", "--clients", self.folder + "/clients.json",
             "--log-level", "error", *(["--admin-token-file", self.folder + "/token"] if self.token else []), *flags],
            stdout=subprocess.PIPE, stderr=open(self.folder + "/log", "a"), text=True,
            preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))))
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"the server did not start with {' '.join(flags)}")
        self.port = int(line.rsplit(":", 1)[1])

    def stop(self):
        if self.runs():
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def configure(self, clients):
        with open(self.folder + "/clients.json", "w") as file:
            json.dump(clients, file)

    def administer(self, method, path, fields=None):
        """A request of the administrator."""
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"}
        return Client(self).request(method, "/admin/v1" + path, json.dumps(fields) if fields is not None else None, headers)

    def command(self, *words, text="", check=True):
        """Runs `handstamp admin` on the server's folder, and returns what it prints as JSON, or the refused process."""
        done = command("admin", *words, "--data", self.folder + "/data", "--json", text=text)
        if not check:
            return done
        require(done.returncode == 0, f"admin {' '.join(words)}: {done.stderr}")
        return json.loads(done.stdout or "{}")

    def code(self, email, before=0):
        """The code in the newest mail to an address, as soon as there are more with one than before."""
        end = time.monotonic() + 15
        while True:
            mails = [mail.replace("=\r\n", "").replace("=\n", "") for mail in self.mails()]
            codes = [found for mail in mails if re.search(rf"^To: <?{re.escape(email)}\b", mail, re.M)
                     if (found := re.search(r"hsl1\.[\w-]+", mail))]
            if len(codes) > before:
                return codes[-1][0]
            require(time.monotonic() < end, f"no code was mailed to {email}")
            time.sleep(0.05)

    def runs(self):
        try:
            self.process.wait(0)
        except subprocess.TimeoutExpired:
            return True
        return False

    def seconds(self):
        """The CPU time that it has taken."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            user, system = file.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def mails(self):
        """The mails that were written, the oldest first."""
        folder = self.folder + "/data/mail"
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        return [open(f"{folder}/{name}").read() for name in names if name.endswith(".eml")]

    def mailed(self, count, seconds=10):
        """The mails, as soon as there are so many."""
        end = time.time() + seconds
        while len(self.mails()) < count and time.time() < end:
            time.sleep(0.05)
        return self.mails()

    def resident(self):
        """Memory in KB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def files(self):
        """How many files and sockets it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def connect(self, source="127.0.0.1", timeout=30):
        connection = socket.socket()
        connection.settimeout(timeout)
        connection.bind((source, 0))
        connection.connect(("127.0.0.1", self.port))
        return connection

    def raw(self, data, source="127.0.0.1", timeout=5):
        """All that the server sends to these bytes until it closes the connection, or is silent for long."""
        with self.connect(source, timeout) as connection:
            text = b""
            try:
                connection.sendall(data)
                while piece := connection.recv(65536):
                    text += piece
            except OSError:
                pass
            return text


def command(*words, text="", **environment):
    """Runs the program to its end."""
    return subprocess.run([PROGRAM, *words], input=text, capture_output=True, text=True, timeout=60, env={**os.environ, **environment})


class Failure(Exception):
    """An attack succeeded, or could not be made."""


def require(condition, words):
    if not condition:
        raise Failure(words)


class Answer:
    def __init__(self, response):
        self.status, self.fields, self.body = response.status, response.getheaders(), response.read()

    def __getitem__(self, name):
        return next((value for field, value in self.fields if field.lower() == name.lower()), None)

    @property
    def json(self):
        return json.loads(self.body or b"{}")

    @property
    def error(self):
        """The stable code of an error, of the API or of OAuth."""
        return self.json.get("code") or self.json.get("error")

    @property
    def text(self):
        return self.body.decode(errors="replace")


class Client:
    """A client at one address, on one connection as long as the server keeps it."""

    def __init__(self, server, source="127.0.0.1", timeout=30):
        self.server, self.source, self.timeout, self.connection = server, source, timeout, None

    def request(self, method, path, body=None, headers=None):
        for attempt in range(2):
            isNew = not self.connection
            if isNew:
                self.connection = http.client.HTTPConnection(
                    "127.0.0.1", self.server.port, timeout=self.timeout, source_address=(self.source, 0))
            try:
                self.connection.request(method, path, body, headers or {})
                return Answer(self.connection.getresponse())
            except (http.client.HTTPException, ConnectionError):
                # An idle connection may be closed at any time; a new one must be answered.
                self.close()
                if isNew:
                    raise
        raise Failure("the server closed two connections")

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def get(self, path, **headers):
        return self.request("GET", path, None, named(headers))

    def post(self, path, fields=None, **headers):
        return self.request("POST", path, json.dumps(fields or {}), {"Content-Type": "application/json", **named(headers)})

    def form(self, path, fields, **headers):
        """`fields` is a dictionary, or pairs if a name is repeated."""
        return self.request(
            "POST", path, urllib.parse.urlencode(fields), {"Content-Type": "application/x-www-form-urlencoded", **named(headers)})

    def sign_up(self, email, password, device="d-owner"):
        answer = self.post("/v1/sign-up", dict(email=email, password=password, username="Ada", device=install(device)))
        require(answer.status == 201, f"sign-up: {answer.status} {answer.text}")
        return answer.json

    def sign_in(self, email, password, device, **headers):
        return self.post("/v1/sign-in", dict(email=email, password=password, device=install(device)), **headers)

    def guest(self, device="d-guest", **headers):
        answer = self.post("/v1/sign-in/anonymous", dict(device=install(device)), **headers)
        require(answer.status == 201, f"guest: {answer.status} {answer.text}")
        return answer.json


def named(headers):
    return {name.replace("_", "-"): value for name, value in headers.items()}


def install(device):
    return dict(id=device, name="attack", platform="Python")


def bearer(session):
    return "Bearer " + session["access_token"]


def basic(id):
    pair = ":".join(urllib.parse.quote(text) for text in (id, SECRETS[id]))
    return "Basic " + base64.b64encode(pair.encode()).decode()


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Holder:
    """An honest holder of a session of the server's own app, which refreshes it."""

    def __init__(self, client, session):
        self.client, self.token = client, session["refresh_token"]

    def refresh(self):
        answer = self.client.form(
            "/oauth/token", dict(grant_type="refresh_token", refresh_token=self.token, rotation_key=base64url(os.urandom(16))))
        self.token = answer.json.get("refresh_token", self.token)
        return answer


class Browser:
    """A browser at the server's own pages. It keeps cookies by name alone, as there is one server."""

    def __init__(self, server, source="127.0.0.1"):
        self.client, self.cookies, self.csrf = Client(server, source), {}, ""

    def load(self, method, address, fields=None, **headers):
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), **named(headers)}
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        page = self.client.request(method, address, fields and urllib.parse.urlencode(fields), headers)
        for name, value in page.fields:
            if name.lower() == "set-cookie":
                key, text = value.split(";")[0].split("=", 1)
                self.cookies[key] = text
        self.cookies = {key: text for key, text in self.cookies.items() if text}
        # A redirect, or an answer to a script, leaves the token of the page as it is.
        if token := re.search(r'name="csrf" value="([^"]+)"', page.text):
            self.csrf = token[1]
        return page

    def submit(self, address, **fields):
        return self.load("POST", address, dict(fields, csrf=self.csrf))

    def sign_in(self, address, email, password):
        """Signs in on a page, and returns the address that follows."""
        self.load("GET", address)
        page = self.submit(address, action="sign-in", email=email, password=password)
        require(page.status == 303, f"sign-in on a page: {page.status} {page.text}")
        return local(page["Location"])


def local(address):
    """The path and query of an address."""
    parts = urllib.parse.urlsplit(address)
    return parts.path + ("?" + parts.query if parts.query else "")


VERIFIER = "a-verifier-that-only-the-client-knows-0123456789"
CHALLENGE = base64url(hashlib.sha256(VERIFIER.encode()).digest())


def authorization(id, *more):
    return "/oauth/authorize?" + urllib.parse.urlencode([
        ("response_type", "code"), ("client_id", id), ("redirect_uri", REDIRECTS[id]), ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"), ("state", "s"), *more])


def answered(page):
    """The parameters of a redirect to a client."""
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page["Location"] or "").query))


def code(browser, id, email, password, *more):
    """An authorization code for a client, allowed by the user."""
    address = authorization(id, *more)
    page = browser.load("GET", address)
    if page.text.find('name="password"') >= 0:
        address = browser.sign_in(address, email, password)
        page = browser.load("GET", address)
    # What was allowed before is not asked for again.
    if "code" not in answered(page):
        page = browser.submit(address, action="allow")
    require("code" in answered(page), f"consent: {page.status} {page['Location']} {page.text}")
    return answered(page)["code"]


def redeem(client, id, code, verifier=VERIFIER, **more):
    fields = dict(grant_type="authorization_code", code=code, redirect_uri=REDIRECTS[id], code_verifier=verifier, **more)
    if id in SECRETS:
        return client.form("/oauth/token", fields, Authorization=basic(id))
    return client.form("/oauth/token", dict(fields, client_id=id))
