"""The UserInfo endpoint (OpenID Connect Core 1.0 section 5.3)."""
from kit.web import require
from parties.bare import basic, bearer, call
from parties.expect import challenged
from parties.provider import EMAIL

PROFILE, ADDRESS = {"name", "preferred_username"}, {"email", "email_verified"}

# What is expected, a scope, and the claims that it gives.
ROWS = [
    ("Core 5.4: the scope openid alone gives sub", "openid", set()),
    ("Core 5.4: the scope profile gives the name", "openid profile", PROFILE),
    ("Core 5.4: the scope email gives the address, and whether it is verified", "openid email", ADDRESS),
    *[("Core 5.4: address and phone are no error, though not supported", scope, set()) for scope in ("openid address", "openid phone")],
    ("Core 5.4: all standard scopes together give what each gives", "openid profile email address phone", PROFILE | ADDRESS),
]


def check(scope, claims, op):
    about = op.plain.about(op.plain.sign_in(op.ada, scope=scope).access).json
    require(set(about) == {"sub"} | claims and about.get("name", "Ada") == "Ada" and about.get("email", EMAIL) == EMAIL, f"{about}")
    require(about.get("email_verified", True) in (True, False), f"email_verified: {about.get('email_verified')}")


def userinfo_by_get(op):
    """Core 5.3.1, 5.3.2: GET with the token in the header is answered with JSON, whose sub is the ID token's."""
    reply = op.plain.about(op.first.access)
    require(reply.status == 200 and reply.headers["Content-Type"].startswith("application/json"), str(reply))
    require(reply.json.get("sub") == op.first.claims["sub"], f"sub: {reply.json.get('sub')}")


def userinfo_by_other_methods(op):
    """Core 5.3.1, RFC 6750 section 2.2, RFC 9110 section 11.1: POST gives the same, also without a body or by a form; the scheme may have any case."""
    url, token, known = op.metadata["userinfo_endpoint"], op.first.access, op.plain.about(op.first.access).json
    for reply in (op.plain.about(token, "POST"), call("POST", url, bearer(token)), call("POST", url, form=dict(access_token=token)),
                  call("GET", url, bearer(token, "bEARER"))):
        require(reply.status == 200 and reply.json == known, str(reply))


def userinfo_by_query(op):
    """RFC 9700 section 4.3.2: the token is not taken from the query."""
    challenged(call("GET", op.metadata["userinfo_endpoint"] + "?access_token=" + op.first.access), None)


def userinfo_by_two_methods(op):
    """RFC 6750 sections 2 and 3.1: a request that sends its token by two methods is invalid_request, with 400."""
    reply = call("POST", op.metadata["userinfo_endpoint"], bearer(op.first.access), dict(access_token=op.first.access))
    require(reply.status == 400, str(reply))


def userinfo_without_token(op):
    """RFC 6750 section 3.1: without a token the challenge has no error."""
    for method in ("GET", "POST"):
        challenged(call(method, op.metadata["userinfo_endpoint"]), None)


def userinfo_with_wrong_token(op):
    """RFC 6750 section 3.1: another token is invalid_token, also one whose signature is, an ID token, or a refresh token."""
    tokens = op.plain.sign_in(op.ada)
    for token in ("unknown", tokens.access[:-8] + "AAAAAAAA", tokens.identity, tokens.refresh):
        challenged(op.plain.about(token), "invalid_token")
    challenged(call("POST", op.metadata["userinfo_endpoint"], form=dict(access_token="unknown")), "invalid_token")


def userinfo_after_revocation(op):
    """RFC 7009 section 2.1: a revoked token is invalid_token."""
    tokens = op.plain.sign_in(op.ada)
    reply = call("POST", op.metadata["revocation_endpoint"], basic("plain", op.plain.secret), dict(token=tokens.access))
    require(reply.status == 200, str(reply))
    challenged(op.plain.about(tokens.access), "invalid_token")


def userinfo_without_empty_claims(op):
    """Core 5.3.2: a claim without a value is left out, here the name of a guest."""
    token = op.sign_up("/v1/sign-in/anonymous")["access_token"]
    about = op.plain.about(token).json
    empty = [name for name, value in about.items() if value in ("", None)]
    require(about.get("sub") and not empty, f"{about}")


def userinfo_across_origins(op):
    """Core 5.3: pages of a client's origin may read UserInfo with a token in the header; others may not, and cookies do not count."""
    for origin, allowed in ((op.origin, op.origin), ("https://eve.example.org", None)):
        asked = {"Origin": origin, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
        for reply in (call("OPTIONS", op.metadata["userinfo_endpoint"], asked),
                      call("GET", op.metadata["userinfo_endpoint"], {**bearer(op.first.access), "Origin": origin})):
            came = reply.headers["Access-Control-Allow-Origin"]
            require(reply.status < 300 and came == allowed, f"{reply.status}, Access-Control-Allow-Origin: {came} for {origin}")
            require(not reply.headers["Access-Control-Allow-Credentials"], "cookies count")
