"""Who signs in, and when: the parameters about the user (OpenID Connect Core 1.0 section 3.1.2.1)."""
import secrets, time

from kit.web import Person, require
from parties.bare import said
from parties.expect import refused, same
from parties.provider import EMAIL, PASSWORD


def prompt_none_without_sign_in(op):
    """Core 3.1.2.1: prompt=none without a signed-in user is login_required; state of any length comes back."""
    refused(op.plain, Person("", ""), "login_required interaction_required", prompt="none", state=secrets.token_hex(64))


def prompt_none_with_sign_in(op):
    """Core 3.1.2.1: prompt=none with a signed-in user is answered, about the same sign-in; so it is with the user's id_token_hint."""
    for hint in (None, op.first.identity):
        same(op.first, op.plain.sign_in(op.ada, prompt="none", id_token_hint=hint))


def prompt_none_with_hint_of_another(op):
    """Core 3.1.2.1: id_token_hint of another user is not answered for the signed-in one."""
    refused(op.plain, op.ada, "login_required interaction_required", prompt="none", id_token_hint=op.theirs.identity)


def prompt_none_without_consent(op):
    """Core 3.1.2.1: prompt=none without consent is consent_required."""
    refused(op.other, op.bob, "consent_required interaction_required", prompt="none")


def prompt_consent(op):
    """Core 3.1.2.1: prompt=consent asks, whatever was allowed before."""
    page = op.plain.ask(op.ada, prompt="consent")
    require(page.has("allow") and not page.has("sign-in"), said(page))
    same(op.first, op.plain.redeem(op.plain.pressed(op.ada, page, "allow")))


def prompt_select_account(op):
    """Core 3.1.2.1: prompt=select_account shows a page."""
    page = op.plain.ask(op.ada, prompt="select_account")
    require(page.status == 200, said(page))


def prompt_login(op):
    """Core 3.1.2.1: prompt=login asks a signed-in user to sign in again, and auth_time says so."""
    time.sleep(max(0, op.first.claims["auth_time"] + 1.1 - time.time()))
    page = op.plain.ask(op.ada, prompt="login")
    again = op.plain.redeem(op.plain.pressed(op.ada, page, "sign-in", email=EMAIL, password=PASSWORD))
    same(op.first, again, "iss", "sub")
    require(again.claims["auth_time"] > op.first.claims["auth_time"], "auth_time is that of the first sign-in")


def max_age_is_large(op):
    """Core 3.1.2.1: max_age is met by a sign-in that is not as old; auth_time is there, and the same."""
    same(op.plain.sign_in(op.ada, max_age="15000"), op.plain.sign_in(op.ada, max_age="10000"), "sub", "auth_time")


def max_age_is_small(op):
    """Core 3.1.2.1: a sign-in older than max_age is asked for again, and auth_time is recent."""
    before = op.plain.sign_in(op.ada).claims["auth_time"]
    time.sleep(max(0, before + 2.1 - time.time()))
    refused(op.plain, op.ada, "login_required", max_age="1", prompt="none")
    page = op.plain.ask(op.ada, max_age="1")
    again = op.plain.redeem(op.plain.pressed(op.ada, page, "sign-in", email=EMAIL, password=PASSWORD))
    require(before < again.claims["auth_time"] > time.time() - 5, f"auth_time: {before}, then {again.claims['auth_time']}")


def login_hint(op):
    """Core 3.1.2.1: login_hint is no error, and here fills the form."""
    page = op.plain.ask(Person("", ""), login_hint="eve@example.org")
    require(page.has("sign-in") and "eve@example.org" in page.text, said(page))
