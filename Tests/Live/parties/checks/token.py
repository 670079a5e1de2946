"""The token endpoint (OpenID Connect Core 1.0 sections 3.1.3 and 12, RFC 6749)."""
import time, urllib.parse

from kit.web import require
from parties.bare import Tokens, basic, call, pkce
from parties.expect import challenged, denied, refused, registered, same, unstored, unverified

CODE = dict(grant_type="authorization_code", code="unknown", redirect_uri="https://plain.example.org/back")

# What is expected, the error, and the form that `plain` sends; what is `None` is left out.
ROWS = [
    ("RFC 6749 section 2.3: a client authenticates by one method", "invalid_request", dict(CODE, client_id="plain", client_secret="another")),
    ("RFC 6749 section 5.2: without grant_type it is invalid_request", "invalid_request", dict(CODE, grant_type=None)),
    *[("RFC 6749 section 5.2: an unknown grant_type is unsupported_grant_type", "unsupported_grant_type", dict(CODE, grant_type=kind))
      for kind in ("password", "implicit", "urn:example:unknown")],
    ("RFC 6749 section 5.2: without a code it is invalid_request", "invalid_request", dict(CODE, code=None)),
    ("RFC 6749 section 5.2: an unknown code is invalid_grant", "invalid_grant", CODE),
    ("RFC 6749 section 5.2: an unknown refresh token is invalid_grant", "invalid_grant", dict(grant_type="refresh_token", refresh_token="unknown")),
    ("RFC 6749 section 5.2: without a refresh token it is invalid_request", "invalid_request", dict(grant_type="refresh_token")),
]


def check(error, form, op):
    denied(op.plain.token({name: value for name, value in form.items() if value is not None}), error)


def tokens_are_answered(op):
    """Core 3.1.3.3: the answer is JSON with access_token, token_type Bearer, expires_in and id_token, and is not stored."""
    reply = op.first.reply
    require(reply.json.get("token_type", "").lower() == "bearer" and reply.json.get("id_token"), f"{set(reply.json)}")
    require(isinstance(reply.json.get("expires_in"), int) and reply.json["expires_in"] > 0, f"expires_in: {reply.json.get('expires_in')}")
    unstored(reply)


def client_secret_basic(op):
    """RFC 6749 section 2.3.1: the parts of client_secret_basic are form-encoded; the client's ID may have any character."""
    op.other.sign_in(op.ada)


def client_secret_post(op):
    """Core 9: client_secret_post is accepted, as the metadata says."""
    for party in (op.plain, op.other):
        form = party.grant(party.code(party.ask(op.ada)), client_id=party.id, client_secret=party.secret)
        Tokens(party.send(form), party.keys)


def client_secret_is_wrong(op):
    """RFC 6749 section 5.2: another secret, or none, is invalid_client, with 401 and a challenge after Basic; so is an unknown client."""
    form = op.plain.grant(op.plain.code(op.plain.ask(op.ada)))
    reply = op.plain.send(form, basic("plain", "wrong"))
    denied(reply, "invalid_client", 401)
    require((reply.headers["WWW-Authenticate"] or "").startswith("Basic"), f"WWW-Authenticate: {reply.headers['WWW-Authenticate']}")
    for more in (dict(client_id="plain", client_secret="wrong"), dict(client_id="plain")):
        denied(op.plain.send(dict(form, **more)), "invalid_client", 401)
    denied(op.plain.send(form, basic("unknown", "secret")), "invalid_client", 401)
    Tokens(op.plain.token(form), op.plain.keys)


def token_parameter_is_repeated(op):
    """RFC 6749 section 3.2: no parameter may be there twice."""
    form = urllib.parse.urlencode(op.plain.grant(op.plain.code(op.plain.ask(op.ada))))
    denied(op.plain.token(form + "&grant_type=authorization_code"), "invalid_request")


def token_parameter_is_unknown(op):
    """RFC 6749 section 3.2: unknown parameters are ignored."""
    op.plain.redeem(op.plain.ask(op.ada), extra="foobar")


def token_by_get(op):
    """RFC 6749 section 3.2: the token endpoint takes POST only."""
    form = urllib.parse.urlencode(op.plain.grant(op.plain.code(op.plain.ask(op.ada))))
    reply = call("GET", op.metadata["token_endpoint"] + "?" + form, basic("plain", op.plain.secret))
    require(reply.status == 405, str(reply))


def code_with_another_redirect_uri(op):
    """Core 3.1.3.2: redirect_uri is the one of the authorization request."""
    code = op.plain.code(op.plain.ask(op.ada))
    denied(op.plain.token(op.plain.grant(code, redirect_uri=op.plain.back + "?site=a%26b")), "invalid_grant")
    denied(op.plain.token(op.plain.grant(code, redirect_uri=None)), "invalid_grant invalid_request")


def code_of_another_client(op):
    """Core 3.1.3.2: a code is for its client only."""
    denied(op.other.token(op.plain.grant(op.plain.code(op.plain.ask(op.ada)))), "invalid_grant")


def code_is_used_twice(op):
    """Core 3.1.3.2, RFC 6749 section 4.1.2: a used code is invalid_grant, and its tokens are revoked; at any time, as after 30 s."""
    tokens = op.plain.sign_in(op.ada, scope="openid offline_access")
    require(op.plain.about(tokens.access).status == 200, "the token is not accepted")
    denied(op.plain.token(op.plain.grant(tokens.code)), "invalid_grant")
    challenged(op.plain.about(tokens.access), "invalid_token")
    denied(op.plain.refreshed(tokens), "invalid_grant")


def pkce_of_a_client_without(op):
    """RFC 7636 section 4.6: a challenge counts, even if the client need not send one."""
    verifier, challenge = pkce()
    op.plain.redeem(op.plain.ask(op.ada, **challenge), code_verifier=verifier)
    for wrong in (pkce()[0], None):
        unverified(op.plain, wrong, op.plain.code(op.plain.ask(op.ada, **challenge)))


def pkce_downgrade(op):
    """RFC 9700 section 2.1.1: a verifier is refused where the request had no challenge."""
    denied(op.plain.token(op.plain.grant(op.plain.code(op.plain.ask(op.ada)), code_verifier=pkce()[0])), "invalid_grant")


def pkce_is_required(op):
    """RFC 7636 section 4.4.1: a client with PKCE sends a challenge with S256, or gets invalid_request."""
    for party in (op.elliptic, op.app):
        refused(party, op.ada, "invalid_request", code_challenge=None, code_challenge_method=None)
        refused(party, op.ada, "invalid_request", code_challenge_method="plain")


def pkce_is_checked(op):
    """RFC 7636 section 4.6: another verifier is invalid_grant."""
    for wrong in (pkce()[0], None):
        unverified(op.elliptic, wrong, op.elliptic.code(op.elliptic.ask(op.ada)))


def public_client(op):
    """RFC 6749 section 2.1: a public client signs in with its ID and PKCE, and cannot do without PKCE."""
    op.app.sign_in(op.ada)
    require(not registered(op, "--is-public", "--redirect-uri", op.app.back, "--without-pkce"), "a public client without PKCE is registered")


def refresh_tokens(op):
    """Core 12.2: a refresh gives an access token that works, and an ID token about the same sign-in, with a new iat, without nonce."""
    tokens = op.plain.sign_in(op.ada, scope="openid offline_access")
    require(tokens.refresh and all(" " <= sign <= "~" for sign in tokens.refresh), f"refresh token: {tokens.refresh}")
    time.sleep(max(0, tokens.claims["iat"] + 1.05 - time.time()))
    again = Tokens(op.plain.refreshed(tokens, scope="openid offline_access"), op.plain.keys)
    require(op.plain.about(again.access).status == 200 and again.access != tokens.access, "the access token is not a new one")
    unstored(again.reply)
    same(tokens, again, "iss", "sub", "aud", "auth_time", "azp")
    require(again.claims["iat"] > tokens.claims["iat"] and "nonce" not in again.claims, f"{dict(again.claims)}")


def refresh_of_another_client(op):
    """RFC 6749 section 5.2: a refresh token of another client is invalid_grant, and still good for its own."""
    tokens = op.plain.sign_in(op.ada, scope="openid offline_access")
    denied(op.other.refreshed(tokens), "invalid_grant")
    Tokens(op.plain.refreshed(tokens), op.plain.keys)


def refresh_of_other_scopes(op):
    """RFC 6749 section 6: a refresh may ask for fewer scopes, not for more."""
    tokens = op.plain.sign_in(op.ada, scope="openid profile offline_access")
    less = Tokens(op.plain.refreshed(tokens, scope="openid"), op.plain.keys)
    require("name" not in op.plain.about(less.access).json, "the name")
    denied(op.plain.refreshed(tokens, scope="openid email"), "invalid_scope")
