"""APIs of others that let in callers with an access token of the server, each in its own way."""
import json, os

from kit.debian import install
from kit.web import Person, require
from parties.apache import httpd
from parties.mailbox import MAIL, Dovecot
from parties.program import Program, documented
from parties.provider import EMAIL, PASSWORD, Provider
from parties.rely import Application


def change(provider, id, **members):
    """Sets members of a client."""
    with open(provider.clients) as file:
        clients = json.load(file)
    next(client for client in clients if client["id"] == id).update(members)
    with open(provider.clients, "w") as file:
        json.dump(clients, file)


def caller(provider, resource=None):
    """An application that signs Ada in, after the server has started: a function that returns its tokens, which are for `resource`."""
    app, more = Application("caller", "RS256"), dict(resource=resource) if resource else {}
    app.join(provider, *(["--audience", resource] if resource else []))

    def tokens():
        app.discover()
        app.finish(Person(EMAIL, PASSWORD).pass_through(app.begin("openid profile email", **more), until=app.back).url)
        app.stop()
        return app.token["access_token"]
    return tokens


def forged(token):
    """Another signature: of its last character, some bits are not part of it."""
    head, body, signature = token.split(".")
    return ".".join([head, body, ("A" if signature[0] != "A" else "B") + signature[1:]])


class Resource(Program):
    """An API: its page at /about opens with a token, and not with a forged one. Of one that is `aimed`, the token has to be for its address."""
    def __init__(self, name, version, command, aimed=False, **more):
        super().__init__(name, version, "--introspects", command, **more)
        self.aimed = aimed

    def row(self):
        return f"| {self.version} | {self.note} |"

    def register(self, provider, url):
        self.tokens = caller(provider, url if self.aimed else None)
        return super().register(provider, url)

    def enter(self, url):
        token, person = self.tokens(), Person(EMAIL, PASSWORD)
        refused = person.load("GET", url + "/about", headers={"Authorization": f"Bearer {forged(token)}"})
        require(refused.status in (401, 403), f"a forged token is let in: {refused.status} {refused.text[:300]}")
        return person.load("GET", url + "/about", headers={"Authorization": f"Bearer {token}"}), "refuses a forged one"


def apache(verify):
    """Apache with mod_oauth2 as a command: `verify` is its line, with the names of the surroundings."""
    def command(port, folder):
        os.makedirs(folder + "/htdocs")
        with open(folder + "/htdocs/about", "w") as file:
            file.write("about")
        return httpd(folder, port, "oauth2", f"<Location />\nAuthType oauth2\nOAuth2TokenVerify {verify}\nRequire valid-user\n</Location>")
    return command


class Mailbox:
    """Dovecot as a case: it opens the mailbox of the person whose token it gets, and no other."""
    def __init__(self, name, note, *oauth2):
        self.__name__, self.version, self.note, self.oauth2 = name, "Dovecot 2.3.19 (Debian 12)", note, oauth2

    row = Resource.row

    def __call__(self):
        documented(self)
        install(*MAIL)
        provider = Provider()
        secret = provider.add("party", "--redirect-uri", "http://127.0.0.1:9/", "--introspects")
        tokens = caller(provider)
        provider.start()
        ada = json.dumps(dict(id=provider.api("GET", "/v1/me")["sub"], email=EMAIL, email_verified=True))
        provider.admin("import", "-", "--from", "handstamp", "--merge", text=ada)
        values = dict(secret=secret, port=provider.port, issuer=provider.issuer)
        server = Dovecot(provider.folder, "username_attribute = email", *[line.format(**values) for line in self.oauth2])
        try:
            token = tokens()
            require(server.opens(EMAIL, token), f"the mailbox does not open: {server.log()}")
            require(not server.opens("eve@example.org", token), "the mailbox of another opens")
            require(not server.opens(EMAIL, forged(token)), "the mailbox opens with a forged token")
            return f"{self.version}: opens the mailbox of {EMAIL}, and not of another, nor with a forged token"
        finally:
            server.stop()
