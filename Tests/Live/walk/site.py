"""The server whose pages are looked at: at localhost, with a name, clients and mails."""
import email, email.policy, json, os, signal
from urllib.parse import urlencode

from kit.server import told
from kit.web import until
from parties.provider import Provider

SCOPES = "openid profile email offline_access wiki.read"


class Site(Provider):
    """A server that confirms addresses by mail, has passkeys, and several clients."""

    def __init__(self):
        super().__init__()
        self.issuer = f"http://localhost:{self.port}"
        self.mails, self.read, self.settings = self.folder + "/mails", set(), self.folder + "/settings.json"
        self.callback = self.issuer + "/assets/none"
        for id, name in [("wiki", "The wiki"), ("shop", "A shop with a name that is rather long for a small screen")]:
            self.add(id, "--name", name, "--redirect-uri", self.callback, *[part for scope in SCOPES.split() for part in ("--scope", scope)])
        self.add("cli", "--name", "The command", "--redirect-uri", "http://127.0.0.1/callback", "--is-public", "--device")

    def begin(self):
        self.configure()
        self.start("--issuer", self.issuer, "--mail-folder", self.mails, "--config", self.settings, "--site-name", "Example", account=False)

    def configure(self, **more):
        """With these settings, from now on."""
        with open(self.settings, "w") as file:
            json.dump({"sign-up": "confirmed", "reauthenticate-after": "15m"} | more, file)
        if self.runs():
            self.process.send_signal(signal.SIGHUP)

    def offer(self):
        """From now on people can sign in with accounts of another server, which is at another host for browsers."""
        other = Provider()
        secret, providers = self.folder + "/office.secret", self.folder + "/providers.json"
        with open(os.open(secret, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(other.add("forum", "--redirect-uri", self.issuer + "/sign-in/with/office/callback"))
        other.start()
        told("admin", "providers", "add", "office", "--providers", providers, "--issuer", other.issuer, "--name", "Work",
             "--client-id", "forum", "--client-secret-in", secret)
        self.configure(providers=providers)

    def sign_in(self, address, password, device, name, platform):
        """A session of an app."""
        self.token = None
        self.token = self.api("POST", "/v1/sign-in", dict(
            email=address, password=password, device=dict(id=device, name=name, platform=platform)))["access_token"]

    def link(self, part, seconds=20):
        """The address in the next mail that has one with this part."""
        def unread():
            for name in sorted(os.listdir(self.mails)):
                if name in self.read or not name.endswith(".eml"):
                    continue
                with open(os.path.join(self.mails, name)) as file:
                    text = email.message_from_file(file, policy=email.policy.default).get_content()
                for line in text.split("\n"):
                    if part in line:
                        self.read.add(name)
                        return line.strip()
        return until(unread, f"no mail with {part}", seconds)

    def authorize(self, client="wiki", redirect=None, scope="openid profile email", **more):
        """The address by which an application asks for a sign-in."""
        return self.issuer + "/oauth/authorize?" + urlencode(dict(
            response_type="code", client_id=client, redirect_uri=redirect or self.callback, scope=scope, state="x",
            code_challenge="47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", code_challenge_method="S256", **more))
