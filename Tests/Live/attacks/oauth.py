"""Attacks by OAuth clients, by finders of tokens and codes, and by forgers."""
import base64, functools, hashlib, hmac, json, os, time, urllib.parse

from kit.p256 import Key
from attacks.target import (
    API, CHALLENGE, REDIRECTS, Browser, Client, Server, answered, authorization, base64url, basic, bearer, code, redeem, require)

OWNER, PASSWORD = "owner@example.org", "a long enough secret"


@functools.cache
def stage():
    """A server, a client at it, and a browser that is signed in. The attacks share them; each has a session of its own."""
    server = Server("--sign-up", "open", "--rate-limits", "none")
    client, browser = Client(server), Browser(server)
    client.sign_up(OWNER, PASSWORD)
    return client, browser


def session(id, *more):
    client, browser = stage()
    answer = redeem(client, id, code(browser, id, OWNER, PASSWORD, *more))
    require(answer.status == 200, f"{id} gets no session: {answer.status} {answer.text}")
    return answer.json


def refresh(id, token, **headers):
    return stage()[0].form(
        "/oauth/token", dict(grant_type="refresh_token", refresh_token=token, rotation_key=base64url(b"k" * 16)), **headers)


def lives(id, session):
    """Whether a session can still be refreshed by its client."""
    return refresh(id, session["refresh_token"], Authorization=basic(id)).status == 200


def revocation():
    """Ends the session of a confidential client with a token that was found, without the client's secret."""
    client, _ = stage()
    mine = session("web")
    tokens = [mine["access_token"], mine["refresh_token"]]
    tried = 0
    for token in tokens:
        for fields, headers in [
            (dict(), {}), (dict(client_id="web"), {}), (dict(client_id="web", client_secret="guess"), {}), (dict(client_id="cli"), {}),
            (dict(client_id="handstamp"), {}), (dict(), dict(Authorization=basic("other"))),
            (dict(), dict(Authorization="Basic " + base64.b64encode(b"web:").decode())),
        ]:
            client.form("/oauth/revoke", dict(fields, token=token), **headers)
            tried += 1
    require(client.get("/v1/me", Authorization="Bearer " + mine["access_token"]).status == 200, "the session was ended")
    require(lives("web", mine), "the session was ended")
    require(client.form("/oauth/revoke", dict(token=mine["access_token"]), Authorization=basic("web")).status == 200, "its client cannot")
    require(client.get("/v1/me", Authorization="Bearer " + mine["access_token"]).status == 401, "its client's revocation has no effect")
    return f"{tried} ways ended nothing; the client itself can"


def spent_code():
    """Sends a used code from a browser's history again: without its verifier that must end nothing."""
    client, browser = stage()
    used = code(browser, "web", OWNER, PASSWORD)
    mine = redeem(client, "web", used).json
    for verifier in ("x" * 43, CHALLENGE, ""):
        require(redeem(client, "web", used, verifier).status == 400, "a wrong verifier was accepted")
    require(redeem(client, "other", used).status == 400, "another client redeemed the code")
    require(client.form("/oauth/token", dict(grant_type="authorization_code", code=used, redirect_uri=REDIRECTS["web"],
                                             code_verifier="x" * 43, client_id="web")).status == 401, "no secret was needed")
    fresh = client.get("/v1/me", Authorization=bearer(mine)).status
    require(fresh == 200, f"a used code with a wrong verifier ended the session: {fresh}")
    answer = redeem(client, "web", used)
    require(answer.status == 400 and client.get("/v1/me", Authorization=bearer(mine)).status == 200, "a reload is no second party")
    require(lives("web", mine), "the session cannot be refreshed after a reload")
    answer = redeem(client, "web", used)
    require(answer.status == 400 and client.get("/v1/me", Authorization=bearer(mine)).status == 401, "a code works twice with its verifier")
    return "6 ways ended nothing, a reload among them; with the verifier, a use after the first refresh ends the session"


def introspection():
    """Tries out tokens of another client, of the server's own app, and for another API."""
    client, _ = stage()
    theirs, own = session("web"), client.sign_in(OWNER, PASSWORD, "d-app").json
    found = [theirs["access_token"], theirs["refresh_token"], own["access_token"], own["refresh_token"], own["revocation_handle"]]
    for token in found:
        answer = client.form("/oauth/introspect", dict(token=token), Authorization=basic("other"))
        require(answer.json == {"active": False}, f"another client learns {answer.text}")
    for fields in (dict(client_id="cli"), dict(), dict(client_id="web")):
        require(client.form("/oauth/introspect", dict(fields, token=found[0])).status == 401, "introspection without a secret")
    require(client.form("/oauth/introspect", dict(token=found[0]), Authorization=basic("web")).json["active"], "its own token is hidden")
    return f"{len(found)} found tokens are inactive to another client"


def resources():
    """Asks for one token for several APIs."""
    client, browser = stage()
    two = [("resource", API), ("resource", "https://second.example.org")]
    page = browser.load("GET", authorization("web", *two))
    require(answered(page).get("error") == "invalid_target", f"authorize: {page.status} {page['Location']}")
    answer = client.form("/oauth/device_authorization", [("client_id", "cli"), *two])
    require(answer.error == "invalid_target", f"device authorization: {answer.text}")
    fields = [("grant_type", "authorization_code"), ("code", code(browser, "web", OWNER, PASSWORD)), ("redirect_uri", REDIRECTS["web"]),
              ("code_verifier", "x" * 43), *two]
    answer = client.form("/oauth/token", fields, Authorization=basic("web"))
    require(answer.error == "invalid_target", f"token: {answer.text}")
    answer = client.form("/oauth/token", fields + [("client_id", "web"), ("client_id", "other")], Authorization=basic("web"))
    require(answer.error == "invalid_request", f"a repeated parameter: {answer.text}")
    return "refused at three endpoints"


def prompts():
    """Asks for a code without a page where it was not allowed, or where another program could get it, and for one by an old sign-in."""
    _, browser = stage()
    code(browser, "web", OWNER, PASSWORD)
    code(browser, "cli", OWNER, PASSWORD)
    for id, more, signed_in, expected in (
        ("cli", [("prompt", "none")], True, "consent_required"), ("other", [("prompt", "none")], True, "consent_required"),
        ("web", [("prompt", "none")], False, "login_required"),
        ("web", [("prompt", "none"), ("max_age", "0")], True, "login_required"), ("web", [("prompt", "none login")], True, "invalid_request"),
        ("web", [("prompt", "NONE")], True, "invalid_request"), ("web", [("max_age", "-1")], True, "invalid_request"),
    ):
        visitor = browser if signed_in else Browser(browser.client.server)
        given = answered(visitor.load("GET", authorization(id, *more)))
        require(given.get("error") == expected and "code" not in given, f"{id} {more}: {given}")
    for more in ([("prompt", "login")], [("max_age", "0")], [("prompt", "login consent")]):
        address = authorization("web", *more)
        page = browser.load("GET", address)
        require('name="password"' in page.text, f"{more}: no sign-in is asked for")
        page = browser.submit(address, action="allow")
        require("code" not in answered(page), f"{more}: consent without the sign-in gives a code")
    time.sleep(1.1)
    require('name="password"' in browser.load("GET", authorization("web", ("max_age", "1"))).text, "max_age=1 accepts an older sign-in")
    return "11 requests: no code without a page where one is due, none by an old sign-in"


def kept_codes():
    """Has a browser allow an app and a device, and redeems the codes after the owner has changed the password, or signed everything out."""
    server, tried = Server("--sign-up", "open", "--rate-limits", "none"), 0
    client = Client(server)
    mine = client.sign_up(OWNER, PASSWORD, "d-phone")
    for path, fields in (("/v1/sessions/end-others", None), ("/v1/password", dict(current=PASSWORD, new="another long secret", end_others=True))):
        browser = Browser(server)
        kept = code(browser, "web", OWNER, PASSWORD)
        device = client.form("/oauth/device_authorization", dict(client_id="cli")).json
        browser.load("GET", "/device")
        browser.submit("/device", action="look", user_code=device["user_code"])
        page = browser.submit("/device", action="allow", user_code=device["user_code"])
        require(page.status == 200 and "Your device is connected" in page.text, f"the device is not allowed: {page.status}")
        ended = client.post(path, fields, Authorization=bearer(mine)) if fields else client.request("POST", path, None, {"Authorization": bearer(mine)})
        require(ended.status in (200, 204), f"{path}: {ended.status}")
        require('name="password"' in browser.load("GET", "/device").text, f"the browser is signed in after {path}")
        require(redeem(client, "web", kept).status == 400, f"the code is good after {path}")
        answer = client.form("/oauth/token", dict(
            grant_type="urn:ietf:params:oauth:grant-type:device_code", device_code=device["device_code"], client_id="cli"))
        require(answer.status == 400 and answer.error == "invalid_grant", f"the device code is good after {path}: {answer.status} {answer.text}")
        tried += 3
    return f"{tried} ways back in are closed"


def redirects():
    """Sends the browser, and the code, to another place."""
    _, browser = stage()
    tried = 0
    for uri in ("https://evil.example.org/callback", REDIRECTS["web"] + "/", REDIRECTS["web"] + "?x=1", REDIRECTS["web"] + "#x",
                "https://web.example.org.evil.example.org/callback", "https://web.example.org@evil.example.org/callback",
                "https://WEB.example.org/callback", "https://web.example.org/callback/../x", "http://web.example.org/callback", ""):
        address = authorization("web").replace("redirect_uri=", "former=") + "&redirect_uri=" + urllib.parse.quote(uri, safe="")
        page = browser.load("GET", address)
        require(page.status == 400 and not page["Location"], f"{uri}: {page.status} {page['Location']}")
        tried += 1
    for change in (("code_challenge_method=S256", "code_challenge_method=plain"), ("code_challenge_method=S256", "x=1"),
                   ("code_challenge=", "x="), ("response_type=code", "response_type=token"), ("response_type=code", "response_type=code+token")):
        given = answered(browser.load("GET", authorization("web").replace(*change)))
        require("error" in given and "code" not in given, f"{change[1]}: {given}")
        tried += 1
    page = browser.load("POST", authorization("web"), dict(action="allow", csrf="x"))
    require(page.status == 403, f"consent from another site: {page.status}")
    return f"{tried + 1} requests gave no code"


def user_codes():
    """Guesses the code that another person's device shows, in an account of the attacker's: it would be signed in there."""
    client, _ = stage()
    client.sign_up("attacker@example.org", PASSWORD)
    browser, tried = Browser(client.server), 0
    browser.load("GET", browser.sign_in("/device", "attacker@example.org", PASSWORD))
    while tried < 15:
        page = browser.submit("/device", action="look", user_code=f"BCDF-GH{'JKLMNPQRSTVWXZB'[tried]}K")
        if page.status == 429:
            break
        require(page.status == 200, f"a code: {page.status}")
        browser.load("GET", "/device")
        tried += 1
    require(tried <= 10, f"{tried} codes were tried")
    return f"refused after {tried} codes (limit 10 in ten minutes, of 2.5e10)"


def foreign_refresh():
    """Refreshes the session of one client as another one, and as the server's own app."""
    mine, tried = session("web"), 0
    client, _ = stage()
    for fields, headers in ((dict(), dict(Authorization=basic("other"))), (dict(client_id="cli"), {}), (dict(), {}), (dict(client_id="web"), {})):
        answer = client.form("/oauth/token", dict(
            fields, grant_type="refresh_token", refresh_token=mine["refresh_token"], rotation_key=base64url(b"x" * 16)), **headers)
        require(answer.status in (400, 401), f"{fields or headers}: {answer.status}")
        tried += 1
    for grant in ("password", "client_credentials", "implicit", "urn:ietf:params:oauth:grant-type:jwt-bearer"):
        answer = client.form("/oauth/token", dict(grant_type=grant, username=OWNER, password=PASSWORD), Authorization=basic("web"))
        # Some clients have these two, but not this one.
        known = grant in ("client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer")
        require(answer.error == ("unauthorized_client" if known else "unsupported_grant_type"), f"{grant}: {answer.text}")
    require(lives("web", mine), "the attempt ended the session")
    return f"{tried} clients refused, and the session lives; 4 other grants refused"


def part(value):
    return base64url(json.dumps(value).encode())


def forgeries():
    """Forges access tokens of a real session: without a signature, signed with the public key, with keys in the header, for another API."""
    client, _ = stage()
    genuine = client.sign_in(OWNER, PASSWORD, "d-app").json["access_token"]
    head, body, signed = genuine.split(".")
    header, claims = (json.loads(base64.urlsafe_b64decode(text + "==")) for text in (head, body))
    jwk = next(key for key in client.get("/.well-known/jwks.json").json["keys"] if key["kty"] == "EC")
    point = b"\x04" + b"".join(base64.urlsafe_b64decode(jwk[name] + "==") for name in "xy")
    spki = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200") + point
    lines = base64.b64encode(spki).decode()
    pem = "-----BEGIN PUBLIC KEY-----\n" + "\n".join(lines[i:i + 64] for i in range(0, len(lines), 64)) + "\n-----END PUBLIC KEY-----\n"
    key, later = Key(), dict(claims, exp=claims["exp"] + 86400)
    forged = {}
    for alg in ("none", "None", "NONE", ""):
        forged["alg " + alg] = part(dict(header, alg=alg)) + "." + body + "."
        forged["alg " + alg + " signed"] = part(dict(header, alg=alg)) + "." + body + "." + signed
    for name, secret in (("PEM", pem.encode()), ("DER", spki), ("point", point), ("JWK", json.dumps(jwk).encode()), ("nothing", b"")):
        text = part(dict(header, alg="HS256")) + "." + body
        forged["HS256 with " + name] = text + "." + base64url(hmac.new(secret, text.encode(), hashlib.sha256).digest())
    forged["another key"] = key.token(header, claims)
    forged["a key in the header"] = key.token(dict(header, jwk=key.jwk), claims)
    forged["an address of keys"] = key.token(dict(header, jku="https://evil.example.org/jwks.json"), claims)
    forged["a certificate"] = key.token(dict(header, x5c=["MIIB"]), claims)
    forged["an unknown kid"] = key.token(dict(header, kid="../../dev/null"), claims)
    forged["no kid"] = key.token({name: value for name, value in header.items() if name != "kid"}, claims)
    forged["a later end"] = head + "." + part(later) + "." + signed
    forged["zeros as a signature"] = head + "." + body + "." + base64url(bytes(64))
    forged["r and s of the order"] = head + "." + body + "." + base64url(
        bytes.fromhex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551") * 2)
    forged["no signature"] = head + "." + body
    forged["a signature in DER"] = head + "." + body + "." + base64url(b"\x30\x06\x02\x01\x01\x02\x01\x01")
    forged["padding"] = genuine + "="
    forged["a proof of possession"] = key.proof("GET", "/v1/me", "")
    # Genuine, but for another purpose.
    forged["for another API"] = session("web", ("resource", API))["access_token"]
    forged["a refresh token"] = session("cli")["refresh_token"]
    for name, token in forged.items():
        answer = client.get("/v1/me", Authorization="Bearer " + token)
        require(answer.status == 401, f"{name}: {answer.status} {answer.text}")
    require(client.get("/v1/me?access_token=" + genuine).status == 401, "a token in the address is accepted")
    other = session("web")["access_token"]
    require(client.get("/v1/sessions", Authorization="Bearer " + other).status == 403, "a client's token lists the sessions")
    require(client.get("/v1/me", Authorization="Bearer " + genuine).status == 200, "the genuine token is refused")
    return f"{len(forged)} refused"


def pushed():
    """Pushes requests: many, from the one address of a web application, whose users must all be able to sign in; as many as a stranger can;
    and large ones, to fill the store."""
    server = Server("--sign-up", "open")
    web, tried = Client(server, "127.0.61.1"), 0
    fields = [("response_type", "code"), ("redirect_uri", REDIRECTS["web"]), ("code_challenge", CHALLENGE), ("code_challenge_method", "S256")]
    statuses = [web.form("/oauth/par", fields, Authorization=basic("web")).status for _ in range(120)]
    require(statuses == [201] * len(statuses), f"only {statuses.count(201)} of {len(statuses)} sign-ins of a web application: {set(statuses)}")
    other = web.form("/oauth/par", [(name, REDIRECTS["other"] if name == "redirect_uri" else value) for name, value in fields], Authorization=basic("other"))
    require(other.status == 201, f"another client at the same address: {other.status}")
    public = [(name, REDIRECTS["cli"] if name == "redirect_uri" else value) for name, value in fields] + [("client_id", "cli")]
    stranger = Client(server, "127.0.62.1")
    mine = [stranger.form("/oauth/par", public).status for _ in range(40)]
    require(set(mine) == {201, 429} and mine.count(201) <= 22, f"{mine.count(201)} of {len(mine)} of a public client at one address: {set(mine)}")
    for _ in range(40):
        stranger.form("/oauth/par", fields, Authorization="Basic d2ViOmd1ZXNz")
    require(web.form("/oauth/par", fields, Authorization=basic("web")).status == 201, "a stranger's wrong secrets stop the client")
    before = os.path.getsize(server.folder + "/data/registry.sqlite-wal")
    for name, value in (("state", "x" * 60_000), ("scope", "profile " * 7000), ("claims", "x" * 60_000), ("nonce", "%" * 20_000), ("x", "y" * 60_000),
                        ("login_hint", "x" * 9000), ("redirect_uri2", "x" * 20_000), ("state", "\u00e9" * 4000)):
        answer = web.form("/oauth/par", fields + [(name, value)], Authorization=basic("web"))
        require(answer.status in (400, 413), f"{len(value)} characters of {name}: {answer.status}")
        tried += 1
    many = web.form("/oauth/par", fields + [(f"x{number}", "y" * 100) for number in range(500)], Authorization=basic("web"))
    require(many.status in (400, 413), f"500 parameters: {many.status}")
    grown = os.path.getsize(server.folder + "/data/registry.sqlite-wal") - before
    require(grown < 60_000, f"the store grew by {grown} bytes")
    return f"{len(statuses)} of a web application accepted, {mine.count(201)} of {len(mine)} of a stranger; {tried + 1} large ones refused"


ATTACKS = [pushed, revocation, spent_code, introspection, resources, prompts, kept_codes, redirects, user_codes, foreign_refresh, forgeries]
