"""A relying party without a library, which can also send what no library would, and reads every answer itself."""
import json, re, secrets, urllib.parse

from authlib.jose import JsonWebKey, JsonWebToken

from kit import web
from kit.web import base64url, call, fields, pkce, require

# Addresses of clients, at which a browser of these checks stops: nothing is asked for outside of this machine.
CLIENTS = ("https://", "HTTPS://", "http://plain.")


def unsigned(claims):
    """A request object without a signature (OpenID Connect Core 1.0 section 6.1)."""
    return ".".join(base64url(json.dumps(part).encode()) for part in (dict(alg="none"), claims)) + "."


def basic(id, secret):
    return {"Authorization": web.basic(id, secret)}


def bearer(token, scheme="Bearer"):
    return {"Authorization": f"{scheme} {token}"}


def said(page):
    """What came instead of what was expected: an answer at the client, or a page."""
    if page.status == 0:
        return f"the answer {fields(page.url)} at {page.url.split('?')[0]}"
    main = re.search(r"<main.*?</main>", page.text, re.S)
    words = " ".join(re.sub(r"<[^>]*>", " ", main.group(0)).split()) if main else page.text
    return f"a page with {page.status}, “{page.title}”: {words[:160]}"


class Tokens:
    """What the token endpoint gave; the ID token is verified with the provider's keys."""
    def __init__(self, reply, keys, code=None):
        require(reply.status == 200 and "access_token" in reply.json, f"no tokens: {reply}")
        self.reply, self.json, self.code = reply, reply.json, code
        self.access, self.refresh, self.identity = (self.json.get(name) for name in ("access_token", "refresh_token", "id_token"))
        if self.identity:
            self.claims = JsonWebToken(["RS256", "ES256"]).decode(self.identity, keys)
            self.header = self.claims.header


class Party:
    """A client of the provider. With `--without-pkce` among its options it sends no challenge."""
    def __init__(self, provider, id, *options):
        self.id, self.provider, self.pkce = id, provider, "--without-pkce" not in options
        self.back = "https://" + re.sub("[^a-z]", "", id) + ".example.org/back"
        self.secret = provider.add(id, "--redirect-uri", self.back, "--redirect-uri", self.back + "?site=a%26b", *options)
        self.verifier = None

    def discover(self, metadata, keys):
        self.metadata, self.keys = metadata, JsonWebKey.import_key_set(keys)

    def request(self, **changes):
        """The parameters of a request; a change to `None` leaves one out."""
        self.verifier, challenge = pkce() if self.pkce else (None, {})
        sent = dict(response_type="code", client_id=self.id, redirect_uri=self.back, scope="openid", state=secrets.token_urlsafe(16),
                    nonce=secrets.token_urlsafe(16), **challenge)
        sent.update(changes)
        self.sent = {name: value for name, value in sent.items() if value is not None}
        return self.sent

    def address(self, **changes):
        return self.metadata["authorization_endpoint"] + "?" + urllib.parse.urlencode(self.request(**changes))

    def ask(self, person, **changes):
        """Opens a request in a person's browser, and returns the page, or the answer, which has the status 0."""
        return person.open(self.address(**changes), until=CLIENTS)

    def ask_by_post(self, person, **changes):
        return person.open(self.metadata["authorization_endpoint"], CLIENTS, "POST", self.request(**changes))

    def pressed(self, person, page, action, **typed):
        """Presses a button of a page, which has to be there."""
        require(page.status == 200 and page.has(action), said(page))
        return person.submit(page, action, CLIENTS, **typed)

    def returned(self, page):
        """The fields of an answer, success or error, with the state and the issuer that each has to have."""
        require(page.status == 0 and page.url.startswith(self.back), said(page))
        told = fields(page.url)
        require(told.get("state") == self.sent.get("state"), f"another state: {told}")
        require(told.get("iss") == self.metadata["issuer"], f"another issuer: {told}")
        return told

    def answer(self, person, **changes):
        return self.returned(self.ask(person, **changes))

    def code(self, page):
        """The code of an answer."""
        told = self.returned(page)
        require(told.get("code") and "error" not in told, f"the answer {told}")
        return told["code"]

    def send(self, form, headers={}):
        """A request to the token endpoint, as it is."""
        return call("POST", self.metadata["token_endpoint"], headers, form)

    def token(self, form):
        """The same with `client_secret_basic`, or from a public client."""
        return self.send(form, basic(self.id, self.secret)) if self.secret else self.send(dict(form, client_id=self.id))

    def grant(self, code, **changes):
        """The parameters that redeem a code; a change to `None` leaves one out."""
        form = dict(grant_type="authorization_code", code=code, redirect_uri=self.sent.get("redirect_uri"), code_verifier=self.verifier)
        form.update(changes)
        return {name: value for name, value in form.items() if value is not None}

    def redeem(self, page, **changes):
        """The tokens for the code of an answer."""
        code = self.code(page)
        return Tokens(self.token(self.grant(code, **changes)), self.keys, code)

    def sign_in(self, person, **changes):
        """Tokens, without a page, since the person is signed in and allowed it before."""
        return self.redeem(self.ask(person, **changes))

    def refreshed(self, tokens, **changes):
        return self.token(dict(grant_type="refresh_token", refresh_token=tokens.refresh, **changes))

    def about(self, token, method="GET"):
        """The answer of the UserInfo endpoint."""
        return call(method, self.metadata["userinfo_endpoint"], bearer(token), "" if method == "POST" else None)
