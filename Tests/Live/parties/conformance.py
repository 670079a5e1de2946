"""The provider as the OpenID Foundation's profiles Basic OP and Config OP want it: OpenID Connect Core 1.0, Discovery 1.0, and the RFCs
below them."""
import secrets

from parties.bare import CLIENTS, Party, call
# Each adds its checks to the list.
from parties.checks import discovery, authorization, sign_in, token, id_token, userinfo  # noqa: F401
from parties.expect import CHECKS
from kit.web import Lost, Person, require
from parties.provider import EMAIL, PASSWORD, Provider

STANDARD = ["--scope=openid", "--scope=profile", "--scope=email"]


class Setting:
    """The provider, its clients, and two people."""
    def __init__(self):
        self.provider, self.origin = Provider(), "https://app.example.org"
        # As the suite's static clients: a secret, no PKCE, not always a nonce, and the default algorithm.
        self.plain = Party(self.provider, "plain", *STANDARD, "--scope=offline_access", "--without-pkce", "--without-nonce")
        self.other = Party(self.provider, "other+one:%", *STANDARD, "--without-pkce")
        self.elliptic = Party(self.provider, "elliptic", *STANDARD, "--id-token-alg=ES256")
        self.app = Party(self.provider, "app", "--is-public", *STANDARD, "--scope=offline_access", "--web-origin", self.origin)
        self.parties = [self.plain, self.other, self.elliptic, self.app]
        self.provider.start()
        self.discovery = call("GET", self.provider.issuer + "/.well-known/openid-configuration")
        self.metadata = self.discovery.json
        self.keys = call("GET", self.metadata["jwks_uri"])
        for party in self.parties:
            party.discover(self.metadata, self.keys.json)
        self.ada, self.bob = Person(EMAIL, PASSWORD), Person("bob@example.org", PASSWORD)
        self.sign_up("/v1/sign-up", email=self.bob.email, password=PASSWORD, username="Bob")
        for party in self.parties:
            party.code(self.ada.pass_through(party.address(scope="openid profile email offline_access"), until=CLIENTS))
        self.theirs = self.plain.redeem(self.bob.pass_through(self.plain.address(), until=CLIENTS))
        self.first = self.plain.sign_in(self.ada, scope="openid profile email")

    def sign_up(self, path, **body):
        return self.provider.api("POST", path, dict(body, device=dict(id="d-" + secrets.token_hex(4), name="Phone", platform="ios")))


def conformance():
    """All of them, one after the other. A failed one is named with what was expected and what came."""
    op, failed = Setting(), []
    for function in CHECKS:
        try:
            function(op)
        except Exception as fault:
            came = str(fault) if isinstance(fault, Lost) else f"{type(fault).__name__}: {fault}"
            failed.append(f"{function.__name__}\n    expected: {function.__doc__}\n    came: {came}")
    require(not failed, f"{len(failed)} of {len(CHECKS)} checks failed:\n  " + "\n  ".join(failed))
    return f"{len(CHECKS)} checks of Basic OP and Config OP"
