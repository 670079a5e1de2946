"""An application that signs people in with PyPI's Authlib: the client's side of OpenID Connect by code of others."""
import http.server, threading, time, urllib.parse

from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, JsonWebToken
from authlib.oidc.core import CodeIDToken

from kit.web import call, fields, require, until

LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


class Ears(http.server.BaseHTTPRequestHandler):
    """Where the application is told of ended sessions; fails as often as `failures` says."""
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        server = self.server
        server.asked += 1
        if server.failures:
            server.failures -= 1
            self.send_response(500)
        else:
            server.heard.append((time.time(), urllib.parse.parse_qs(body)["logout_token"][0]))
            self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Application:
    def __init__(self, id, algorithm, failures=0):
        self.id, self.algorithm = id, algorithm
        self.ears = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ears)
        self.ears.heard, self.ears.asked, self.ears.failures = [], 0, failures
        threading.Thread(target=self.ears.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.ears.server_port}"
        self.back, self.bye = self.url + "/back", self.url + "/bye"

    def join(self, provider, *options):
        """Becomes a client, before the provider starts."""
        self.provider = provider
        self.secret = provider.add(
            self.id, "--name", self.id, "--redirect-uri", self.back, "--backchannel-logout-uri", self.url + "/logout",
            "--post-logout-redirect-uri", self.bye, "--id-token-alg", self.algorithm, *options)

    def discover(self):
        self.metadata = call("GET", self.provider.issuer + "/.well-known/openid-configuration").json
        require(self.metadata["issuer"] == self.provider.issuer, f"issuer: {self.metadata['issuer']}")
        self.keys = JsonWebKey.import_key_set(call("GET", self.metadata["jwks_uri"]).json)

    def begin(self, scope, **more):
        self.session = OAuth2Session(
            self.id, self.secret, scope=scope, redirect_uri=self.back, code_challenge_method="S256",
            token_endpoint_auth_method="client_secret_basic")
        self.verifier, self.nonce = generate_token(48), generate_token(20)
        url, self.state = self.session.create_authorization_url(
            self.metadata["authorization_endpoint"], code_verifier=self.verifier, nonce=self.nonce, **more)
        return url

    def finish(self, url):
        """Redeems the code of the address that the browser came back to, and returns the claims of the ID token."""
        told = fields(url)
        require(told.get("state") == self.state and told.get("iss") == self.provider.issuer, f"answer: {told}")
        if "error" in told:
            return told
        self.token = self.session.fetch_token(
            self.metadata["token_endpoint"], authorization_response=url, code_verifier=self.verifier)
        return self.claims(self.token, nonce=self.nonce)

    def claims(self, token, **expected):
        parameters = dict(client_id=self.id, access_token=token["access_token"], **expected)
        claims = JsonWebToken([self.algorithm]).decode(
            token["id_token"], self.keys, claims_cls=CodeIDToken, claims_params=parameters,
            claims_options={"iss": {"essential": True, "value": self.provider.issuer}, "at_hash": {"essential": True}})
        claims.validate(leeway=5)
        return claims

    def logout_token(self, seconds=5.0):
        """The claims of the next logout token."""
        until(lambda: self.ears.heard, "the application is not told of the end", seconds, 0.01)
        at, text = self.ears.heard.pop(0)
        claims = JsonWebToken([self.algorithm]).decode(text, self.keys, claims_options={
            "iss": {"essential": True, "value": self.provider.issuer}, "aud": {"essential": True, "value": self.id},
            "jti": {"essential": True}, "sid": {"essential": True}, "iat": {"essential": True}})
        claims.validate(leeway=5)
        require(claims.header["typ"] == "logout+jwt", f"type: {claims.header}")
        require(claims["events"] == {LOGOUT: {}} and "nonce" not in claims, f"logout token: {dict(claims)}")
        return at, claims

    def stop(self):
        self.ears.shutdown()
