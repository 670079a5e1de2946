"""The server under attack, and clients of it."""
import contextlib, hashlib, json, os, pathlib, re, secrets, socket, urllib.parse

from kit import server as kit_server
from kit import web
from kit.server import command
from kit.web import Client, Lost, base64url, bearer, install, named, pkce, require, until

OWNER, PASSWORD = "owner@example.org", "a long enough secret"
# Anyone may sign up, as often as they like.
FREE = ["--sign-up", "open", "--rate-limits", "none"]
API = "https://api.example.org"
SECRETS = {"web": "a secret of the web client", "other": "a secret of the other client"}
REDIRECTS = {"web": "https://web.example.org/callback", "other": "https://other.example.org/callback", "cli": "http://127.0.0.1/callback"}
CLIENTS = [
    dict(id=id, secretSHA256=hashlib.sha256(secret.encode()).hexdigest(), redirectURIs=[REDIRECTS[id]], flows=["authorization_code"],
         scopes=["profile"], audiences=[API])
    for id, secret in SECRETS.items()
] + [dict(id="cli", redirectURIs=[REDIRECTS["cli"]], flows=["authorization_code", "device_code"], scopes=["profile"])]


class Server(kit_server.Server):
    """A server on a free port with these clients."""

    def __init__(self, *flags, clients=CLIENTS, administered=False):
        super().__init__()
        self.token = secrets.token_hex(32) if administered else None
        self.configure(clients)
        if administered:
            with open(os.open(self.folder + "/token", os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write(self.token)
        self.start(*flags)

    def start(self, *flags):
        administration = ["--admin-token-file", self.folder + "/token"] if self.token else []
        self.launch("--clients", self.folder + "/clients.json", "--log-level", "error", *administration, *flags)

    stop = kit_server.Server.kill

    def configure(self, clients):
        with open(self.folder + "/clients.json", "w") as file:
            json.dump(clients, file)

    def administer(self, method, path, fields=None):
        """A request of the administrator."""
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"}
        return Client(self).request(method, "/admin/v1" + path, json.dumps(fields) if fields is not None else None, headers)

    def command(self, *words, text="", check=True):
        """What `handstamp-server admin` on the server's folder prints, or the refused process."""
        return self.admin(*words, text=text) if check else command("admin", *words, "--data", self.folder + "/data", "--json", text=text)

    def code(self, email, before=0):
        """The code in the newest mail to an address, as soon as there are more with one than before."""
        def newest():
            mails = [mail.replace("=\r\n", "").replace("=\n", "") for mail in self.mails()]
            codes = [found for mail in mails if re.search(rf"^To: <?{re.escape(email)}\b", mail, re.M)
                     if (found := re.search(r"hsl1\.[\w-]+", mail))]
            return len(codes) > before and codes[-1][0]
        return until(newest, f"no code was mailed to {email}", 15)

    def mails(self):
        """The mails that were written, the oldest first."""
        return [path.read_text() for path in sorted(pathlib.Path(self.folder, "data/mail").glob("*.eml"))]

    def mailed(self, count):
        """The mails, as soon as there are so many."""
        return until(lambda: len(self.mails()) >= count and self.mails(), f"fewer than {count} mails were written", 10)

    def connect(self, source="127.0.0.1", timeout=30):
        return socket.create_connection(("127.0.0.1", self.port), timeout, (source, 0))

    def raw(self, data, source="127.0.0.1", timeout=5):
        """All that the server sends to these bytes until it closes the connection, or is silent for long."""
        with self.connect(source, timeout) as connection, contextlib.suppress(OSError):
            text = b""
            connection.sendall(data)
            while piece := connection.recv(65536):
                text += piece
        return text


def basic(id):
    return web.basic(id, SECRETS[id])


class Holder:
    """An honest holder of a session of the server's own app, which refreshes it."""

    def __init__(self, client, session):
        self.client, self.token = client, session["refresh_token"]

    def refresh(self):
        answer = self.client.refresh(self.token)
        self.token = answer.json.get("refresh_token", self.token)
        return answer


class Browser:
    """A browser at the server's own pages. It keeps cookies by name alone, as there is one server."""

    def __init__(self, server, source="127.0.0.1"):
        self.client, self.cookies, self.csrf = Client(server, source), {}, ""

    def load(self, method, address, fields=None, **headers):
        headers = {**web.cookie(self.cookies), **named(headers), **(web.FORM if fields is not None else {})}
        page = self.client.request(method, address, fields and urllib.parse.urlencode(fields), headers)
        web.keep(self.cookies, page)
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
        return urllib.parse.urlsplit(page["Location"])._replace(scheme="", netloc="").geturl()


VERIFIER = "a-verifier-that-only-the-client-knows-0123456789"
CHALLENGE = pkce(VERIFIER)[1]["code_challenge"]


def authorization(id, *more):
    return "/oauth/authorize?" + urllib.parse.urlencode([
        ("response_type", "code"), ("client_id", id), ("redirect_uri", REDIRECTS[id]), ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"), ("state", "s"), *more])


def answered(page):
    """The parameters of a redirect to a client."""
    return web.fields(page["Location"] or "")


def code(browser, id, email, password, *more):
    """An authorization code for a client, allowed by the user."""
    address = authorization(id, *more)
    page = browser.load("GET", address)
    if page.text.find('name="password"') >= 0:
        address = browser.sign_in(address, email, password)
        page = browser.load("GET", address)
    # A consent that was given before is not asked for again.
    if "code" not in answered(page):
        page = browser.submit(address, action="allow")
    require("code" in answered(page), f"consent: {page.status} {page['Location']} {page.text}")
    return answered(page)["code"]


def redeem(client, id, code, verifier=VERIFIER, **more):
    fields = dict(grant_type="authorization_code", code=code, redirect_uri=REDIRECTS[id], code_verifier=verifier, **more)
    if id in SECRETS:
        return client.form("/oauth/token", fields, Authorization=basic(id))
    return client.form("/oauth/token", dict(fields, client_id=id))
