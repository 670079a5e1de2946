"""Attacks by announcements of a provider: forged, old, repeated and foreign ones, at each of its doors."""
import hashlib, hmac, json, secrets, time, urllib.parse

from kit.p256 import Key
from kit.web import base64url
from attacks.person import signed_in, together
from attacks.providers import Relying
from attacks.target import Browser, Client, require
from parties import hostile
from parties.hostile import Lies

LOGOUT = "http://schemas.openid.net/event/backchannel-logout"
CAEP, RISC = (f"https://schemas.openid.net/secevent/{name}/event-type/" for name in ("caep", "risc"))
REVOKED = CAEP + "session-revoked"
TYPES = {"form": "application/x-www-form-urlencoded", "json": "application/json", "token": "application/secevent+jwt"}


class Door:
    """A place for the announcements of an issuer. `events` is what a genuine one has, `type` its `typ`."""

    def __init__(self, issuer, path, type, events, content):
        self.issuer, self.path, self.type, self.events, self.content = issuer, f"/sign-in/with/{issuer.id}/{path}", type, events, content

    def claims(self, sub, sid=None, /, **changes):
        subject = dict(sub=sub, sid=sid) if self.type != "secevent+jwt" else dict(sub_id=dict(format="iss_sub", iss=self.issuer.url, sub=sub))
        events = json.loads(json.dumps(self.events).replace("SUBJECT", str(sub)))
        return {"iss": self.issuer.url, "aud": self.issuer.client, "iat": int(time.time()) - 120, "jti": secrets.token_hex(8), "events": events,
                **subject, **changes}

    def token(self, claims, key=None, **header):
        return self.issuer.sign(claims, key, **{"typ": self.type, **header})

    def send(self, client, token, path=None, content=None):
        body = {"form": urllib.parse.urlencode(dict(logout_token=token)), "json": json.dumps(dict(payload=token)), "token": token}[self.content]
        return client.request("POST", path or self.path, body, {"Content-Type": content or TYPES[self.content], "Accept": "application/json"})


def doors(good, apple):
    return {"logout": Door(good, "logout", "logout+jwt", {LOGOUT: {}}, "form"), "events": Door(good, "events", "secevent+jwt", {REVOKED: {}}, "token"),
            # Apple's event is a text with JSON in it.
            "apple": Door(apple, "events", None, json.dumps(dict(type="consent-revoked", sub="SUBJECT")), "json")}


def forged(door, other, sub, sid):
    """Tokens of which none counts, by name."""
    now, issuer, claims, stranger = int(time.time()), door.issuer, door.claims(sub, sid), Key()
    genuine = door.token(claims)
    head, body, signature = genuine.split(".")

    def unsigned(alg):
        return hostile.raw({**({"typ": door.type} if door.type else {}), "alg": alg, "kid": issuer.kid}, claims)

    def masked(secret):
        text = unsigned("HS256").rsplit(".", 1)[0]
        return text + "." + base64url(hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest())

    tokens = {f"alg {alg!r}": unsigned(alg) for alg in ("none", "NONE", None, "ES256")}
    tokens |= {"HS256 with the key": masked(json.dumps(issuer.key.jwk)), "HS256 with the client's ID": masked(issuer.client), "no signature": f"{head}.{body}.",
               "changed": f"{head}.{base64url(json.dumps(dict(claims, jti='x')).encode())}.{signature}", "cut": genuine[:-10], "empty": "",
               "text": "x" * 100, "long": "A" * 60_000, "ID token": issuer.sign(issuer.claims(dict(nonce="n" * 32), sub=sub))}
    headers = {"another key": (stranger, {}), "another key in the header": (stranger, dict(jwk=stranger.jwk)), "no kid": (stranger, dict(kid=None)),
               "unknown kid": (None, dict(kid="x")), "jku": (None, dict(jku=other.url + "/keys")), "critical": (None, dict(crit=["x"], x=1))}
    # Tokens of the issuer of another kind, which a client has at hand.
    types = {"logout+jwt", "secevent+jwt", "at+jwt", "dpop+jwt", "JWT+x", *([None] if door.type == "secevent+jwt" else [])} - {door.type}
    headers |= {f"typ {type}": (None, dict(typ=type)) for type in types}
    tokens |= {name: door.token(claims, key, **header) for name, (key, header) in headers.items()}
    changes = {
        "a nonce": dict(nonce="n" * 32), "iss": dict(iss=other.url), "no iss": dict(iss=None), "aud": dict(aud="other"), "no aud": dict(aud=None),
        "aud list": dict(aud=["other", "more"]), "aud number": dict(aud=5), "no jti": dict(jti=None), "jti empty": dict(jti=""),
        "jti long": dict(jti="j" * 300), "jti number": dict(jti=7), "no iat": dict(iat=None), "iat text": dict(iat=str(now)),
        "old": dict(iat=now - (7200 if door.type == "logout+jwt" else 8 * 86_400)), "from the future": dict(iat=now + 600), "iat far": dict(iat=1e300),
        "expired": dict(exp=now - 600), "exp text": dict(exp="never"), "no events": dict(events=None), "events empty": dict(events={}),
        "events list": dict(events=[1]), "events text": dict(events="{")}
    if door.type == "logout+jwt":
        changes |= {"no subject": dict(sub=None, sid=None), "event text": dict(events={LOGOUT: "x"}), "another event": dict(events={REVOKED: {}}),
                    "sub number": dict(sub=5, sid=None), "for this server": dict(aud="https://id.example.org")}
    return tokens | {name: door.token(door.claims(sub, sid, **change)) for name, change in changes.items()}


def foreign(door, sub, sid):
    """Genuine tokens about others, by name: they are taken, and end nothing here."""
    if door.type == "logout+jwt":
        changes = {"unknown session": dict(sub=None, sid="none"), "another user's": dict(sub="stranger", sid=sid), "long": dict(sub="s" * 5000)}
    elif door.type == None:
        changes = {"another event": dict(events=dict(type="email-disabled", sub=sub)), "unknown event": dict(events=dict(type="x" * 1000, sub=sub))}
    else:
        session = dict(format="opaque", id=sid)
        changes = {"unknown event": dict(events={CAEP + "x": {}, "": {}}), **{name: dict(sub_id=subject) for name, subject in {
            "opaque": dict(format="opaque", id="stranger"), "by address": dict(format="email", email="ada@example.com"),
            "another issuer's": dict(format="iss_sub", iss="https://accounts.example.org", sub=sub),
            "another user's session": dict(format="complex", user=dict(format="opaque", id="stranger"), session=session),
            "user in a user": dict(format="complex", user=dict(format="complex", user=dict(format="opaque", id=sub)),
                                   session=dict(format="opaque", id="none"))}.items()}}
    return {"unknown user": door.token(door.claims("stranger")), **{name: door.token(door.claims(sub, **change)) for name, change in changes.items()}}


def visit(server, issuer, sub, sid, source="127.0.0.1"):
    """The browser of a user of the provider, signed in."""
    browser = Browser(server, source)
    page = issuer.sign_in(browser, sub=sub, sid=sid, auth_time=int(time.time()), email=None)
    require(signed_in(browser), f"the honest sign-in fails: {page}")
    return browser


def forged_ends():
    """Announces ends by tokens that are unsigned, signed by others, of another kind, for others, old, from the future and repeated, and by
    genuine ones of another provider and about others: only the genuine one ends the session, once."""
    lies = Lies("good", "apple", "evil")
    good, apple, evil = lies["good"], lies["apple"], lies["evil"]
    server = Relying(lies.entries(scopes=["openid"]), "--rate-limits", "none")
    client, refused, taken = Client(server), 0, 0
    for name, door in doors(good, apple).items():
        sub, sid = "ada-" + name, "session-" + name
        browser = visit(server, door.issuer, sub, sid)

        def lives(what):
            require(server.runs() and signed_in(browser), f"{name}: {what} ends the session")

        def send(what, token, path=None, content=None, statuses=range(400, 500)):
            answer = door.send(client, token, path, content)
            require(answer.status in statuses, f"{name}: {what}: {answer}")
            lives(what)

        for what, token in forged(door, evil, sub, sid).items():
            send(what, token)
            refused += 1
        for what, token in foreign(door, sub, sid).items():
            send(what, token, statuses=range(500))
            taken += 1
        # Another provider says the same, in its own name and in this one's, at its own door and at this one.
        for what, claims in {
            "own name": dict(iss=evil.url), "this name": {}, "user opaque": dict(iss=evil.url, sub_id=dict(format="opaque", id=sub)),
            "subject here": dict(iss=evil.url, sub_id=dict(format="iss_sub", iss=door.issuer.url, sub=sub)),
            "session": dict(iss=evil.url, sub=None, sid=sid),
        }.items():
            for path in (door.path, door.path.replace(door.issuer.id, "evil")):
                send(f"the other provider, {what}", evil.sign(door.claims(sub, sid, **claims), typ=door.type), path, statuses=range(500))
                taken += 1
        genuine = door.token(door.claims(sub, sid))
        for path in ("/sign-in/with/none/logout", "/sign-in/with/none/events", door.path + "/x"):
            send(path, genuine, path, statuses=[404])
        for content in ("text/plain", TYPES["json" if door.content == "form" else "form"]):
            send(content, genuine, content=content)
        require(client.get(door.path).status in (404, 405), f"{name}: GET")
        # The control; and the same again, many at once, when the user is back.
        answer = door.send(client, genuine)
        require(answer.status in (200, 202) and not signed_in(browser), f"{name}: the genuine one ends nothing: {answer}")
        browser = visit(server, door.issuer, sub, sid + "-again")
        together([lambda: door.send(Client(server), genuine)] * 4)
        lives("a repeat")
    # An end that was taken back does not come again by a repeat.
    door, browser = doors(good, apple)["events"], visit(server, good, "eve", "eve")

    def issue(kind, ago):
        return door.token(door.claims("eve", iat=int(time.time()) - ago, events={RISC + kind: {}}))

    disabled = issue("account-disabled", 100)
    for token in (disabled, issue("account-enabled", 50)):
        require((answer := door.send(client, token)).status == 202, f"an event is refused: {answer}")
    require(not signed_in(browser), "a disabled user is signed in")
    browser = visit(server, good, "eve", "eve-2")
    for token in (disabled, issue("account-enabled", 3600)):
        door.send(client, token)
    require(signed_in(browser), "a repeat ends the session")
    visit(server, good, "eve", "eve-3")
    return f"{refused} tokens refused, {taken} without effect; the genuine one counts once, at 3 doors"


def flood_of_ends():
    """Sends forged announcements, each with another key's name, from one address: they are limited, hardly a key is fetched, and the
    provider's own still counts."""
    lies = Lies("good")
    good = lies["good"]
    server = Relying(lies.entries())
    browser, door, client = visit(server, good, "ada", "one", "127.0.9.1"), doors(good, good)["logout"], Client(server, "127.0.9.2")
    fetched, stranger = lies.asked("good", "keys"), Key()
    body = door.token(door.claims("ada", "one"), stranger).split(".", 1)[1]
    heads = [base64url(json.dumps(dict(alg="ES256", kid=f"k{number}", typ="logout+jwt")).encode()) for number in range(300)]
    statuses = [door.send(client, head + "." + body).status for head in heads]
    require(set(statuses) == {400, 429} and statuses.count(400) <= 100, f"{statuses.count(400)} of 300 were refused for their content: {set(statuses)}")
    require(lies.asked("good", "keys") - fetched <= 1, f"the keys were fetched {lies.asked('good', 'keys') - fetched} times")
    require(signed_in(browser), "a forged end counts")
    answer = door.send(Client(server, "127.0.9.3"), door.token(door.claims("ada", "one")))
    require(answer.status == 200 and not signed_in(browser), f"the genuine one: {answer}")
    return f"{statuses.count(400)} of 300 were looked at; the provider's own counts"


ATTACKS = [forged_ends, flood_of_ends]
