"""An application that signs people in with PyPI's Authlib: the client's side of OpenID Connect by code of others."""
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, JsonWebToken
from authlib.oidc.core import CodeIDToken

from kit.web import call, fields, require, until
from parties.hostile import Listener, well

LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


class Application:
    def __init__(self, id, algorithm):
        self.id, self.algorithm, self.listener = id, algorithm, Listener(well)
        self.back, self.bye = self.listener.url + "/back", self.listener.url + "/bye"

    def join(self, provider, *options):
        """Becomes a client, before the provider starts."""
        self.provider = provider
        self.secret = provider.add(
            self.id, "--name", self.id, "--redirect-uri", self.back, "--backchannel-logout-uri", self.listener.url + "/logout",
            "--post-logout-redirect-uri", self.bye, "--id-token-alg", self.algorithm, *options)

    def discover(self):
        self.metadata = call("GET", self.provider.issuer + "/.well-known/openid-configuration").json
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
        self.token = self.session.fetch_token(
            self.metadata["token_endpoint"], authorization_response=url, code_verifier=self.verifier)
        return self.claims(self.token, nonce=self.nonce)

    def verified(self, token, essential, **options):
        """The claims of a token of the provider for this application."""
        claims = JsonWebToken([self.algorithm]).decode(token, self.keys, **options, claims_options={
            "iss": {"essential": True, "value": self.provider.issuer}, "aud": {"essential": True, "value": self.id},
            **{name: {"essential": True} for name in essential.split()}})
        claims.validate(leeway=5)
        return claims

    def claims(self, token, **expected):
        parameters = dict(client_id=self.id, access_token=token["access_token"], **expected)
        return self.verified(token["id_token"], "at_hash", claims_cls=CodeIDToken, claims_params=parameters)

    def logout_token(self):
        """The claims of the next logout token."""
        until(lambda: self.listener.seen, "the application is not told of the end", 5, 0.01)
        claims = self.verified(fields("?" + self.listener.seen.pop(0).body)["logout_token"], "jti sid iat")
        require(claims.header["typ"] == "logout+jwt", f"type: {claims.header}")
        require(claims["events"] == {LOGOUT: {}} and "nonce" not in claims, f"logout token: {dict(claims)}")
        return claims

    def stop(self):
        self.listener.close()
