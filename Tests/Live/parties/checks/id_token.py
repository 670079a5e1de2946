"""The ID token (OpenID Connect Core 1.0 section 2)."""
import hashlib, time

from kit.web import base64url, require
from parties.expect import same

ABOUT = {"name", "preferred_username", "email", "email_verified"}


def id_token_issuer(op):
    """Core 2: iss is the issuer, aud the client, azp is not another."""
    for tokens, party in ((op.first, op.plain), (op.other.sign_in(op.ada), op.other)):
        claims = tokens.claims
        require(claims["iss"] == op.metadata["issuer"], f"iss: {claims['iss']}")
        require(claims["aud"] in (party.id, [party.id]) and claims.get("azp", party.id) == party.id, f"aud: {claims['aud']}")


def id_token_subject(op):
    """Core 2, 8: sub is ASCII of at most 255 characters, the same at every client, and another's for another user."""
    sub = op.first.claims["sub"]
    require(sub and sub.isascii() and len(sub) <= 255, f"sub: {sub}")
    same(op.first, op.elliptic.sign_in(op.ada), "sub")
    require(op.theirs.claims["sub"] != sub, "two users have one sub")


def id_token_times(op):
    """Core 2: iat is now, exp is later, auth_time is the sign-in; all are whole seconds."""
    claims, now = op.plain.sign_in(op.ada).claims, time.time()
    times = [claims.get(name) for name in ("auth_time", "iat", "exp")]
    require(all(isinstance(value, int) for value in times), f"{times}")
    require(now - 600 < times[0] <= times[1] <= now + 5 and now < times[2] < now + 86400, f"{times} at {now:.0f}")


def id_token_nonce(op):
    """Core 3.1.2.1: nonce comes back as it was."""
    for nonce in ("n-0S6_WzA2Mj", "x" * 255, "ä€ \"\\/+&="):
        require(op.plain.sign_in(op.ada, nonce=nonce).claims.get("nonce") == nonce, f"not {nonce}")


def id_token_at_hash(op):
    """Core 3.1.3.6: at_hash is the left half of the access token's SHA-256, with RS256 and ES256."""
    for tokens in (op.first, op.elliptic.sign_in(op.ada)):
        hash = base64url(hashlib.sha256(tokens.access.encode()).digest()[:16])
        require(tokens.claims.get("at_hash") == hash, f"at_hash: {tokens.claims.get('at_hash')}, not {hash}")


def id_token_algorithm(op):
    """Core 10.1, 15.1, Registration 2: RS256 is the default, ES256 for a client that asks for it; kid names a key of the set with this algorithm."""
    keys = {key.get("kid"): key.get("alg") for key in op.keys.json["keys"]}
    for algorithm, header in (("RS256", op.first.header), ("ES256", op.elliptic.sign_in(op.ada).header)):
        require(header["alg"] == algorithm == keys.get(header.get("kid")), f"{header}, keys {keys}")


def id_token_of_openid_alone(op):
    """Core 5.4: with the scope openid alone the ID token says nothing of the user but sub."""
    more = ABOUT & set(op.plain.sign_in(op.ada).claims)
    require(not more, f"{more}")


def id_token_of_scopes(op):
    """Core 5.1, 5.4: what the ID token says of the user is what UserInfo says."""
    about = op.plain.about(op.first.access).json
    for name in ABOUT & set(op.first.claims):
        require(op.first.claims[name] == about.get(name), f"{name}: {op.first.claims[name]}, not {about.get(name)}")
