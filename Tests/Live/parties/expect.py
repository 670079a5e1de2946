"""What answers have in common that a standard describes."""
from kit.web import Lost, require
from parties.bare import said


def plain_words(words):
    """A description of an error has the characters that RFC 6749 section 5.2 allows."""
    require(all(" " <= sign <= "~" and sign not in '"\\' for sign in words), f"error_description: {words}")


def refused(party, person, errors, **changes):
    """The browser is sent back with one of the errors."""
    told = party.answer(person, **changes)
    require(told.get("error") in errors.split() and "code" not in told, f"the answer {told}")
    plain_words(told.get("error_description", ""))


def shown(party, person, **changes):
    """The browser is sent nowhere."""
    page = party.ask(person, **changes)
    require(page.status == 400, said(page))


def unstored(reply):
    """JSON that no cache keeps."""
    require(reply.headers["Content-Type"].startswith("application/json"), f"content type: {reply.headers['Content-Type']}")
    require("no-store" in (reply.headers["Cache-Control"] or ""), f"Cache-Control: {reply.headers['Cache-Control']}")


def denied(reply, errors, status=400):
    """One of these errors of the token endpoint (RFC 6749 section 5.2)."""
    require(reply.status == status and reply.json.get("error") in errors.split(), str(reply))
    unstored(reply)
    plain_words(reply.json.get("error_description", ""))


def challenged(reply, error, status=401):
    """An error of a protected resource (RFC 6750 section 3)."""
    field = reply.headers["WWW-Authenticate"] or ""
    require(reply.status == status and field.startswith("Bearer"), f"{reply.status}, WWW-Authenticate: {field}")
    require(f'error="{error}"' in field if error else "error" not in field, f"WWW-Authenticate: {field}")


def same(one, other, *names):
    """The ID tokens are about the same sign-in."""
    for name in names or ("iss", "sub", "auth_time"):
        require(one.claims.get(name) == other.claims.get(name), f"{name}: {one.claims.get(name)}, then {other.claims.get(name)}")


def unverified(party, verifier, code):
    """A code with another verifier is denied. Without one, either error fits."""
    denied(party.token(party.grant(code, code_verifier=verifier)), "invalid_grant" if verifier else "invalid_grant invalid_request")


def registered(op, *options):
    """Whether a client can be added with these options."""
    try:
        op.provider.add("another", *options)
        return True
    except Lost:
        return False
