"""The authorization endpoint: requests and answers (OpenID Connect Core 1.0 section 3.1.2)."""
import json, secrets, urllib.parse

from kit.web import Person, fields, require
from parties.bare import CLIENTS, pkce, said, unsigned
from parties.expect import refused, registered, shown
from parties.provider import EMAIL, PASSWORD

BACK = "https://plain.example.org/back"
OBJECT = unsigned(dict(response_type="code", client_id="plain", redirect_uri=BACK, scope="openid", state="s1", nonce="n1"))
CLAIMS = json.dumps(dict(userinfo=dict(name=dict(essential=True)), id_token=dict(auth_time=dict(essential=True))))
EMPTY = ["prompt", "max_age", "login_hint", "id_token_hint", "request", "request_uri", "response_mode", "claims"]

# What is expected; tokens, a page that sends the browser nowhere, or one of the errors; the request of `plain`.
ROWS = [
    ("RFC 6749 section 4.1.2: state comes back as it was, however long and odd", "tokens", dict(state=secrets.token_hex(64) + " +&=%/?#\"<ä€")),
    ("RFC 6749 section 4.1.1: a request without state is answered without one", "tokens", dict(state=None)),
    ("RFC 6749 section 3.1.1: without response_type the answer is an error", "invalid_request unsupported_response_type", dict(response_type=None)),
    *[("RFC 6749 section 4.1.2.1: another response_type than those of the metadata is refused", "unsupported_response_type", dict(response_type=kind))
      for kind in ("token", "id_token", "id_token token", "code id_token", "code token", "none", "unknown")],
    ("Multiple Response Types 2.1: response_mode=query is the default of code", "tokens", dict(response_mode="query")),
    *[("Multiple Response Types 2.1: a response_mode that is not listed is refused", "invalid_request", dict(response_mode=mode))
      for mode in ("fragment", "form_post", "unknown")],
    *[("RFC 6749 section 4.1.2.1: without a known client the browser is sent nowhere", "page", dict(client_id=id)) for id in (None, "unknown")],
    ("Core 3.1.2.1: redirect_uri is required", "page", dict(redirect_uri=None)),
    *[("Core 3.1.2.1: redirect_uri is one of those registered, character by character", "page", dict(redirect_uri=other)) for other in (
        BACK + "/more", BACK + "/", BACK + "?more=1", BACK + "#part", BACK.replace("https", "http"), BACK.upper(), BACK[:-1], BACK.replace(".org", ".org:443"),
        BACK + "?site=a&b", "https://eve.example.org/back", "https://otherone.example.org/back")],
    ("RFC 6749 section 3.1: unknown parameters are ignored, also those of forms of this server", "tokens", dict(extra="foobar", action="allow", main="allow")),
    ("RFC 6749 section 3.1: a parameter without a value counts as left out", "tokens", dict.fromkeys(EMPTY, "")),
    *[("Core 15.1: display is no error", "tokens", dict(display=value)) for value in ("page", "popup", "touch", "wap")],
    *[("Core 15.1: ui_locales and claims_locales are no error, nor are languages that the provider does not have", "tokens", {name: "se fr-CA de x-unknown"})
      for name in ("ui_locales", "claims_locales")],
    ("Core 3.1.2.6: a request object is refused with request_not_supported", "request_not_supported", dict(request=OBJECT)),
    ("Core 6.1: with a request object, too, the browser is not sent to an address that is not registered", "page",
     dict(request=OBJECT, redirect_uri=BACK + "/more")),
    ("Core 3.1.2.6: a reference to a request object is refused with request_uri_not_supported", "request_uri_not_supported",
     dict(request_uri="https://plain.example.org/request.jwt")),
    ("Core 3.1.2.6: registration is refused with registration_not_supported", "registration_not_supported", dict(registration='{"client_name":"Eve"}')),
    ("Core 3.1.2.1: prompt=none with another value is an error", "invalid_request", dict(prompt="none login")),
    ("Core 3.1.2.1: max_age is a number of seconds", "invalid_request", dict(max_age="soon")),
]


def check(answer, changes, op):
    if answer == "tokens":
        op.plain.sign_in(op.ada, **changes)
    elif answer == "page":
        shown(op.plain, op.ada, **changes)
    else:
        refused(op.plain, op.ada, answer, **changes)


def code_is_answered(op):
    """Core 3.1.2.5, RFC 9207: the answer to response_type=code has code, state and iss."""
    told = op.plain.answer(op.ada)
    require(set(told) == {"code", "state", "iss"}, f"{told}")


def nonce_is_optional(op):
    """Core 3.1.2.1: nonce is optional with response_type=code, also for a client without PKCE that is said to have none."""
    for party in (op.plain, op.elliptic):
        require("nonce" not in party.sign_in(op.ada, nonce=None).claims, "a nonce that was not sent")


def nonce_instead_of_pkce(op):
    """RFC 9700 section 2.1.1: other clients without PKCE send a nonce, or a challenge all the same."""
    refused(op.other, op.ada, "invalid_request", nonce=None)
    op.other.code(op.other.ask(op.ada, nonce=None, **pkce()[1]))


def redirects_change_to_get(op):
    """RFC 9700 section 4.12: browsers are sent on by 302 or 303."""
    page = op.ada.load("GET", op.plain.address())
    require(page.status in (302, 303), said(page))


def redirect_uri_with_query(op):
    """RFC 6749 section 3.1.2: the query of a redirect_uri is retained."""
    told = fields(op.plain.ask(op.ada, redirect_uri=BACK + "?site=a%26b").url)
    require(told.get("site") == "a&b" and told.get("code"), f"{told}")


def redirect_uri_with_fragment(op):
    """RFC 6749 section 3.1.2: a redirect_uri with a fragment cannot be registered."""
    require(not registered(op, "--redirect-uri", BACK + "#part"), "it is registered")


def parameter_is_repeated(op):
    """RFC 6749 section 3.1: no parameter may be there twice."""
    page = op.ada.open(op.plain.address() + "&scope=openid", until=CLIENTS)
    require(page.status == 400 or "error" in fields(page.url), said(page))


def order_does_not_matter(op):
    """RFC 6749 section 3.3: parameters and scopes may have any order."""
    sent = urllib.parse.urlencode(sorted(op.plain.request(scope="email profile openid").items(), reverse=True))
    page = op.ada.open(op.metadata["authorization_endpoint"] + "?" + sent, until=CLIENTS)
    require(op.plain.about(op.plain.redeem(page).access).json.get("email") == EMAIL, "no email address")


def scope_is_unknown(op):
    """Core 3.1.2.1: scopes that are not understood are ignored."""
    scope = op.plain.sign_in(op.ada, scope="openid something urn:example:else email").json.get("scope", "")
    require(set(scope.split()) == {"openid", "email"}, f"scope: {scope}")


def scope_without_openid(op):
    """Core 3.1.2.1: without openid it is no request of OpenID Connect, and there is no ID token."""
    require(not op.plain.sign_in(op.ada, scope="profile").identity, "there is one")


def acr_values(op):
    """Core 15.1: acr_values is no error, and acr claims no level that the user has not shown."""
    claims = op.plain.sign_in(op.ada, acr_values="urn:example:gold 1 2").claims
    require(claims.get("acr", "0") not in ("", "urn:example:gold"), f"acr: {claims.get('acr')}")


def claims_parameter(op):
    """Core 5.5: an essential claim is no error; the parameter is ignored, as claims_parameter_supported says."""
    claims = op.plain.sign_in(op.ada, claims=CLAIMS).claims
    require("auth_time" in claims and "name" not in claims, f"{set(claims)}")


def request_by_post(op):
    """Core 3.1.2.1: the authorization endpoint takes POST with the request as a form."""
    op.plain.redeem(op.plain.ask_by_post(op.ada))


def request_by_post_of_another_site(op):
    """Core 3.1.2.1: so it does for a form of the client's site, with which browsers send no cookies; the user is still signed in."""
    page = Person("", "").load("POST", op.metadata["authorization_endpoint"], op.plain.request(), {
        "Origin": "https://plain.example.org", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
    require(page.status in (302, 303), said(page))
    there = urllib.parse.urljoin(page.url, page.headers["Location"])
    require(there.startswith(op.metadata["authorization_endpoint"] + "?"), f"sent to {there}")
    op.plain.code(op.ada.open(there, until=CLIENTS))


def request_by_post_signs_in(op):
    """Core 3.1.2.1: a user who is not signed in signs in after a request by POST."""
    person = Person(EMAIL, PASSWORD)
    op.plain.redeem(op.plain.pressed(person, op.plain.ask_by_post(person), "sign-in", email=EMAIL, password=PASSWORD))


def user_denies(op):
    """RFC 6749 section 4.1.2.1: a user who denies is sent back with access_denied."""
    told = op.plain.returned(op.plain.pressed(op.ada, op.plain.ask(op.ada, prompt="consent"), "deny"))
    require(told.get("error") == "access_denied" and "code" not in told, f"{told}")
