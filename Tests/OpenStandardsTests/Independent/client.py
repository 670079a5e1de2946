"""Authlib's OAuth client against the server whose address is the argument. For tests.

It prints `open URL` when a browser must be opened, `type CODE` when a user must type a code (then waits for a line), and
otherwise the result of each step.
"""
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata

issuer = sys.argv[1]


def say(text): print(text, flush=True)


class Catch(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.caught = self.path
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments): pass


listener = HTTPServer(("127.0.0.1", 0), Catch)
redirect = f"http://127.0.0.1:{listener.server_port}/callback"
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
catching = threading.Thread(target=listener.handle_request)
catching.start()
say("open " + url)
catching.join()
answer = "http://127.0.0.1" + listener.caught
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


def device_codes():
    return plain.post(
        metadata["device_authorization_endpoint"], data={"client_id": "app", "scope": "profile"},
        withhold_token=True).json()


try:
    plain.fetch_token(metadata["token_endpoint"], grant_type=kind, device_code=device_codes()["device_code"])
except OAuthError as error:
    assert error.error == "authorization_pending", error
    say("device pending")
# A device whose first poll follows the user's answer does not need to wait.
codes = device_codes()
say("type " + codes["user_code"])
sys.stdin.readline()
plain.fetch_token(metadata["token_endpoint"], grant_type=kind, device_code=codes["device_code"])
me = plain.get(metadata["userinfo_endpoint"])
say(f"device {me.status_code} {me.json()['name']}")

answer = plain.revoke_token(
    metadata["revocation_endpoint"], token=plain.token["refresh_token"], token_type_hint="refresh_token")
assert answer.status_code == 200
say(f"revoked {plain.get(metadata['userinfo_endpoint']).status_code}")
