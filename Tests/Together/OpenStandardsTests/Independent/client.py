"""Authlib's OAuth client against the server whose address is the argument. For tests.

It prints `open URL` when a browser must be opened, `type CODE` when a user must type a code (then waits for a line), and
otherwise the result of each step.
"""
import sys

from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from kit.web import until
from parties.hostile import Listener, well

issuer, browser = sys.argv[1], Listener(well)
redirect = browser.url + "/callback"


def say(text): print(text, flush=True)


session = OAuth2Session(
    "app", scope="profile", redirect_uri=redirect, code_challenge_method="S256", token_endpoint_auth_method="none")
metadata = session.get(issuer + "/.well-known/oauth-authorization-server", withhold_token=True).json()
document = AuthorizationServerMetadata(metadata)
for check in ["validate_authorization_endpoint", "validate_token_endpoint", "validate_jwks_uri"]:
    try:
        getattr(document, check)()
    except ValueError as error:
        # Authlib requires https, which a local test does not have.
        assert "https" in str(error), error
assert metadata["issuer"] == issuer
say("metadata ok")

verifier = "v" * 64
url, state = session.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier)
say("open " + url)
until(lambda: browser.seen, "the browser does not come back", 60)
answer = browser.url + browser.seen[0].path
token = session.fetch_token(
    metadata["token_endpoint"], authorization_response=answer, state=state, code_verifier=verifier)
me = session.get(metadata["userinfo_endpoint"])
say(f"code {me.status_code} {me.json()['name']}")

former = token["refresh_token"]
fresh = session.refresh_token(metadata["token_endpoint"], refresh_token=former)
assert fresh["refresh_token"] != former
say(f"refresh {session.get(metadata['userinfo_endpoint']).status_code}")

other = OAuth2Session("unknown", token_endpoint_auth_method="none")
try:
    other.refresh_token(metadata["token_endpoint"], refresh_token=former)
    say("former taken")
except OAuthError as error:
    assert error.error == "invalid_client", error
    say("former refused")

# Using the same code again ends its session; the next steps use another one.
again = OAuth2Session("app", redirect_uri=redirect, token_endpoint_auth_method="none")
try:
    again.fetch_token(metadata["token_endpoint"], authorization_response=answer, state=state, code_verifier=verifier)
    say("code again taken")
except OAuthError as error:
    assert error.error == "invalid_grant", error
    assert session.get(metadata["userinfo_endpoint"]).status_code == 401
    say("code again refused")

plain = OAuth2Session("app", scope="profile", token_endpoint_auth_method="none")
kind = "urn:ietf:params:oauth:grant-type:device_code"
# A device whose first poll follows the user's answer does not need to wait.
early, codes = (plain.post(metadata["device_authorization_endpoint"], data={"client_id": "app", "scope": "profile"}, withhold_token=True).json()
                for _ in range(2))
try:
    plain.fetch_token(metadata["token_endpoint"], grant_type=kind, device_code=early["device_code"])
except OAuthError as error:
    assert error.error == "authorization_pending", error
    say("device pending")
say("type " + codes["user_code"])
sys.stdin.readline()
plain.fetch_token(metadata["token_endpoint"], grant_type=kind, device_code=codes["device_code"])
me = plain.get(metadata["userinfo_endpoint"])
say(f"device {me.status_code} {me.json()['name']}")

answer = plain.revoke_token(
    metadata["revocation_endpoint"], token=plain.token["refresh_token"], token_type_hint="refresh_token")
assert answer.status_code == 200
say(f"revoked {plain.get(metadata['userinfo_endpoint']).status_code}")
