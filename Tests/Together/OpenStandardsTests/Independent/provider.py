"""Providers that differ from the standards, as their documents describe them: github, slack, gitlab, keycloak, entra or
unnamed. For tests: no code of Handstamp is in it.

It prints its address, consents to everything, and exits when its standard input closes. `POST /user?number=2` signs another user in
from then on; `POST /forget` ends every refresh token; `GET /seen` is what it was sent.
"""
import base64, json, sys, threading, urllib.parse
from parties.hostile import Listener

kind = sys.argv[1]
lock = threading.Lock()
state = {"user": 1, "number": 0, "polls": 0}
codes, refreshes, access, seen = {}, {}, {}, []
TENANT = "11111111-2222-3333-4444-555555555555"
NAMES = {1: "ada", 2: "bob"}


def jwt(**claims):
    parts = [json.dumps(part).encode() for part in ({"alg": "RS256"}, claims)] + [b"signature"]
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def issue(user, scope, nonce):
    """An access and a refresh token, as an answer has them."""
    state["number"] += 1
    number = state["number"]
    access[f"at-{number}"], refreshes[f"rt-{number}"] = user, (user, scope, nonce)
    return dict(access_token=f"at-{number}", refresh_token=f"rt-{number}")


class Provider:
    """One request to it."""
    def __init__(self, request):
        self.request, address = request, urllib.parse.urlsplit(request.path)
        self.place = address.path
        self.fields = dict(urllib.parse.parse_qsl(address.query) + urllib.parse.parse_qsl(request.body))
        self.authorization = request.headers.get("Authorization") or ""
        self.bearer = access.get(self.authorization.removeprefix("Bearer "))

    def answer(self, body, status=200, **headers):
        self.request.give(body, status, content_type="application/json; charset=utf-8", **headers)

    # What several providers have in common.

    def metadata(self, authorization, token, **more):
        return self.answer(dict(issuer=base, authorization_endpoint=base + authorization, token_endpoint=base + token) | more)

    def authorize(self, **more):
        """Sends the browser back with a code for this user, scope and nonce."""
        code = f"code-{len(codes)}"
        codes[code] = (state["user"], self.fields.get("scope", ""), self.fields.get("nonce"))
        query = urllib.parse.urlencode(dict(code=code, state=self.fields["state"], **more))
        return self.answer({}, 302, location=self.fields["redirect_uri"] + "?" + query)

    def device(self, user_code, page, expires_in):
        codes["device"] = (state["user"], self.fields.get("scope", ""), None)
        return self.answer(dict(device_code="device", user_code=user_code, verification_uri=base + page, expires_in=expires_in, interval=1))

    def granted(self):
        """User, scope and nonce of what the token endpoint is asked for; `None` if a refresh token or a code is not known."""
        grant = self.fields["grant_type"]
        if grant == "refresh_token":
            return refreshes.pop(self.fields["refresh_token"], None)
        return codes["device"] if grant.endswith(":device_code") else codes.pop(self.fields["code"], None)

    def decide(self):
        if self.place == "/seen":
            return self.answer(seen)
        if self.place == "/user":
            state["user"] = int(self.fields["number"])
            return self.answer({})
        if self.place == "/forget":
            refreshes.clear()
            return self.answer({})
        seen.append(dict(self.fields, path=self.place, basic=self.authorization.startswith("Basic ")))
        getattr(self, kind)()

    # https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
    def github(self):
        if self.place == "/login/oauth/authorize":
            return self.authorize()
        if self.place == "/login/device/code":
            return self.device("WDJB-MJHT", "/login/device", 900)
        if self.place == "/api/v3/user":
            if not self.request.headers.get("User-Agent"):
                return self.answer(dict(message="Request forbidden by administrative rules."), 403)
            if self.bearer is None:
                return self.answer(dict(message="Bad credentials", status="401"), 401)
            return self.answer(dict(login=NAMES[self.bearer], id=583230 + self.bearer, name=None, email=None))
        if self.place != "/login/oauth/access_token" or self.request.command != "POST":
            return self.answer(dict(message="Not Found"), 404)
        if self.fields["grant_type"] == "authorization_code" and self.fields.get("client_secret") != "s3cret":
            return self.answer(dict(
                error="incorrect_client_credentials", error_description="The client_id and/or client_secret passed are incorrect."))
        if "device_code" in self.fields:
            state["polls"] += 1
            if state["polls"] == 1:
                return self.answer(dict(error="authorization_pending", error_description="The authorization request is still pending."))
        found = self.granted()
        if found is None:
            return self.answer(dict(error="bad_refresh_token", error_description="The refresh token passed is incorrect or expired."))
        return self.answer(issue(*found) | dict(expires_in=28800, refresh_token_expires_in=15811200, scope="repo,gist", token_type="bearer"))

    # https://docs.slack.dev/reference/methods/oauth.v2.access, https://docs.slack.dev/authentication/using-token-rotation
    def slack(self):
        if self.place == "/oauth/v2/authorize":
            if self.fields.get("scope") or not self.fields.get("user_scope"):
                return self.answer("desktop redirects cannot request bot scopes", 400)
            return self.authorize()
        if self.place == "/api/auth.test":
            if self.bearer is None:
                return self.answer(dict(ok=False, error="invalid_auth"))
            return self.answer(dict(
                ok=True, url="https://example.slack.com/", team="Example", user=NAMES[self.bearer],
                team_id=f"T{self.bearer}", user_id="W012A3CDE"))
        if self.place != "/api/oauth.v2.access":
            return self.answer(dict(ok=False, error="unknown_method"))
        is_refresh, found = self.fields["grant_type"] == "refresh_token", self.granted()
        if found is None:
            return self.answer(dict(ok=False, error="invalid_refresh_token" if is_refresh else "invalid_code"))
        tokens = issue(*found) | dict(token_type="user", expires_in=43200, scope="chat:write,users:read")
        team = dict(ok=True, team=dict(id="T1", name="Example"), enterprise=None)
        return self.answer(team | (tokens if is_refresh else dict(app_id="A0KRD7HC3", authed_user=dict(tokens, id="W012A3CDE"))))

    # https://docs.gitlab.com/api/oauth2/
    def gitlab(self):
        if self.place == "/.well-known/openid-configuration":
            return self.metadata(
                "/oauth/authorize", "/oauth/token", revocation_endpoint=base + "/oauth/revoke", userinfo_endpoint=base + "/oauth/userinfo",
                scopes_supported=["openid", "profile", "email", "read_user"], code_challenge_methods_supported=["S256"])
        if self.place == "/oauth/authorize":
            return self.authorize()
        if self.place == "/oauth/authorize_device":
            return self.device("0A44L90H", "/oauth/device", 300)
        if self.place == "/oauth/userinfo":
            return self.answer(dict(sub=str(self.bearer), name=NAMES[self.bearer]))
        if self.place == "/oauth/revoke":
            return self.answer({})
        if self.place != "/oauth/token":
            return self.answer(dict(error="404 Not Found"), 404)
        found = self.granted()
        if found is None or self.fields["grant_type"] == "refresh_token" and "redirect_uri" not in self.fields:
            return self.answer(dict(error="invalid_grant"), 400)
        return self.answer(issue(*found) | dict(token_type="Bearer", expires_in=7200, scope=found[1], created_at=1628711391))

    # https://www.keycloak.org/docs/latest/server_admin/: the realm lists offline_access, the user has no role for it.
    def keycloak(self):
        if self.place == "/.well-known/openid-configuration":
            return self.metadata(
                "/auth", "/token", device_authorization_endpoint=base + "/auth/device", userinfo_endpoint=base + "/userinfo",
                scopes_supported=["openid", "offline_access", "profile", "email"], code_challenge_methods_supported=["S256"])
        if self.place == "/auth":
            return self.authorize(session_state="s", iss=base)
        if self.place == "/auth/device":
            return self.device("ABCD-EFGH", "/device", 600)
        if self.place == "/userinfo":
            return self.answer(dict(sub=f"user-{self.bearer}", name="Ada Lovelace"))
        if self.place != "/token":
            return self.answer({}, 404)
        user, scope, nonce = self.granted()
        if "offline_access" in scope.split():
            return self.answer(dict(error="not_allowed", error_description="Offline tokens not allowed for the user or client"), 400)
        claims = dict(iss=base, sub=f"user-{user}", aud="app", exp=4000000000, **({"nonce": nonce} if nonce else {}))
        return self.answer(issue(user, scope, nonce) | dict(
            expires_in=300, refresh_expires_in=1800, token_type="Bearer", id_token=jwt(**claims), scope=scope))

    # https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc
    def entra(self):
        if self.place == "/common/v2.0/.well-known/openid-configuration":
            return self.metadata(
                "/common/oauth2/v2.0/authorize", "/common/oauth2/v2.0/token", issuer=base + "/{tenantid}/v2.0",
                token_endpoint_auth_methods_supported=["client_secret_post", "private_key_jwt"])
        if self.place == "/common/oauth2/v2.0/authorize":
            return self.authorize(session_state="s")
        if self.place != "/common/oauth2/v2.0/token":
            return self.answer({}, 404)
        if self.fields["grant_type"] == "refresh_token":
            return self.answer(dict(
                error="invalid_grant", suberror="basic_action", error_codes=[50076],
                error_description="AADSTS50076: Due to a configuration change made by your administrator, or because "
                "you moved to a new location, you must use multi-factor authentication."), 400)
        user, scope, nonce = self.granted()
        # The second user's token claims another tenant than its issuer.
        issuer = TENANT if user == 1 else TENANT.replace("5", "6")
        claims = dict(iss=f"{base}/{issuer}/v2.0", sub=f"user-{user}", aud="app", tid=TENANT, name="Ada", exp=4000000000, nonce=nonce)
        return self.answer(issue(user, scope, nonce) | dict(token_type="Bearer", scope=scope, expires_in=3599, id_token=jwt(**claims)))

    # A server that says nothing of its users.
    def unnamed(self):
        if self.place == "/.well-known/oauth-authorization-server":
            return self.metadata("/authorize", "/token")
        if self.place == "/authorize":
            return self.authorize()
        if self.place == "/people":
            return self.answer({"user": {"id": 7}, "uid": f"u-{self.bearer}", "name": NAMES[self.bearer]})
        if self.place != "/token":
            return self.answer({}, 404)
        return self.answer(issue(*self.granted()) | dict(token_type="Bearer", expires_in=600))


def answer(request):
    with lock:
        Provider(request).decide()


base = Listener(answer).url
print(base, flush=True)
sys.stdin.read()
