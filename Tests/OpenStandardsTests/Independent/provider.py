#!/usr/bin/python3
"""Providers that differ from the standards, as their documents describe them. For tests: no code of Handstamp is in it.

    python3 provider.py github|slack|gitlab|keycloak|entra|unnamed

It prints its address, consents to everything, and exits when its standard input closes. `POST /user?number=2` signs another user in
from then on; `POST /forget` ends every refresh token; `GET /seen` is what it was sent.
"""
import base64
import json
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

kind = sys.argv[1]
lock = threading.Lock()
state = {"user": 1, "number": 0, "polls": 0}
codes, refreshes, access, seen = {}, {}, {}, []
TENANT = "11111111-2222-3333-4444-555555555555"
NAMES = {1: "ada", 2: "bob"}


def jwt(**claims):
    parts = [json.dumps(part).encode() for part in ({"alg": "RS256"}, claims)] + [b"signature"]
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def issue(user, scope):
    state["number"] += 1
    number = state["number"]
    access[f"at-{number}"], refreshes[f"rt-{number}"] = user, (user, scope)
    return f"at-{number}", f"rt-{number}"


class Provider(BaseHTTPRequestHandler):
    def log_message(self, *arguments): pass

    def answer(self, body, status=200):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def redirect(self, query):
        self.send_response(302)
        self.send_header("Location", self.fields["redirect_uri"] + "?" + urllib.parse.urlencode(query))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def handle_request(self):
        address = urllib.parse.urlsplit(self.path)
        self.place = address.path
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.fields = dict(urllib.parse.parse_qsl(address.query) + urllib.parse.parse_qsl(body))
        with lock:
            if self.place == "/seen":
                return self.answer(seen)
            if self.place == "/user":
                state["user"] = int(self.fields["number"])
                return self.answer({})
            if self.place == "/forget":
                refreshes.clear()
                return self.answer({})
            basic = (self.headers.get("Authorization") or "").startswith("Basic ")
            seen.append(dict(self.fields, path=self.place, basic=basic))
            getattr(self, kind)()

    do_GET = do_POST = handle_request

    @property
    def bearer(self): return access.get((self.headers.get("Authorization") or "").removeprefix("Bearer "))

    def authorize(self, scope):
        code = f"code-{len(codes)}"
        codes[code] = (state["user"], scope)
        return self.redirect(dict(code=code, state=self.fields["state"]))

    # https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
    def github(self):
        if self.place == "/login/oauth/authorize":
            return self.authorize(self.fields.get("scope", ""))
        if self.place == "/login/device/code":
            codes["device"] = (state["user"], self.fields.get("scope", ""))
            return self.answer(dict(
                device_code="device", user_code="WDJB-MJHT", verification_uri=base + "/login/device", expires_in=900,
                interval=1))
        if self.place == "/api/v3/user":
            if not self.headers.get("User-Agent"):
                return self.answer(dict(message="Request forbidden by administrative rules."), 403)
            if self.bearer is None:
                return self.answer(dict(message="Bad credentials", status="401"), 401)
            return self.answer(dict(login=NAMES[self.bearer], id=583230 + self.bearer, name=None, email=None))
        if self.place != "/login/oauth/access_token" or self.command != "POST":
            return self.answer(dict(message="Not Found"), 404)
        grant = self.fields["grant_type"]
        if grant == "authorization_code" and self.fields.get("client_secret") != "s3cret":
            return self.answer(dict(
                error="incorrect_client_credentials",
                error_description="The client_id and/or client_secret passed are incorrect."))
        if grant == "refresh_token":
            found = refreshes.pop(self.fields["refresh_token"], None)
            if found is None:
                return self.answer(dict(
                    error="bad_refresh_token", error_description="The refresh token passed is incorrect or expired."))
        elif grant.endswith(":device_code"):
            state["polls"] += 1
            if state["polls"] == 1:
                return self.answer(dict(
                    error="authorization_pending", error_description="The authorization request is still pending."))
            found = codes["device"]
        else:
            found = codes.pop(self.fields["code"])
        token, refresh = issue(*found)
        return self.answer(dict(
            access_token=token, expires_in=28800, refresh_token=refresh, refresh_token_expires_in=15811200,
            scope="repo,gist", token_type="bearer"))

    # https://docs.slack.dev/reference/methods/oauth.v2.access, https://docs.slack.dev/authentication/using-token-rotation
    def slack(self):
        if self.place == "/oauth/v2/authorize":
            if self.fields.get("scope") or not self.fields.get("user_scope"):
                return self.answer("desktop redirects cannot request bot scopes", 400)
            return self.authorize(self.fields["user_scope"])
        if self.place == "/api/auth.test":
            if self.bearer is None:
                return self.answer(dict(ok=False, error="invalid_auth"))
            return self.answer(dict(
                ok=True, url="https://example.slack.com/", team="Example", user=NAMES[self.bearer],
                team_id=f"T{self.bearer}", user_id="W012A3CDE"))
        if self.place != "/api/oauth.v2.access":
            return self.answer(dict(ok=False, error="unknown_method"))
        if self.fields["grant_type"] == "refresh_token":
            found = refreshes.pop(self.fields["refresh_token"], None)
            if found is None:
                return self.answer(dict(ok=False, error="invalid_refresh_token"))
            token, refresh = issue(*found)
            return self.answer(dict(
                ok=True, access_token=token, token_type="user", expires_in=43200, refresh_token=refresh,
                scope="chat:write,users:read", team=dict(id="T1", name="Example"), enterprise=None))
        found = codes.pop(self.fields["code"], None)
        if found is None:
            return self.answer(dict(ok=False, error="invalid_code"))
        token, refresh = issue(*found)
        return self.answer(dict(
            ok=True, app_id="A0KRD7HC3", team=dict(id="T1", name="Example"), enterprise=None,
            authed_user=dict(
                id="W012A3CDE", scope="chat:write,users:read", access_token=token, token_type="user",
                expires_in=43200, refresh_token=refresh)))

    # https://docs.gitlab.com/api/oauth2/
    def gitlab(self):
        if self.place == "/.well-known/openid-configuration":
            return self.answer(dict(
                issuer=base, authorization_endpoint=base + "/oauth/authorize", token_endpoint=base + "/oauth/token",
                revocation_endpoint=base + "/oauth/revoke", userinfo_endpoint=base + "/oauth/userinfo",
                scopes_supported=["openid", "profile", "email", "read_user"],
                code_challenge_methods_supported=["S256"]))
        if self.place == "/oauth/authorize":
            return self.authorize(self.fields.get("scope", ""))
        if self.place == "/oauth/authorize_device":
            codes["device"] = (state["user"], self.fields.get("scope", ""))
            return self.answer(dict(
                device_code="device", user_code="0A44L90H", verification_uri=base + "/oauth/device", expires_in=300,
                interval=1))
        if self.place == "/oauth/userinfo":
            return self.answer(dict(sub=str(self.bearer), name=NAMES[self.bearer]))
        if self.place == "/oauth/revoke":
            return self.answer({})
        if self.place != "/oauth/token":
            return self.answer(dict(error="404 Not Found"), 404)
        grant = self.fields["grant_type"]
        if grant == "refresh_token":
            found = refreshes.pop(self.fields["refresh_token"], None)
            if found is None or "redirect_uri" not in self.fields:
                return self.answer(dict(error="invalid_grant"), 400)
        else:
            found = codes["device"] if grant.endswith(":device_code") else codes.pop(self.fields["code"])
        token, refresh = issue(*found)
        return self.answer(dict(
            access_token=token, token_type="Bearer", expires_in=7200, refresh_token=refresh, scope=found[1],
            created_at=1628711391))

    # https://www.keycloak.org/docs/latest/server_admin/: the realm lists offline_access, the user has no role for it.
    def keycloak(self):
        if self.place == "/.well-known/openid-configuration":
            return self.answer(dict(
                issuer=base, authorization_endpoint=base + "/auth", token_endpoint=base + "/token",
                device_authorization_endpoint=base + "/auth/device", userinfo_endpoint=base + "/userinfo",
                scopes_supported=["openid", "offline_access", "profile", "email"],
                code_challenge_methods_supported=["S256"]))
        if self.place == "/auth":
            code = f"code-{len(codes)}"
            codes[code] = (state["user"], self.fields["scope"], self.fields.get("nonce"))
            return self.redirect(dict(code=code, state=self.fields["state"], session_state="s", iss=base))
        if self.place == "/auth/device":
            codes["device"] = (state["user"], self.fields["scope"], None)
            return self.answer(dict(
                device_code="device", user_code="ABCD-EFGH", verification_uri=base + "/device", expires_in=600,
                interval=1))
        if self.place == "/userinfo":
            return self.answer(dict(sub=f"user-{self.bearer}", name="Ada Lovelace"))
        if self.place != "/token":
            return self.answer({}, 404)
        user, scope, nonce = codes["device"] if "device_code" in self.fields else codes.pop(self.fields["code"])
        if "offline_access" in scope.split():
            return self.answer(dict(
                error="not_allowed", error_description="Offline tokens not allowed for the user or client"), 400)
        token, refresh = issue(user, scope)
        claims = dict(iss=base, sub=f"user-{user}", aud="app", exp=4000000000, **({"nonce": nonce} if nonce else {}))
        return self.answer(dict(
            access_token=token, expires_in=300, refresh_expires_in=1800, refresh_token=refresh, token_type="Bearer",
            id_token=jwt(**claims), scope=scope))

    # https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc
    def entra(self):
        if self.place == "/common/v2.0/.well-known/openid-configuration":
            return self.answer(dict(
                issuer=base + "/{tenantid}/v2.0", authorization_endpoint=base + "/common/oauth2/v2.0/authorize",
                token_endpoint=base + "/common/oauth2/v2.0/token",
                token_endpoint_auth_methods_supported=["client_secret_post", "private_key_jwt"]))
        if self.place == "/common/oauth2/v2.0/authorize":
            codes["code"] = (state["user"], self.fields["scope"], self.fields["nonce"])
            return self.redirect(dict(code="code", state=self.fields["state"], session_state="s"))
        if self.place != "/common/oauth2/v2.0/token":
            return self.answer({}, 404)
        if self.fields["grant_type"] == "refresh_token":
            return self.answer(dict(
                error="invalid_grant", suberror="basic_action", error_codes=[50076],
                error_description="AADSTS50076: Due to a configuration change made by your administrator, or because "
                "you moved to a new location, you must use multi-factor authentication."), 400)
        user, scope, nonce = codes["code"]
        token, refresh = issue(user, scope)
        # The second user's token claims another tenant than its issuer.
        issuer = TENANT if user == 1 else TENANT.replace("5", "6")
        claims = dict(
            iss=f"{base}/{issuer}/v2.0", sub=f"user-{user}", aud="app", tid=TENANT, name="Ada", exp=4000000000,
            nonce=nonce)
        return self.answer(dict(
            token_type="Bearer", scope=scope, expires_in=3599, access_token=token, refresh_token=refresh,
            id_token=jwt(**claims)))

    # A server that says nothing of its users.
    def unnamed(self):
        if self.place == "/.well-known/oauth-authorization-server":
            return self.answer(dict(
                issuer=base, authorization_endpoint=base + "/authorize", token_endpoint=base + "/token"))
        if self.place == "/authorize":
            return self.authorize(self.fields.get("scope", ""))
        if self.place == "/people":
            return self.answer({"user": {"id": 7}, "uid": f"u-{self.bearer}", "name": NAMES[self.bearer]})
        if self.place != "/token":
            return self.answer({}, 404)
        token, refresh = issue(*codes.pop(self.fields["code"]))
        return self.answer(dict(access_token=token, token_type="Bearer", expires_in=600, refresh_token=refresh))


server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
server.daemon_threads = True
base = f"http://127.0.0.1:{server.server_port}"
threading.Thread(target=server.serve_forever, daemon=True).start()
print(base, flush=True)
sys.stdin.read()
