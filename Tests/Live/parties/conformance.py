"""The provider as the OpenID Foundation's profiles Basic OP and Config OP want it: OpenID Connect Core 1.0, Discovery 1.0, and the RFCs
below them."""
import functools, inspect, secrets

from kit.web import Lost, Person, require
from parties.bare import CLIENTS, Party, call
from parties.checks import authorization, discovery, id_token, sign_in, token, userinfo
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


def checks():
    """What is expected, and by which standard, with a function that raises what came instead: the rows of each chapter, and its functions."""
    for chapter in (discovery, authorization, sign_in, token, id_token, userinfo):
        for expected, *row in getattr(chapter, "ROWS", []):
            yield expected, functools.partial(chapter.check, *row)
        for function in vars(chapter).values():
            if inspect.isfunction(function) and function.__module__ == chapter.__name__ and function.__name__ != "check":
                yield function.__doc__, function


def conformance():
    """All of them, one after the other. A failed one is named with what was expected and what came."""
    op, failed, count = Setting(), [], 0
    for expected, check in checks():
        count += 1
        try:
            check(op)
        except Exception as fault:
            failed.append(f"expected: {expected}\n    came: {fault if isinstance(fault, Lost) else repr(fault)}")
    require(not failed, f"{len(failed)} of {count} checks failed:\n  " + "\n  ".join(failed))
    return f"{count} checks of Basic OP and Config OP"
