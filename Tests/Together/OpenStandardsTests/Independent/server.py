"""An OAuth 2 and OpenID Connect server built with Authlib, independent of Handstamp. For tests.

    fork.py starts server.py [--rotate | --replace] [--agree] [--delay SECONDS] [--broken COUNT] [...]

It prints its address, has one user (ada, who consents to everything), and exits when its standard input closes.
"""
import argparse, base64, os, sys, threading, time

from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector
from authlib.integrations.flask_oauth2 import current_token
from authlib.oauth2.rfc6749 import grants, ClientMixin, TokenMixin
from authlib.oauth2.rfc6750 import BearerTokenValidator
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant
from authlib.oidc.core import UserInfo
from authlib.oidc.core.grants import OpenIDCode
from authlib.oidc.core.grants.util import generate_id_token
from flask import Flask, jsonify, redirect, request
from werkzeug.serving import WSGIRequestHandler, make_server

options = argparse.ArgumentParser()
options.add_argument("--rotate", action="store_true")
options.add_argument("--overlap", type=float, default=0, help="seconds in which a token that was replaced is accepted")
options.add_argument("--replace", action="store_true", help="a refresh ends earlier access tokens")
options.add_argument("--delay", type=float, default=0, help="between a refresh and its response")
options.add_argument("--hold", action="store_true", help="the response of every refresh, until POST /release")
options.add_argument("--hold-devices", action="store_true", help="the tokens of every device, until POST /release")
options.add_argument("--broken", type=int, default=0, help="that many refreshes are carried out, but answered with 500")
options.add_argument("--agree", action="store_true", help="devices are allowed at once")
options.add_argument("--bare-401", action="store_true", help="answer every revocation with it, and ignore the request")
options.add_argument("--id-token-life", type=int, default=300)
options.add_argument("--redirect", help="the only redirect URI, compared in full")
options.add_argument("--catch-all", action="store_true", help="every unknown path returns an HTML page with 200")
options.add_argument("--userinfo", action="store_true")
options.add_argument("--introspect", action="store_true", help="for public clients as well")
options.add_argument("--no-refresh-token", action="store_true")
options.add_argument("--same-token", action="store_true", help="a refresh returns the same access token")
options.add_argument("--refresh-id-token", action="store_true", help="a refresh returns an ID token, too")
options.add_argument("--refuse-refresh", help="the error of every refresh")
options.add_argument("--refuse-code", help="the error of every authorization, sent to the redirect URI")
options.add_argument("--post", action="store_true", help="secrets are accepted only in the form")
options = options.parse_args()
options.rotate = options.rotate or options.overlap > 0

lock = threading.RLock()
released = threading.Event()
asked = {}
tokens, codes, devices, nonces, presented, paths, authentication, astray = [], {}, {}, set(), [], [], [], []
METHODS = ["none", "client_secret_post" if options.post else "client_secret_basic"]
counts = {"refresh": 0, "refused": 0, "revoke": 0, "inTheAir": 0}
LIFE = 600
SIGNING = base64.urlsafe_b64encode(os.urandom(32)).decode()
app = Flask(__name__)
app.config["OAUTH2_TOKEN_EXPIRES_IN"] = dict.fromkeys(
    ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"], LIFE)
app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = not options.no_refresh_token
server = AuthorizationServer()


class User:
    def get_user_id(self): return "user-1"


class Client(ClientMixin):
    def __init__(self, id, secret): self.id, self.secret = id, secret
    def get_client_id(self): return self.id
    def get_default_redirect_uri(self): return None
    def get_allowed_scope(self, scope): return scope or ""
    def check_client_secret(self, secret): return secret == self.secret
    def check_response_type(self, kind): return kind == "code"
    def check_grant_type(self, kind): return True

    def check_redirect_uri(self, uri):
        if options.redirect:
            return uri == options.redirect
        return uri.startswith("http://127.0.0.1:") or uri == "org.example.app:/back"

    def check_endpoint_auth_method(self, method, endpoint):
        return method == (METHODS[1] if self.secret else "none")


clients = {"app": Client("app", None), "service": Client("service", "s3cret-without_specials")}


class Token(TokenMixin):
    def __init__(self, token, client, user):
        self.access, self.refresh = token["access_token"], token.get("refresh_token")
        self.scope, self.client, self.user = token.get("scope", ""), client, user
        self.ends, self.revoked, self.used = time.time() + token["expires_in"], False, False
        self.acr, self.max_age = asked.get("acr_values"), asked.get("max_age")

    def check_client(self, client): return self.client is client
    def get_scope(self): return self.scope
    # Authlib gives this lifetime to the successor: the remaining time would shrink with each refresh, to zero in the end.
    def get_expires_in(self): return LIFE
    def is_expired(self): return time.time() > self.ends
    def is_revoked(self): return self.revoked


class Code:
    def __init__(self, **fields): self.__dict__.update(fields)
    def get_redirect_uri(self): return self.redirect_uri
    def get_scope(self): return self.scope
    def get_nonce(self): return self.nonce
    def get_auth_time(self): return self.auth_time


class CodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def save_authorization_code(self, code, request):
        with lock:
            codes[code] = Code(
                code=code, client_id=request.client.id, redirect_uri=request.redirect_uri, scope=request.scope, auth_time=int(time.time()), user=request.user,
                **{name: request.data.get(name) for name in ("nonce", "code_challenge", "code_challenge_method")})

    def query_authorization_code(self, code, client):
        with lock:
            found = codes.get(code)
        return found if found and found.client_id == client.id else None

    def delete_authorization_code(self, code):
        with lock:
            codes.pop(code.code, None)

    def authenticate_user(self, code): return code.user


class IDTokens(OpenIDCode):
    def exists_nonce(self, nonce, request): return nonce in nonces
    def generate_user_info(self, user, scope): return UserInfo(sub=user.get_user_id(), name="Ada Lovelace")

    def get_jwt_config(self, grant):
        return {"key": SIGNING, "alg": "HS256", "iss": issuer, "exp": options.id_token_life}


class RefreshGrant(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS
    INCLUDE_NEW_REFRESH_TOKEN = options.rotate

    def authenticate_refresh_token(self, refresh):
        with lock:
            presented.append({"token": refresh, "at": time.monotonic()})
            found = next((t for t in tokens if t.refresh == refresh and not t.revoked), None)
            if found is None or found.used and time.monotonic() - found.used >= options.overlap:
                counts["refused"] += 1
                return None
            if options.rotate:
                found.used = found.used or time.monotonic()
            counts["refresh"] += 1
            return found

    def authenticate_user(self, credential): return credential.user
    def revoke_old_credential(self, credential):
        if options.replace:
            with lock:
                for former in tokens[:-1]:
                    former.access = None
        time.sleep(options.delay)
        if options.hold:
            released.wait()


class Device:
    def __init__(self, data, client, scope):
        self.data, self.client, self.scope, self.ends = data, client, scope, time.time() + 300
        self.verdict, self.asked = True if options.agree else None, 0

    def get_client_id(self): return self.client
    def get_scope(self): return self.scope
    def get_user_code(self): return self.data["user_code"]
    def is_expired(self): return time.time() > self.ends


class DeviceGrant(DeviceCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def query_device_credential(self, code): return devices.get(code)

    def query_user_grant(self, user_code):
        verdict = next((d.verdict for d in devices.values() if d.get_user_code() == user_code), None)
        return None if verdict is None else (User(), verdict)

    def should_slow_down(self, credential):
        credential.asked += 1
        return credential.asked == 2


class DeviceEndpoint(DeviceAuthorizationEndpoint):
    CLIENT_AUTH_METHODS = METHODS
    INTERVAL = 1

    def get_verification_uri(self): return issuer + "/device"

    def save_device_credential(self, client_id, scope, data):
        devices[data["device_code"]] = Device(data, client_id, scope)


def known(text):
    return next((t for t in tokens if text in (t.access, t.refresh)), None)


class Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS = METHODS

    def query_token(self, text, hint): return known(text)

    def revoke_token(self, token, request):
        with lock:
            counts["revoke"] += 1
            for other in tokens:
                if other.user is token.user and other.client is token.client:
                    other.revoked = True


class Introspection(IntrospectionEndpoint):
    CLIENT_AUTH_METHODS = METHODS

    def query_token(self, text, hint): return known(text)
    def check_permission(self, token, client, request): return token.client is client
    def introspect_token(self, token): return {"active": True, "sub": token.user.get_user_id()}


class Bearer(BearerTokenValidator):
    def authenticate_token(self, text): return next((t for t in tokens if t.access == text), None)


def save_token(token, request):
    with lock:
        tokens.append(Token(token, request.client, request.user or User()))


person = User()
server.init_app(app, query_client=lambda id: clients.get(id), save_token=save_token)
server.register_grant(CodeGrant, [CodeChallenge(required=True), IDTokens(require_nonce=True)])
server.register_grant(RefreshGrant)
server.register_grant(DeviceGrant)
server.register_endpoint(DeviceEndpoint)
server.register_endpoint(Revocation)
server.register_endpoint(Introspection)
protected = ResourceProtector()
protected.register_token_validator(Bearer())


@app.before_request
def note():
    if request.path not in ("/paths", "/counts"):
        with lock:
            paths.append(f"{request.method} {request.path}")
            if request.method == "POST":
                kind = "basic" if request.authorization else "post" if "client_secret" in request.form else "none"
                authentication.append(f"{request.path} {kind}")


@app.route("/.well-known/openid-configuration")
def metadata():
    document = dict(
        issuer=issuer, token_endpoint=issuer + "/token", authorization_endpoint=issuer + "/authorize",
        device_authorization_endpoint=issuer + "/device_authorization", revocation_endpoint=issuer + "/revoke",
        code_challenge_methods_supported=["S256"], token_endpoint_auth_methods_supported=METHODS)
    if options.userinfo:
        document["userinfo_endpoint"] = issuer + "/userinfo"
    if options.introspect:
        document["introspection_endpoint"] = issuer + "/introspect"
    return jsonify(document)


@app.errorhandler(404)
def not_found(error):
    if options.catch_all:
        return "<!doctype html><title>Our app</title><script src=/app.js></script>", 200
    return error


@app.route("/authorize")
def authorize():
    if options.refuse_code:
        return redirect(f"{request.args['redirect_uri']}?error={options.refuse_code}&state={request.args['state']}")
    asked.clear()
    asked.update(request.args)
    return server.create_authorization_response(grant_user=person)


@app.route("/token", methods=["POST"])
def token():
    is_refresh = request.form["grant_type"] == "refresh_token"
    with lock:
        counts["inTheAir"] += 1
    try:
        if options.refuse_refresh and is_refresh:
            return jsonify(error=options.refuse_refresh), 400
        if astray and is_refresh:
            return "", astray.pop()
        answer = server.create_token_response()
        if options.hold_devices and "device_code" in request.form and answer.status_code == 200:
            released.wait()
        if options.same_token and is_refresh:
            tokens[-1].access = tokens[-2].access
            return jsonify(dict(answer.json, access_token=tokens[-2].access))
        if options.refresh_id_token and is_refresh and "access_token" in answer.json:
            return jsonify(dict(answer.json, id_token=generate_id_token(
                answer.json, UserInfo(sub=person.get_user_id()), SIGNING, issuer, ["app"], alg="HS256", exp=options.id_token_life)))
        with lock:
            if len(presented) > options.broken or not is_refresh:
                return answer
        return "<h1>Internal Server Error</h1>", 500
    finally:
        with lock:
            counts["inTheAir"] -= 1


@app.route("/device_authorization", methods=["POST"])
def device_authorization():
    asked.clear()
    asked.update(request.form)
    return server.create_endpoint_response("device_authorization")


@app.route("/revoke", methods=["POST"])
def revoke():
    if options.bare_401:
        with lock:
            counts["revoke"] += 1
        return "", 401
    return server.create_endpoint_response("revocation")


@app.route("/device", methods=["POST"])
def device():
    for one in devices.values():
        if one.get_user_code() == request.form["user_code"]:
            one.verdict = request.form["allow"] == "yes"
            return "", 204
    return "", 404


@app.route("/me")
@protected()
def me(): return jsonify(sub=current_token.user.get_user_id(), scope=current_token.scope)


@app.route("/payment", methods=["POST"])
def payment():
    """Demands a stronger sign-in (RFC 9470)."""
    token = next((t for t in tokens if request.headers.get("Authorization") == f"Bearer {t.access}"), None)
    if token and (token.acr, token.max_age) == ("phr", "300"):
        return jsonify(paid=request.json)
    challenge = 'Bearer error="insufficient_user_authentication", acr_values="phr", max_age="300"'
    return jsonify(code="insufficient_user_authentication"), 401, {"WWW-Authenticate": challenge}


@app.route("/userinfo")
@protected()
def user_info(): return jsonify(sub=current_token.user.get_user_id(), name="Ada Lovelace")


@app.route("/introspect", methods=["POST"])
def introspect(): return server.create_endpoint_response("introspection")


@app.route("/release", methods=["POST"])
def release():
    released.set()
    return "", 204


@app.route("/astray/<int:status>/<int:count>")
def lead_astray(status, count):
    """The next refreshes do not come to the endpoint, but to another place, which answers with a status and nothing else."""
    astray[:] = [status] * count
    return "", 204


@app.route("/forget", methods=["POST"])
def forget():
    """Ends every session, as an operator does."""
    for one in tokens:
        one.revoked = True
    return "", 204


# What it was sent.
for path, facts in {"/paths": dict(paths=paths, authentication=authentication), "/counts": counts, "/presented": presented}.items():
    app.add_url_rule(path, path, lambda facts=facts: jsonify(facts))


@app.route("/after/<float:seconds>")
def after(seconds):
    time.sleep(seconds)
    return "", 204


class Quiet(WSGIRequestHandler):
    def log_request(self, *arguments): pass


listener = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
issuer = f"http://127.0.0.1:{listener.server_port}"
threading.Thread(target=listener.serve_forever, daemon=True).start()
print(issuer, flush=True)
sys.stdin.read()
