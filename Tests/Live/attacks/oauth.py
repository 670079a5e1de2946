"""Attacks by OAuth clients and forgers. What a client may not do with tokens, codes and addresses of others is proven by tests of the server:
`CodeTests`, `ClientSessionTests`, `HostileClientTests`, `PromptRequirementsTests`."""
import base64, hashlib, hmac, json, os, ssl

from kit.p256 import Key
from attacks.target import (
    API, CHALLENGE, FREE, OWNER, PASSWORD, REDIRECTS, SECRETS, Browser, Client, Server, base64url, basic, bearer, code, redeem, require)


def part(value):
    return base64url(json.dumps(value).encode())


def forgeries():
    """Forges access tokens of a real session: without a signature, signed with the public key, with keys in the header, for another API."""
    server = Server(*FREE)
    client, browser = Client(server), Browser(server)
    genuine = client.sign_up(OWNER, PASSWORD, "d-app")["access_token"]

    def session(id, *more):
        return redeem(client, id, code(browser, id, OWNER, PASSWORD, *more)).json

    head, body, signed = genuine.split(".")
    header, claims = (json.loads(base64.urlsafe_b64decode(text + "==")) for text in (head, body))
    jwk = next(key for key in client.get("/.well-known/jwks.json").json["keys"] if key["kty"] == "EC")
    point = b"\x04" + b"".join(base64.urlsafe_b64decode(jwk[name] + "==") for name in "xy")
    spki = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200") + point
    pem = ssl.DER_cert_to_PEM_cert(spki).replace("CERTIFICATE", "PUBLIC KEY")
    key, forged = Key(), {}

    def text(header, payload=body):
        return part(header) + "." + payload

    for alg in ("none", "None", "NONE", ""):
        forged["alg " + alg], forged["alg " + alg + " signed"] = text(dict(header, alg=alg)) + ".", text(dict(header, alg=alg)) + "." + signed
    for name, secret in (("PEM", pem.encode()), ("DER", spki), ("point", point), ("JWK", json.dumps(jwk).encode()), ("nothing", b"")):
        start = text(dict(header, alg="HS256"))
        forged["HS256 with " + name] = start + "." + base64url(hmac.new(secret, start.encode(), hashlib.sha256).digest())
    for name, changed in {
        "another key": {}, "a key in the header": dict(jwk=key.jwk), "an address of keys": dict(jku="https://evil.example.org/jwks.json"),
        "a certificate": dict(x5c=["MIIB"]), "an unknown kid": dict(kid="../../dev/null"),
    }.items():
        forged[name] = key.token(dict(header, **changed), claims)
    forged["no kid"] = key.token({name: value for name, value in header.items() if name != "kid"}, claims)
    order = bytes.fromhex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    for name, value in {"zeros": bytes(64), "r and s of the order": order * 2, "DER": b"\x30\x06\x02\x01\x01\x02\x01\x01"}.items():
        forged[name + " as a signature"] = f"{head}.{body}.{base64url(value)}"
    # The last two are genuine, but for another purpose.
    forged |= {"a later end": f"{head}.{part(dict(claims, exp=claims['exp'] + 86400))}.{signed}", "no signature": f"{head}.{body}", "padding": genuine + "=",
               "a proof of possession": key.proof("GET", "/v1/me", ""), "for another API": session("web", ("resource", API))["access_token"],
               "a refresh token": session("cli")["refresh_token"]}
    for name, token in forged.items():
        require((answer := client.get("/v1/me", Authorization="Bearer " + token)).status == 401, f"{name}: {answer}")
    require(client.get("/v1/me?access_token=" + genuine).status == 401, "a token in the address is accepted")
    require(client.get("/v1/sessions", Authorization=bearer(session("web"))).status == 403, "a client's token lists the sessions")
    require(client.get("/v1/me", Authorization="Bearer " + genuine).status == 200, "the genuine token is refused")
    return f"{len(forged)} refused"


def pushed():
    """Pushes requests: many, from the one address of a web application, whose users must all be able to sign in; as many as a stranger can;
    and large ones, to fill the store."""
    server = Server("--sign-up", "open")
    web, stranger = Client(server, "127.0.61.1"), Client(server, "127.0.62.1")

    def push(client, id, *more, authorization=None):
        fields = [("response_type", "code"), ("redirect_uri", REDIRECTS[id]), ("code_challenge", CHALLENGE), ("code_challenge_method", "S256"), *more]
        return client.form("/oauth/par", fields, **(dict(Authorization=authorization or basic(id)) if id in SECRETS else {}))

    statuses = [push(web, "web").status for _ in range(120)]
    require(statuses == [201] * len(statuses), f"only {statuses.count(201)} of {len(statuses)} sign-ins of a web application: {set(statuses)}")
    require(push(web, "other").status == 201, "another client at the same address is refused")
    mine = [push(stranger, "cli", ("client_id", "cli")).status for _ in range(40)]
    require(set(mine) == {201, 429} and mine.count(201) <= 22, f"{mine.count(201)} of {len(mine)} of a public client at one address: {set(mine)}")
    for _ in range(40):
        push(stranger, "web", authorization="Basic d2ViOmd1ZXNz")
    require(push(web, "web").status == 201, "a stranger's wrong secrets stop the client")
    before = os.path.getsize(server.folder + "/data/registry.sqlite-wal")
    large = [
        [("state", "x" * 60_000)], [("scope", "profile " * 7000)], [("claims", "x" * 60_000)], [("nonce", "%" * 20_000)], [("x", "y" * 60_000)],
        [("login_hint", "x" * 9000)], [("redirect_uri2", "x" * 20_000)], [("state", "\u00e9" * 4000)], [(f"x{number}", "y" * 100) for number in range(500)]]
    for more in large:
        answer = push(web, "web", *more)
        require(answer.status in (400, 413), f"{len(more)} parameters, the first with {len(more[0][1])} characters of {more[0][0]}: {answer.status}")
    grown = os.path.getsize(server.folder + "/data/registry.sqlite-wal") - before
    require(grown < 60_000, f"the store grew by {grown} bytes")
    return f"{len(statuses)} of a web application accepted, {mine.count(201)} of {len(mine)} of a stranger; {len(large)} large ones refused"


ATTACKS = [pushed, forgeries]
