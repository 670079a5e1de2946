"""The authorization endpoint: requests and answers (OpenID Connect Core 1.0 section 3.1.2)."""
import json, secrets, urllib.parse

from parties.bare import CLIENTS, pkce, said, unsigned
from parties.expect import check, refused, shown
from kit.web import Lost, Person, fields, require
from parties.provider import EMAIL, PASSWORD


@check
def code_is_answered(op):
    """Core 3.1.2.5, RFC 9207: the answer to response_type=code has code, state and iss."""
    told = op.plain.answer(op.ada)
    require(set(told) == {"code", "state", "iss"}, f"{told}")


@check
def state_is_returned(op):
    """RFC 6749 section 4.1.2: state comes back as it was, however long and odd."""
    op.plain.code(op.plain.ask(op.ada, state=secrets.token_hex(64) + " +&=%/?#\"<ä€"))


@check
def state_is_optional(op):
    """RFC 6749 section 4.1.1: a request without state is answered without one."""
    op.plain.code(op.plain.ask(op.ada, state=None))


@check
def nonce_is_optional(op):
    """Core 3.1.2.1: nonce is optional with response_type=code, also for a client without PKCE that is said to have none."""
    for party in (op.plain, op.elliptic):
        require("nonce" not in party.sign_in(op.ada, nonce=None).claims, "a nonce that was not sent")


@check
def nonce_instead_of_pkce(op):
    """RFC 9700 section 2.1.1: other clients without PKCE send a nonce, or a challenge all the same."""
    refused(op.other, op.ada, "invalid_request", nonce=None)
    op.other.code(op.other.ask(op.ada, nonce=None, **pkce()[1]))


@check
def redirects_change_to_get(op):
    """RFC 9700 section 4.12: browsers are sent on by 302 or 303."""
    page = op.ada.load("GET", op.plain.address())
    require(page.status in (302, 303), said(page))


@check
def response_type_is_missing(op):
    """RFC 6749 section 3.1.1: without response_type the answer is an error."""
    refused(op.plain, op.ada, "invalid_request unsupported_response_type", response_type=None)


@check
def response_type_is_unknown(op):
    """RFC 6749 section 4.1.2.1: another response_type than those of the metadata is refused."""
    for kind in ("token", "id_token", "id_token token", "code id_token", "code token", "none", "unknown"):
        require(kind not in op.metadata["response_types_supported"], f"{kind} is listed")
        refused(op.plain, op.ada, "unsupported_response_type", response_type=kind)


@check
def response_mode(op):
    """Multiple Response Types 2.1: response_mode=query is the default of code; a mode that is not listed is refused."""
    op.plain.code(op.plain.ask(op.ada, response_mode="query"))
    for mode in {"fragment", "form_post", "unknown"} - set(op.metadata["response_modes_supported"]):
        refused(op.plain, op.ada, "invalid_request", response_mode=mode)


@check
def client_is_unknown(op):
    """RFC 6749 section 4.1.2.1: without a known client the browser is sent nowhere."""
    for id in (None, "unknown"):
        shown(op.plain, op.ada, client_id=id)


@check
def redirect_uri_is_missing(op):
    """Core 3.1.2.1: redirect_uri is required."""
    shown(op.plain, op.ada, redirect_uri=None)


@check
def redirect_uri_is_not_registered(op):
    """Core 3.1.2.1: redirect_uri is one of those registered, character by character."""
    back = op.plain.back
    for other in (back + "/more", back + "/", back + "?more=1", back + "#part", back.replace("https", "http"), back.upper(), back[:-1],
                  back.replace(".org", ".org:443"), back + "?site=a&b", "https://eve.example.org/back", op.other.back):
        shown(op.plain, op.ada, redirect_uri=other)


@check
def redirect_uri_with_query(op):
    """RFC 6749 section 3.1.2: the query of a redirect_uri is retained."""
    told = fields(op.plain.ask(op.ada, redirect_uri=op.plain.back + "?site=a%26b").url)
    require(told.get("site") == "a&b" and told.get("code"), f"{told}")


@check
def redirect_uri_with_fragment(op):
    """RFC 6749 section 3.1.2: a redirect_uri with a fragment cannot be registered."""
    try:
        op.provider.add("fragment", "--redirect-uri", op.plain.back + "#part")
    except Lost:
        return
    raise Lost("it is registered")


@check
def parameter_is_repeated(op):
    """RFC 6749 section 3.1: no parameter may be there twice."""
    page = op.ada.open(op.plain.address() + "&scope=openid", until=CLIENTS)
    require(page.status == 400 or "error" in fields(page.url), said(page))


@check
def parameter_is_unknown(op):
    """RFC 6749 section 3.1: unknown parameters are ignored, also those of forms of this server."""
    op.plain.sign_in(op.ada, extra="foobar", action="allow", main="allow")


@check
def parameter_is_empty(op):
    """RFC 6749 section 3.1: a parameter without a value counts as left out."""
    names = ["prompt", "max_age", "login_hint", "id_token_hint", "request", "request_uri", "response_mode", "claims"]
    op.plain.sign_in(op.ada, **dict.fromkeys(names, ""))


@check
def order_does_not_matter(op):
    """RFC 6749 section 3.3: parameters and scopes may have any order."""
    sent = op.plain.request(scope="email profile openid")
    page = op.ada.open(op.metadata["authorization_endpoint"] + "?" + urllib.parse.urlencode(sorted(sent.items(), reverse=True)),
                       until=CLIENTS)
    require(op.plain.about(op.plain.redeem(page).access).json.get("email") == EMAIL, "no email address")


@check
def scope_is_unknown(op):
    """Core 3.1.2.1: scopes that are not understood are ignored."""
    tokens = op.plain.sign_in(op.ada, scope="openid something urn:example:else email")
    require(set(tokens.json.get("scope", "").split()) == {"openid", "email"}, f"scope: {tokens.json.get('scope')}")


@check
def scope_without_openid(op):
    """Core 3.1.2.1: without openid it is no request of OpenID Connect, and there is no ID token."""
    require(not op.plain.sign_in(op.ada, scope="profile").identity, "there is one")


@check
def display(op):
    """Core 15.1: display is no error."""
    for value in ("page", "popup", "touch", "wap"):
        op.plain.code(op.plain.ask(op.ada, display=value))


@check
def locales(op):
    """Core 15.1: ui_locales and claims_locales are no error, nor are languages that the provider does not have."""
    for name in ("ui_locales", "claims_locales"):
        op.plain.sign_in(op.ada, **{name: "se fr-CA de x-unknown"})


@check
def acr_values(op):
    """Core 15.1: acr_values is no error, and acr claims no level that the user has not shown."""
    claims = op.plain.sign_in(op.ada, acr_values="urn:example:gold 1 2").claims
    require(claims.get("acr", "0") not in ("", "urn:example:gold"), f"acr: {claims.get('acr')}")


@check
def claims_parameter(op):
    """Core 5.5: an essential claim is no error; the parameter is ignored, as claims_parameter_supported says."""
    asked = json.dumps(dict(userinfo=dict(name=dict(essential=True)), id_token=dict(auth_time=dict(essential=True))))
    tokens = op.plain.sign_in(op.ada, claims=asked)
    require("auth_time" in tokens.claims, "no auth_time")
    require("name" not in tokens.claims, "the ID token has a name")


@check
def request_object(op):
    """Core 3.1.2.6: a request object is refused with request_not_supported."""
    refused(op.plain, op.ada, "request_not_supported", request=unsigned(op.plain.request()))


@check
def request_object_elsewhere(op):
    """Core 6.1: with a request object, too, the browser is not sent to an address that is not registered."""
    shown(op.plain, op.ada, request=unsigned(op.plain.request()), redirect_uri=op.plain.back + "/more")


@check
def request_uri(op):
    """Core 3.1.2.6: a reference to a request object is refused with request_uri_not_supported."""
    refused(op.plain, op.ada, "request_uri_not_supported", request_uri="https://plain.example.org/request.jwt")


@check
def registration(op):
    """Core 3.1.2.6: registration is refused with registration_not_supported."""
    refused(op.plain, op.ada, "registration_not_supported", registration='{"client_name":"Eve"}')


@check
def request_by_post(op):
    """Core 3.1.2.1: the authorization endpoint takes POST with the request as a form."""
    op.plain.redeem(op.plain.ask_by_post(op.ada))


@check
def request_by_post_of_another_site(op):
    """Core 3.1.2.1: so it does for a form of the client's site, with which browsers send no cookies; the user is still signed in."""
    stranger = Person("", "")
    page = stranger.load("POST", op.metadata["authorization_endpoint"], op.plain.request(), {
        "Origin": "https://plain.example.org", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
    require(page.status in (302, 303), said(page))
    there = urllib.parse.urljoin(page.url, page.headers["Location"])
    require(there.startswith(op.metadata["authorization_endpoint"] + "?"), f"sent to {there}")
    op.plain.code(op.ada.open(there, until=CLIENTS))


@check
def request_by_post_signs_in(op):
    """Core 3.1.2.1: a user who is not signed in signs in after a request by POST."""
    person = Person(EMAIL, PASSWORD)
    page = op.plain.ask_by_post(person)
    op.plain.redeem(op.plain.pressed(person, page, "sign-in", email=EMAIL, password=PASSWORD))


@check
def user_denies(op):
    """RFC 6749 section 4.1.2.1: a user who denies is sent back with access_denied."""
    told = op.plain.returned(op.plain.pressed(op.ada, op.plain.ask(op.ada, prompt="consent"), "deny"))
    require(told.get("error") == "access_denied" and "code" not in told, f"{told}")
