"""Authlib's OAuth client without a user, with a key of its own, for ES256 or RS256. For tests.

It prints its public key as a JWK Set, reads the server's address, and prints the result of each step.
"""
import json, sys

from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey
from authlib.oauth2.rfc7523 import PrivateKeyJWT

algorithm = sys.argv[1]


def say(text): print(text, flush=True)


def make():
    kind, option = {"ES256": ("EC", "P-256"), "RS256": ("RSA", 2048)}[algorithm]
    return JsonWebKey.generate_key(kind, option, is_private=True)


def ask(key, **more):
    # The method of the revocation endpoint is also that of introspection.
    way = "private_key_jwt"
    session = OAuth2Session(
        "robot", key.as_pem(is_private=True).decode(), token_endpoint_auth_method=way, revocation_endpoint_auth_method=way)
    session.register_client_auth_method(PrivateKeyJWT(metadata["token_endpoint"], alg=algorithm))
    return session, session.fetch_token(metadata["token_endpoint"], grant_type="client_credentials", **more)


key = make()
say(json.dumps({"keys": [key.as_dict(is_private=False)]}))
issuer = sys.stdin.readline().strip()
metadata = OAuth2Session().get(issuer + "/.well-known/oauth-authorization-server", withhold_token=True).json()
assert "private_key_jwt" in metadata["token_endpoint_auth_methods_supported"]
assert algorithm in metadata["token_endpoint_auth_signing_alg_values_supported"]

session, token = ask(key, scope="read")
say(f"token {token['token_type']} {token['scope']} {'refresh_token' in token}")
say(f"me {session.get(issuer + '/v1/me').status_code}")
facts = session.introspect_token(metadata["introspection_endpoint"], token=token["access_token"]).json()
say(f"introspected {facts['active']} {facts['sub']}")
try:
    ask(make(), scope="read")
    say("other key taken")
except OAuthError as error:
    say(f"other key {error.error}")
