"""Attacks on accounts with an authenticator app, by someone who knows the password."""
import base64, hashlib, hmac, html, re, secrets, struct, time

from attacks.person import ISSUER, PASSWORD, Person, signed_in, silently, together, unlocks
from attacks.target import Browser, Client, Server, authorization, bearer, install, require

NEW = "another long secret"


class App:
    """An authenticator app (RFC 6238). Each code is newer than the last one, and the server takes them up to 30 s ahead."""

    def __init__(self, secret):
        self.secret, self.step = base64.b32decode(secret + "=" * (-len(secret) % 8)), 0

    def show(self, step):
        mac = hmac.new(self.secret, struct.pack(">Q", step), hashlib.sha1).digest()
        at = mac[-1] & 15
        return f"{(struct.unpack('>I', mac[at:at + 4])[0] & 0x7FFFFFFF) % 10 ** 6:06}"

    def next(self):
        """A code that was not used."""
        while self.step >= int(time.time()) // 30 + 1:
            time.sleep(0.2)
        self.step = max(self.step + 1, int(time.time()) // 30 - 1)
        return self.show(self.step)


def protect(person):
    """Adds an authenticator app to a person's account."""
    # A code that was taken ten seconds before its end may be too old on arrival.
    if time.time() % 30 > 25:
        time.sleep(30.1 - time.time() % 30)
    page = person.press("/account/security", "add-totp")
    found = re.search(r'<code class="secret"[^>]*>([A-Z2-7 ]+)<', page.text)
    require(found, f"no authenticator app: {page}")
    app, setup = App(found[1].replace(" ", "")), re.search(r'name="setup" value="([^"]+)"', page.text)[1]
    page = person.browser.submit("/account/security", action="confirm-totp", setup=html.unescape(setup), code=app.next())
    require("your password needs a code" in page.text, f"the app is not added: {page}")
    return app


def half(person, password=PASSWORD, path="/sign-in"):
    """A browser in which the password was typed, and the form that asks for the code."""
    browser = Browser(person.server)
    browser.load("GET", path)
    page = browser.submit(path, action="sign-in", email=person.email, password=password)
    proof = re.search(r'name="proof" value="([^"]+)"', page.text)
    require(proof, f"no code is asked for: {page.status} {page['Location']}")
    return browser, html.unescape(proof[1])


def enter(browser, proof, typed, path="/sign-in"):
    return browser.submit(path, action="second-factor", proof=proof, code=typed)


class Doors:
    """The doors that take a code, for people who know the password."""

    def __init__(self, person, source="127.0.0.1"):
        self.person, self.client = person, Client(person.server, source)
        self.fields = dict(email=person.email, password=PASSWORD)
        self.all = [self.sign_in, self.prove, self.cookie, self.page]

    def sign_in(self, code, device=None, **more):
        return self.client.post("/v1/sign-in", dict(self.fields, code=code, device=install(device or "d-" + secrets.token_hex(4)), **more))

    def prove(self, code):
        return self.client.post("/v1/reauthenticate", dict(password=PASSWORD, code=code), Authorization=bearer(self.person.session))

    def cookie(self, code):
        return self.client.post("/v1/session", dict(self.fields, code=code), Origin=ISSUER)

    def page(self, code):
        browser, proof = half(self.person)
        answer = enter(browser, proof, code)
        require(signed_in(browser) == (answer.status == 303), f"the page: {answer}")
        return answer


def replayed_codes():
    """Uses a code of an authenticator app at all doors at once, and then at each again."""
    server = Server("--sign-up", "open", "--rate-limits", "none", "--issuer", ISSUER)
    person = Person(server, "owner")
    app = protect(person)
    first, right = app.show(app.step), app.next()
    works = [door for _ in range(2) for door in Doors(person).all]
    # Each on a connection of its own.
    statuses = together([lambda name=door.__name__: getattr(Doors(person), name)(right).status for door in works])
    good = [status for status in statuses if status in (200, 303)]
    require(len(good) == 1 and set(statuses) <= {200, 303, 401, 403}, f"a code counts {len(good)} times: {statuses}")
    # One that counts starts over the count of those that do not.
    answer = Doors(person).sign_in(app.next(), "d-own")
    require(answer.status == 200, f"the owner: {answer}")
    for what, code in (("the code of the set-up", first), ("a code that was used", right)):
        for door in Doors(person).all:
            answer = door(code)
            require(answer.status in (400, 401, 403), f"{what} at {door.__name__}: {answer}")
    return f"of {len(works)} at once, 1 counts; replays are refused at each door"


def guessed_codes():
    """Guesses codes with the right password, many at once, at each door, from many addresses and devices: the guesses are limited together,
    and the owner signs in on a known device."""
    server = Server("--sign-up", "open", "--rate-limits", "none", "--issuer", ISSUER)
    person = Person(server, "owner")
    app = protect(person)
    known = Doors(person).sign_in(app.next(), "d-owner")
    require(known.status == 200 and person.client.get("/v1/me", Authorization=bearer(known.json)).status == 200, f"the owner: {known}")
    wrong = [f"{number:06}" for number in range(1000) if f"{number:06}" not in {app.show(int(time.time()) // 30 + step) for step in range(-2, 20)}]

    def guess(number):
        doors = Doors(person, f"127.0.{20 + number}.1")
        ways = [doors.cookie, doors.page, doors.sign_in]
        return [ways[(number + turn) % 3](wrong[number * 8 + turn]).status for turn in range(8)]

    began = time.monotonic()
    statuses = sum(together([lambda number=number: guess(number) for number in range(6)]), [])
    require(set(statuses) == {401, 429}, f"guesses: {set(statuses)}")
    checked, seconds, right = statuses.count(401), time.monotonic() - began, app.next()
    # Ten, then one per 30 s.
    require(checked <= 10 + seconds // 30, f"{checked} of {len(statuses)} guesses were checked in {seconds:.0f} s")
    answer = Doors(person, "127.0.60.1").sign_in(right, "d-thief")
    require(answer.status == 429, f"the right code after the limit: {answer}")
    answer = Doors(person).sign_in(right, "d-owner")
    require(answer.status == 200, f"the owner on a known device: {answer}")
    return f"{checked} of {len(statuses)} guesses were checked; the owner signs in on a known device"


def skipped_factor():
    """Signs in without the code of the authenticator app: with other values in its place, as a guest who becomes the owner, by other buttons
    of the half signed-in pages, and by what a new password that was mailed leaves."""
    server = Server("--sign-up", "open", "--rate-limits", "none", "--issuer", ISSUER, administered=True)
    person, other, tried = Person(server, "owner", proved=True), Person(server, "other"), 0
    key, codes, guest = person.add_passkey(), person.recovery_codes(), bearer(Client(server).guest("d-thief"))
    protect(person)
    app = protect(other)
    thief = Doors(person, "127.0.30.1")
    for code in (None, "", " ", "000000", 0, ["000000"], {}, codes[0]):
        answer = thief.sign_in(code, "d-thief", totp="000000", second_factor=True, mfa=False)
        require(answer.status in (400, 401, 429), f"{code!r} as a code: {answer}")
        tried += 1
    answer = thief.client.post("/v1/upgrade", dict(thief.fields, username="Eve", device=install("d-thief")), Authorization=guest)
    require(answer.status in (400, 401, 403, 409) and "access_token" not in answer.json, f"upgrade: {answer}")
    for path in ("/sign-in", authorization("web"), "/device"):
        browser, proof = half(person, path=path)
        for typed in ("", codes[0], PASSWORD):
            enter(browser, proof, typed, path)
        for action in ("allow", "look", "unlock", "change-password", "remove-totp"):
            browser.submit(path, action=action, proof=proof)
        require(not signed_in(browser) and "code" not in silently(browser), f"{path}: signed in without the code")
        tried += 8
    # A reader of the owner's mails sets a password, and has no more than that.
    person.client.post("/v1/password-reset", dict(email=person.email))
    answer = thief.client.post("/v1/password-reset/confirm", dict(token=server.code(person.email), new_password=NEW))
    require(answer.status == 204 and not answer.body, f"a reset by mail: {answer}")
    half(person, NEW)
    require(not unlocks(person.client, key) and not person.recovers(codes[0]), "a passkey or a recovery code outlives a reset by mail")
    left = person.credentials()["passkeys"] + server.administer("GET", f"/accounts/{person.id}/sessions").json["sessions"]
    require(not left, f"a session or a passkey is there: {left}")
    # The control, whose guesses are not used up.
    browser, proof = half(other)
    require(enter(browser, proof, app.next()).status == 303 and signed_in(browser), "the code of an app does not sign in")
    return f"{tried + 3} ways without the code; with it, a person signs in"


ATTACKS = [replayed_codes, guessed_codes, skipped_factor]
