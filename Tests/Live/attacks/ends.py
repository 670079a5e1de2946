"""Attacks by announcements of a provider: forged, old, repeated and foreign ones, at each of its doors."""
import hashlib, hmac, json, secrets, threading, time, urllib.parse

from kit.p256 import Key
from kit.web import base64url
from attacks.person import signed_in
from attacks.providers import Relying
from attacks.target import Browser, Client, require
from parties import hostile
from parties.hostile import Lies

LOGOUT = "http://schemas.openid.net/event/backchannel-logout"
CAEP, RISC = ("https://schemas.openid.net/secevent/%s/event-type/" % name for name in ("caep", "risc"))
REVOKED = CAEP + "session-revoked"


class Door:
    """A place for the announcements of an issuer. `events` is what a genuine one has, `type` its `typ`."""

    def __init__(self, issuer, path, type, events, content):
        self.issuer, self.path, self.type, self.events, self.content = issuer, f"/sign-in/with/{issuer.id}/{path}", type, events, content

    def claims(self, sub, sid=None, /, **changes):
        subject = dict(sub=sub, sid=sid)
        if self.type == "secevent+jwt":
            subject = dict(sub_id=dict(format="iss_sub", iss=self.issuer.url, sub=sub))
        events = json.loads(json.dumps(self.events).replace("SUBJECT", str(sub)))
        return dict({"iss": self.issuer.url, "aud": self.issuer.client, "iat": int(time.time()) - 120, "jti": secrets.token_hex(8), "events": events},
                    **{**subject, **changes})

    def token(self, claims, key=None, **header):
        return self.issuer.sign(claims, key, **dict({"typ": self.type}, **header))

    def send(self, client, token, path=None, content=None):
        body = {"form": lambda: urllib.parse.urlencode(dict(logout_token=token)), "json": lambda: json.dumps(dict(payload=token)),
                "token": lambda: token}[self.content]()
        types = {"form": "application/x-www-form-urlencoded", "json": "application/json", "token": "application/secevent+jwt"}
        return client.request("POST", path or self.path, body, {"Content-Type": content or types[self.content], "Accept": "application/json"})


def doors(good, apple):
    return {"logout": Door(good, "logout", "logout+jwt", {LOGOUT: {}}, "form"), "events": Door(good, "events", "secevent+jwt", {REVOKED: {}}, "token"),
            # Apple's event is a text with JSON in it.
            "apple": Door(apple, "events", None, json.dumps(dict(type="consent-revoked", sub="SUBJECT")), "json")}


def forged(door, other, sub, sid):
    """Tokens of which none counts, by name."""
    def changed(header={}, key=None, **changes):
        return door.token(door.claims(sub, sid, **changes), key, **header)

    now, issuer, claims, stranger = int(time.time()), door.issuer, door.claims(sub, sid), Key()
    genuine = door.token(claims)
    head, body, signature = genuine.split(".")
    typ = {"typ": door.type} if door.type else {}

    def with_secret(key):
        text = hostile.raw(dict(typ, alg="HS256", kid=issuer.kid), claims).rsplit(".", 1)[0]
        return text + "." + base64url(hmac.new(key, text.encode(), hashlib.sha256).digest())

    tokens = {f"alg {alg!r}": hostile.raw(dict(typ, kid=issuer.kid, alg=alg), claims) for alg in ("none", "NONE", None, "ES256")}
    tokens |= {"HS256 with the key": with_secret(json.dumps(issuer.key.jwk).encode()), "HS256 with the client's ID": with_secret(issuer.client.encode()),
               "another key": changed(key=stranger), "another key in the header": changed(dict(jwk=stranger.jwk), stranger),
               "no kid": changed(dict(kid=None), stranger),
               "unknown kid": changed(dict(kid="x")), "jku": changed(dict(jku=other.url + "/keys")), "no signature": f"{head}.{body}.",
               "critical": changed(dict(crit=["x"], x=1)),
               "changed": f"{head}.{base64url(json.dumps(dict(claims, jti='x')).encode())}.{signature}", "cut": genuine[:-10], "empty": "",
               "text": "x" * 100, "long": "A" * 60_000}
    # Tokens of the issuer of another kind, which a client has at hand.
    tokens |= {f"typ {type}": changed(dict(typ=type)) for type in {"logout+jwt", "secevent+jwt", "at+jwt", "dpop+jwt", "JWT+x"} - {door.type}}
    if door.type == "secevent+jwt":
        tokens["no typ"] = changed(dict(typ=None))
    tokens |= {"ID token": issuer.sign(issuer.claims(dict(nonce="n" * 32), sub=sub)), "a nonce": changed(nonce="n" * 32), "iss": changed(iss=other.url),
               "no iss": changed(iss=None),
               "aud": changed(aud="other"), "aud list": changed(aud=["other", "more"]), "no aud": changed(aud=None), "aud number": changed(aud=5),
               "no jti": changed(jti=None),
               "jti empty": changed(jti=""), "jti long": changed(jti="j" * 300), "jti number": changed(jti=7), "no iat": changed(iat=None),
               "iat text": changed(iat=str(now)),
               "old": changed(iat=now - (8 * 86_400 if door.type != "logout+jwt" else 7200)), "from the future": changed(iat=now + 600),
               "iat far": changed(iat=1e300), "expired": changed(exp=now - 600), "exp text": changed(exp="never"), "no events": changed(events=None),
               "events empty": changed(events={}), "events list": changed(events=[1]), "events text": changed(events="{")}
    if door.type == "logout+jwt":
        tokens |= {"no subject": changed(sub=None, sid=None), "event text": changed(events={LOGOUT: "x"}), "another event": changed(events={REVOKED: {}}),
                   "sub number": changed(sub=5, sid=None), "for this server": changed(aud="https://id.example.org")}
    return tokens


def foreign(door, sub, sid):
    """Genuine tokens about others, by name: they are taken, and end nothing here."""
    def changed(**changes):
        return door.token(door.claims(changes.pop("sub", sub), **changes))

    if door.type == "logout+jwt":
        return {"unknown user": changed(sub="stranger"), "unknown session": door.token(door.claims(None, "none")),
                "another user's": changed(sub="stranger", sid=sid), "long": changed(sub="s" * 5000)}
    if door.type == None:
        return {"unknown user": changed(sub="stranger"), "another event": changed(events=dict(type="email-disabled", sub=sub)),
                "unknown event": changed(events=dict(type="x" * 1000, sub=sub))}

    def about(**subject):
        return changed(sub_id=subject)

    return {"unknown user": changed(sub="stranger"), "opaque": about(format="opaque", id="stranger"),
            "by address": about(format="email", email="ada@example.com"),
            "another issuer's": about(format="iss_sub", iss="https://accounts.example.org", sub=sub),
            "unknown event": changed(events={CAEP + "x": {}, "": {}}),
            "another user's session": about(format="complex", user=dict(format="opaque", id="stranger"), session=dict(format="opaque", id=sid)),
            "user in a user": about(format="complex", user=dict(format="complex", user=dict(format="opaque", id=sub)),
                                    session=dict(format="opaque", id="none"))}


def forged_ends():
    """Announces ends by tokens that are unsigned, signed by others, of another kind, for others, old, from the future and repeated, and by
    genuine ones of another provider and about others: only the genuine one ends the session, once."""
    lies = Lies("good", "apple", "evil")
    good, apple, evil = lies["good"], lies["apple"], lies["evil"]
    server = Relying(lies.entries(scopes=["openid"]), "--rate-limits", "none")
    client, counts = Client(server), dict(refused=0, foreign=0)

    def visit(issuer, sub, sid):
        browser = Browser(server)
        page = issuer.sign_in(browser, sub=sub, sid=sid, auth_time=int(time.time()), email=None)
        require(signed_in(browser), f"the honest sign-in fails: {page}")
        return browser

    for name, door in doors(good, apple).items():
        sub, sid = "ada-" + name, "session-" + name
        browser = visit(door.issuer, sub, sid)

        def lives(what):
            require(server.runs() and signed_in(browser), f"{name}: {what} ends the session")

        for what, token in forged(door, evil, sub, sid).items():
            answer = door.send(client, token)
            require(400 <= answer.status < 500, f"{name}: {what}: {answer}")
            lives(what)
            counts["refused"] += 1
        for what, token in foreign(door, sub, sid).items():
            answer = door.send(client, token)
            require(answer.status < 500, f"{name}: {what}: {answer}")
            lives(what)
            counts["foreign"] += 1
        # Another provider says the same, in its own name and in this one's, at its own door and at this one.
        for what, claims in {
            "own name": dict(iss=evil.url), "this name": {}, "user opaque": dict(iss=evil.url, sub_id=dict(format="opaque", id=sub)),
            "subject here": dict(iss=evil.url, sub_id=dict(format="iss_sub", iss=door.issuer.url, sub=sub)),
            "session": dict(iss=evil.url, sub=None, sid=sid),
        }.items():
            for path in (door.path, door.path.replace(door.issuer.id, "evil")):
                token = evil.sign(door.claims(sub, sid, **claims), typ=door.type)
                answer = door.send(client, token, path)
                require(answer.status < 500, f"{name}: the other provider, {what}: {answer}")
                lives(f"the other provider, {what}")
                counts["foreign"] += 1
        genuine = door.token(door.claims(sub, sid))
        for path in ("/sign-in/with/none/logout", "/sign-in/with/none/events", door.path + "/x"):
            require(door.send(client, genuine, path).status == 404, f"{path} is there")
        for content in ("text/plain", "application/x-www-form-urlencoded" if door.content != "form" else "application/json"):
            require(400 <= door.send(client, genuine, content=content).status < 500, f"{name}: {content} is taken")
        require(client.get(door.path).status in (404, 405), f"{name}: GET")
        lives("a request of another form")
        # The control; and the same again, many at once, when the user is back.
        answer = door.send(client, genuine)
        require(answer.status in (200, 202), f"{name}: the genuine one: {answer}")
        require(not signed_in(browser), f"{name}: the genuine one ends nothing")
        browser = visit(door.issuer, sub, sid + "-again")
        threads = [threading.Thread(target=lambda: door.send(Client(server), genuine)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lives("a repeat")
    # An end that was taken back does not come again by a repeat.
    door = doors(good, apple)["events"]
    browser, issued = visit(good, "eve", "eve"), {}
    for kind in ("account-disabled", "account-enabled"):
        issued[kind] = door.token(door.claims("eve", iat=int(time.time()) - (100 if kind == "account-disabled" else 50), events={RISC + kind: {}}))
        require(door.send(client, issued[kind]).status == 202, f"{kind} is refused")
    require(not signed_in(browser), "a disabled user is signed in")
    browser = visit(good, "eve", "eve-2")
    door.send(client, issued["account-disabled"])
    older = door.token(door.claims("eve", iat=int(time.time()) - 3600, events={RISC + "account-enabled": {}}))
    door.send(client, older)
    require(signed_in(browser), "a repeat ends the session")
    visit(good, "eve", "eve-3")
    lies.close()
    server.stop()
    return f"{counts['refused']} tokens refused, {counts['foreign']} without effect; the genuine one counts once, at {len(doors(good, apple))} doors"


def flood_of_ends():
    """Sends forged announcements, each with another key's name, from one address: they are limited, hardly a key is fetched, and the
    provider's own still counts."""
    lies = Lies("good")
    good = lies["good"]
    server = Relying(lies.entries())
    browser = Browser(server, "127.0.9.1")
    good.sign_in(browser, sub="ada", sid="one", auth_time=int(time.time()))
    require(signed_in(browser), "the honest sign-in fails")
    door, stranger, client, statuses = doors(good, good)["logout"], Key(), Client(server, "127.0.9.2"), []
    fetched = lies.asked("good", "keys")
    token = door.token(door.claims("ada", "one"), stranger)
    body = token.split(".", 1)[1]
    for number in range(300):
        head = base64url(json.dumps(dict(alg="ES256", kid=f"k{number}", typ="logout+jwt")).encode())
        statuses.append(door.send(client, head + "." + body).status)
    require(set(statuses) == {400, 429} and statuses.count(400) <= 100, f"{statuses.count(400)} of 300 were refused for their content: {set(statuses)}")
    require(lies.asked("good", "keys") - fetched <= 1, f"the keys were fetched {lies.asked('good', 'keys') - fetched} times")
    require(signed_in(browser), "a forged end counts")
    answer = door.send(Client(server, "127.0.9.3"), door.token(door.claims("ada", "one")))
    require(answer.status == 200 and not signed_in(browser), f"the genuine one: {answer}")
    lies.close()
    server.stop()
    return f"{statuses.count(400)} of 300 were looked at; the provider's own counts"


ATTACKS = [forged_ends, flood_of_ends]
