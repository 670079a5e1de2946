"""The list of checks, and what answers have in common that a standard describes."""
from parties.bare import said
from kit.web import require

CHECKS = []


def check(function):
    """Adds a check: a function whose documentation says what is expected, and by which standard. It raises what came instead."""
    CHECKS.append(function)
    return function


def refused(party, person, errors, **changes):
    """The browser is sent back with one of the errors."""
    told = party.answer(person, **changes)
    require(told.get("error") in errors.split() and "code" not in told, f"the answer {told}")
    words = told.get("error_description", "")
    require(all(" " <= sign <= "~" and sign not in '"\\' for sign in words), f"error_description: {words}")


def shown(party, person, **changes):
    """The browser is sent nowhere."""
    page = party.ask(person, **changes)
    require(page.status == 400, said(page))


def denied(reply, error, status=400):
    """An error of the token endpoint (RFC 6749 section 5.2)."""
    require(reply.status == status and reply.json.get("error") == error, str(reply))
    require(reply.headers["Content-Type"].startswith("application/json"), f"content type: {reply.headers['Content-Type']}")
    require("no-store" in (reply.headers["Cache-Control"] or ""), f"Cache-Control: {reply.headers['Cache-Control']}")
    words = reply.json.get("error_description", "")
    require(all(" " <= sign <= "~" and sign not in '"\\' for sign in words), f"error_description: {words}")


def challenged(reply, error, status=401):
    """An error of a protected resource (RFC 6750 section 3)."""
    field = reply.headers["WWW-Authenticate"] or ""
    require(reply.status == status and field.startswith("Bearer"), f"{reply.status}, WWW-Authenticate: {field}")
    require(f'error="{error}"' in field if error else "error" not in field, f"WWW-Authenticate: {field}")


def same(one, other, *names):
    """The ID tokens are about the same sign-in."""
    for name in names or ("iss", "sub", "auth_time"):
        require(one.claims.get(name) == other.claims.get(name), f"{name}: {one.claims.get(name)}, then {other.claims.get(name)}")


def denied_verifier(party, code, verifier):
    """Without a verifier, either error fits (RFC 6749 section 5.2)."""
    reply = party.token(party.grant(code, code_verifier=verifier))
    denied(reply, "invalid_request" if not verifier and reply.json.get("error") == "invalid_request" else "invalid_grant")
