"""A person with an account: in an app, in a browser, with passkeys and recovery codes."""
import concurrent.futures, re, sqlite3, threading

from kit.p256 import Passkey
from attacks.target import Browser, Client, answered, authorization, install, require

PASSWORD = "a long enough secret"
# Passkeys need an issuer with a name.
ISSUER = "https://id.example.org"


class Person:
    def __init__(self, server, name, proved=False):
        """With `proved`, the address counts as confirmed: a mailed code is not the first proof, which takes back everything."""
        self.server, self.email, self.client = server, name + "@example.org", Client(server)
        self.session = self.client.sign_up(self.email, PASSWORD, "d-" + name)
        self.id, self.browser = self.session["profile"]["id"], self.visit()
        if proved:
            with sqlite3.connect(server.folder + "/data/registry.sqlite", timeout=10) as base:
                base.execute("UPDATE account SET email_confirmed_at = created_at WHERE id = ?", (self.id,))
            base.close()

    def visit(self, password=PASSWORD):
        """Another browser, signed in."""
        browser = Browser(self.server)
        browser.load("GET", browser.sign_in("/sign-in", self.email, password))
        return browser

    def press(self, path, action, **fields):
        """Presses a button of a page."""
        return press(self.browser, path, action, **fields)

    def add_passkey(self):
        self.browser.load("GET", "/account/security")
        options = self.browser.load("POST", "/account/passkey/options", X_CSRF_Token=self.browser.csrf)
        require(options.status == 200, f"no options for a passkey: {options}")
        passkey = Passkey(ISSUER)
        page = self.browser.submit("/account/security", action="add-passkey", passkey=passkey.create(options.json))
        require(f'value="{passkey.name}"' in page.text, f"no passkey was added: {page}")
        return passkey

    def recovery_codes(self):
        page = self.press("/account/security", "make-codes")
        codes = re.findall(r"<li><code>([^<]+)</code>", page.text)
        require(codes, f"no recovery codes: {page}")
        return codes

    def facts(self):
        """The account, as the administrator sees it."""
        return self.server.administer("GET", "/accounts/" + self.id).json["account"]

    def credentials(self):
        """What can sign in, as the administrator sees it."""
        return self.server.administer("GET", f"/accounts/{self.id}/credentials").json

    # What signs in.

    def opens(self, password):
        return self.client.sign_in(self.email, password, "d-try").status == 200

    def recovers(self, code):
        browser = Browser(self.server)
        browser.load("GET", "/recover")
        return browser.submit("/recover", action="recover", email=self.email, recovery_code=code).status == 303


def press(browser, path, action, **fields):
    browser.load("GET", path)
    return browser.submit(path, action=action, **fields)


def silently(browser, *more):
    """What an application is answered that may not ask the user."""
    return answered(browser.load("GET", authorization("web", *more, ("prompt", "none"))))


def unlocks(client, passkey):
    """Whether a passkey signs in to an app."""
    options = client.post("/v1/sign-in/passkey/options")
    require(options.status == 200, f"no options: {options}")
    return client.post("/v1/sign-in/passkey", dict(passkey=passkey.get(options.json), device=install("d-key"))).status == 200


def signed_in(browser):
    """Whether a browser is signed in."""
    return browser.load("GET", "/account").status == 200


def together(works):
    """What these functions return, which begin at the same moment."""
    gate = threading.Barrier(len(works))

    def begin(work):
        gate.wait()
        return work()

    with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(begin, works))
